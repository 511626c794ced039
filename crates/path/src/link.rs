//! One direction of a link: queue, transmitter, wire.
//!
//! With a first-in-first-out queue a packet's whole future is known when it arrives. So a link needs no event for the end of a
//! transmission: it keeps the packets in the order of their arrival at the far end, and its head is its only event.

use crate::queue::{Admission, Droptail};
use crate::service::Transmitter;
use crate::{Draws, draws};
use measure::{Histogram, LinkSample};
use rand::RngCore;
use scenario::model::{self, Limit, Scenario};
use scenario::records;
use scenario::units::Nanos;
use std::collections::VecDeque;

/// Keep the draws of the two directions apart.
const FORWARD_DRAWS: u64 = 1;
const REVERSE_DRAWS: u64 = 2;

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

#[derive(Clone, Copy, Debug)]
struct Passage<P> {
    /// When its transmission starts: until then it waits in the queue.
    start: Nanos,
    /// When it is at the far end.
    arrival: Nanos,
    packet: P,
    lost: bool,
}

/// Queue, transmitter and wire, with what they counted.
pub struct Link<P> {
    name: String,
    queue: Droptail,
    transmitter: Transmitter,
    delay: Nanos,
    /// A wire loses a packet when a 64-bit draw falls below this.
    loss_below: u64,
    draws: Draws,
    passages: VecDeque<Passage<P>>,
    /// How many of the `passages`, from the front, have left the queue.
    departed: usize,
    usage: Usage,
}

/// What a link counted: totals, and statistics of its measuring interval.
#[derive(Clone, Debug)]
pub struct Usage {
    from: Nanos,
    to: Nanos,
    limit: Option<Limit>,
    /// Packets that found the queue full, in the interval.
    pub drops: u64,
    /// Packets that the wire lost, in the interval.
    pub wire_losses: u64,
    /// Packets marked, in the interval.
    pub marks: u64,
    /// Drops since the start of the run.
    pub total_drops: u64,
    /// Packets offered since the start of the run.
    pub total_offered: u64,
    /// Packets taken out at the far end since the start of the run.
    pub total_arrived: u64,
    /// Packets lost on the wire since the start of the run.
    pub total_wire_losses: u64,
    /// Bytes transmitted since the start of the run.
    pub total_bytes: u64,
    /// From arrival in the queue to the start of transmission, of packets that arrived in the interval.
    pub queue_delay: Histogram,
    byte_ns: u128,
    packet_ns: u128,
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
    pub fn new(link: &model::Link, seed: u64, purpose: u64, from: Nanos, to: Nanos) -> Link<P> {
        let model::Queue::Droptail { limit, .. } = link.queue;
        Link {
            name: link.name.clone(),
            queue: Droptail::new(&link.queue),
            transmitter: Transmitter::new(&link.service, from, to),
            delay: link.delay,
            loss_below: (link.loss * 2f64.powi(64)) as u64,
            draws: draws(seed, purpose),
            passages: VecDeque::new(),
            departed: 0,
            usage: Usage::new(from, to, limit),
        }
    }

    /// Hands a packet over at `now`, which never decreases from call to call.
    #[inline]
    pub fn offer(&mut self, now: Nanos, mut packet: P) -> Fate {
        self.advance(now);
        let bytes = packet.bytes();
        let measured = now >= self.usage.from;
        self.usage.total_offered += 1;
        match self.queue.admit(bytes, packet.ecn_capable()) {
            Admission::Drop => {
                self.usage.total_drops += 1;
                self.usage.drops += measured as u64;
                return Fate::Dropped;
            }
            Admission::JoinMarked => {
                packet.mark_ce();
                self.usage.marks += measured as u64;
            }
            Admission::Join => {}
        }
        self.queue.enter(bytes);
        let slot = self.transmitter.serve(now, bytes);
        self.usage.account(now, slot.start, bytes);
        let lost = self.loss_below != 0 && self.draws.next_u64() < self.loss_below;
        let arrival = slot.end + self.delay;
        self.passages.push_back(Passage { start: slot.start, arrival, packet, lost });
        if !lost {
            return Fate::Arrives(arrival);
        }
        self.usage.total_wire_losses += 1;
        self.usage.wire_losses += measured as u64;
        Fate::LostOnTheWire
    }

