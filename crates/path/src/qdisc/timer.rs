//! Timers of a kernel with 250 Hz that set themselves again each time they fire.

use model::units::Nanos;

/// `CONFIG_HZ` of Debian's kernels.
const HZ: u64 = 250;
const JIFFY: u64 = 1_000_000_000 / HZ;

/// A timer that first fires half a second after its creation, then once in each period.
///
/// `mod_timer` rounds a time up to whole jiffies, and the timer wheel adds one so that it is never
/// early (`calc_index` in kernel/time/timer.c). A period of 15 ms therefore becomes five jiffies,
/// 20 ms. Timers more than 62 jiffies ahead fire only with every 8th jiffy, those more than 503
/// ahead with every 64th, and so on.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    /// The jiffy with which the timer fires next.
    rings_at: u64,
    /// Jiffies from one firing to the next.
    step: u64,
}

impl Timer {
    pub fn new(period: Nanos) -> Timer {
        let rings_at = ring(0, HZ / 2);
        let period = period.0.div_ceil(JIFFY);
        // Both ends of a step are on the same level of the wheel.
        let aligned = ring(rings_at, period);
        Timer { rings_at, step: ring(aligned, period) - aligned }
    }

    /// Returns when the timer fires next.
    #[inline]
    pub fn next(&self) -> Nanos {
        Nanos(self.rings_at * JIFFY)
    }

    /// Reports whether the timer has fired by `now`.
    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.next() <= now
    }

    /// Sets the timer again after it has fired.
    #[inline]
    pub fn again(&mut self) {
        self.rings_at += self.step;
    }

    /// Sets the timer again after all firings up to `now`.
    pub fn skip(&mut self, now: Nanos) {
        if self.is_due(now) {
            self.rings_at += ((now.0 / JIFFY - self.rings_at) / self.step + 1) * self.step;
        }
    }
}

/// Returns the jiffy with which a timer fires that is set to `jiffies` after `jiffy`.
fn ring(jiffy: u64, jiffies: u64) -> u64 {
    const LAST_LEVEL: u32 = 8;
    const LEVEL_BITS: u32 = 3;
    const FIRST_LEVEL: u64 = 63;
    let level = (jiffies / FIRST_LEVEL).checked_ilog2().map_or(0, |log| (log / LEVEL_BITS + 1).min(LAST_LEVEL));
    let step_bits = LEVEL_BITS * level;
    (((jiffy + jiffies) >> step_bits) + 1) << step_bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(period: Nanos) -> Vec<u64> {
        let mut timer = Timer::new(period);
        let mut next = || {
            let at = timer.next();
            timer.again();
            at.0 / 1_000_000
        };
        (0..4).map(|_| next()).collect()
    }

    #[test]
    fn a_period_is_rounded_up_and_takes_a_jiffy_more() {
        assert_eq!(rings(Nanos::from_millis(15)), [512, 532, 552, 572]);
        assert_eq!(rings(Nanos::from_millis(16)), [512, 532, 552, 572]);
        assert_eq!(rings(Nanos::from_millis(17)), [512, 536, 560, 584]);
        assert_eq!(rings(Nanos::from_micros(1)), [512, 520, 528, 536]);
    }

    #[test]
    fn a_long_period_rings_with_every_eighth_jiffy() {
        assert_eq!(rings(Nanos::from_millis(500)), [512, 1024, 1536, 2048]);
    }

    #[test]
    fn skipping_is_ringing_without_doing_anything() {
        for now in [0, 511, 512, 531, 532, 10_000].map(Nanos::from_millis) {
            let (mut one, mut other) = (Timer::new(Nanos::from_millis(15)), Timer::new(Nanos::from_millis(15)));
            while one.is_due(now) {
                one.again();
            }
            other.skip(now);
            assert_eq!(one.next(), other.next(), "{now}");
        }
    }
}
