//! The members of a medium, their queues, and the packets in the queues and the channels.

use super::member::{Member, MemberId, TxCompletion};
use crate::channel::{PortId, Propagation, Transit};
use crate::event_queue::EventQueue;
use crate::output::DropReason;
use crate::packet::{Packet, PacketId, Pool};
use crate::qdisc::{DeviceRing, Ecn, Qdisc, Skb};
use crate::queued::Gone;
use model::records;
use model::units::Nanos;
use std::collections::VecDeque;

/// A packet that has left its queue to be transmitted, perhaps more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The member that sends the packet.
    pub member: MemberId,
    /// When the packet joined the queue.
    pub enqueued_at: Nanos,
    /// IP length, bytes.
    pub bytes: u32,
    pub(super) id: PacketId,
}

/// A report that a packet of a host's member left the host, will not arrive, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    at: Nanos,
    pub(super) port: PortId,
    pub(super) id: PacketId,
    /// Whether the host gets a report that the packet left it.
    pub(super) is_reported: bool,
    /// Why the packet will not arrive; none if it will.
    pub(super) reason: Option<DropReason>,
}

/// The members of a medium, with their queues.
pub struct Members {
    members: Vec<Member>,
    queues: Vec<DeviceRing>,
    /// When the next packet of each member reaches the far end.
    arrivals: EventQueue,
    /// The member of each packet that waits, by the packet's number.
    owners: Vec<MemberId>,
    dropped: Vec<Skb>,
    /// Departures from members on hosts, in the order of their times.
    departures: VecDeque<Departure>,
    /// Packets that each queue dropped in the measuring interval.
    drops: Vec<u64>,
    /// Packets that left the medium and will not arrive. The caller counts and releases them.
    pub(super) gone: Vec<Gone>,
}

impl Members {
    /// Creates the members from their queues.
    pub fn new(members: Vec<Member>, queues: Vec<DeviceRing>) -> Members {
        let arrivals = EventQueue::new(members.len() as u32);
        let drops = vec![0; queues.len()];
        let departures = VecDeque::new();
        Members { members, queues, arrivals, owners: vec![], dropped: vec![], departures, drops, gone: vec![] }
    }

    /// Returns a member.
    pub fn get(&self, member: MemberId) -> &Member {
        &self.members[member as usize]
    }

    /// Returns a member's row of the results.
    pub(super) fn record(&self, member: MemberId) -> records::Link {
        let of = self.get(member);
        of.record(self.queues[of.queue].held())
    }

    pub(super) fn get_mut(&mut self, member: MemberId) -> &mut Member {
        &mut self.members[member as usize]
    }

    /// Returns the number of the queue in which a member's packets wait.
    pub(super) fn queue_of(&self, member: MemberId) -> usize {
        self.get(member).queue
    }

    /// Moves a member to another queue, for packets from now on.
    pub(super) fn moves_to(&mut self, member: MemberId, queue: usize) {
        self.get_mut(member).queue = queue;
    }

    /// Returns the packets that a queue dropped in the measuring interval.
    pub(super) fn drops_of(&self, queue: usize) -> u64 {
        self.drops[queue]
    }

    /// Queues a packet at its member.
    pub(super) fn enqueue<P: Packet>(&mut self, now: Nanos, member: MemberId, id: PacketId, packets: &Pool<P>) {
        let place = id.0 as usize;
        if place >= self.owners.len() {
            self.owners.resize(place + 1, member);
        }
        self.owners[place] = member;
        let mut skb = packets.skb(id, now);
        if self.get(member).host.is_some() {
            skb.band = packets.get(id).band();
        }
        self.get_mut(member).queues(now, skb.bytes);
        let queue = self.queue_of(member);
        self.queues[queue].enqueue(now, skb, &mut self.dropped);
        self.note_drops(now, queue);
        self.note_taken(now, queue);
    }

    /// Reports whether the queue of a member on a host has no room for a packet. Its sender then
    /// retains it, and the packet counts as dropped.
    pub(super) fn refuses<P: Packet>(&mut self, now: Nanos, member: MemberId, packet: &P, packets: &Pool<P>) -> bool {
        let skb = Skb { band: packet.band(), ..packets.skb_of(packet, now) };
        let refused = self.get(member).host.is_some() && !self.queues[self.queue_of(member)].has_room(&skb);
        if refused {
            self.get_mut(member).stats.dropped_after(now, now, skb.bytes);
        }
        refused
    }

    /// Returns when the next departure from a host is due; `Nanos::NEVER` if none is pending.
    pub(super) fn next_departure(&self) -> Nanos {
        self.departures.front().map_or(Nanos::NEVER, |departure| departure.at)
    }

    /// Takes the departure that `next_departure` announced.
    pub(super) fn take_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// Notes that a packet of a member departs at `at`. Its host gets a report if `is_reported`. The
    /// packet leaves the medium if there is a `reason`.
    fn departs(&mut self, at: Nanos, member: MemberId, id: PacketId, is_reported: bool, reason: Option<DropReason>) {
        if self.get(member).host.is_some() && (is_reported || reason.is_some()) {
            let place = self.departures.partition_point(|departure| departure.at <= at);
            let port = self.get(member).port;
            self.departures.insert(place, Departure { at, port, id, is_reported, reason });
        } else if let Some(reason) = reason {
            self.gone.push(Gone { id, reason });
        }
    }

