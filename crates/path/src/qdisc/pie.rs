//! PIE (RFC 8033) as in Linux (sch_pie.c). It drops arriving packets at random, with a probability
//! that a timer computes from the queueing delay and its change.
//!
//! Linux departs from the RFC in three ways. The timer fires with the kernel's ticks, so the
//! default of 15 ms becomes 20 ms (`timer.rs`), and it first fires after half a second. The
//! probability is not cut at 1, but at 2^64 in units of 2^-56. A delay of more than 250 ms adds 2
//! %.

use super::packets::{Packets, Total};
use super::timer::Timer;
use super::{Qdisc, Skb};
use crate::Rng;
use model::queue;
use model::units::Nanos;
use rand::RngCore;

/// The number that represents a probability of 1.
pub(super) const MAX_PROB: u64 = u64::MAX >> 8;
/// Binary logarithm of the 64 ns in which the kernel's clock of packet schedulers ticks
/// (`PSCHED_SHIFT`).
const PSCHED_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> PSCHED_SHIFT;
/// Duration, in ticks, for which PIE drops nothing after a quiet time.
const BURST: u64 = ticks(Nanos::from_millis(150));
/// Delay in ticks above which the probability rises by an extra 2 %.
const URGENT: u64 = ticks(Nanos::from_millis(250));
/// Bytes over which the rate of departures is measured; the measurement starts when that much
/// waits.
const MEASURED_BYTES: u64 = 16 * 1024;
/// Fractional bits of the rate of departures.
const RATE_BITS: u32 = 8;

#[inline]
const fn ticks(time: Nanos) -> u64 {
    time.0 >> PSCHED_SHIFT
}

/// The parameters for all queues of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Law {
    target: u64,
    /// Gains: increase of the probability for a second of delay.
    alpha: u64,
    beta: u64,
    mtu: u64,
    bytemode: bool,
    dq_rate_estimator: bool,
}

impl Law {
    /// Converts the parameters for a device with this MTU in bytes.
    pub fn new(parameters: &queue::Pie, mtu: u32) -> Law {
        let gain = |sixteenths: u32| (sixteenths as u64 * (MAX_PROB / TICKS_PER_SECOND)) >> 4;
        Law {
            target: ticks(parameters.target),
            alpha: gain(parameters.alpha),
            beta: gain(parameters.beta),
            mtu: mtu.clamp(1, 1 << 20) as u64,
            bytemode: parameters.bytemode,
            dq_rate_estimator: parameters.dq_rate_estimator,
        }
    }
}

/// PIE's state of one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vars {
    qdelay: u64,
    qdelay_old: u64,
    /// Ticks for which nothing is dropped yet.
    burst_time: u64,
    /// When a packet last left, or when the measurement of the rate began.
    dq_tstamp: Option<u64>,
    /// The probability that an arriving packet is dropped.
    pub prob: u64,
    /// The sum of the probabilities of packets that passed; it spaces drops (RFC 8033, section
    /// 5.4).
    accu_prob: u64,
    /// Bytes that have left since the measurement of the rate began; none if it is not measured.
    dq_count: Option<u64>,
    /// Bytes per tick, with `RATE_BITS` fractional bits.
    avg_dq_rate: u64,
}

impl Default for Vars {
    fn default() -> Vars {
        Vars {
            qdelay: 0,
            qdelay_old: 0,
            burst_time: BURST,
            dq_tstamp: None,
            prob: 0,
            accu_prob: 0,
            dq_count: None,
            avg_dq_rate: 0,
        }
    }
}

impl Vars {
    /// Decides whether to drop or mark a packet that finds `backlog` bytes waiting (RFC 8033,
    /// section 4.1).
    #[inline]
    fn drop_early(&mut self, law: &Law, backlog: u64, bytes: u32, rng: &mut Rng) -> bool {
        let in_time = self.qdelay < law.target / 2 && self.prob < MAX_PROB / 5;
        if self.burst_time > 0 || in_time || backlog < 2 * law.mtu {
            return false;
        }
        let prob = if law.bytemode && bytes as u64 <= law.mtu {
            (bytes as u64).wrapping_mul(self.prob / law.mtu)
        } else {
            self.prob
        };
        self.accu_prob = if prob == 0 { 0 } else { self.accu_prob.wrapping_add(prob) };
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        let drop = (rng.next_u64() >> 8) < prob;
        if drop {
            self.accu_prob = 0;
        }
        drop
    }

