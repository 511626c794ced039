//! One direction of a link: queue, transmitter, wire.
//!
//! With a first-in-first-out queue a packet's whole future is known when it arrives. So a link needs no event for the end of a
//! transmission: it keeps the packets in the order of their arrival at the far end, and its head is its only event.

use crate::queue::{Admission, Droptail};
use crate::ring::Ring;
use crate::{Line, Usage};
use measure::LinkSample;
use scenario::model::{self, Scenario};
use scenario::records;
use scenario::units::Nanos;

/// Keep the draws of the two directions apart.
pub const FORWARD_DRAWS: u64 = 1;
/// Those of the way back.
pub const REVERSE_DRAWS: u64 = 2;

/// What a link has to know of what it carries.
pub trait Packet: Copy {
    /// IP length.
    fn bytes(&self) -> u32;
    /// May carry a congestion mark.
    fn ecn_capable(&self) -> bool;
    /// Sets the congestion mark.
    fn mark_ce(&mut self);
}

/// What becomes of a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It will arrive at the far end at this time.
    Arrives(Nanos),
    /// It will be transmitted, but the wire loses it.
    LostOnTheWire,
    /// It found the queue full.
    Dropped,
}

/// Queue, transmitter and wire, with what they counted.
pub struct Link<P> {
    queue: Droptail,
    line: Line<P>,
    /// Those of the line's packets, its last, that may still wait in the queue: until when, and their size.
    waiting: Ring<(Nanos, u32)>,
}

impl<P: Packet> Link<P> {
    /// The bottleneck of a scenario, from the senders to the receivers.
    pub fn forward(scenario: &Scenario) -> Link<P> {
        Link::new(&scenario.bottleneck, scenario.seed, FORWARD_DRAWS, scenario.warmup, scenario.duration)
    }

    /// The way back.
    pub fn reverse(scenario: &Scenario) -> Link<P> {
        Link::new(&scenario.reverse, scenario.seed, REVERSE_DRAWS, scenario.warmup, scenario.duration)
    }

    /// A link that measures from `from` to `to`. `purpose` keeps its draws apart from others of the same seed.
    ///
    /// # Panics
    /// If its queue is one of the kernel's, which whoever runs the scenario has to refuse.
    pub fn new(link: &model::Link, seed: u64, purpose: u64, from: Nanos, to: Nanos) -> Link<P> {
        Link {
            queue: Droptail::new(&link.queue),
            line: Line::new(link, seed, purpose, from, to),
            waiting: Ring::default(),
        }
    }

    /// Hands a packet over at `now`, which never decreases from call to call.
    #[inline]
    pub fn offer(&mut self, now: Nanos, mut packet: P) -> Fate {
        self.advance(now);
        let bytes = packet.bytes();
        let usage = &mut self.line.usage;
        usage.offered();
        match self.queue.admit(bytes, packet.ecn_capable()) {
            Admission::Drop => {
                usage.dropped(now);
                return Fate::Dropped;
            }
            Admission::JoinMarked => {
                packet.mark_ce();
                usage.marked(now);
            }
            Admission::Join => {}
        }
        let (start, fate) = self.line.send_telling(now, now, packet);
        if start > now {
            self.queue.enter(bytes);
            self.waiting.push((start, bytes));
        }
        fate
    }

