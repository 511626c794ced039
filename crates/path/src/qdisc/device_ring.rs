//! A device's ring behind a queue discipline: packets that the device has taken before it can send them, so that the
//! discipline decides about them no more.

use super::packets::Packets;
use super::{AnyQdisc, Qdisc, Skb};
use crate::byte_queue_limits::ByteQueueLimits;
use scenario::units::Nanos;

/// A discipline, and the ring that it fills.
pub struct DeviceRing {
    qdisc: AnyQdisc,
    slots: u64,
    waiting: Packets,
    limits: Option<ByteQueueLimits>,
    /// Bytes of the packet that the device sends.
    under_way: u32,
    /// The packets that the device has taken since [`DeviceRing::take_taken`] was called, by their numbers, if somebody
    /// wants to know.
    taken: Option<Vec<u32>>,
}

impl DeviceRing {
    /// An empty ring of so many packets, with byte queue limits or without. The packet that the device sends is not in
    /// it; one without slots takes each packet when it can be sent.
    pub fn new(qdisc: AnyQdisc, slots: u32, has_limits: bool) -> DeviceRing {
        let limits = has_limits.then(ByteQueueLimits::default);
        DeviceRing { qdisc, slots: slots.into(), waiting: Packets::default(), limits, under_way: 0, taken: None }
    }

    /// A discipline behind which there is no ring.
    pub fn none(qdisc: AnyQdisc) -> DeviceRing {
        DeviceRing::new(qdisc, 0, false)
    }

    /// The same, which remembers what the device takes.
    pub fn telling(self) -> DeviceRing {
        DeviceRing { taken: Some(vec![]), ..self }
    }

    /// The packets that the device has taken since the last call, the first first.
    pub fn take_taken(&mut self) -> Vec<u32> {
        self.taken.as_mut().map_or(vec![], std::mem::take)
    }

    fn note_taken(&mut self, skb: &Skb) {
        if let Some(taken) = &mut self.taken {
            taken.push(skb.id);
        }
    }

    /// The device takes what it has room for.
    fn fill(&mut self, now: Nanos, dropped: &mut Vec<Skb>) {
        while self.waiting.len() < self.slots && self.limits.as_ref().is_none_or(ByteQueueLimits::has_room) {
            let Some(skb) = self.qdisc.dequeue(now, dropped) else { return };
            if let Some(limits) = &mut self.limits {
                limits.queued(skb.bytes);
            }
            self.note_taken(&skb);
            self.waiting.push(skb);
        }
    }
}

impl Qdisc for DeviceRing {
    fn enqueue(&mut self, now: Nanos, skb: Skb, dropped: &mut Vec<Skb>) {
        self.qdisc.enqueue(now, skb, dropped);
        self.fill(now, dropped);
    }

    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        if self.slots == 0 {
            let skb = self.qdisc.dequeue(now, dropped)?;
            self.note_taken(&skb);
            return Some(skb);
        }
        let sent = std::mem::take(&mut self.under_way);
        if let Some(limits) = self.limits.as_mut().filter(|_| sent > 0) {
            limits.completed(now, sent);
        }
        self.fill(now, dropped);
        let skb = self.waiting.pop()?;
        self.under_way = skb.bytes;
        self.fill(now, dropped);
        Some(skb)
    }

    fn next(&self, now: Nanos) -> Nanos {
        if self.waiting.is_empty() { self.qdisc.next(now) } else { now }
    }

    fn backlog(&self) -> (u64, u64) {
        let (bytes, packets) = self.qdisc.backlog();
        (bytes + self.waiting.bytes(), packets + self.waiting.len())
    }

    fn has_room(&self, skb: &Skb) -> bool {
        self.qdisc.has_room(skb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::Prio;
    use crate::qdisc::testing::skb;
    use scenario::queue;

    /// Five packets of the second band come, then an urgent one, before each is sent: how many go before it.
    fn before_the_urgent_one(slots: u32, has_limits: bool) -> usize {
        let prio = AnyQdisc::Prio(Prio::new(&queue::Prio::default()));
        let mut ring = DeviceRing::new(prio, slots, has_limits);
        let mut dropped = vec![];
        for id in 0..6 {
            let band = Some(u8::from(id < 5));
            ring.enqueue(Nanos::ZERO, Skb { band, ..skb(id, 1, false) }, &mut dropped);
        }
        assert_eq!(ring.backlog(), (9000, 6));
        let order: Vec<_> =
            (0..6).map(|ms| ring.dequeue(Nanos::from_millis(ms), &mut dropped).expect("one").id).collect();
        assert_eq!((ring.backlog(), ring.dequeue(Nanos::from_millis(9), &mut dropped)), ((0, 0), None));
        order.iter().position(|id| *id == 5).expect("it is there")
    }

    /// What the device has taken goes first: nothing without a ring, all of it with one, and hardly any of it where its
    /// bytes are limited.
    #[test]
    fn a_ring_is_ahead_of_what_is_urgent() {
        assert_eq!(
            [(0, false), (3, false), (100, false), (100, true)].map(|(n, b)| before_the_urgent_one(n, b)),
            [0, 3, 5, 1]
        );
    }
}
