//! A pure delay: no queue, no transmitter and no counters. It serves as a port, or as the channel
//! of another port.

use crate::channel::Transit;
use crate::ring::Ring;
use model::units::Nanos;

/// A first-in-first-out line of packets, all with one delay.
#[derive(Debug)]
pub struct DelayLine {
    delay: Nanos,
    in_flight: Ring<(Nanos, Transit)>,
}

impl DelayLine {
    /// Creates an empty line.
    pub fn new(delay: Nanos) -> DelayLine {
        DelayLine { delay, in_flight: Ring::default() }
    }

    /// Sends a packet at `now`, which never decreases between calls. Returns true if the line was
    /// empty.
    #[inline]
    pub fn send(&mut self, now: Nanos, transit: Transit) -> bool {
        let first = self.in_flight.is_empty();
        self.in_flight.push((now + self.delay, transit));
        first
    }

    /// Returns when the next packet reaches the far end; `Nanos::NEVER` if the line is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.in_flight.front().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    /// Takes the packet that `next` announced.
    #[inline]
    pub fn take(&mut self) -> Transit {
        self.in_flight.pop().map_or(Transit::Nothing, |(_, transit)| transit)
    }

    /// Iterates over the times at which the packets inside entered, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Nanos> {
        self.in_flight.iter().map(|(arrival, _)| *arrival - self.delay)
    }
}
