//! A device's ring behind a queue discipline. The device takes packets before it can send them, so
//! the discipline no longer decides about them.

use super::batches::Batches;
use super::occupancy::Occupancy;
use super::packets::Packets;
use super::{AnyQdisc, Qdisc, Skb};
use crate::byte_queue_limits::ByteQueueLimits;
use model::units::Nanos;

/// A queue discipline, and the device ring that it fills.
pub struct DeviceRing {
    qdisc: AnyQdisc,
    slots: u64,
    /// The buffers of several segments, if the discipline treats each as one packet.
    batches: Option<Batches>,
    waiting: Packets,
    limits: Option<ByteQueueLimits>,
    /// Bytes of the packet that the device is sending.
    under_way: u32,
    /// The fill level of the discipline over time, if it is measured.
    occupancy: Option<Occupancy>,
    /// Numbers of the packets that the device has taken since the last call of
    /// [`DeviceRing::drain_taken`], if they are recorded.
    taken: Option<Vec<u32>>,
}

impl DeviceRing {
    /// Creates an empty ring of `slots` packets, with or without byte queue limits. The packet that
    /// the device is sending is not in the ring. A ring without slots takes each packet when the
    /// device can send it.
    pub fn new(qdisc: AnyQdisc, slots: u32, has_limits: bool) -> DeviceRing {
        let limits = has_limits.then(ByteQueueLimits::default);
        DeviceRing {
            qdisc,
            slots: slots.into(),
            batches: None,
            waiting: Packets::default(),
            limits,
            under_way: 0,
            occupancy: None,
            taken: None,
        }
    }

    /// Creates a discipline without a ring.
    pub fn none(qdisc: AnyQdisc) -> DeviceRing {
        DeviceRing::new(qdisc, 0, false)
    }

    /// Records the packets that the device takes, for [`DeviceRing::drain_taken`].
    pub fn recording_taken(self) -> DeviceRing {
        DeviceRing { taken: Some(vec![]), ..self }
    }

    /// Passes buffers of several segments through the discipline as one packet each. CAKE splits
    /// them itself (`split-gso`), which equals buffers of one segment.
    pub fn with_batches(self) -> DeviceRing {
        let batches = (!matches!(self.qdisc, AnyQdisc::Cake(_))).then(Batches::default);
        DeviceRing { batches, ..self }
    }

    /// Measures the fill level of the discipline from `from` to `to`.
    pub fn measuring(self, from: Nanos, to: Nanos) -> DeviceRing {
        DeviceRing { occupancy: Some(Occupancy::new(from, to)), ..self }
    }

    /// Returns the bytes and the packets in the discipline, each times the nanoseconds of the
    /// measuring interval. The discipline counts them, without packets that the device has taken.
    /// Returns none without [`DeviceRing::measuring`].
    pub fn held(&self) -> Option<(u128, u128)> {
        self.occupancy.as_ref().map(Occupancy::whole)
    }

    fn note_held(&mut self, now: Nanos) {
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.note(now, self.qdisc.backlog());
        }
    }

    /// Returns the bytes that the device has taken and not sent, and their limit; none without a
    /// ring. Set `is_idle` if the device has sent its last packet.
    pub fn in_device(&self, is_idle: bool) -> Option<(u64, Option<u64>)> {
        let under_way = if is_idle { 0 } else { self.under_way.into() };
        (self.slots > 0).then(|| (self.waiting.bytes() + under_way, self.limits.as_ref().map(ByteQueueLimits::limit)))
    }

    /// Returns the packets that the device has taken since the last call, oldest first.
    pub fn drain_taken(&mut self) -> Vec<u32> {
        self.taken.as_mut().map_or(vec![], std::mem::take)
    }

    fn note_taken(&mut self, skb: &Skb) {
        if let Some(taken) = &mut self.taken {
            taken.push(skb.id);
        }
    }

    /// Takes the discipline's next packet, or the next segment of its latest buffer.
    fn next_of_discipline(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        let Some(batches) = &mut self.batches else { return self.qdisc.dequeue(now, dropped) };
        if !batches.is_splitting() {
            let first = dropped.len();
            let whole = self.qdisc.dequeue(now, dropped);
            batches.drop_whole(dropped, first);
            batches.split(whole?);
        }
        batches.next()
    }

    /// Notes that the device has sent its packet, and takes the next from the ring.
    fn next_of_ring(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
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

    /// Reports whether the device may take another packet. It takes all segments of a buffer if it
    /// has slots for them, because the limit of bytes is checked before a buffer
    /// (`dev_hard_start_xmit`).
    fn has_room_in_device(&self) -> bool {
        let is_splitting = self.batches.as_ref().is_some_and(Batches::is_splitting);
        let is_within = || self.limits.as_ref().is_none_or(ByteQueueLimits::has_room);
        self.waiting.len() < self.slots && (is_splitting || is_within())
    }

    /// Moves packets from the discipline to the device while it has room.
    fn fill(&mut self, now: Nanos, dropped: &mut Vec<Skb>) {
        while self.has_room_in_device() {
            let Some(skb) = self.next_of_discipline(now, dropped) else { return };
            if let Some(limits) = &mut self.limits {
                limits.queued(skb.bytes);
            }
            self.note_taken(&skb);
            self.waiting.push(skb);
        }
    }

    /// Adds a whole buffer to the discipline.
    fn enqueue_whole(&mut self, now: Nanos, whole: Skb, dropped: &mut Vec<Skb>) {
        let first = dropped.len();
        self.qdisc.enqueue(now, whole, dropped);
        if let Some(batches) = &mut self.batches {
            batches.drop_whole(dropped, first);
        }
    }
}

