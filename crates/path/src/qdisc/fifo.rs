//! First in, first out: the drop-tail queue as a discipline. Scenarios run it as a port of its own
//! ([`crate::FifoPort`]), which needs no event for a departure. This form serves as the reference
//! for that port, and for the cost of other disciplines.

use super::packets::Packets;
use super::{Ecn, Qdisc, Skb};
use crate::droptail::{Admission, Droptail};
use model::Limit;
use model::units::Nanos;

/// A first-in-first-out queue that drops packets above its limit. It marks packets that find at
/// least its threshold waiting (RFC 8257, section 3.1).
#[derive(Clone, Debug)]
pub struct Fifo {
    packets: Packets,
    account: Droptail,
}

impl Fifo {
    /// Creates an empty queue. Without a limit it never drops, without a threshold it never marks.
    pub fn new(limit: Option<Limit>, ecn_threshold: Option<Limit>) -> Fifo {
        Fifo { packets: Packets::default(), account: Droptail::new(limit, ecn_threshold) }
    }
}

impl Qdisc for Fifo {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        skb.enqueued_at = now;
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
        let skb = self.packets.pop()?;
        self.account.leave(skb.bytes);
        Some(skb)
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
        self.account.admit(skb.bytes, || false) != Admission::Drop
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
}
