//! A drop-tail port without an event for the end of a transmission.
//!
//! In a first-in-first-out queue the whole future of a packet is known when it arrives. The port
//! therefore stores its packets in the order of their arrival at the far end, and its only event is
//! the first of them. Nearly all runs use this port; a discipline that decides at departure needs a
//! [`QueuedPort`](crate::queued::QueuedPort).

use crate::channel::{Propagation, Transit};
use crate::droptail::{Admission, Droptail};
use crate::output::{DropReason, LinkOutput};
use crate::packet::{Packet, PacketId, Pool};
use crate::qdisc::Ecn;
use crate::ring::Ring;
use measure::LinkSample;
use model::units::Nanos;
use model::{self, Limit};

/// The fate of a packet that is offered to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The port took the packet; its next event stays the same.
    Behind,
    /// The port took the packet, and its next event changed.
    First,
    /// The packet will not arrive.
    Gone(DropReason),
}

/// Drop-tail queue, transmitter and channel, with their statistics.
pub struct FifoPort {
    queue: Droptail,
    /// Transmitter, channel and statistics.
    pub output: LinkOutput,
    /// Packets that waited at the last `advance`: when their transmission starts, and their bytes.
    waiting: Ring<(Nanos, u32)>,
}

impl FifoPort {
    /// Creates a port that measures from `from` to `to`. `purpose` selects the random stream of its
    /// draws.
    pub fn new(
        link: &model::Link,
        limits: (Option<Limit>, Option<Limit>),
        seed: u64,
        purpose: u64,
        from: Nanos,
        to: Nanos,
    ) -> FifoPort {
        FifoPort {
            queue: Droptail::new(limits.0, limits.1),
            output: LinkOutput::new(link, seed, purpose, from, to),
            waiting: Ring::default(),
        }
    }

    /// Offers a packet of `bytes` at `now`, which never decreases between calls.
    #[inline(always)]
    pub fn offer<P: Packet>(&mut self, now: Nanos, bytes: u32, id: PacketId, packets: &mut Pool<P>) -> Offered {
        self.advance(now);
        if !self.queue.is_below_thresholds(bytes) {
            return self.offer_above_threshold(now, bytes, id, packets);
        }
        self.join(now, bytes, id, packets)
    }

    /// Offers a packet that may be dropped or marked; the slow part of `offer`.
    #[inline(never)]
    fn offer_above_threshold<P: Packet>(
        &mut self,
        now: Nanos,
        bytes: u32,
        id: PacketId,
        packets: &mut Pool<P>,
    ) -> Offered {
        let stats = &mut self.output.stats;
        let admission = self.queue.admit(bytes, || packets.get(id).ecn() != Ecn::NotEct);
        match admission {
            Admission::Drop => {
                stats.dropped(now);
                return Offered::Gone(DropReason::Queue);
            }
            Admission::JoinMarked => stats.marked(now),
            Admission::Join => {}
        }
        let offered = self.join(now, bytes, id, packets);
        if admission == Admission::JoinMarked && !matches!(offered, Offered::Gone(_)) {
            packets.get_mut(id).mark_ce();
        }
        offered
    }

    /// Transmits a packet behind those that wait.
    #[inline(always)]
    fn join<P: Packet>(&mut self, now: Nanos, bytes: u32, id: PacketId, packets: &mut Pool<P>) -> Offered {
        let slot = self.output.transmit(now, now, bytes);
        if slot.start > now {
            self.queue.enter(bytes);
            self.waiting.push((slot.start, bytes));
        }
        match self.output.propagate(now, slot.end, id, packets) {
            Propagation::Behind => Offered::Behind,
            Propagation::First | Propagation::Duplicated => Offered::First,
            Propagation::Lost => Offered::Gone(DropReason::Channel),
        }
    }

