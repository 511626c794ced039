//! CoDel (RFC 8289) as in Linux (codel_impl.h, sch_codel.c). It drops from the head when packets
//! have waited longer than `target` for `interval`, and more and more often while that lasts.

use super::packets::{Packets, Total};
use super::{Qdisc, Skb};
use model::queue;
use model::units::Nanos;

/// A time of CoDel's clock, which ticks once in 1024 ns. It has 32 bits that wrap, so times compare
/// by the sign of their difference.
type Ticks = u32;

#[inline]
fn ticks(time: Nanos) -> Ticks {
    (time.0 >> 10) as Ticks
}

#[inline]
fn is_after(a: Ticks, b: Ticks) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The parameters for all queues of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Law {
    target: Ticks,
    interval: Ticks,
    ce_threshold: Option<Ticks>,
    /// Bytes up to which a queue drops nothing.
    mtu: u64,
    ecn: bool,
}

impl Law {
    pub fn new(target: Nanos, interval: Nanos, ce_threshold: Option<Nanos>, ecn: bool, mtu: u32) -> Law {
        let (target, interval) = (ticks(target), ticks(interval));
        Law { target, interval, ce_threshold: ce_threshold.map(ticks), mtu: mtu as u64, ecn }
    }
}

/// The queue that CoDel drops from, and the totals of its discipline.
pub(super) struct DequeueContext<'a> {
    pub packets: &'a mut Packets,
    pub total: &'a mut Total,
}

impl DequeueContext<'_> {
    #[inline]
    fn pop(&mut self) -> Option<Skb> {
        let skb = self.packets.pop()?;
        self.total.remove(&skb);
        Some(skb)
    }
}

/// Low bits of 1/sqrt(count) that are not stored, of 32 fractional bits.
const REC_INV_SQRT_SHIFT: u32 = 16;

/// CoDel's state of one queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Vars {
    /// Drops since dropping began.
    pub count: u32,
    /// The value of `count` when dropping last began.
    lastcount: u32,
    dropping: bool,
    /// 1/sqrt(count), in units of 1/65536.
    rec_inv_sqrt: u16,
    /// When the queue will have been above the target for an interval; 0 if it is not above.
    first_above_time: Ticks,
    drop_next: Ticks,
    /// Waiting time of the last packet that was examined.
    sojourn: Ticks,
}

impl Vars {
    /// Takes the next packet of a queue, marked if CoDel marks it.
    #[inline]
    pub fn dequeue(&mut self, law: &Law, now: Nanos, mut from: DequeueContext, dropped: &mut Vec<Skb>) -> Option<Skb> {
        let now = ticks(now);
        let Some(head) = from.pop() else {
            self.first_above_time = 0;
            self.dropping = false;
            return None;
        };
        let above = self.is_above(law, now, Some(&head), &from);
        let mut next = match (self.dropping, above) {
            (false, false) => Some(head),
            (false, true) => self.begin_dropping(law, now, head, &mut from, dropped),
            (true, false) => {
                self.dropping = false;
                Some(head)
            }
            (true, true) => self.go_on_dropping(law, now, head, &mut from, dropped),
        };
        if let (Some(threshold), Some(skb)) = (law.ce_threshold, &mut next)
            && is_after(self.sojourn, threshold)
        {
            skb.mark_ce();
        }
        next
    }

    /// Reports whether the queue has been above the target for an interval (RFC 8289, section 5.4).
    #[inline]
    fn is_above(&mut self, law: &Law, now: Ticks, head: Option<&Skb>, from: &DequeueContext) -> bool {
        let Some(head) = head else {
            self.first_above_time = 0;
            return false;
        };
        self.sojourn = now.wrapping_sub(ticks(head.enqueued_at));
        if is_after(law.target, self.sojourn) || from.total.bytes <= law.mtu {
            self.first_above_time = 0;
            return false;
        }
        if self.first_above_time == 0 {
            self.first_above_time = now.wrapping_add(law.interval);
            return false;
        }
        is_after(now, self.first_above_time)
    }

