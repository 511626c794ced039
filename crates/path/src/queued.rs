//! A port whose queue discipline chooses what to transmit when the transmitter is free.

use crate::channel::Transit;
use crate::output::{Fate, LinkOutput};
use crate::packet::{Packet, PacketId, Pool};
use crate::qdisc::{Ecn, Qdisc, Skb};
use measure::LinkSample;
use scenario::units::Nanos;

/// A packet that will not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The packet.
    pub id: PacketId,
    /// [`Fate::Dropped`] or [`Fate::Lost`].
    pub fate: Fate,
}

/// A queue discipline, a transmitter and a channel, with what they counted.
pub struct QueuedPort<Q> {
    qdisc: Q,
    /// Transmitter, channel and statistics.
    pub output: LinkOutput,
    /// When the discipline is asked for a packet next; `Nanos::NEVER` while it has none.
    ask_at: Nanos,
    /// The next hop of each packet that waits, by its number.
    next_hops: Vec<u32>,
    dropped: Vec<Skb>,
    /// Packets that are not in the port any more and will not arrive; for whoever counts and releases them.
    pub gone: Vec<Gone>,
}

impl<Q: Qdisc> QueuedPort<Q> {
    /// An empty port.
    pub fn new(qdisc: Q, output: LinkOutput) -> QueuedPort<Q> {
        QueuedPort { qdisc, output, ask_at: Nanos::NEVER, next_hops: vec![], dropped: vec![], gone: vec![] }
    }

    /// Hands a packet over at `now`, which never decreases from call to call.
    pub fn offer<P: Packet>(&mut self, now: Nanos, transit: Transit, packets: &mut Pool<P>) {
        let place = transit.id.0 as usize;
        if place >= self.next_hops.len() {
            self.next_hops.resize(place + 1, 0);
        }
        self.next_hops[place] = transit.next_hop;
        self.qdisc.enqueue(now, packets.skb(transit.id, now), &mut self.dropped);
        self.note_drops(now);
        if self.output.free_at() <= now {
            self.transmit(now, packets);
        } else {
            self.ask_at = self.output.free_at();
        }
    }

    /// When the port has something to do; `Nanos::NEVER` when it is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.output.next().min(self.ask_at)
    }

    /// Does what `next` announced: gives what is at the far end, or starts a transmission.
    pub fn step<P: Packet>(&mut self, packets: &mut Pool<P>) -> Transit {
        if self.output.next() <= self.ask_at {
            return self.output.take();
        }
        self.transmit(self.ask_at, packets);
        Transit::NOTHING
    }

    /// The transmitter is free: the discipline's next packet, if it has one.
    fn transmit<P: Packet>(&mut self, now: Nanos, packets: &mut Pool<P>) {
        let chosen = self.qdisc.dequeue(now, &mut self.dropped);
        self.note_drops(now);
        let Some(skb) = chosen else {
            self.ask_at = self.qdisc.next(now);
            return;
        };
        let id = PacketId(skb.id);
        let packet = packets.get_mut(id);
        if skb.ecn == Ecn::Ce && packet.ecn() != Ecn::Ce {
            packet.mark_ce();
            self.output.stats.marked(skb.enqueued_at);
        }
        let transit = Transit { id, next_hop: self.next_hops[skb.id as usize] };
        let (_, lost) = self.output.send(skb.enqueued_at, now, skb.bytes, transit);
        if lost {
            self.gone.push(Gone { id, fate: Fate::Lost });
        }
        self.ask_at = if self.qdisc.backlog().1 > 0 { self.output.free_at() } else { Nanos::NEVER };
    }

    fn note_drops(&mut self, now: Nanos) {
        for skb in self.dropped.drain(..) {
            self.output.stats.dropped_after(skb.enqueued_at, now, skb.bytes);
            self.gone.push(Gone { id: PacketId(skb.id), fate: Fate::Dropped });
        }
    }

    /// Bytes and packets that wait.
    pub fn backlog(&self) -> (u64, u64) {
        self.qdisc.backlog()
    }

    /// This instant for the series, as link number `link`.
    pub fn sample(&self, link: u32) -> LinkSample {
        let stats = &self.output.stats;
        LinkSample { link, waiting: self.backlog(), total_drops: stats.total_drops, total_sent: stats.total_bytes }
    }
}
