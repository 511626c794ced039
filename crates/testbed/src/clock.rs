//! The real clock, as the time since the start of a run.

use scenario::units::Nanos;
use std::time::Instant;

/// Counts from the instant it was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts to count.
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// The time since then.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.0.elapsed().as_nanos() as u64)
    }
}
