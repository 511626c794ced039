//! One direction of a user's traffic: packets are cut into transport blocks, and reassembled at the
//! far end.

use crate::medium::member::MemberId;
use crate::medium::members::{Frame, Members};
use crate::packet::{Packet, Pool};
use crate::rng;
use model::Rng;
use model::radio::lte::{Cqi, DECODING, Direction, Harq, PACKET_HEADER, PREPARATION, SUBFRAME, Tries};
use model::units::Nanos;

/// A packet that is partly sent, or has just been completed.
#[derive(Clone, Copy, Debug)]
struct Part {
    frame: Frame,
    /// Bytes still to be sent, headers included.
    left: u32,
    /// Whether a block with a part of the packet was lost.
    lost: bool,
}

/// Cuts the packets of a member into transport blocks, and delivers them in order.
pub struct Bearer {
    member: MemberId,
    /// Bytes that a transport block carries, indexed by its number of resource blocks.
    payloads: Vec<u32>,
    /// The packet that was cut at the end of the last block.
    cut: Option<Part>,
    /// When the last block and all before it are decoded. RLC preserves the order, so it holds
    /// packets back until then (TS 36.322, section 5.1.3.2).
    in_order_at: Nanos,
    rng: Rng,
    /// The packets that end in the current block.
    ended: Vec<Part>,
}

impl Bearer {
    /// Creates the bearer of a member, for subframes of `blocks` resource blocks. `purpose` selects
    /// the random stream of its draws.
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

    /// Returns the bytes that wait, headers included.
    pub fn backlog(&self, members: &Members) -> u64 {
        let (bytes, packets) = members.get(self.member).waiting;
        bytes + packets * u64::from(PACKET_HEADER) + self.cut.map_or(0, |part| part.left.into())
    }

    /// Reports whether exactly one packet waits.
    pub fn has_one_packet(&self, members: &Members) -> bool {
        self.cut.is_none() && members.get(self.member).waiting.1 == 1
    }

    /// Returns the fewest resource blocks that carry `bytes`, or all if they do not suffice.
    pub fn blocks_for(&self, bytes: u64) -> u32 {
        let fewest = self.payloads.partition_point(|payload| u64::from(*payload) < bytes);
        fewest.min(self.payloads.len() - 1) as u32
    }

    /// Returns the bytes that `blocks` resource blocks carry.
    pub fn payload(&self, blocks: u32) -> u32 {
        self.payloads[blocks as usize]
    }

    /// Returns the bytes that all resource blocks carry.
    pub fn most(&self) -> u32 {
        self.payloads.last().copied().unwrap_or(0)
    }

    /// Assembles a transport block at `now` from as many packets and parts as `blocks` resource
    /// blocks carry.
    ///
    /// Returns how often the block will be sent. Without a packet nothing is sent. The first try
    /// draws all later ones, so the packets that end in the block enter their channel at once.
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

    /// Takes packets for `room` bytes; returns false if none waits.
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
