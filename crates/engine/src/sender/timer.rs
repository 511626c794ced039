//! The sender's one timer, which serves as retransmission timeout, probe of a closed window, tail loss probe or RACK's
//! reordering timer.

use crate::clock;
use model::units::Nanos;

/// The purpose of the timer: the kernel's `ICSK_TIME_*`, with their values in `icsk_pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcskTime {
    Retrans = 1,
    Probe0 = 3,
    LossProbe = 5,
    ReoTimeout = 6,
}

/// The timer of a sender, set for at most one of the four purposes.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    pub kind: IcskTime,
    /// Jiffies after `set_at` at which the timer rings.
    jiffies: u32,
    set_at: Nanos,
    /// A time before which the timer cannot ring; `Nanos::NEVER` if it is not set.
    not_before: Nanos,
}

impl Timer {
    /// A timer that is not set.
    pub fn none() -> Timer {
        Timer { kind: IcskTime::Retrans, jiffies: 0, set_at: Nanos::ZERO, not_before: Nanos::NEVER }
    }

    /// Sets a timer that rings `jiffies` after `now`.
    #[inline]
    pub fn set(kind: IcskTime, jiffies: u32, now: Nanos) -> Timer {
        Timer { kind, jiffies, set_at: now, not_before: now + Nanos(u64::from(jiffies) * clock::JIFFY) }
    }

    /// Reports whether the timer is set.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.not_before != Nanos::NEVER
    }

    /// The time at which the timer rings; `Nanos::NEVER` if it is not set.
    pub fn at(&self) -> Nanos {
        if self.is_set() { clock::timer(self.set_at, self.jiffies) } else { Nanos::NEVER }
    }

    /// A time before which the timer does not ring. Most timers are set again long before they ring, and this time
    /// costs less than the tick of the timer wheel.
    #[inline]
    pub fn not_before(&self) -> Nanos {
        self.not_before
    }
}
