//! First in, first out: drop-tail and drop-head queues as a discipline.
//!
//! Scenarios run a drop-tail queue as a port of its own ([`crate::FifoPort`]), which needs no event
//! for a departure. The discipline serves as the reference for that port, and for the cost of other
//! disciplines. A drop-head queue follows the kernel's `pfifo_head_drop`, which has no limit in
//! bytes.

use super::packets::Packets;
use super::{Ecn, Qdisc, Skb};
use crate::droptail::{Admission, Droptail};
use model::Limit;
use model::units::Nanos;

/// A first-in-first-out queue that drops packets above its limit: those that arrive, or the oldest.
/// It marks packets that find at least its threshold waiting (RFC 8257, section 3.1).
#[derive(Clone, Debug)]
pub struct Fifo {
    packets: Packets,
    account: Droptail,
    drops_head: bool,
}

impl Fifo {
    /// Creates an empty queue. Without a limit it never drops, without a threshold it never marks.
    pub fn new(limit: Option<Limit>, ecn_threshold: Option<Limit>) -> Fifo {
        Fifo { packets: Packets::default(), account: Droptail::new(limit, ecn_threshold), drops_head: false }
    }

    /// Creates an empty queue that drops its oldest packets to make room for a new one.
    pub fn dropping_head(limit: Limit) -> Fifo {
        Fifo { drops_head: true, ..Fifo::new(Some(limit), None) }
    }

    fn is_full_for(&self, skb: &Skb) -> bool {
        self.account.admit(skb.bytes, || false) == Admission::Drop
    }

    #[inline]
    fn pop(&mut self) -> Option<Skb> {
        let skb = self.packets.pop()?;
        self.account.leave(skb.bytes);
        Some(skb)
    }
}

impl Qdisc for Fifo {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        skb.enqueued_at = now;
        while self.drops_head
            && self.is_full_for(&skb)
            && let Some(oldest) = self.pop()
        {
            dropped.push(oldest);
        }
        match self.account.admit(skb.bytes, || skb.ecn != Ecn::NotEct) {
            Admission::Drop => return dropped.push(skb),
            Admission::JoinMarked => skb.ecn = Ecn::Ce,
            Admission::Join => {}
        }
        self.account.enter(skb.bytes);
        self.packets.push(skb);
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _dropped: &mut Vec<Skb>) -> Option<Skb> {
        self.pop()
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        self.packets.next(now)
    }

    #[inline]
    fn backlog(&self) -> (u64, u64) {
        (self.account.bytes(), self.account.packets())
    }

    fn has_room(&self, skb: &Skb) -> bool {
        self.drops_head || !self.is_full_for(skb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::testing::skb;
    use crate::qdisc::{AnyQdisc, of};
    use model::Queue;
    use model::units::{Bytes, Rate};

    fn drops_and_marks(queue: &Queue, packets: u32) -> (usize, Vec<Ecn>) {
        let Some(AnyQdisc::Fifo(mut fifo)) = of(queue, Rate(1), 1500, 1, 1) else { panic!("a FIFO") };
        let mut dropped = vec![];
        (0..packets).for_each(|id| fifo.enqueue(Nanos::ZERO, skb(id, 1, true), &mut dropped));
        (dropped.len(), std::iter::from_fn(|| Some(fifo.dequeue(Nanos::ZERO, &mut vec![])?.ecn)).collect())
    }

    #[test]
    fn a_full_queue_drops_and_a_threshold_marks_what_finds_so_much() {
        let bytes = Queue::Droptail { limit: Some(Limit::Bytes(Bytes(4499))), ecn_threshold: None };
        assert_eq!(drops_and_marks(&bytes, 4), (2, vec![Ecn::Ect0; 2]));
        let packets = Queue::Droptail { limit: Some(Limit::Packets(3)), ecn_threshold: Some(Limit::Packets(1)) };
        assert_eq!(drops_and_marks(&packets, 4), (1, vec![Ecn::Ect0, Ecn::Ce, Ecn::Ce]));
        let endless = Queue::Droptail { limit: None, ecn_threshold: None };
        assert_eq!(drops_and_marks(&endless, 2000).0, 0);
    }

    /// The queue of three holds the newest of five. One of 4000 bytes holds two of them, and drops
    /// two more at once for a packet of 3000 bytes.
    #[test]
    fn a_full_queue_drops_its_oldest_packets() {
        let now = Nanos::from_millis(7);
        let held = |fifo: &mut Fifo| std::iter::from_fn(|| Some(fifo.pop()?.id)).collect::<Vec<_>>();
        for (limit, dropped_ids, held_ids) in
            [(Limit::Packets(3), vec![0, 1], vec![2, 3, 4]), (Limit::Bytes(Bytes(4000)), vec![0, 1, 2], vec![3, 4])]
        {
            let (mut fifo, mut dropped) = (Fifo::dropping_head(limit), vec![]);
            (0..5).for_each(|id| fifo.enqueue(Nanos::ZERO, skb(id, 1, true), &mut dropped));
            assert_eq!(dropped.iter().map(|skb| skb.id).collect::<Vec<_>>(), dropped_ids);
            assert_eq!(held(&mut fifo.clone()), held_ids);
            fifo.enqueue(now, Skb { bytes: 3000, ..skb(5, 1, true) }, &mut dropped);
            assert!(fifo.has_room(&skb(6, 1, true)));
            assert_eq!(held(&mut fifo), if limit == Limit::Packets(3) { vec![3, 4, 5] } else { vec![5] });
        }
    }
}
