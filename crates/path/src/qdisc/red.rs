//! RED (Floyd and Jacobson, 1993) as in Linux (red.h, sch_red.c). It drops arriving packets at
//! random, more of them the longer the mean queue is. The option `adaptive` follows Floyd, Gummadi
//! and Shenker, 2001.
//!
//! Linux has no `gentle`; this one is Floyd's of 2000. Between `max` and twice `max` the
//! probability rises from `probability` to 1, where without `gentle` all packets from `max` on are
//! dropped. This model leaves out `nodrop`, and blocks of filters.

use super::packets::{Packets, Total};
use super::timer::Timer;
use super::{Qdisc, Skb};
use crate::Rng;
use model::queue::{self, RedArithmetic};
use model::units::{Nanos, Rate};
use rand::RngCore;

/// One percent in units of 2^-32.
const ONE_PERCENT: u32 = 42_949_673;
/// Interval at which `adaptive` examines the mean.
const ADAPTS_EVERY: Nanos = Nanos::from_millis(500);

/// RED's decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// Mark the packet, or drop it if it cannot be marked.
    Mark,
    /// The mean is beyond all bounds.
    Force,
}

/// One queue with RED.
#[derive(Clone, Debug)]
pub struct Red {
    parameters: queue::Red,
    arithmetic: RedArithmetic,
    /// Bounds of the mean, with the mean's fractional bits.
    min: u64,
    max: u64,
    /// Probability at `max`, in units of 2^-32.
    max_p: u32,
    /// Rise of the probability with each byte of the mean, in units of 2^-32.
    slope: u32,
    /// The mean queue in bytes. It has as many fractional bits as its weight is halvings.
    qavg: u64,
    /// Packets since the last drop; -1 while the mean is below `min`.
    qcount: i64,
    /// The number drawn at the last drop; `q_r` is that number in units of `slope`.
    random: u32,
    q_r: u64,
    idle_since: Option<Nanos>,
    packets: Packets,
    total: Total,
    adapts: Option<Timer>,
    rng: Rng,
}

impl Red {
    /// Creates an empty queue. Idle time counts by the `rate` of the transmitter behind it.
    ///
    /// # Panics
    /// Panics if the parameters contradict each other, which the scenario's reader refuses.
    pub fn new(parameters: &queue::Red, rate: Rate, rng: Rng) -> Red {
        let arithmetic = parameters.arithmetic(rate).expect("checked by the scenario's reader");
        let max_p = arithmetic.max_p;
        Red {
            parameters: *parameters,
            min: parameters.min.0 << arithmetic.weight_log,
            max: parameters.max.0 << arithmetic.weight_log,
            max_p,
            slope: (max_p / width(parameters)).max(1),
            arithmetic,
            qavg: 0,
            qcount: -1,
            random: 0,
            q_r: 0,
            idle_since: Some(Nanos::ZERO),
            packets: Packets::default(),
            total: Total::default(),
            adapts: parameters.adaptive.then(|| Timer::new(ADAPTS_EVERY)),
            rng,
        }
    }

    /// Updates the mean: by the queue that a packet finds, or by the time for which it was empty.
    fn average(&mut self, now: Nanos) {
        self.qavg = match self.idle_since.take() {
            Some(since) => self.after_idling(now.since(since)),
            None => self.qavg + self.total.bytes - (self.qavg >> self.arithmetic.weight_log),
        };
    }

    /// Returns the mean after an idle time. The table has the number of halvings; where it has
    /// none, the mean falls along a straight line.
    fn after_idling(&self, idle: Nanos) -> u64 {
        let RedArithmetic { idle_step_log, ref idle_halvings, .. } = self.arithmetic;
        let us = idle.as_micros().min(255 << idle_step_log);
        let halvings = idle_halvings[(us >> idle_step_log) as usize & 255];
        if halvings > 0 {
            return self.qavg >> halvings;
        }
        let (half, gone) = (self.qavg >> 1, self.qavg.saturating_mul(us) >> idle_step_log);
        if gone < half { self.qavg - gone } else { half }
    }

