//! Quantities with their unit in the type: times, sizes, rates.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds: a time since the start of the run, or a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of the run, or an empty duration.
    pub const ZERO: Nanos = Nanos(0);
    /// A time later than every event: "not scheduled".
    pub const NEVER: Nanos = Nanos(u64::MAX);

    /// Makes a duration of whole microseconds.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }
    /// Makes a duration of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }
    /// Makes a duration of whole seconds.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }
    /// Returns whole microseconds, rounded down, as in Linux's `tcp_mstamp`.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Returns milliseconds as a real number, for records.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns seconds as a real number, for records.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Whether it is the start of the run, or an empty duration.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }
    /// Returns the time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

/// The time by which one clock is ahead of another, ns; negative if it is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Offset(pub i64);

/// The rate by which one clock is faster than another, in billionths; negative if it is slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Drift(pub i64);

/// The strength of a signal, dBm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dbm(pub i64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(pub u64);

/// A frequency, in millionths per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frequency(pub u64);

impl Frequency {
    /// Returns the mean time in which something of this frequency happens `times` times.
    pub fn interval(self, times: f64) -> Nanos {
        Nanos((times * 1e15 / self.0 as f64).round() as u64)
    }
    /// Returns the frequency per second.
    pub fn per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// A bit rate, bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate(pub u64);

impl Rate {
    /// Returns the rate as a real number, bit/s.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Returns the time to put `size` on a wire of this rate, rounded up to a nanosecond.
    pub const fn time_to_send(self, size: Bytes) -> Nanos {
        Nanos((size.0 as u128 * 8 * 1_000_000_000).div_ceil(self.0 as u128) as u64)
    }
    /// Returns the whole bytes that a transmitter of this rate sends in a time.
    pub const fn bytes_in(self, time: Nanos) -> u64 {
        (time.0 as u128 * self.0 as u128 / 8_000_000_000) as u64
    }
    /// Returns the rate in Mbit/s, for records.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// A queue length, in bytes or in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Bytes of IP packets.
    Bytes(Bytes),
    /// Whole packets.
    Packets(u64),
}

/// Limits in bytes and in packets do not compare, because a packet may be short.
impl PartialOrd for Limit {
    fn partial_cmp(&self, other: &Limit) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Limit::Bytes(a), Limit::Bytes(b)) => a.partial_cmp(b),
            (Limit::Packets(a), Limit::Packets(b)) => a.partial_cmp(b),
            _ => None,
        }
    }
}

/// A ratio in thousandths of a decibel; negative if the first number is smaller than the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
pub struct Decibels(pub i64);

impl Decibels {
    /// Returns decibels as a real number.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
}
