//! The fill level of a queue over time.

use model::units::Nanos;

/// The integral, over a measuring interval, of the bytes and packets in a queue.
#[derive(Clone, Debug)]
pub struct Occupancy {
    to: Nanos,
    since: Nanos,
    /// Bytes and packets in the queue from `since` on.
    held: (u64, u64),
    byte_ns: u128,
    packet_ns: u128,
}

impl Occupancy {
    /// Creates the integral of an empty queue, measured from `from` to `to`.
    pub fn new(from: Nanos, to: Nanos) -> Occupancy {
        Occupancy { to, since: from, held: (0, 0), byte_ns: 0, packet_ns: 0 }
    }

    /// Sets the bytes and packets in the queue from `now` on.
    pub fn note(&mut self, now: Nanos, held: (u64, u64)) {
        (self.byte_ns, self.packet_ns) = self.until(now);
        self.since = self.since.max(now);
        self.held = held;
    }

    fn until(&self, now: Nanos) -> (u128, u128) {
        let passed = u128::from(now.min(self.to).since(self.since).0);
        (self.byte_ns + passed * u128::from(self.held.0), self.packet_ns + passed * u128::from(self.held.1))
    }

    /// Returns the bytes and the packets, each times the nanoseconds that they spent in the queue
    /// within the interval.
    pub fn whole(&self) -> (u128, u128) {
        self.until(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 10 to 30 ms the queue has one packet until 12, two until 20, none until 25, and three
    /// until the end.
    #[test]
    fn only_the_interval_counts() {
        let ms = Nanos::from_millis;
        let mut occupancy = Occupancy::new(ms(10), ms(30));
        for (at, packets) in [(5, 1), (12, 2), (20, 0), (25, 3), (40, 9)] {
            occupancy.note(ms(at), (100 * packets, packets));
        }
        let packet_ns = (2 + 2 * 8 + 3 * 5) * 1_000_000;
        assert_eq!(occupancy.whole(), (100 * packet_ns, packet_ns));
    }
}