    /// Decides about a packet at the current mean.
    fn verdict(&mut self) -> Verdict {
        if self.qavg < self.min {
            self.qcount = -1;
            return Verdict::Pass;
        }
        let above_max = self.qavg >= self.max;
        if above_max && !(self.parameters.gentle && self.qavg < 2 * self.max) {
            self.qcount = -1;
            return Verdict::Force;
        }
        self.qcount += 1;
        if self.qcount == 0 {
            self.draw();
            return Verdict::Pass;
        }
        let due = if above_max { self.is_due_beyond_max() } else { self.is_due() };
        if !due {
            return Verdict::Pass;
        }
        self.qcount = 0;
        self.draw();
        Verdict::Mark
    }

    /// Decides whether a mark is due, as in Linux. The gaps between marks are uniformly distributed
    /// (the paper's section 8, method 2). Until the next mark, `qcount` times the probability is
    /// compared with one random number.
    fn is_due(&self) -> bool {
        ((self.qavg - self.min) >> self.arithmetic.weight_log) * self.qcount as u64 >= self.q_r
    }

    /// Decides whether a mark is due at a mean between `max` and twice `max`.
    fn is_due_beyond_max(&self) -> bool {
        let rest = (u32::MAX - self.max_p) as u128 * (self.qavg - self.max) as u128 / self.max as u128;
        (self.max_p as u64 + rest as u64).saturating_mul(self.qcount as u64) >= self.random as u64
    }

    fn draw(&mut self) {
        self.random = self.rng.next_u32();
        self.q_r = (self.random / self.slope) as u64;
    }

    /// Adapts the probability so that the mean stays in the middle fifth between `min` and `max`.
    fn adapt(&mut self, now: Nanos) {
        while let Some(timer) = &mut self.adapts
            && timer.is_due(now)
        {
            let rings_at = timer.next();
            timer.again();
            let mean = match self.idle_since {
                Some(since) => self.after_idling(rings_at.since(since)),
                None => self.qavg,
            };
            let mean = mean >> self.arithmetic.weight_log;
            let width = width(&self.parameters);
            let (low, fifth) = (self.parameters.min.0, (width / 5) as u64);
            if mean > low + 3 * fifth && self.max_p <= 50 * ONE_PERCENT {
                self.max_p += ONE_PERCENT.min(self.max_p / 4);
            } else if mean < low + 2 * fifth && self.max_p >= ONE_PERCENT {
                self.max_p = self.max_p / 10 * 9;
            }
            self.slope = ((self.max_p as u64 + width as u64 / 2) / width as u64).max(1) as u32;
        }
    }
}

/// Returns the distance from `min` to `max`.
fn width(parameters: &queue::Red) -> u32 {
    ((parameters.max.0 - parameters.min.0) as u32).max(1)
}