    /// Drops or marks one packet, and schedules the next drop. If dropping ended not long ago, its
    /// rate resumes near the last one.
    #[cold]
    fn begin_dropping(
        &mut self,
        law: &Law,
        now: Ticks,
        mut head: Skb,
        from: &mut DequeueContext,
        dropped: &mut Vec<Skb>,
    ) -> Option<Skb> {
        let next = if law.ecn && head.mark_ce() {
            Some(head)
        } else {
            dropped.push(head);
            let next = from.pop();
            self.is_above(law, now, next.as_ref(), from);
            next
        };
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.lastcount);
        let recent = is_after(law.interval.wrapping_mul(16), now.wrapping_sub(self.drop_next));
        if delta > 1 && recent {
            self.count = delta;
            self.newton_step();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.lastcount = self.count;
        self.drop_next = self.after(law, now);
        next
    }

    /// Drops all packets that are due, until one is marked instead or the queue is below the
    /// target.
    #[inline]
    fn go_on_dropping(
        &mut self,
        law: &Law,
        now: Ticks,
        head: Skb,
        from: &mut DequeueContext,
        dropped: &mut Vec<Skb>,
    ) -> Option<Skb> {
        let mut head = Some(head);
        while self.dropping && !is_after(self.drop_next, now) {
            let Some(mut skb) = head else { break };
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if law.ecn && skb.mark_ce() {
                self.drop_next = self.after(law, self.drop_next);
                return Some(skb);
            }
            dropped.push(skb);
            head = from.pop();
            if self.is_above(law, now, head.as_ref(), from) {
                self.drop_next = self.after(law, self.drop_next);
            } else {
                self.dropping = false;
            }
        }
        head
    }

    /// Returns `time` + interval / sqrt(count), CoDel's law for the next drop.
    #[inline]
    fn after(&self, law: &Law, time: Ticks) -> Ticks {
        let fraction = (self.rec_inv_sqrt as u64) << REC_INV_SQRT_SHIFT;
        time.wrapping_add(((law.interval as u64 * fraction) >> 32) as Ticks)
    }

    /// Takes one Newton step towards 1/sqrt(count): x (3 - count x^2) / 2.
    #[inline]
    fn newton_step(&mut self) {
        let x = (self.rec_inv_sqrt as u32) << REC_INV_SQRT_SHIFT;
        self.rec_inv_sqrt = (newton_step(x, self.count) >> REC_INV_SQRT_SHIFT) as u16;
    }
}

/// Returns x (3 - count x^2) / 2 for an x with 32 fractional bits. The two lowest bits of the
/// bracket are cut, so that the product fits.
#[inline]
pub(super) const fn newton_step(x: u32, count: u32) -> u32 {
    let square = (x as u64 * x as u64) >> 32;
    let bracket = (3u64 << 32).wrapping_sub(count as u64 * square) >> 2;
    (bracket.wrapping_mul(x as u64) >> 31) as u32
}

/// One queue with CoDel.
#[derive(Clone, Debug)]
pub struct Codel {
    law: Law,
    limit: u64,
    vars: Vars,
    packets: Packets,
    total: Total,
}

impl Codel {
    /// Creates an empty queue before a device with this MTU in bytes.
    pub fn new(parameters: &queue::Codel, mtu: u32) -> Codel {
        let queue::Codel { limit, target, interval, ce_threshold, ecn } = *parameters;
        Codel {
            law: Law::new(target, interval, ce_threshold, ecn, mtu),
            limit: limit as u64,
            vars: Vars::default(),
            packets: Packets::default(),
            total: Total::default(),
        }
    }
}

impl Qdisc for Codel {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        skb.enqueued_at = now;
        if self.total.packets >= self.limit {
            dropped.push(skb);
            return;
        }
        self.total.add(&skb);
        self.packets.push(skb);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        let from = DequeueContext { packets: &mut self.packets, total: &mut self.total };
        self.vars.dequeue(&self.law, now, from, dropped)
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

    /// Interval between packets in microseconds. Ten packets always wait, so each has waited 10 ms.
    const STEP_US: u64 = 1000;
    const WAITING: u64 = 10;

    fn codel(ecn: bool, ce_threshold: Option<Nanos>) -> Codel {
        Codel::new(&queue::Codel { ecn, ce_threshold, ..queue::Codel::default() }, 1500)
    }

    /// 1/sqrt(n) by one Newton step each, from 65535/65536; the second is far off.
    const FACTORS: [f64; 8] = [0.99998, 0.50002, 0.56250, 0.48779, 0.44151, 0.40407, 0.37518, 0.35152];

