//! One direction of a user's traffic: packets become transport blocks, and packets again behind them.

use crate::medium::member::MemberId;
use crate::medium::members::{Frame, Members};
use crate::packet::{Packet, Pool};
use crate::rng;
use model::Rng;
use model::radio::lte::{Cqi, DECODING, Direction, Harq, PACKET_HEADER, PREPARATION, SUBFRAME, Tries};
use model::units::Nanos;

/// A packet of which not all has been sent, or of which all has now.
#[derive(Clone, Copy, Debug)]
struct Part {
    frame: Frame,
    /// Bytes still to be sent, headers included.
    left: u32,
    /// A block with some of it was lost.
    lost: bool,
}

/// Cuts the packets of a member into transport blocks, and gives them on in their order.
pub struct Bearer {
    member: MemberId,
    /// Bytes that a transport block carries, by its resource blocks, from none to all.
    payloads: Vec<u32>,
    /// The packet that the last block ended in.
    cut: Option<Part>,
    /// When the last block has been decoded, and all before it. RLC holds back what comes before that, since it keeps
    /// the order (TS 36.322, section 5.1.3.2).
    in_order_at: Nanos,
    rng: Rng,
    /// The packets that end in the block that is put together.
    ended: Vec<Part>,
}

impl Bearer {
    /// That of a member, with so many resource blocks in a subframe. `purpose` keeps its draws apart.
    pub fn new(member: MemberId, direction: Direction, blocks: u32, cqi: Cqi, seed: u64, purpose: u64) -> Bearer {
        Bearer {
            member,
            payloads: (0..=blocks).map(|blocks| cqi.payload(direction, blocks)).collect(),
            cut: None,
            in_order_at: Nanos::ZERO,
            rng: rng(seed, purpose),
            ended: vec![],
        }
    }

    /// Bytes that wait, headers included.
    pub fn backlog(&self, members: &Members) -> u64 {
        let (bytes, packets) = members.get(self.member).waiting;
        bytes + packets * u64::from(PACKET_HEADER) + self.cut.map_or(0, |part| part.left.into())
    }

    /// Is one packet all that waits?
    pub fn has_one_packet(&self, members: &Members) -> bool {
        self.cut.is_none() && members.get(self.member).waiting.1 == 1
    }

    /// The fewest resource blocks that carry so many bytes, or all.
    pub fn blocks_for(&self, bytes: u64) -> u32 {
        let fewest = self.payloads.partition_point(|payload| u64::from(*payload) < bytes);
        fewest.min(self.payloads.len() - 1) as u32
    }

    /// What so many resource blocks carry.
    pub fn payload(&self, blocks: u32) -> u32 {
        self.payloads[blocks as usize]
    }

    /// What all resource blocks carry.
    pub fn most(&self) -> u32 {
        self.payloads.last().copied().unwrap_or(0)
    }

    /// Puts a transport block together at `now`, of as many packets and parts as so many resource blocks carry, and
    /// tells how often it will be sent. Without a packet nothing is sent.
    ///
    /// With the first try all of its future is drawn, so that the packets which end in the block go to their channel at
    /// once.
    pub fn send<P: Packet>(
        &mut self,
        now: Nanos,
        blocks: u32,
        harq: &Harq,
        members: &mut Members,
        packets: &mut Pool<P>,
    ) -> Tries {
        if !self.fill(now, self.payload(blocks), members, packets) {
            return Tries { count: 1, lost: false };
        }
        let tries = harq.draw(&mut self.rng);
        let all = self.payloads.len() as u64 - 1;
        let first = now + PREPARATION;
        let mut on_air = first;
        for try_number in 0..tries.count {
            on_air = first + Nanos(SUBFRAME.0 * Harq::ROUND_TRIP * u64::from(try_number));
            let member = members.get_mut(self.member);
            member.transmits(on_air, on_air + Nanos(SUBFRAME.0 * u64::from(blocks) / all));
            if try_number > 0 {
                member.retries_at(on_air);
            }
        }
        self.in_order_at = self.in_order_at.max(on_air + SUBFRAME + DECODING);
        if let Some(part) = &mut self.cut {
            part.lost |= tries.lost;
        }
        for part in self.ended.drain(..) {
            if part.lost || tries.lost {
                members.give_up(self.in_order_at, &part.frame);
            } else {
                members.deliver(self.in_order_at, &part.frame);
            }
        }
        tries
    }

    /// Takes packets for `room` bytes; false if there are none.
    fn fill<P: Packet>(&mut self, now: Nanos, mut room: u32, members: &mut Members, packets: &mut Pool<P>) -> bool {
        let mut filled = false;
        while room > 0 {
            let Some(mut part) = self.cut.take().or_else(|| self.next_packet(now, members, packets)) else { break };
            let sent = part.left.min(room);
            part.left -= sent;
            room -= sent;
            filled = true;
            if part.left > 0 {
                self.cut = Some(part);
            } else {
                self.ended.push(part);
            }
        }
        filled
    }

    fn next_packet<P: Packet>(&self, now: Nanos, members: &mut Members, packets: &mut Pool<P>) -> Option<Part> {
        let frame = members.dequeue(now, members.queue_of(self.member), packets)?;
        members.starts(now, &frame);
        Some(Part { frame, left: frame.bytes + PACKET_HEADER, lost: false })
    }
}
