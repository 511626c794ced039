//! COBALT, CAKE's active queue management (sch_cake.c), which combines CoDel and BLUE.
//!
//! CoDel marks or drops packets by the time that they have waited. BLUE drops at random once the
//! queue has overflowed, for flows that ignore CoDel.

use super::Skb;
use super::codel::newton_step;
use crate::Rng;
use model::units::Nanos;
use rand::RngCore;

/// Step of BLUE's probability, in units of 2^-32. It rises by 1/256 with an overflow, and falls by
/// 1/4096 when the queue is empty, each at most once per target.
const P_INC: u32 = 1 << 24;
const P_DEC: u32 = 1 << 20;

/// 1/sqrt(count) for the first counts. Each follows from the one before by four Newton steps; for
/// higher counts one step is exact enough.
const REC_INV_SQRT: [u32; 16] = rec_inv_sqrt();

const fn rec_inv_sqrt() -> [u32; 16] {
    let mut table = [u32::MAX; 16];
    let mut x = u32::MAX;
    let mut count = 1;
    while count < table.len() {
        let mut step = 0;
        while step < 4 {
            x = newton_step(x, count as u32);
            step += 1;
        }
        table[count] = x;
        count += 1;
    }
    table
}

/// The parameters for all flows of a tin; times in ns.
#[derive(Clone, Debug)]
pub(super) struct Law {
    pub interval: u64,
    pub target: u64,
    /// Transmission time of the largest packet at the tin's rate.
    pub mtu_time: u64,
}

/// COBALT's state of one flow. Times are in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct Cobalt {
    /// Number of CoDel's drops and marks, which decreases again over time.
    count: u32,
    /// 1/sqrt(count), in units of 2^-32. It starts at 0, as the kernel's does, so that the very
    /// first signal of a flow does not wait for an interval.
    rec_inv_sqrt: u32,
    drop_next: i64,
    blue_timer: i64,
    p_drop: u32,
    dropping: bool,
}