    /// When the next packet arrives at the far end or is lost; `Nanos::NEVER` when the link is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.passages.front().map_or(Nanos::NEVER, |p| p.arrival)
    }

    /// Takes the packet that `next` announced; none if the wire lost it.
    #[inline]
    pub fn take(&mut self) -> Option<P> {
        let passage = self.passages.pop_front()?;
        match self.departed.checked_sub(1) {
            Some(n) => self.departed = n,
            None => self.queue.leave(passage.packet.bytes()),
        }
        if passage.lost {
            return None;
        }
        self.usage.total_arrived += 1;
        Some(passage.packet)
    }

    /// Lets the packets leave the queue whose transmission has started by `now`.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        while let Some(p) = self.passages.get(self.departed) {
            if p.start > now {
                break;
            }
            self.queue.leave(p.packet.bytes());
            self.departed += 1;
        }
    }

    /// Bytes and packets that wait, as of the last `advance` or `offer`.
    pub fn waiting(&self) -> (u64, u64) {
        (self.queue.bytes(), self.queue.packets())
    }

    /// Packets between the two ends, those that the wire will lose included.
    pub fn inside(&self) -> usize {
        self.passages.len()
    }

    /// Packets inside that the wire will lose.
    pub fn doomed(&self) -> usize {
        self.passages.iter().filter(|p| p.lost).count()
    }

    /// What it counted.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Share of the capacity of the measuring interval that was used, in percent.
    pub fn utilisation_percent(&self) -> f64 {
        self.transmitter.utilisation_percent()
    }

    /// This instant for the series, as link number `link`.
    pub fn sample(&mut self, now: Nanos, link: u32) -> LinkSample {
        self.advance(now);
        LinkSample {
            link,
            waiting: self.waiting(),
            total_drops: self.usage.total_drops,
            total_sent: self.usage.total_bytes - self.queue.bytes(),
        }
    }

    /// Its record.
    pub fn record(&self) -> records::Link {
        let usage = &self.usage;
        let delay = &usage.queue_delay;
        records::Link {
            link: self.name.clone(),
            drops: usage.drops,
            wire_losses: usage.wire_losses,
            marks: usage.marks,
            utilisation_percent: self.utilisation_percent(),
            queue_percent_mean: usage.queue_percent_mean(),
            queue_bytes_mean: usage.queue_bytes_mean(),
            queue_delay: records::QueueDelayStats {
                queue_delay_ms_mean: delay.mean_ms(),
                queue_delay_ms_p50: delay.quantile_ms(0.5),
                queue_delay_ms_p95: delay.quantile_ms(0.95),
                queue_delay_ms_p99: delay.quantile_ms(0.99),
                queue_delay_ms_max: delay.max_ms(),
            },
        }
    }
}

impl Usage {
    fn new(from: Nanos, to: Nanos, limit: Option<Limit>) -> Usage {
        Usage {
            from,
            to,
            limit,
            drops: 0,
            wire_losses: 0,
            marks: 0,
            total_drops: 0,
            total_offered: 0,
            total_arrived: 0,
            total_wire_losses: 0,
            total_bytes: 0,
            queue_delay: Histogram::default(),
            byte_ns: 0,
            packet_ns: 0,
        }
    }

    /// The part of `[start, end)` inside the measuring interval.
    #[inline]
    fn clip(&self, start: Nanos, end: Nanos) -> u64 {
        end.min(self.to).0.saturating_sub(start.max(self.from).0)
    }

    #[inline]
    fn account(&mut self, arrival: Nanos, start: Nanos, bytes: u32) {
        self.total_bytes += bytes as u64;
        if arrival >= self.from {
            self.queue_delay.record(start - arrival);
        }
        if start > arrival {
            let waited = self.clip(arrival, start) as u128;
            self.byte_ns += waited * bytes as u128;
            self.packet_ns += waited;
        }
    }

    fn interval_ns(&self) -> f64 {
        (self.to - self.from).0 as f64
    }

    /// Time average of the bytes waiting, over the measuring interval.
    pub fn queue_bytes_mean(&self) -> f64 {
        self.byte_ns as f64 / self.interval_ns()
    }

    /// Time average of the queue over its limit, in percent; none for a queue without one.
    pub fn queue_percent_mean(&self) -> Option<f64> {
        match self.limit? {
            Limit::Bytes(limit) => Some(100.0 * self.queue_bytes_mean() / limit.0 as f64),
            Limit::Packets(limit) => Some(100.0 * self.packet_ns as f64 / self.interval_ns() / limit as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::model::{Queue, Service};
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
            loss,
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
