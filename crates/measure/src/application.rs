//! The delays that applications, and their users, experience.

use crate::e_model::{self, Codec};
use crate::{Histogram, Interval};
use model::families::{DelayStats, In, PageStats, ResponseStats};
use model::records::AppStats;
use model::units::Nanos;
use std::collections::VecDeque;

/// Measures datagrams from one end to the other; those sent in the measuring interval count.
#[derive(Clone, Debug)]
pub struct DatagramMeter {
    interval: Interval,
    /// Sending times of datagrams that may still be on their way: all later than those that have
    /// arrived.
    under_way: VecDeque<Nanos>,
    /// Datagrams that have arrived or were overtaken.
    sent: u64,
    received: u64,
    delay: Histogram,
}

impl DatagramMeter {
    /// Creates a meter for datagrams that are sent from `from` to `to`.
    pub fn new(from: Nanos, to: Nanos) -> DatagramMeter {
        let (interval, under_way) = (Interval { from, to }, VecDeque::new());
        DatagramMeter { interval, under_way, sent: 0, received: 0, delay: Histogram::default() }
    }

    fn counts(&self, sent_at: Nanos) -> bool {
        sent_at >= self.interval.from && sent_at <= self.interval.to
    }

    /// Counts a datagram that is sent at `now`.
    pub fn sent(&mut self, now: Nanos) {
        if self.counts(now) {
            self.under_way.push_back(now);
        }
    }

    /// Counts a datagram that was sent at `sent_at` and has taken `delay`.
    pub fn arrived(&mut self, sent_at: Nanos, delay: Nanos) {
        while self.under_way.front().is_some_and(|at| *at <= sent_at) {
            self.under_way.pop_front();
            self.sent += 1;
        }
        if self.counts(sent_at) {
            self.received += 1;
            self.delay.record(delay);
        }
    }

    /// Returns the statistics of the delays.
    pub fn stats(&self) -> AppStats {
        AppStats { delay: DelayStats::of(&self.delay), ..AppStats::default() }
    }

    /// Returns the rating factor of a call in G.711 with these delays and losses; none if no
    /// datagram was sent.
    ///
    /// Each packet has the sound of `frame`, and leaves when that is over. A packet that arrives
    /// after its playout delay is lost to the call. The playout delay is the one with the best
    /// rating: no buffer with a constant delay could do better.
    pub fn call_rating(&self, frame: Nanos) -> Option<f64> {
        if self.sent == 0 {
            let nothing_arrives = !self.under_way.is_empty();
            return nothing_arrives.then_some(0.0);
        }
        let rated = |percent: u32| {
            let in_time = f64::from(percent) / 100.0;
            let played = self.delay.quantile_ms(in_time)?;
            let delay = frame + Nanos((played * 1e6) as u64);
            let loss = 1.0 - in_time * self.received as f64 / self.sent as f64;
            Some(e_model::rating(Codec::G711, delay, loss))
        };
        Some((1..=100).filter_map(rated).max_by(f64::total_cmp).unwrap_or(0.0).max(0.0))
    }
}

/// Measures how long something takes; it counts if it ends in the measuring interval.
#[derive(Clone, Debug)]
pub struct DelayMeter {
    interval: Interval,
    delay: Histogram,
    /// Number of measurements that have begun and not ended in time.
    unfinished: u64,
}

impl DelayMeter {
    /// Creates a meter for measurements that end in `interval`.
    pub fn new(interval: Interval) -> DelayMeter {
        DelayMeter { interval, delay: Histogram::default(), unfinished: 0 }
    }

    /// Reports whether a time is in the measuring interval.
    pub fn counts(&self, now: Nanos) -> bool {
        now >= self.interval.from && now <= self.interval.to
    }

    /// Begins a measurement.
    pub fn begins(&mut self) {
        self.unfinished += 1;
    }

    /// Ends the measurement that began at `began`.
    pub fn record(&mut self, began: Nanos, now: Nanos) {
        self.unfinished -= u64::from(now <= self.interval.to);
        if self.counts(now) {
            self.delay.record(now - began);
        }
    }

    /// Returns how many measurements had begun and not ended at the end of the interval; no other
    /// statistic includes them.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Fills in the statistics of responses.
    pub fn fill_responses(&self, stats: &mut AppStats) {
        stats.response = ResponseStats::of(&self.delay);
    }

    /// Fills in the statistics of pages.
    pub fn fill_pages(&self, stats: &mut AppStats) {
        stats.page = PageStats::of(&In(&self.delay, |ms| ms / 1e3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measurement counts if it ends in the interval, even if it began before. Others stay
    /// unfinished.
    #[test]
    fn what_has_not_ended_in_time_is_counted() {
        let s = Nanos::from_secs;
        let mut meter = DelayMeter::new(Interval { from: s(1), to: s(10) });
        (0..4).for_each(|_| meter.begins());
        meter.record(s(0), s(1));
        meter.record(s(8), s(10));
        meter.record(s(9), s(11));
        let mut stats = AppStats::default();
        meter.fill_responses(&mut stats);
        assert_eq!((stats.response.response_ms_max, meter.unfinished()), (Some(2000.0), 2));
    }

    fn call(delays_ms: &[u64], lost: u64) -> f64 {
        let mut meter = DatagramMeter::new(Nanos::ZERO, Nanos::NEVER);
        (0..lost).for_each(|_| meter.sent(Nanos::ZERO));
        for (delay, n) in delays_ms.iter().zip(1..) {
            let now = Nanos::from_secs(n);
            meter.sent(now);
            meter.arrived(now, Nanos::from_millis(*delay));
        }
        meter.sent(Nanos::from_secs(1000)); // It is on its way.
        meter.call_rating(Nanos::from_millis(20)).expect("it was sent")
    }

    /// A steady delay of 50 ms rates as 70 ms, which include 20 ms for the packet. If one packet in
    /// a hundred takes a second, the call rates better without it. If half of them are late, the
    /// call rates better if it waits.
    #[test]
    fn a_call_waits_as_long_as_suits_it() {
        let steady = e_model::rating(Codec::G711, Nanos::from_millis(70), 0.0);
        assert!((call(&[50; 100], 0) - steady).abs() < 0.05);
        let mut one_late = [50; 100];
        one_late[7] = 1000;
        let without_it = e_model::rating(Codec::G711, Nanos::from_millis(70), 0.01);
        assert!((call(&one_late, 0) - without_it).abs() < 0.1, "{} for {without_it}", call(&one_late, 0));
        let half: Vec<_> = (0..100).map(|n| if n % 2 == 0 { 50 } else { 300 }).collect();
        let waits = e_model::rating(Codec::G711, Nanos::from_millis(320), 0.0);
        assert!((call(&half, 0) - waits).abs() < 0.5, "{} for {waits}", call(&half, 0));
        assert!(call(&[50; 90], 10) < steady - 20.0 && call(&[], 5) == 0.0);
    }
}