    /// When the next packet arrives at the far end or is lost; `Nanos::NEVER` when the link is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.line.next()
    }

    /// Takes the packet that `next` announced; none if the wire lost it.
    #[inline]
    pub fn take(&mut self) -> Option<P> {
        let packet = self.line.take();
        // Nothing was offered since its transmission started.
        if self.waiting.len() > self.line.inside() {
            self.let_one_leave();
        }
        packet
    }

    /// Lets the packets leave the queue whose transmission has started by `now`.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        while self.waiting.front().is_some_and(|(start, _)| *start <= now) {
            self.let_one_leave();
        }
    }

    #[inline]
    fn let_one_leave(&mut self) {
        if let Some((_, bytes)) = self.waiting.pop() {
            self.queue.leave(bytes);
        }
    }

    /// Bytes and packets that wait, as of the last `advance` or `offer`.
    pub fn waiting(&self) -> (u64, u64) {
        (self.queue.bytes(), self.queue.packets())
    }

    /// Packets between the two ends, those that the wire will lose included.
    pub fn inside(&self) -> usize {
        self.line.inside()
    }

    /// Packets inside that the wire will lose.
    pub fn doomed(&self) -> usize {
        self.line.doomed()
    }

    /// What it counted.
    pub fn usage(&self) -> &Usage {
        &self.line.usage
    }

    /// Share of the capacity of the measuring interval that was used, in percent.
    pub fn utilisation_percent(&self) -> f64 {
        self.line.utilisation_percent()
    }

    /// This instant for the series, as link number `link`.
    pub fn sample(&mut self, now: Nanos, link: u32) -> LinkSample {
        self.advance(now);
        let usage = self.usage();
        LinkSample {
            link,
            waiting: self.waiting(),
            total_drops: usage.total_drops,
            total_sent: usage.total_bytes - self.queue.bytes(),
        }
    }

    /// Its record.
    pub fn record(&self) -> records::Link {
        self.line.record()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::model::{Limit, Loss, Queue, Service};
    use scenario::units::{Bytes, Rate};

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Parcel {
        id: u32,
        bytes: u32,
        marked: bool,
    }

    impl Packet for Parcel {
        fn bytes(&self) -> u32 {
            self.bytes
        }
        fn ecn_capable(&self) -> bool {
            true
        }
        fn mark_ce(&mut self) {
            self.marked = true;
        }
    }

    fn parcel(id: u32) -> Parcel {
        Parcel { id, bytes: 1500, marked: false }
    }

    fn link(limit: Option<Limit>, ecn_threshold: Option<Limit>, loss: f64) -> Link<Parcel> {
        let model = model::Link {
            name: "bottleneck".into(),
            service: Service::Rate(Rate(2_000_000)),
            delay: Nanos::from_millis(10),
            queue: Queue::Droptail { limit, ecn_threshold },
            loss: Loss::Uniform(loss),
        };
        Link::new(&model, 1, 0, Nanos::ZERO, Nanos::from_secs(1))
    }

    #[test]
    fn a_full_queue_of_packets_drops_and_delays_by_its_length() {
        let mut l = link(Some(Limit::Packets(2)), None, 0.0);
        // The first is in transmission at once; two wait; the fourth finds the queue full.
        let fates: Vec<_> = (0..4).map(|id| l.offer(Nanos::ZERO, parcel(id))).collect();
        let at = |ms| Fate::Arrives(Nanos::from_millis(ms));
        assert_eq!(fates, [at(16), at(22), at(28), Fate::Dropped]);
        assert_eq!(l.waiting(), (3000, 2));
        assert_eq!(l.usage().queue_delay.max_ms(), Some(12.0));
        // At 6 ms the second starts its transmission: room for one.
        assert_eq!(l.offer(Nanos::from_millis(6), parcel(4)), at(34));
    }

    #[test]
    fn a_queue_of_bytes_counts_whole_packets_only() {
        let mut l = link(Some(Limit::Bytes(Bytes(2999))), None, 0.0);
        assert!(matches!(l.offer(Nanos::ZERO, parcel(0)), Fate::Arrives(_)));
        assert!(matches!(l.offer(Nanos::ZERO, parcel(1)), Fate::Arrives(_)));
        assert_eq!(l.offer(Nanos::ZERO, parcel(2)), Fate::Dropped);
    }

    #[test]
    fn arrivals_are_in_order_and_complete() {
        let mut l = link(None, None, 0.0);
        for id in 0..5 {
            l.offer(Nanos::from_millis(id as u64), parcel(id));
        }
        let mut got = vec![];
        while l.next() != Nanos::NEVER {
            got.push(l.take().unwrap().id);
        }
        assert_eq!(got, [0, 1, 2, 3, 4]);
        assert_eq!(l.waiting(), (0, 0));
    }

    #[test]
    fn the_threshold_marks_what_arrives_above_it() {
        let mut l = link(None, Some(Limit::Packets(1)), 0.0);
        for id in 0..3 {
            l.offer(Nanos::ZERO, parcel(id));
        }
        let marks: Vec<_> = (0..3).map(|_| l.take().unwrap().marked).collect();
        assert_eq!(marks, [false, false, true]);
    }

    #[test]
    fn the_wire_loses_its_share() {
        let mut l = link(None, None, 0.25);
        let n = 20_000;
        let lost = (0..n).filter(|id| l.offer(Nanos::ZERO, parcel(*id)) == Fate::LostOnTheWire).count() as f64;
        // Four standard deviations of a binomial: sqrt(n p q) = 61.
        assert!((lost - 5000.0).abs() < 245.0, "{lost} of {n} lost");
    }

    #[test]
    fn averages_are_over_the_measuring_interval() {
        let mut l = link(Some(Limit::Bytes(Bytes(30_000))), None, 0.0);
        for id in 0..21 {
            l.offer(Nanos::ZERO, parcel(id));
        }
        // Packet i waits i*6 ms: 1500 B * 6 ms * (1 + ... + 20) over one second.
        assert!((l.usage().queue_bytes_mean() - 1500.0 * 0.006 * 210.0).abs() < 1e-9);
        assert!((l.utilisation_percent() - 12.6).abs() < 1e-9);
    }
}
