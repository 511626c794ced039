//! A run's clock: the time since its start.

use scenario::units::Nanos;
use std::time::Instant;

/// How time passes on the machine that the run is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// As everywhere: a processor that sleeps needs some time to wake up.
    #[default]
    Real,
    /// By instructions, as in an emulated machine: a thread wakes up exactly on time, and reading the clock advances it.
    Virtual,
}

/// Counts from the instant it was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    time: Time,
}

impl Clock {
    /// Starts to count.
    pub fn start(time: Time) -> Clock {
        Clock { start: Instant::now(), time }
    }

    /// The time since then.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// Does it go on while all processors are idle?
    pub fn is_real(&self) -> bool {
        self.time == Time::Real
    }

    /// How long a thread takes to wake up. The last part of a wait, of this length, is spent reading the clock instead.
    pub fn wake_up(&self) -> Nanos {
        match self.time {
            Time::Real => Nanos::from_micros(120),
            Time::Virtual => Nanos::ZERO,
        }
    }

    /// How much too long a wait may be, to handle more packets at once, where `slack` is allowed.
    pub fn slack(&self, slack: Nanos) -> Nanos {
        match self.time {
            Time::Real => slack,
            Time::Virtual => Nanos::ZERO,
        }
    }
}
