//! Conversion of the run's clock to the clocks of a Linux host.

use mechanism::sock::HZ;
use model::units::Nanos;

/// Uptime of the simulated hosts when a run starts: kernel code takes a zero time stamp for "none".
pub const BOOT: Nanos = Nanos::from_secs(1000);
/// The time between two ticks, ns.
pub const JIFFY: u64 = 1_000_000_000 / HZ;
const MILLISECOND: u64 = 1_000_000;
const MICROSECOND: u64 = 1_000;

/// `ktime_get_ns()` of the hosts at `now`.
#[inline]
pub fn ktime(now: Nanos) -> Nanos {
    now + BOOT
}

/// `tcp_mstamp` at `now`, us.
#[inline]
pub fn micros(now: Nanos) -> u64 {
    ktime(now).as_micros()
}

/// `tcp_jiffies32` at `now`.
#[inline]
pub fn jiffies(now: Nanos) -> u32 {
    (ktime(now).0 / JIFFY) as u32
}

/// `tcp_jiffies32` at the time of a `tcp_mstamp`.
#[inline]
pub fn jiffies_at(micros: u64) -> u32 {
    (micros * 1000 / JIFFY) as u32
}

/// The clock of the timestamps option (RFC 7323) of another host, which is ahead or behind, and may drift.
#[derive(Clone, Copy, Debug)]
pub struct TimestampClock {
    /// Length of a tick, ns.
    tick: u64,
    /// Lead over `ktime`, ns. A clock that is behind leads by the rest of the 32 bits.
    ahead: u64,
    /// Time that the clock gains in 2^64 ns, ns.
    gain: i64,
}

impl TimestampClock {
    /// The clock of a host, with the offset from `ktime` and the drift of `clock`, in ticks of a microsecond or a
    /// millisecond.
    pub fn new(clock: &model::Clock, microseconds: bool) -> TimestampClock {
        let tick = if microseconds { MICROSECOND } else { MILLISECOND };
        let wraps_after = tick << 32;
        let ahead = (clock.offset.0 as i128).rem_euclid(wraps_after as i128) as u64;
        let gain = ((clock.drift.0 as i128) << 64) / 1_000_000_000;
        TimestampClock { tick, ahead, gain: gain as i64 }
    }

    /// The reading of the clock at `now`, in its ticks.
    #[inline]
    pub fn read(&self, now: Nanos) -> u32 {
        let mut ns = ktime(now).0 + self.ahead;
        if self.gain != 0 {
            ns = ns.wrapping_add_signed(((now.0 as i128 * self.gain as i128) >> 64) as i64);
        }
        // Two divisions by a constant, each much cheaper than one by a variable.
        (if self.tick == MILLISECOND { ns / MILLISECOND } else { ns / MICROSECOND }) as u32
    }
}

/// `usecs_to_jiffies`: converts microseconds to jiffies, rounded up.
#[inline]
#[expect(
    clippy::manual_div_ceil,
    reason = "asked for several times an acknowledgement, and div_ceil works the remainder out too"
)]
pub fn micros_to_jiffies(us: u64) -> u32 {
    ((us * 1000 + JIFFY - 1) / JIFFY) as u32
}

/// The time at which a timer rings that is set at `now` to ring after `jiffies` (`mod_timer`). It rings with a tick and
/// never early. The kernel's timer wheel checks timers more than 62 jiffies away with every 8th tick only. It checks
/// those more than 503 away with every 64th, and so on by eights.
#[inline]
pub fn timer(now: Nanos, jiffies: u32) -> Nanos {
    const LAST_LEVEL: u32 = 8;
    const LEVEL_BITS: u32 = 3;
    const FIRST_LEVEL: u32 = 63;
    let step_bits = if jiffies < FIRST_LEVEL {
        0
    } else {
        LEVEL_BITS * ((jiffies / FIRST_LEVEL).ilog2() / LEVEL_BITS + 1).min(LAST_LEVEL)
    };
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
    use model::units::{Drift, Offset};

    const HOUR: Nanos = Nanos::from_secs(3600);

    fn shows(offset: i64, drift: i64, microseconds: bool, now: Nanos) -> u32 {
        let clock = model::Clock { offset: Offset(offset), drift: Drift(drift) };
        TimestampClock::new(&clock, microseconds).read(now)
    }

    #[test]
    fn a_clock_without_offset_shows_what_the_sender_s_does() {
        for now in [Nanos::ZERO, Nanos(1_999_999), HOUR] {
            assert_eq!(shows(0, 0, false, now), (micros(now) / 1000) as u32);
            assert_eq!(shows(0, 0, true, now), micros(now) as u32);
        }
    }

    /// A clock an hour behind a host that has been up for 1000 s shows a time before its boot.
    #[test]
    fn offsets_wrap_as_32_bits_do() {
        let hour_ms = 3_600_000;
        for now in [Nanos::ZERO, HOUR] {
            for (offset, ms) in [(HOUR.0 as i64, hour_ms), (-(HOUR.0 as i64), -hour_ms), (-1_000_000, -1)] {
                assert_eq!(shows(offset, 0, false, now).wrapping_sub((micros(now) / 1000) as u32), ms as u32);
                assert_eq!(shows(offset, 0, true, now).wrapping_sub(micros(now) as u32), (ms as i64 * 1000) as u32);
            }
        }
        // The clock runs on without a jump where it passes zero.
        let second_before_boot = -(BOOT.0 as i64) - 1_000_000_000;
        let around = [999, 1000, 1001].map(|ms| shows(second_before_boot, 0, false, Nanos::from_millis(ms)));
        assert_eq!(around, [u32::MAX, 0, 1]);
    }

    #[test]
    fn a_drift_of_100_ppm_gains_360_ms_an_hour() {
        for (drift, gained_us) in [(100_000, 360_000), (-100_000, -360_000), (500, 1_800), (0, 0)] {
            let gained = shows(0, drift, true, HOUR).wrapping_sub(micros(HOUR) as u32) as i32;
            assert!((gained - gained_us).abs() <= 1, "{drift} ppb: {gained} us");
            assert_eq!(shows(0, drift, true, Nanos::ZERO), micros(Nanos::ZERO) as u32);
        }
    }

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
