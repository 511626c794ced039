//! PIE (RFC 8033) as Linux has it (sch_pie.c): drops arriving packets at random, with a probability that a timer works out from the queueing
//! delay and its change.
//!
//! Where Linux departs from the RFC: the timer rings with the kernel's ticks, so that the default of 15 ms comes to 20 (`timer.rs`), first after half
//! a second; the probability is not cut at 1, but at 2^64 of 2^56; a delay of more than 250 ms adds 2 %.

use super::packets::{Packets, Total};
use super::timer::Timer;
use super::{Qdisc, Skb};
use crate::Draws;
use rand::RngCore;
use scenario::queue;
use scenario::units::Nanos;

/// A probability of 1.
pub(super) const MAX_PROB: u64 = u64::MAX >> 8;
/// The kernel's clock of packet schedulers ticks once in 64 ns (`PSCHED_SHIFT`).
const PSCHED_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> PSCHED_SHIFT;
/// What may come at once after a quiet time.
const BURST: u64 = ticks(Nanos::from_millis(150));
/// A delay of more than this is urgent.
const URGENT: u64 = ticks(Nanos::from_millis(250));
/// Bytes over which the rate of departures is measured, and from which on.
const MEASURED_BYTES: u64 = 16 * 1024;
/// Fractional bits of that rate.
const RATE_BITS: u32 = 8;

#[inline]
const fn ticks(time: Nanos) -> u64 {
    time.0 >> PSCHED_SHIFT
}

/// What governs every queue of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Law {
    target: u64,
    /// Gains: what a second of delay adds to the probability.
    alpha: u64,
    beta: u64,
    mtu: u64,
    bytemode: bool,
    dq_rate_estimator: bool,
}

impl Law {
    /// That of these parameters before a device of this MTU.
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
    /// While it lasts nothing is dropped.
    burst_time: u64,
    /// When a packet last left, or the measuring of the rate began.
    dq_tstamp: Option<u64>,
    /// Probability to drop an arriving packet.
    pub prob: u64,
    /// The sum of the probabilities of those that passed: it keeps drops apart (RFC 8033, section 5.4).
    accu_prob: u64,
    /// Bytes that have left since; none while the rate is not measured.
    dq_count: Option<u64>,
    /// Bytes a tick, with `RATE_BITS` fractional bits.
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
    /// Is a packet that arrives to so much waiting to be dropped, or marked? (RFC 8033, section 4.1.)
    #[inline]
    pub fn drop_early(&mut self, law: &Law, backlog: u64, bytes: u32, draws: &mut Draws) -> bool {
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
        let drop = (draws.next_u64() >> 8) < prob;
        if drop {
            self.accu_prob = 0;
        }
        drop
    }

    /// A packet was dropped.
    #[inline]
    pub fn dropped(&mut self) {
        self.accu_prob = 0;
    }

    /// A packet leaves so much behind.
    #[inline]
    pub fn leaves(&mut self, law: &Law, now: Nanos, skb: &Skb, backlog: u64) {
        let now_ticks = ticks(now);
        let elapsed = if law.dq_rate_estimator {
            self.measure_rate(now_ticks, skb.bytes, backlog)
        } else {
            self.qdelay = if backlog > 0 { now_ticks - ticks(skb.enqueued_at) } else { 0 };
            // In 32 bits, as the kernel has it.
            let elapsed = self.dq_tstamp.map_or(0, |last| (now_ticks - last) as u32 as u64);
            self.dq_tstamp = Some(now_ticks);
            elapsed
        };
        self.burst_time = self.burst_time.saturating_sub(elapsed);
    }

    /// The time over which the rate of departures was measured, when it has been (RFC 8033, section 5.2).
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

    /// Works the probability out anew (RFC 8033, section 4.2).
    pub fn calculate_probability(&mut self, law: &Law, backlog: u64) {
        if law.dq_rate_estimator {
            self.qdelay_old = self.qdelay;
            self.qdelay = (backlog << RATE_BITS).checked_div(self.avg_dq_rate).unwrap_or(0);
        }
        let (qdelay, qdelay_old) = (self.qdelay, self.qdelay_old);
        // So little waits that it has no delay.
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

    /// The gains, the smaller the smaller the probability is (RFC 8033, section 5.5).
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

/// One queue.
#[derive(Clone, Debug)]
pub struct Pie {
    law: Law,
    limit: u64,
    ecn: bool,
    vars: Vars,
    packets: Packets,
    total: Total,
    timer: Timer,
    draws: Draws,
}

impl Pie {
    /// An empty one before a device of this MTU.
    pub fn new(parameters: &queue::Pie, mtu: u32, draws: Draws) -> Pie {
        Pie {
            law: Law::new(parameters, mtu),
            limit: parameters.limit as u64,
            ecn: parameters.ecn,
            vars: Vars::default(),
            packets: Packets::default(),
            total: Total::default(),
            timer: Timer::new(parameters.tupdate),
            draws,
        }
    }

    /// Makes up for the timer's rings until now. Nothing has changed since but by them, so when one changes nothing, the others do not.
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
        let full = self.total.packets >= self.limit;
        let early = !full && self.vars.drop_early(&self.law, self.total.bytes, skb.bytes, &mut self.draws);
        let may_mark = self.ecn && self.vars.prob <= MAX_PROB / 10;
        if full || (early && !(may_mark && skb.mark_ce())) {
            self.vars.dropped();
            dropped.push(skb);
            return;
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