    /// Returns when the next packet arrives or is lost at the far end; `Nanos::NEVER` if the port
    /// is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.output.next()
    }

    /// Takes the packet that `next` announced, or [`Transit::Nothing`] in its place if the channel lost it.
    #[inline(always)]
    pub fn take(&mut self) -> Transit {
        self.output.take()
    }

    /// Removes from the queue the packets whose transmission has started by `now`.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        while let Some(&(start, bytes)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop();
            self.queue.leave(bytes);
        }
    }

    /// Returns the bytes and packets that wait, as of the last `advance` or `offer`.
    pub fn backlog(&self) -> (u64, u64) {
        (self.queue.bytes(), self.queue.packets())
    }

    /// Samples the queue at `now` for the time series, as link number `link`.
    pub fn sample(&mut self, now: Nanos, link: u32) -> LinkSample {
        self.advance(now);
        let stats = &self.output.stats;
        LinkSample {
            link,
            waiting: self.backlog(),
            ring: None,
            total_drops: stats.total_drops,
            total_sent: stats.total_bytes - self.queue.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::TestPacket;
    use model::units::{Bytes, Rate};
    use model::{Loss, Queue, Service};

    const DROPPED: Offered = Offered::Gone(DropReason::Queue);

    /// A port, with the pool of its packets.
    struct Bench {
        port: FifoPort,
        packets: Pool<TestPacket>,
    }

    impl Bench {
        fn new(limit: Option<Limit>, ecn_threshold: Option<Limit>, loss: f64) -> Bench {
            let link = model::Link {
                name: "bottleneck".into(),
                service: Service::Own(model::Transmitter::Rate(Rate(2_000_000))),
                delay: Nanos::from_millis(10),
                queue: Queue::Droptail { limit, ecn_threshold },
                loss: Loss::Uniform(loss),
                impairments: Default::default(),
            };
            let port = FifoPort::new(&link, (limit, ecn_threshold), 1, 0, Nanos::ZERO, Nanos::from_secs(1));
            Bench { port, packets: Pool::default() }
        }

        fn offer(&mut self, now: Nanos, number: u32) -> Offered {
            let packet = TestPacket::new(number);
            let id = self.packets.insert(packet);
            self.port.offer(now, packet.bytes, id, &mut self.packets)
        }

        /// Returns when each packet inside arrives, and its number.
        fn drain(&mut self) -> Vec<(Nanos, u32)> {
            let mut arrivals = vec![];
            while self.port.next() != Nanos::NEVER {
                let at = self.port.next();
                if let Transit::Packet(PacketId(number)) = self.port.take() {
                    arrivals.push((at, number));
                }
            }
            arrivals
        }
    }

    #[test]
    fn a_full_queue_of_packets_drops_and_delays_by_its_length() {
        let mut l = Bench::new(Some(Limit::Packets(2)), None, 0.0);
        // The first is in transmission at once; two wait; the fourth finds the queue full.
        let offered: Vec<_> = (0..4).map(|number| l.offer(Nanos::ZERO, number)).collect();
        assert_eq!(offered, [Offered::First, Offered::Behind, Offered::Behind, DROPPED]);
        assert_eq!(l.port.backlog(), (3000, 2));
        assert_eq!(l.port.output.stats.queue_delay.max_ms(), Some(12.0));
        // At 6 ms the second starts its transmission: room for one.
        assert_eq!(l.offer(Nanos::from_millis(6), 4), Offered::Behind);
        let times: Vec<_> = l.drain().iter().map(|(at, _)| at.as_micros() / 1000).collect();
        assert_eq!(times, [16, 22, 28, 34]);
    }

    #[test]
    fn a_queue_of_bytes_counts_whole_packets_only() {
        let mut l = Bench::new(Some(Limit::Bytes(Bytes(2999))), None, 0.0);
        assert_eq!(l.offer(Nanos::ZERO, 0), Offered::First);
        assert_eq!(l.offer(Nanos::ZERO, 1), Offered::Behind);
        assert_eq!(l.offer(Nanos::ZERO, 2), DROPPED);
    }

    #[test]
    fn arrivals_are_in_order_and_complete() {
        let mut l = Bench::new(None, None, 0.0);
        for number in 0..5 {
            l.offer(Nanos::from_millis(number as u64), number);
        }
        let got: Vec<_> = l.drain().iter().map(|(_, number)| *number).collect();
        assert_eq!(got, [0, 1, 2, 3, 4]);
        l.port.advance(Nanos::from_secs(1));
        assert_eq!(l.port.backlog(), (0, 0));
    }

    #[test]
    fn the_threshold_marks_what_arrives_above_it() {
        let mut l = Bench::new(None, Some(Limit::Packets(1)), 0.0);
        for number in 0..3 {
            l.offer(Nanos::ZERO, number);
        }
        let marks: Vec<_> = (0..3).map(|id| l.packets.get(PacketId(id)).ecn == Ecn::Ce).collect();
        assert_eq!(marks, [false, false, true]);
    }

    #[test]
    fn the_limit_holds_above_the_threshold() {
        for limit in [Limit::Packets(3), Limit::Bytes(Bytes(4500))] {
            let mut l = Bench::new(Some(limit), Some(Limit::Packets(1)), 0.0);
            // One is in transmission and three wait. Two of them exceeded the threshold.
            let offered: Vec<_> = (0..5).map(|number| l.offer(Nanos::ZERO, number)).collect();
            assert_eq!(offered[3..], [Offered::Behind, DROPPED]);
            let marks: Vec<_> = (0..4).map(|id| l.packets.get(PacketId(id)).ecn == Ecn::Ce).collect();
            assert_eq!((marks, l.port.backlog()), (vec![false, false, true, true], (4500, 3)));
            // At 12 ms one still waits, which is the threshold. All are in transmission or out at 24 ms.
            assert_eq!(l.offer(Nanos::from_millis(12), 5), Offered::Behind);
            assert_eq!(l.packets.get(PacketId(5)).ecn, Ecn::Ce);
            l.port.advance(Nanos::from_millis(24));
            assert_eq!(l.port.backlog(), (0, 0));
        }
    }

    #[test]
    fn the_channel_loses_its_share() {
        let mut l = Bench::new(None, None, 0.25);
        let n = 20_000;
        let lost =
            (0..n).filter(|number| l.offer(Nanos::ZERO, *number) == Offered::Gone(DropReason::Channel)).count() as f64;
        // Four standard deviations of a binomial: sqrt(n p q) = 61.
        assert!((lost - 5000.0).abs() < 245.0, "{lost} of {n} lost");
    }

    #[test]
    fn averages_are_over_the_measuring_interval() {
        let mut l = Bench::new(Some(Limit::Bytes(Bytes(30_000))), None, 0.0);
        for number in 0..21 {
            l.offer(Nanos::ZERO, number);
        }
        // Packet i waits i*6 ms: 1500 B * 6 ms * (1 + ... + 20) over one second.
        assert!((l.port.output.stats.queue_bytes_mean() - 1500.0 * 0.006 * 210.0).abs() < 1e-9);
        assert!((l.port.output.utilisation_percent() - 12.6).abs() < 1e-9);
    }
}
