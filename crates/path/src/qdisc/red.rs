//! RED (Floyd and Jacobson, 1993) as Linux has it (red.h, sch_red.c): drops arriving packets at random, the more the longer the mean queue. With
//! `adaptive` after Floyd, Gummadi and Shenker, 2001.
//!
//! Linux has no `gentle`; ours is Floyd's of 2000: between `max` and twice `max` the probability rises from `probability` to 1, where without it all
//! is dropped from `max` on. Left out: `nodrop`, and blocks of filters.

use super::packets::{Packets, Total};
use super::timer::Timer;
use super::{Qdisc, Skb};
use crate::Draws;
use rand::RngCore;
use scenario::queue::{self, RedArithmetic};
use scenario::units::{Nanos, Rate};

/// Of 2^32.
const ONE_PERCENT: u32 = 42_949_673;
/// How often `adaptive` looks at the mean.
const ADAPTS_EVERY: Nanos = Nanos::from_millis(500);

/// What RED decides on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// Mark it, or drop it if it cannot be marked.
    Mark,
    /// The mean is beyond all bounds.
    Force,
}

/// One queue.
#[derive(Clone, Debug)]
pub struct Red {
    parameters: queue::Red,
    arithmetic: RedArithmetic,
    /// Bounds of the mean, with the mean's fractional bits.
    min: u64,
    max: u64,
    /// Probability at `max`, of 2^32.
    max_p: u32,
    /// What it rises by with each byte of the mean, of 2^32.
    slope: u32,
    /// The mean queue, with as many fractional bits as its weight is halvings.
    qavg: u64,
    /// Packets since the last drop; -1 while the mean is below `min`.
    qcount: i64,
    /// The number drawn at the last drop, and the same in units of `slope`.
    random: u32,
    q_r: u64,
    idle_since: Option<Nanos>,
    packets: Packets,
    total: Total,
    adapts: Option<Timer>,
    draws: Draws,
}

impl Red {
    /// An empty one before a transmitter of this rate, by which idle time is judged.
    ///
    /// # Panics
    /// If the parameters contradict each other, which the scenario's reader refuses.
    pub fn new(parameters: &queue::Red, rate: Rate, draws: Draws) -> Red {
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
            draws,
        }
    }

    /// Moves the mean on: by the queue that a packet finds, or by how long there was none.
    fn average(&mut self, now: Nanos) {
        self.qavg = match self.idle_since.take() {
            Some(since) => self.after_idling(now.since(since)),
            None => self.qavg + self.total.bytes - (self.qavg >> self.arithmetic.weight_log),
        };
    }

    /// What is left of the mean after an idle time: as many halvings as the table says, or by a straight line where that is none.
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

    /// What is to become of a packet with the mean as it is.
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

    /// Linux's way: marks are a uniform number of packets apart, so that `qcount` times the probability is held against one random number
    /// until the next mark (the paper's section 8, method 2).
    fn is_due(&self) -> bool {
        ((self.qavg - self.min) >> self.arithmetic.weight_log) * self.qcount as u64 >= self.q_r
    }

    /// The same with the probability that holds between `max` and twice `max`.
    fn is_due_beyond_max(&self) -> bool {
        let rest = (u32::MAX - self.max_p) as u128 * (self.qavg - self.max) as u128 / self.max as u128;
        (self.max_p as u64 + rest as u64).saturating_mul(self.qcount as u64) >= self.random as u64
    }

    fn draw(&mut self) {
        self.random = self.draws.next_u32();
        self.q_r = (self.random / self.slope) as u64;
    }

    /// Lets the probability follow the mean, which is to stay in the middle fifth between `min` and `max`.
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

/// From `min` to `max`.
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

    /// On an empty queue this begins the idle time, as a device's does that asks for more when it has sent the last.
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
