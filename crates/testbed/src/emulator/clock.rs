//! A run's clock: the time since its start.

use scenario::units::Nanos;
use std::time::Instant;

/// How time passes on the machine that the run is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// As everywhere: a processor that sleeps needs some of it to be back.
    #[default]
    Real,
    /// By instructions, as in an emulated machine: whoever sleeps is back on time, and to look at the clock makes it go on.
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

    /// Does it go on while nobody works?
    pub fn is_real(&self) -> bool {
        self.time == Time::Real
    }

    /// What a sleeper needs to be back; that much of a wait is better spent looking at the clock.
    pub fn wake_up(&self) -> Nanos {
        match self.time {
            Time::Real => Nanos::from_micros(120),
            Time::Virtual => Nanos::ZERO,
        }
    }

    /// By how much a wait may be too long so that it does more at once, if `slack` would be borne.
    pub fn slack(&self, slack: Nanos) -> Nanos {
        match self.time {
            Time::Real => slack,
            Time::Virtual => Nanos::ZERO,
        }
    }
}
