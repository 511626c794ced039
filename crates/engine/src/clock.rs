//! From the run's clock to the clocks of a Linux host.

use mechanism::sock::HZ;
use scenario::units::Nanos;

/// How long the simulated hosts have been up when a run starts: kernel code takes a zero time stamp for "none".
pub const BOOT: Nanos = Nanos::from_secs(1000);
const JIFFY: u64 = 1_000_000_000 / HZ;

/// `ktime_get_ns()` of the hosts.
pub fn ktime(now: Nanos) -> Nanos {
    now + BOOT
}

/// `tcp_mstamp`: microseconds.
pub fn micros(now: Nanos) -> u64 {
    ktime(now).as_micros()
}

/// `tcp_jiffies32`.
pub fn jiffies(now: Nanos) -> u32 {
    (ktime(now).0 / JIFFY) as u32
}

/// The clock of the timestamps option: 1 ms.
pub fn timestamp(now: Nanos) -> u32 {
    (ktime(now).0 / 1_000_000) as u32
}

/// `usecs_to_jiffies`: rounded up.
pub fn micros_to_jiffies(us: u64) -> u32 {
    (us * 1000).div_ceil(JIFFY) as u32
}

/// A number of jiffies as a duration.
pub fn jiffies_to_nanos(jiffies: u32) -> Nanos {
    Nanos(jiffies as u64 * JIFFY)
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