    /// Decides whether a packet joins a queue of `backlog` bytes. Up to the probability `marks_to`,
    /// if set, PIE marks a packet instead of dropping it (RFC 8033, section 5.1).
    #[inline]
    pub fn admits(
        &mut self,
        law: &Law,
        is_full: bool,
        backlog: u64,
        marks_to: Option<u64>,
        skb: &mut Skb,
        rng: &mut Rng,
    ) -> bool {
        let early = !is_full && self.drop_early(law, backlog, skb.bytes, rng);
        let may_mark = marks_to.is_some_and(|most| self.prob <= most);
        let drops = is_full || (early && !(may_mark && skb.mark_ce()));
        if drops {
            self.accu_prob = 0;
        }
        !drops
    }

    /// Notes that a packet leaves `backlog` bytes behind.
    #[inline]
    pub fn leaves(&mut self, law: &Law, now: Nanos, skb: &Skb, backlog: u64) {
        let now_ticks = ticks(now);
        let elapsed = if law.dq_rate_estimator {
            self.measure_rate(now_ticks, skb.bytes, backlog)
        } else {
            self.qdelay = if backlog > 0 { now_ticks - ticks(skb.enqueued_at) } else { 0 };
            // In 32 bits, as in the kernel.
            let elapsed = self.dq_tstamp.map_or(0, |last| (now_ticks - last) as u32 as u64);
            self.dq_tstamp = Some(now_ticks);
            elapsed
        };
        self.burst_time = self.burst_time.saturating_sub(elapsed);
    }

    /// Measures the rate of departures. Returns the ticks over which it was measured, or 0 before
    /// the end of a measurement (RFC 8033, section 5.2).
    fn measure_rate(&mut self, now: u64, bytes: u32, backlog: u64) -> u64 {
        if backlog >= MEASURED_BYTES && self.dq_count.is_none() {
            self.dq_tstamp = Some(now);
            self.dq_count = Some(0);
        }
        let Some(count) = &mut self.dq_count else { return 0 };
        *count += bytes as u64;
        let elapsed = now - self.dq_tstamp.unwrap_or(now);
        if *count < MEASURED_BYTES || elapsed == 0 {
            return 0;
        }
        let rate = (*count << RATE_BITS) / elapsed;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => rate,
            mean => mean - (mean >> 3) + (rate >> 3),
        };
        if backlog < MEASURED_BYTES {
            self.dq_count = None;
        } else {
            self.dq_count = Some(0);
            self.dq_tstamp = Some(now);
        }
        elapsed
    }

    /// Computes the probability anew (RFC 8033, section 4.2).
    pub fn calculate_probability(&mut self, law: &Law, backlog: u64) {
        if law.dq_rate_estimator {
            self.qdelay_old = self.qdelay;
            self.qdelay = (backlog << RATE_BITS).checked_div(self.avg_dq_rate).unwrap_or(0);
        }
        let (qdelay, qdelay_old) = (self.qdelay, self.qdelay_old);
        // The delay is 0 although a few packets wait.
        let mut may_decay = qdelay > 0 || backlog == 0;

        let (alpha, beta) = self.scaled(law);
        let off_target = alpha.wrapping_mul(qdelay.wrapping_sub(law.target) as i64);
        let mut delta = off_target.wrapping_add(beta.wrapping_mul(qdelay.wrapping_sub(qdelay_old) as i64));
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if qdelay > URGENT {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }
        let before = self.prob;
        self.prob = before.wrapping_add_signed(delta);
        if delta > 0 && self.prob < before {
            self.prob = MAX_PROB;
            may_decay = false;
        } else if delta <= 0 && self.prob > before {
            self.prob = 0;
        }
        if qdelay == 0 && qdelay_old == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        let quiet = self.qdelay < law.target / 2 && self.qdelay_old < law.target / 2 && self.prob == 0;
        if quiet && (!law.dq_rate_estimator || self.avg_dq_rate > 0) {
            *self = Vars { qdelay, qdelay_old: self.qdelay_old, prob: 0, ..Vars::default() };
        }
        if !law.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
    }

    /// Returns the gains, which shrink with the probability (RFC 8033, section 5.5).
    fn scaled(&self, law: &Law) -> (i64, i64) {
        let (mut alpha, mut beta) = (law.alpha, law.beta);
        if self.prob < MAX_PROB / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while self.prob < MAX_PROB / power && power <= 1_000_000 {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        (alpha as i64, beta as i64)
    }
}

/// One queue with PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    law: Law,
    limit: u64,
    ecn: bool,
    vars: Vars,
    packets: Packets,
    total: Total,
    timer: Timer,
    rng: Rng,
}

impl Pie {
    /// Creates an empty queue before a device with this MTU in bytes.
    pub fn new(parameters: &queue::Pie, mtu: u32, rng: Rng) -> Pie {
        Pie {
            law: Law::new(parameters, mtu),
            limit: parameters.limit as u64,
            ecn: parameters.ecn,
            vars: Vars::default(),
            packets: Packets::default(),
            total: Total::default(),
            timer: Timer::new(parameters.tupdate),
            rng,
        }
    }