    #[test]
    fn newton_s_steps_are_linux_s() {
        let mut vars = Vars { count: 1, rec_inv_sqrt: u16::MAX, ..Vars::default() };
        for factor in FACTORS {
            assert!((vars.rec_inv_sqrt as f64 / 65536.0 - factor).abs() < 1.6e-5, "{}", vars.count);
            vars.count += 1;
            vars.newton_step();
        }
    }

    /// The queue is above the target from 5 ms on, when the first packet has waited that long.
    #[test]
    fn a_standing_queue_is_dropped_from_after_an_interval_and_then_by_newton_s_factors() {
        let dropped = drops(&standing(&mut codel(false, None), false, WAITING, STEP_US, 600_000));
        let mut due = dropped[0] as f64;
        assert!((105_000.0..107_001.0).contains(&due), "{dropped:?}");
        for (factor, at) in FACTORS.iter().zip(&dropped[1..]) {
            due += 100_000.0 * factor;
            let late = *at as f64 - due;
            // One packet later: the clock ticks once in 1.024 us, and the first drop was some time
            // after it was due.
            assert!((-1.1 * STEP_US as f64..1.1 * STEP_US as f64).contains(&late), "{at}, not {due}: {dropped:?}");
        }
        assert!(dropped.len() > 8);
    }

    #[test]
    fn marks_come_where_drops_would() {
        let plain = drops(&standing(&mut codel(false, None), false, WAITING, STEP_US, 300_000));
        let events = standing(&mut codel(true, None), true, WAITING, STEP_US, 300_000);
        assert_eq!((marks(&events), drops(&events)), (plain, vec![]));
    }

    #[test]
    fn nothing_is_dropped_below_the_target_or_from_one_packet() {
        assert_eq!(drops(&standing(&mut codel(false, None), false, 4, STEP_US, 1_000_000)), []);
        // Each has waited 50 ms, but only one packet is behind it.
        assert_eq!(drops(&standing(&mut codel(false, None), false, 1, 50_000, 10_000_000)), []);
    }

    #[test]
    fn what_has_waited_longer_than_ce_threshold_is_marked_at_once() {
        let mut codel = codel(false, Some(Nanos::from_millis(2)));
        let events = standing(&mut codel, true, WAITING, STEP_US, 50_000);
        // The first packet that has waited for three steps, and all after it.
        assert_eq!(marks(&events), (3..50).map(|ms| ms * 1000).collect::<Vec<_>>());
    }

    #[test]
    fn dropping_that_begins_again_soon_goes_on_nearly_as_fast() {
        let mut vars = Vars { count: 9, lastcount: 3, drop_next: 1000, ..Vars::default() };
        let law = Law::new(Nanos::from_millis(5), Nanos::from_millis(100), None, false, 1500);
        let begin = |vars: &mut Vars, now| {
            let (mut packets, mut total) = (Packets::default(), Total::default());
            let from = &mut DequeueContext { packets: &mut packets, total: &mut total };
            vars.begin_dropping(&law, now, skb(0, 1, false), from, &mut vec![]);
            (vars.count, vars.lastcount)
        };
        let sixteen_intervals = 16 * law.interval;
        assert_eq!(begin(&mut vars.clone(), 1000 + sixteen_intervals - 1), (6, 6));
        assert_eq!(begin(&mut vars, 1000 + sixteen_intervals), (1, 1));
    }

    #[test]
    fn the_clock_may_wrap() {
        let wraps_at = Nanos((1 << 32) << 10);
        let law = Law::new(Nanos::from_millis(5), Nanos::from_millis(100), None, false, 1500);
        let (mut packets, mut total) = (Packets::default(), Total::default());
        let mut vars = Vars::default();
        let (mut dropped, start) = (vec![], wraps_at - Nanos::from_millis(50));
        for n in 0..100 {
            let skb = Skb { enqueued_at: start, ..skb(n, 1, false) };
            total.add(&skb);
            packets.push(skb);
        }
        let mut drops_by = |ms| {
            let from = DequeueContext { packets: &mut packets, total: &mut total };
            vars.dequeue(&law, start + Nanos::from_millis(ms), from, &mut dropped);
            dropped.len()
        };
        assert_eq!([6, 100, 107, 200, 210].map(&mut drops_by), [0, 0, 1, 1, 2]);
    }
}