    /// Notes the packets that the hosts' devices have taken from a queue.
    fn note_taken(&mut self, now: Nanos, queue: usize) {
        for id in self.queues[queue].drain_taken() {
            let member = self.owners[id as usize];
            self.departs(now, member, PacketId(id), true, None);
        }
    }

    /// Reports whether the host of a member learns when a packet is sent or given up.
    fn reports_when_sent(&self, member: MemberId) -> bool {
        self.get(member).host == Some(TxCompletion::OnAir)
    }

    /// Returns when a queue has a packet ready: `now` if one may leave, `Nanos::NEVER` if the queue
    /// is empty.
    pub(super) fn next_of(&self, queue: usize, now: Nanos) -> Nanos {
        self.queues[queue].next(now)
    }

    /// Takes the next packet out of a queue, if one is ready.
    pub(super) fn dequeue<P: Packet>(&mut self, now: Nanos, queue: usize, packets: &mut Pool<P>) -> Option<Frame> {
        let chosen = self.queues[queue].dequeue(now, &mut self.dropped);
        self.note_drops(now, queue);
        self.note_taken(now, queue);
        let skb = chosen?;
        let id = PacketId(skb.id);
        let member = self.owners[skb.id as usize];
        self.get_mut(member).unqueues(now, skb.bytes);
        let packet = packets.get_mut(id);
        packet.leave_host();
        if skb.ecn == Ecn::Ce && packet.ecn() != Ecn::Ce {
            packet.mark_ce();
            self.get_mut(member).stats.marked(skb.enqueued_at);
        }
        Some(Frame { member, enqueued_at: skb.enqueued_at, bytes: skb.bytes, id })
    }

    /// Dequeues once more from a queue that is empty after its last packet, so that its discipline
    /// learns since when it has been idle.
    pub(super) fn find_empty(&mut self, now: Nanos, queue: usize) {
        if self.next_of(queue, now) == Nanos::NEVER {
            let none = self.queues[queue].dequeue(now, &mut self.dropped);
            debug_assert!(none.is_none(), "the queue was empty");
        }
    }

    /// Notes that the first transmission of a packet starts.
    pub(super) fn starts(&mut self, now: Nanos, frame: &Frame) {
        self.get_mut(frame.member).stats.transmitted(frame.enqueued_at, now, frame.bytes);
    }

    /// Sends a packet that was received at `end` through its member's channel. From call to call,
    /// `end` never decreases for a member.
    pub(super) fn deliver(&mut self, end: Nanos, frame: &Frame) {
        let member = &mut self.members[frame.member as usize];
        let propagation = member.channel.send(end, frame.id);
        match propagation {
            Propagation::Lost => member.stats.lost(frame.enqueued_at),
            Propagation::Duplicated => member.stats.duplicated(frame.enqueued_at),
            Propagation::Behind | Propagation::First => {}
        }
        self.arrivals.set(frame.member, member.channel.next());
        let reason = (propagation == Propagation::Lost).then_some(DropReason::Channel);
        self.departs(end, frame.member, frame.id, self.reports_when_sent(frame.member), reason);
    }

    /// Gives up a packet that was not received: from `end` on it is not transmitted again.
    pub(super) fn give_up(&mut self, end: Nanos, frame: &Frame) {
        self.get_mut(frame.member).stats.lost(frame.enqueued_at);
        let is_reported = self.reports_when_sent(frame.member);
        self.departs(end, frame.member, frame.id, is_reported, Some(DropReason::Channel));
    }

    /// Drops a packet that arrived at `now` and has no route.
    pub(super) fn lose(&mut self, now: Nanos, member: MemberId, id: PacketId) {
        self.get_mut(member).stats.lost(now);
        self.gone.push(Gone { id, reason: DropReason::Channel });
    }

    /// Returns when the next packet reaches its far end; `Nanos::NEVER` if none is in a channel.
    pub(super) fn next_arrival(&self) -> Nanos {
        self.arrivals.first().0
    }

    /// Takes the packet that `next_arrival` announced, with the port that it leaves.
    pub(super) fn take_arrival(&mut self) -> (PortId, Transit) {
        let (_, first) = self.arrivals.first();
        let member = &mut self.members[first as usize];
        let taken = member.channel.take();
        self.arrivals.put_first_off(first, member.channel.next());
        (member.port, taken)
    }

    fn note_drops(&mut self, now: Nanos, queue: usize) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for skb in dropped.drain(..) {
            let member = self.owners[skb.id as usize];
            self.get_mut(member).unqueues(now, skb.bytes);
            let stats = &mut self.get_mut(member).stats;
            stats.dropped_after(skb.enqueued_at, now, skb.bytes);
            let counts = stats.covers(skb.enqueued_at);
            self.drops[queue] += u64::from(counts);
            self.departs(now, member, PacketId(skb.id), true, Some(DropReason::Queue));
        }
        // The buffer is used again.
        self.dropped = dropped;
    }
}