    /// Catches up with the timer until now. Only the timer has changed the state since, so if one
    /// firing changes nothing, the later ones do not either.
    #[inline]
    fn update(&mut self, now: Nanos) {
        while self.timer.is_due(now) {
            self.timer.again();
            let before = self.vars.clone();
            self.vars.calculate_probability(&self.law, self.total.bytes);
            if self.vars == before {
                self.timer.skip(now);
            }
        }
    }
}

impl Qdisc for Pie {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        self.update(now);
        skb.enqueued_at = now;
        let is_full = self.total.packets >= self.limit;
        let marks_to = self.ecn.then_some(MAX_PROB / 10);
        if !self.vars.admits(&self.law, is_full, self.total.bytes, marks_to, &mut skb, &mut self.rng) {
            return dropped.push(skb);
        }
        self.total.add(&skb);
        self.packets.push(skb);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _dropped: &mut Vec<Skb>) -> Option<Skb> {
        self.update(now);
        let skb = self.packets.pop()?;
        self.total.remove(&skb);
        self.vars.leaves(&self.law, now, &skb, self.total.bytes);
        Some(skb)
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        self.total.next(now)
    }

    #[inline]
    fn backlog(&self) -> (u64, u64) {
        (self.total.bytes, self.total.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::testing::{drops, marks, skb, standing};

    fn law() -> Law {
        Law::new(&queue::Pie::default(), 1500)
    }

    fn share(prob: u64) -> f64 {
        prob as f64 / MAX_PROB as f64
    }

    /// Creates the state with this probability, and with the present and the previous delay in ms.
    fn vars(prob: f64, qdelay: u64, qdelay_old: u64) -> Vars {
        let prob = (prob * MAX_PROB as f64) as u64;
        let [qdelay, qdelay_old] = [qdelay, qdelay_old].map(|ms| ticks(Nanos::from_millis(ms)));
        Vars { prob, qdelay, qdelay_old, burst_time: 0, ..Vars::default() }
    }

    fn updated(prob: f64, qdelay: u64, qdelay_old: u64, backlog: u64) -> f64 {
        let mut vars = vars(prob, qdelay, qdelay_old);
        vars.calculate_probability(&law(), backlog);
        share(vars.prob)
    }

    /// The change is 0.125 (q - 15 ms) + 1.25 (q - q_old). Its divisor falls from 2048 to 1 as the
    /// probability rises (RFC 8033, section 5.5).
    #[test]
    fn the_probability_moves_by_the_delay_and_its_change() {
        let cases = [
            (0.0, 30, 10, 1.312_255_859e-5),
            (0.0, 30, 30, 9.155_273_4e-7),
            (0.001, 30, 30, 0.001 + 2.343_75e-4),
            (0.05, 30, 30, 0.050_937_5),
            (0.2, 30, 30, 0.201_875),
            // At most 2 % in one step from 10 % on.
            (0.2, 200, 50, 0.22),
            // An extra 2 % beyond 250 ms.
            (0.2, 260, 260, 0.2 + 0.02 + 0.02),
            (0.05, 260, 260, 0.05 + 0.125 * 0.245 / 2.0 + 0.02),
        ];
        for (prob, qdelay, qdelay_old, expected) in cases {
            let prob = updated(prob, qdelay, qdelay_old, 15_000);
            assert!((prob / expected - 1.0).abs() < 1e-5, "{qdelay} {qdelay_old}: {prob}, not {expected}");
        }
    }

    #[test]
    fn it_falls_by_a_64th_while_the_queue_is_empty_but_not_while_it_is_short() {
        let fallen = 0.05 - 0.125 * 0.015 / 2.0;
        assert!((updated(0.05, 0, 0, 0) / (fallen * 63.0 / 64.0) - 1.0).abs() < 1e-6);
        assert!((updated(0.05, 0, 0, 1500) / fallen - 1.0).abs() < 1e-6);
        assert_eq!(updated(0.0, 0, 0, 0), 0.0);
    }

    #[test]
    fn a_delay_of_30_ms_brings_it_up_step_by_step() {
        let mut vars = vars(0.0, 30, 30);
        let mut expected =
            [(1, 9.155e-7), (2, 1.8311e-6), (10, 8.606e-5), (50, 0.006_428_8), (100, 0.042_053_8), (200, 0.171_428_8)]
                .into_iter();
        let mut next = expected.next();
        for update in 1..=200 {
            vars.calculate_probability(&law(), 15_000);
            if let Some((_, prob)) = next.filter(|(at, _)| *at == update) {
                assert!((share(vars.prob) / prob - 1.0).abs() < 1e-3, "{update}: {}", share(vars.prob));
                next = expected.next();
            }
        }
        assert_eq!(next, None);
    }

    /// At 10 %, the first eight packets in a row pass, then 10 % of the others drop, and the 85th
    /// drops at the latest. Drops start at a sum of 0.85, and are certain from 8.5 on (RFC 8033,
    /// section 5.4). The mean gap is 8 + 10 packets.
    #[test]
    fn drops_keep_apart() {
        let (mut vars, mut rng) = (vars(0.1, 30, 30), crate::rng(1, 1));
        let mut is_dropped = |_: &usize| !vars.admits(&law(), false, 15_000, None, &mut skb(0, 1, false), &mut rng);
        let drops: Vec<usize> = (0..180_000).filter(&mut is_dropped).collect();
        let gaps: Vec<usize> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (9..=85).contains(gap)), "{:?} {:?}", gaps.iter().min(), gaps.iter().max());
        // Six standard deviations of the mean of 10 000 geometric gaps: 6 * 9.5 / 100.
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        assert!((mean - 18.0).abs() < 0.57, "{mean}");
    }

    #[test]
    fn small_packets_are_dropped_in_proportion_in_byte_mode() {
        let bytewise = Law::new(&queue::Pie { bytemode: true, ..queue::Pie::default() }, 1500);
        let (mut vars, mut rng) = (vars(0.5, 30, 30), crate::rng(1, 1));
        vars.drop_early(&bytewise, 15_000, 150, &mut rng);
        assert!((share(vars.accu_prob) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_dropped_in_a_burst_or_from_a_short_or_swift_queue() {
        let mut rng = crate::rng(1, 1);
        let sure = |vars: Vars| Vars { accu_prob: MAX_PROB * 9, ..vars };
        let mut drops = |mut vars: Vars, backlog| vars.drop_early(&law(), backlog, 1500, &mut rng);
        assert!(drops(sure(vars(0.1, 30, 30)), 3000));
        assert!(!drops(sure(vars(0.1, 30, 30)), 2999));
        assert!(!drops(sure(vars(0.1, 7, 30)), 3000));
        assert!(drops(sure(vars(0.2, 7, 30)), 3000));
        assert!(!drops(Vars { burst_time: 1, ..sure(vars(0.1, 30, 30)) }, 3000));
    }

    /// Offers 100 packets a millisecond apart. The probability rises from 512 ms on, and the mean
    /// gap of drops follows it.
    #[test]
    fn a_standing_queue_is_dropped_from_the_more_the_longer_it_stands() {
        let mut pie = Pie::new(&queue::Pie::default(), 1500, crate::rng(1, 1));
        let dropped = drops(&standing(&mut pie, false, 100, 1000, 5_000_000));
        assert!(dropped[0] > 512_000);
        let in_second = |n: u64| dropped.iter().filter(|us| **us / 1_000_000 == n).count();
        assert!(in_second(1) < in_second(2) && in_second(2) < in_second(3), "{dropped:?}");
        let mut pie = Pie::new(&queue::Pie { ecn: true, ..queue::Pie::default() }, 1500, crate::rng(1, 1));
        let events = standing(&mut pie, true, 100, 1000, 5_000_000);
        // Marks up to 10 %, drops beyond. A mark appears when the packet leaves, 100 ms after it
        // was made.
        let (marks, drops) = (marks(&events), drops(&events));
        assert!(marks.len() > 5 && marks[5] - 100_000 < drops[0], "{marks:?}, {:?}", drops.first());
    }

    /// Firings that change nothing are left out: the state equals that after all of them.
    #[test]
    fn an_idle_time_is_made_up_for() {
        let mut pie = Pie::new(&queue::Pie::default(), 1500, crate::rng(1, 1));
        standing(&mut pie, false, 100, 1000, 3_000_000);
        while pie.dequeue(Nanos::from_secs(3), &mut vec![]).is_some() {}
        let mut other = pie.clone();
        pie.update(Nanos::from_secs(1000));
        (0..100_000).for_each(|n| other.update(Nanos::from_secs(3) + Nanos::from_millis(10 * n)));
        assert_eq!((pie.vars.clone(), pie.vars.prob, pie.vars.burst_time), (other.vars, 0, BURST));
    }

    /// The queue sends a hundred bytes a microsecond.
    #[test]
    fn the_rate_estimator_tells_the_delay_of_a_steady_queue() {
        let law = Law::new(&queue::Pie { dq_rate_estimator: true, ..queue::Pie::default() }, 1500);
        let mut vars = Vars::default();
        for n in 1..500 {
            vars.leaves(&law, Nanos::from_micros(15 * n), &skb(n as u32, 1, false), 6_000_000);
        }
        vars.calculate_probability(&law, 6_000_000);
        let ms = vars.qdelay as f64 * 64e-6;
        assert!((ms / 60.0 - 1.0).abs() < 0.02, "{ms} ms");
    }
}