impl Qdisc for Red {
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        self.adapt(now);
        skb.enqueued_at = now;
        self.average(now);
        let queue::Red { ecn, harddrop, limit, .. } = self.parameters;
        let passes = match self.verdict() {
            Verdict::Pass => true,
            Verdict::Mark => ecn && skb.mark_ce(),
            Verdict::Force => ecn && !harddrop && skb.mark_ce(),
        };
        if !passes || self.total.bytes + skb.bytes as u64 > limit.0 {
            dropped.push(skb);
            return;
        }
        self.total.add(&skb);
        self.packets.push(skb);
    }

    /// Takes the next packet. On an empty queue it starts the idle time: a device polls again when
    /// it has sent the last packet.
    fn dequeue(&mut self, now: Nanos, _dropped: &mut Vec<Skb>) -> Option<Skb> {
        self.adapt(now);
        let skb = self.packets.pop();
        match &skb {
            Some(skb) => self.total.remove(skb),
            None => self.idle_since = self.idle_since.or(Some(now)),
        }
        skb
    }

    fn next(&self, now: Nanos) -> Nanos {
        self.total.next(now)
    }

    fn backlog(&self) -> (u64, u64) {
        (self.total.bytes, self.total.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::testing::{drops, marks, skb, standing};
    use model::units::Bytes;

    /// Bounds of 5 and 15 packets, with a weight of 1/512.
    fn parameters() -> queue::Red {
        queue::Red {
            limit: Bytes(75_000),
            min: Bytes(7500),
            max: Bytes(22_500),
            probability: 0.02,
            avpkt: Bytes(1500),
            burst: 7,
            ecn: false,
            harddrop: false,
            adaptive: false,
            gentle: false,
        }
    }

    fn red(parameters: queue::Red, weight_log: u8) -> Red {
        let mut red = Red::new(&parameters, Rate(12_000_000), crate::rng(1, 1));
        red.arithmetic.weight_log = weight_log;
        (red.min, red.max) = (parameters.min.0 << weight_log, parameters.max.0 << weight_log);
        red
    }

    /// Adds packets, whatever RED would decide.
    fn fill(red: &mut Red, packets: u32) {
        for id in 0..packets {
            red.total.add(&skb(id, 1, false));
            red.packets.push(skb(id, 1, false));
        }
        red.idle_since = None;
    }

    /// The mean follows q (1 - (1 - w)^n).
    #[test]
    fn the_mean_follows_a_constant_queue_exponentially() {
        let mut red = red(parameters(), 9);
        fill(&mut red, 20);
        for n in 1..=1000 {
            red.average(Nanos::ZERO);
            let mean = red.qavg as f64 / 512.0 / 1500.0;
            let expected = 20.0 * (1.0 - (511.0f64 / 512.0).powi(n));
            assert!((mean - expected).abs() < 0.01, "{n}: {mean}, not {expected}");
        }
    }

    /// A packet takes a millisecond, and its weight is 1/512, so the mean falls as 0.998^m. Linux's
    /// table has whole halvings, and a straight line before the first.
    #[test]
    fn an_idle_time_is_worth_as_many_packets() {
        let red = red(parameters(), 9);
        let arithmetic = Red::new(&parameters(), Rate(12_000_000), crate::rng(1, 1)).arithmetic;
        let halves_after_ms = -1.0 / (1.0 - 0.5f64.powi(arithmetic.weight_log as i32)).log2();
        let full = Red { qavg: 1 << 30, ..red };
        for halvings in 1..10 {
            let idle = Nanos((1.05e6 * halves_after_ms * f64::from(halvings)) as u64);
            assert_eq!(full.after_idling(idle), 1 << (30 - halvings), "{idle}");
        }
        let slow = Red::new(&queue::Red { burst: 64, ..parameters() }, Rate(12_000_000), crate::rng(1, 1));
        assert_eq!(slow.arithmetic.weight_log, 9);
        let left = Red { qavg: 1 << 30, ..slow }.after_idling(Nanos::from_millis(100)) as f64 / f64::from(1 << 30);
        // By the formula it is 0.818567: the line is steep, and stops at one half.
        assert_eq!(left, 0.5);
    }

    /// Returns the gaps between marks, in packets, while the mean stays at `mean_packets`.
    fn gaps(mean_packets: f64, packets: u32) -> Vec<usize> {
        let mut red = red(parameters(), 9);
        red.qavg = (mean_packets * 1500.0) as u64 * 512;
        let marked: Vec<usize> = (0..packets as usize).filter(|_| red.verdict() == Verdict::Mark).collect();
        marked.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// From 5 packets on the probability rises to 2 % at 15: 0.2 % at 6, 1 % at 10, 1.98 % at 14.9.
    /// Marks are uniformly 1 to n packets apart, where n is the inverse of the probability. The
    /// mean is (n + 1) / 2, and the standard deviation is n / sqrt(12).
    #[test]
    fn marks_are_uniformly_apart() {
        for (mean_packets, probability) in [(6.0, 0.002), (10.0, 0.01), (14.9, 0.0198)] {
            let n: f64 = 1.0 / probability;
            let gaps = gaps(mean_packets, 1_000_000);
            assert!(gaps.iter().all(|gap| (1..=n as usize + 1).contains(gap)), "{:?}", gaps.iter().max());
            let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
            let deviation = n / 12.0f64.sqrt() / (gaps.len() as f64).sqrt();
            assert!((mean - (n + 1.0) / 2.0).abs() < 6.0 * deviation, "{mean_packets}: {mean}");
        }
    }

    /// At 1 % the k-th packet after a mark is marked with a probability of 1 % / (1 - (k - 1) 1 %).
    #[test]
    fn the_probability_grows_with_the_packets_since_the_last_mark() {
        let gaps = gaps(10.0, 4_000_000);
        for (passed, expected) in [(0, 0.01), (10, 1.0 / 90.0), (40, 1.0 / 60.0)] {
            let at_risk = gaps.iter().filter(|gap| **gap > passed).count() as f64;
            let marked = gaps.iter().filter(|gap| **gap == passed + 1).count() as f64;
            let deviation = (expected * (1.0 - expected) / at_risk).sqrt();
            assert!((marked / at_risk - expected).abs() < 5.0 * deviation, "{passed}: {}", marked / at_risk);
        }
    }

    #[test]
    fn the_bounds_of_the_mean_are_the_verdict_s() {
        let verdict = |gentle, qavg: u64| {
            let mut red = red(queue::Red { gentle, ..parameters() }, 9);
            (red.qavg, red.qcount) = (qavg << 9, -1);
            red.verdict()
        };
        assert_eq!(verdict(false, 7499), Verdict::Pass);
        assert_eq!(verdict(false, 22_499), Verdict::Pass);
        assert_eq!(verdict(false, 22_500), Verdict::Force);
        assert_eq!(verdict(true, 22_500), Verdict::Pass);
        assert_eq!(verdict(true, 45_000), Verdict::Force);
    }

    /// At 1.5 max the probability p is 2 % + 98 % / 2 = 51 %. The mean gap is (1 / p + 1) / 2.
    #[test]
    fn gentle_rises_to_one_between_max_and_twice_max() {
        let mut red = red(queue::Red { gentle: true, ..parameters() }, 9);
        red.qavg = 33_750 << 9;
        let marked = (0..100_000).filter(|_| red.verdict() == Verdict::Mark).count() as f64;
        // The gap is 1 with a probability of 51 %, else 2: 67 114 in the mean, with a standard deviation of under 150.
        assert!((marked - 100_000.0 / 1.49).abs() < 900.0, "{marked}");
    }

    #[test]
    fn a_standing_queue_beyond_max_is_dropped_or_marked_unless_it_is_to_be_dropped() {
        let run = |ecn, harddrop, ect| {
            let mut red = red(queue::Red { ecn, harddrop, ..parameters() }, 2);
            standing(&mut red, ect, 12, 1000, 2_000_000)
        };
        assert!(marks(&run(false, false, true)).is_empty());
        let marked = run(true, false, true);
        assert!(marks(&marked).len() > 20 && drops(&marked).is_empty());
        assert!(!drops(&run(true, false, false)).is_empty());
        let mut forced = red(queue::Red { ecn: true, harddrop: true, ..parameters() }, 2);
        forced.qavg = 30_000 << 2;
        forced.idle_since = None;
        let mut dropped = vec![];
        forced.enqueue(Nanos::ZERO, skb(0, 1, true), &mut dropped);
        assert_eq!(dropped.len(), 1);
    }

    /// Each half second the probability rises by a quarter, at most by a percent, or falls by a
    /// tenth.
    #[test]
    fn adaptive_follows_the_mean() {
        let mut red = red(queue::Red { adaptive: true, ..parameters() }, 9);
        red.idle_since = None;
        red.qavg = 20_000 << 9;
        let start = red.max_p;
        red.adapt(Nanos::from_millis(511));
        assert_eq!(red.max_p, start);
        red.adapt(Nanos::from_millis(512));
        assert_eq!(red.max_p, start + start / 4);
        red.adapt(Nanos::from_secs(100));
        assert!((50 * ONE_PERCENT..=51 * ONE_PERCENT).contains(&red.max_p));
        red.qavg = 10_000 << 9;
        red.adapt(Nanos::from_millis(100_352));
        assert!((red.max_p as f64 / (50.5 * ONE_PERCENT as f64) / 0.9 - 1.0).abs() < 0.02);
        red.adapt(Nanos::from_secs(200));
        assert!(red.max_p < ONE_PERCENT);
    }

    #[test]
    fn a_full_queue_drops_whatever_the_mean_is() {
        let mut red = red(parameters(), 9);
        let mut dropped = vec![];
        (0..60).for_each(|id| red.enqueue(Nanos::ZERO, skb(id, 1, false), &mut dropped));
        assert_eq!((red.backlog(), dropped.len()), ((75_000, 50), 10));
    }
}