impl Cobalt {
    /// Reacts to an overflow of the queue.
    pub fn queue_full(&mut self, law: &Law, now: Nanos) {
        let now = now.0 as i64;
        if now - self.blue_timer > law.target as i64 {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Reacts to an empty queue at its turn.
    #[inline]
    pub fn queue_empty(&mut self, law: &Law, now: Nanos) {
        let now = now.0 as i64;
        if self.p_drop > 0 && now - self.blue_timer > law.target as i64 {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.recede(law);
        }
    }

    /// Reports whether the state is back at its start.
    #[inline]
    pub fn is_at_rest(&self, now: Nanos) -> bool {
        self.p_drop == 0 && self.count == 0 && now.0 as i64 >= self.drop_next
    }

    /// Decides whether to drop a packet that has just left the queue. CoDel marks an ECN-capable
    /// packet instead; BLUE drops it all the same. `bulk_flows` widens the bound on the delay: it
    /// is 0, or the number of bulk flows in the tin.
    #[inline]
    pub fn should_drop(&mut self, law: &Law, now: Nanos, skb: &mut Skb, bulk_flows: u64, rng: &mut Rng) -> bool {
        let sojourn = now.since(skb.enqueued_at).0;
        let now = now.0 as i64;
        let mut late_by = now - self.drop_next;
        let mut due = self.count > 0 && late_by >= 0;

        if sojourn > law.target && sojourn > law.mtu_time * bulk_flows * 2 && sojourn > law.mtu_time * 4 {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.after(law, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }

        let mut drop = false;
        if due && self.dropping {
            drop = !skb.mark_ce();
            self.count = self.count.saturating_add(1);
            self.invsqrt();
            self.drop_next = self.after(law, self.drop_next);
            late_by = now - self.drop_next;
        } else {
            while due {
                self.recede(law);
                late_by = now - self.drop_next;
                due = self.count > 0 && late_by >= 0;
            }
        }
        if self.p_drop > 0 {
            drop |= rng.next_u32() < self.p_drop;
        }
        // Until then the tin remembers a flow that has nothing to drop. A flow behind its schedule
        // does not catch up.
        if self.count == 0 {
            self.drop_next = now + law.interval as i64;
        } else if late_by > 0 && !drop {
            self.drop_next = now;
        }
        drop
    }

    /// Takes one signal back.
    fn recede(&mut self, law: &Law) {
        self.count -= 1;
        self.invsqrt();
        self.drop_next = self.after(law, self.drop_next);
    }

    #[inline]
    fn invsqrt(&mut self) {
        self.rec_inv_sqrt = match REC_INV_SQRT.get(self.count as usize) {
            Some(exact) => *exact,
            None => newton_step(self.rec_inv_sqrt, self.count),
        };
    }

    /// Returns `time` + interval / sqrt(count). The kernel truncates the interval to 32 bits, 4.3
    /// s; here it may be longer.
    #[inline]
    fn after(&self, law: &Law, time: i64) -> i64 {
        time + ((law.interval as u128 * self.rec_inv_sqrt as u128) >> 32) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::Ecn;

    const LAW: Law = Law { interval: 100_000_000, target: 5_000_000, mtu_time: 1_200_000 };

    /// Creates a packet that has waited for `sojourn`.
    fn waited(now: Nanos, sojourn: Nanos) -> Skb {
        let enqueued_at = Nanos(now.0 - sojourn.0);
        Skb { bytes: 1500, enqueued_at, ..Skb::default() }
    }

    /// Offers a packet a millisecond from one second on, each after `sojourn_ms` of waiting, and
    /// returns when packets are dropped, in ms from then.
    fn drops(cobalt: &mut Cobalt, sojourn_ms: u64, until_ms: u64) -> Vec<u64> {
        let mut rng = crate::rng(1, 1);
        let mut dropped = vec![];
        for ms in 0..until_ms {
            let now = Nanos::from_millis(1000 + ms);
            let mut skb = waited(now, Nanos::from_millis(sojourn_ms));
            if cobalt.should_drop(&LAW, now, &mut skb, 0, &mut rng) {
                dropped.push(ms);
            }
        }
        dropped
    }

    #[test]
    fn the_table_has_the_inverse_roots() {
        assert_eq!(REC_INV_SQRT[0], u32::MAX);
        for (count, x) in REC_INV_SQRT.iter().enumerate().skip(1) {
            let exact = 2f64.powi(32) / (count as f64).sqrt();
            assert!((*x as f64 / exact - 1.0).abs() < 1e-3, "{count}: {x}, not {exact}");
        }
    }

    /// The first drop comes with the second packet above the target; the next follow 100/sqrt(n) ms
    /// apart, n = 2, 3 ...
    #[test]
    fn drops_come_at_the_inverse_root_of_their_number() {
        let (mut due, mut expected) = (0.0f64, vec![1]);
        for n in 2..12 {
            due += 100.0 / f64::from(n).sqrt();
            expected.push(due.ceil() as u64);
        }
        let dropped = drops(&mut Cobalt::default(), 20, expected[expected.len() - 1] + 1);
        assert_eq!(dropped, expected);
    }

    #[test]
    fn what_waits_for_less_than_the_target_or_four_packets_passes() {
        assert_eq!(drops(&mut Cobalt::default(), 4, 1000), []);
        let slow = Law { mtu_time: 10_000_000, ..LAW };
        let mut cobalt = Cobalt::default();
        for ms in 1000..2000 {
            let now = Nanos::from_millis(ms);
            let mut skb = waited(now, Nanos::from_millis(40));
            assert!(!cobalt.should_drop(&slow, now, &mut skb, 0, &mut crate::rng(1, 1)));
        }
    }

    #[test]
    fn a_second_time_drops_begin_after_an_interval() {
        let mut cobalt = Cobalt::default();
        drops(&mut cobalt, 20, 50);
        let mut rng = crate::rng(1, 1);
        // The delay is low for long enough to forget.
        for ms in 1050..3000 {
            let now = Nanos::from_millis(ms);
            assert!(!cobalt.should_drop(&LAW, now, &mut waited(now, Nanos::ZERO), 0, &mut rng));
        }
        let late = |ms: &u64| {
            let now = Nanos::from_millis(*ms);
            cobalt.should_drop(&LAW, now, &mut waited(now, Nanos::from_millis(20)), 0, &mut rng)
        };
        assert_eq!((3000..4000).find(late), Some(3100));
    }

    #[test]
    fn blue_rises_with_overflows_and_falls_when_the_queue_is_empty() {
        let mut cobalt = Cobalt::default();
        for ms in 1..=60 {
            cobalt.queue_full(&LAW, Nanos::from_millis(ms));
        }
        // More than a target apart: at 6, 12, 18 ... 60 ms.
        assert_eq!(cobalt.p_drop, 10 * P_INC);
        for ms in 61..=120 {
            cobalt.queue_empty(&LAW, Nanos::from_millis(ms));
        }
        assert_eq!(cobalt.p_drop, 10 * P_INC - 10 * P_DEC);
        assert!(!cobalt.is_at_rest(Nanos::from_secs(1000)));
    }

    #[test]
    fn blue_drops_its_share_though_they_could_be_marked() {
        let mut cobalt = Cobalt { p_drop: u32::MAX / 4, ..Cobalt::default() };
        let mut rng = crate::rng(1, 1);
        let mut dropped = 0.0;
        for n in 0..10_000u64 {
            let now = Nanos(1_000_000_000 + n);
            let mut skb = Skb { ecn: Ecn::Ect0, ..waited(now, Nanos::ZERO) };
            dropped += f64::from(cobalt.should_drop(&LAW, now, &mut skb, 0, &mut rng));
        }
        // Six standard deviations of a binomial: sqrt(n p q) = 43.
        assert!((dropped - 2500.0).abs() < 260.0, "{dropped}");
    }
}