impl Qdisc for DeviceRing {
    fn enqueue(&mut self, now: Nanos, skb: Skb, dropped: &mut Vec<Skb>) {
        match &mut self.batches {
            None => self.enqueue_whole(now, skb, dropped),
            Some(batches) => {
                let complete = batches.join(skb);
                complete.into_iter().flatten().for_each(|whole| self.enqueue_whole(now, whole, dropped));
            }
        }
        self.fill(now, dropped);
        self.note_held(now);
    }

    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        let skb = if self.slots > 0 {
            self.next_of_ring(now, dropped)
        } else {
            let next = self.next_of_discipline(now, dropped);
            next.iter().for_each(|skb| self.note_taken(skb));
            next
        };
        self.note_held(now);
        skb
    }

    fn next(&self, now: Nanos) -> Nanos {
        let is_splitting = self.batches.as_ref().is_some_and(Batches::is_splitting);
        if self.waiting.is_empty() && !is_splitting { self.qdisc.next(now) } else { now }
    }

    fn backlog(&self) -> (u64, u64) {
        let (bytes, packets) = self.qdisc.backlog();
        let (more_bytes, more) = self.batches.as_ref().map_or((0, 0), Batches::beyond);
        (bytes + more_bytes + self.waiting.bytes(), packets + more + self.waiting.len())
    }

    fn has_room(&self, skb: &Skb) -> bool {
        self.qdisc.has_room(skb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::testing::skb;
    use crate::qdisc::{Fifo, Prio};
    use model::Limit;
    use model::queue;

    /// Queues five packets of the second band, then an urgent one, before the first is sent.
    /// Returns how many precede the urgent one.
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

    /// Packets in the device precede an urgent one: none without a ring, all of them with one, and
    /// hardly any with a limit of bytes.
    #[test]
    fn a_ring_is_ahead_of_what_is_urgent() {
        assert_eq!(
            [(0, false), (3, false), (100, false), (100, true)].map(|(n, b)| before_the_urgent_one(n, b)),
            [0, 3, 5, 1]
        );
    }

    /// A queue with room for two packets counts buffers. It holds two buffers of two segments, but
    /// drops both segments of a third.
    ///
    /// The device takes both segments of a buffer, although the first fills its limit. A device
    /// with one slot takes the second later.
    #[test]
    fn a_buffer_passes_the_discipline_whole() {
        let fifo = || AnyQdisc::Fifo(Fifo::new(Some(Limit::Packets(2)), None));
        let segment = |id, is_followed| Skb { is_followed, ..skb(id, id / 2, false) };
        for (slots, has_limits, held) in [(100, true, 3000), (1, false, 1500), (100, false, 7500)] {
            let mut ring = DeviceRing::new(fifo(), slots, has_limits).with_batches();
            let mut dropped = vec![];
            for id in 0..2 {
                ring.enqueue(Nanos::ZERO, segment(id, id == 0), &mut dropped);
            }
            for id in 2..5 {
                ring.enqueue(Nanos::ZERO, segment(id, id == 2), &mut dropped);
            }
            assert_eq!((dropped.len(), ring.backlog()), (0, (7500, 5)), "{slots} slots");
            assert_eq!(ring.in_device(true).map(|(bytes, _)| bytes), Some(held), "{slots} slots");
            let order: Vec<_> =
                (0..5).map(|ms| ring.dequeue(Nanos::from_millis(ms), &mut dropped).unwrap().id).collect();
            assert_eq!((order, ring.backlog()), (vec![0, 1, 2, 3, 4], (0, 0)), "{slots} slots");
        }
        let (mut none, mut dropped) = (DeviceRing::none(fifo()).with_batches(), vec![]);
        for id in 0..6 {
            none.enqueue(Nanos::ZERO, segment(id, id % 2 == 0), &mut dropped);
        }
        assert_eq!((dropped.iter().map(|skb| skb.id).collect(), none.backlog()), (vec![4, 5], (6000, 4)));
    }
}
