//! From the run's clock to the clocks of a Linux host.

use mechanism::sock::HZ;
use scenario::units::Nanos;

/// How long the simulated hosts have been up when a run starts: kernel code takes a zero time stamp for "none".
pub const BOOT: Nanos = Nanos::from_secs(1000);
const JIFFY: u64 = 1_000_000_000 / HZ;

/// `ktime_get_ns()` of the hosts.
#[inline]
pub fn ktime(now: Nanos) -> Nanos {
    now + BOOT
}

/// `tcp_mstamp`: microseconds.
#[inline]
pub fn micros(now: Nanos) -> u64 {
    ktime(now).as_micros()
}

/// `tcp_jiffies32`.
#[inline]
pub fn jiffies(now: Nanos) -> u32 {
    (ktime(now).0 / JIFFY) as u32
}

/// The same for `tcp_mstamp`.
#[inline]
pub fn jiffies_at(micros: u64) -> u32 {
    (micros * 1000 / JIFFY) as u32
}

/// The clock of the timestamps option: 1 ms.
#[inline]
pub fn timestamp(now: Nanos) -> u32 {
    (ktime(now).0 / 1_000_000) as u32
}

/// `usecs_to_jiffies`: rounded up.
#[inline]
#[expect(
    clippy::manual_div_ceil,
    reason = "asked for several times an acknowledgement, and div_ceil works the remainder out too"
)]
pub fn micros_to_jiffies(us: u64) -> u32 {
    ((us * 1000 + JIFFY - 1) / JIFFY) as u32
}

/// When a timer rings that is set at `now` to so many jiffies (`mod_timer`): with a tick and never early. The kernel's timer wheel looks
/// at those more than 62 jiffies off with every 8th tick only, at those more than 503 off with every 64th, and so on by eights.
#[inline]
pub fn timer(now: Nanos, jiffies: u32) -> Nanos {
    const LAST_LEVEL: u32 = 8;
    const LEVEL_BITS: u32 = 3;
    const FIRST_LEVEL: u32 = 63;
    let level = (jiffies / FIRST_LEVEL).checked_ilog2().map_or(0, |log| (log / LEVEL_BITS + 1).min(LAST_LEVEL));
    let step_bits = LEVEL_BITS * level;
    let expires = ktime(now).0 / JIFFY + jiffies as u64;
    Nanos((((expires >> step_bits) + 1) << step_bits) * JIFFY) - BOOT
}

/// Sequence-number order, wrap-safe: `a` comes before `b`.
#[inline]
pub fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Sequence-number order, wrap-safe: `a` comes after `b`.
#[inline]
pub fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_rings_with_the_first_tick_after_its_time() {
        // Set 1 ms after a tick, at 4 ms a jiffy.
        for (jiffies, rings_ms) in [(1, 8), (10, 44), (62, 252)] {
            assert_eq!(timer(Nanos::from_millis(1), jiffies), Nanos::from_millis(rings_ms), "{jiffies} jiffies");
        }
    }

    #[test]
    fn each_level_of_the_wheel_is_eight_times_as_coarse_up_to_the_last() {
        for level in 1..=9 {
            let first = 63 << (3 * (level - 1));
            for (jiffies, level) in [(first - 1, level - 1), (first, level.min(8))] {
                let step = 8u64.pow(level);
                let rings_at = ((250_000 + jiffies as u64) / step + 1) * step - 250_000;
                assert_eq!(timer(Nanos::ZERO, jiffies), Nanos::from_millis(4 * rings_at), "{jiffies} jiffies");
            }
        }
    }

    #[test]
    fn a_timer_far_off_rings_with_an_8th_or_64th_tick() {
        // 250 000 jiffies have been counted: a multiple of 8, not of 64.
        for (jiffies, rings_ms) in [(63, 256), (64, 288), (250, 1024), (503, 2016), (504, 2240)] {
            assert_eq!(timer(Nanos::ZERO, jiffies), Nanos::from_millis(rings_ms), "{jiffies} jiffies");
        }
    }
}
