//! First in, first out: `pfifo`, `bfifo`, and our drop-tail queue, which also marks as DCTCP wants it (RFC 8257,
//! section 3.1).

use super::packets::Packets;
use super::{Qdisc, Skb};
use scenario::model::Limit;
use scenario::units::{Bytes, Nanos};

/// What would be more than its limit is dropped; what finds so much waiting as its threshold says is marked.
#[derive(Clone, Debug)]
pub struct Fifo {
    packets: Packets,
    most: Amount,
    marks_from: Amount,
}

#[derive(Clone, Copy, Debug)]
struct Amount {
    bytes: u64,
    packets: u64,
}

impl Amount {
    /// A bound in bytes or packets; what is not bounded is endless.
    fn bound(limit: Option<Limit>) -> Amount {
        let endless = Amount { bytes: u64::MAX, packets: u64::MAX };
        match limit {
            None => endless,
            Some(Limit::Bytes(Bytes(bytes))) => Amount { bytes, ..endless },
            Some(Limit::Packets(packets)) => Amount { packets, ..endless },
        }
    }
}

impl Fifo {
    /// An empty one; without a limit it never drops, without a threshold it never marks.
    pub fn new(limit: Option<Limit>, ecn_threshold: Option<Limit>) -> Fifo {
        Fifo { packets: Packets::default(), most: Amount::bound(limit), marks_from: Amount::bound(ecn_threshold) }
    }
}

impl Qdisc for Fifo {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        let Fifo { packets, most, marks_from } = self;
        skb.enqueued_at = now;
        if packets.bytes() + skb.bytes as u64 > most.bytes || packets.len() >= most.packets {
            dropped.push(skb);
            return;
        }
        if packets.bytes() >= marks_from.bytes || packets.len() >= marks_from.packets {
            skb.mark_ce();
        }
        packets.push(skb);
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _dropped: &mut Vec<Skb>) -> Option<Skb> {
        self.packets.pop()
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        self.packets.next(now)
    }

    #[inline]
    fn backlog(&self) -> (u64, u64) {
        (self.packets.bytes(), self.packets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::testing::skb;
    use crate::qdisc::{AnyQdisc, Ecn, of};
    use scenario::model::Queue;
    use scenario::units::Rate;

    fn fates(queue: &Queue, packets: u32) -> (usize, Vec<Ecn>) {
        let Some(AnyQdisc::Fifo(mut fifo)) = of(queue, Rate(1), 1500, 1, 1) else { panic!("a FIFO") };
        let mut dropped = vec![];
        (0..packets).for_each(|id| fifo.enqueue(Nanos::ZERO, skb(id, 1, true), &mut dropped));
        (dropped.len(), std::iter::from_fn(|| Some(fifo.dequeue(Nanos::ZERO, &mut vec![])?.ecn)).collect())
    }

    #[test]
    fn a_full_queue_drops_and_a_threshold_marks_what_finds_so_much() {
        let bytes = Queue::Droptail { limit: Some(Limit::Bytes(Bytes(4499))), ecn_threshold: None };
        assert_eq!(fates(&bytes, 4), (2, vec![Ecn::Ect0; 2]));
        let packets = Queue::Droptail { limit: Some(Limit::Packets(3)), ecn_threshold: Some(Limit::Packets(1)) };
        assert_eq!(fates(&packets, 4), (1, vec![Ecn::Ect0, Ecn::Ce, Ecn::Ce]));
        let endless = Queue::Droptail { limit: None, ecn_threshold: None };
        assert_eq!(fates(&endless, 2000).0, 0);
    }
}
