//! What only delays: no queue, no transmitter, nothing to count. A port of its own, or the channel of another.

use crate::channel::Transit;
use crate::ring::Ring;
use model::units::Nanos;

/// A first-in-first-out of packets that all take the same time.
#[derive(Debug)]
pub struct DelayLine {
    delay: Nanos,
    in_flight: Ring<(Nanos, Transit)>,
}

impl DelayLine {
    /// An empty one.
    pub fn new(delay: Nanos) -> DelayLine {
        DelayLine { delay, in_flight: Ring::default() }
    }

    /// Takes a packet at `now`, which never decreases from call to call. True if no other is before it.
    #[inline]
    pub fn send(&mut self, now: Nanos, transit: Transit) -> bool {
        let first = self.in_flight.is_empty();
        self.in_flight.push((now + self.delay, transit));
        first
    }

    /// When the next packet is at the far end; `Nanos::NEVER` when it is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.in_flight.front().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    /// Takes the packet that `next` announced.
    #[inline]
    pub fn take(&mut self) -> Transit {
        self.in_flight.pop().map_or(Transit::Nothing, |(_, transit)| transit)
    }

    /// When each packet inside was taken, the first first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Nanos> {
        self.in_flight.iter().map(|(arrival, _)| *arrival - self.delay)
    }
}
