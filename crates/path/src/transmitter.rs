//! Transmitters: when a packet that waits its turn starts and ends its transmission.

use scenario::model::{Service, Trace};
use scenario::units::{Bytes, Nanos, Rate};
use std::sync::Arc;

/// Bytes that one delivery opportunity carries.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// First bit out, last bit out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub start: Nanos,
    pub end: Nanos,
}

/// Gives each packet, in order of arrival, the time it is sent.
#[derive(Clone, Debug)]
pub enum Transmitter {
    Constant(Constant),
    Opportunities(Opportunities),
}

impl Transmitter {
    /// A transmitter that counts what it sends from `from` to `to`.
    pub fn new(service: &Service, from: Nanos, to: Nanos) -> Transmitter {
        match service {
            Service::Rate(rate) => Transmitter::Constant(Constant::new(*rate, from, to)),
            Service::Trace(trace) => Transmitter::Opportunities(Opportunities::new(trace.clone(), from, to)),
        }
    }

    /// The slot of a packet that arrives at `now`, behind all earlier ones.
    #[inline]
    pub fn serve(&mut self, now: Nanos, bytes: u32) -> Slot {
        match self {
            Transmitter::Constant(c) => c.serve(now, bytes),
            Transmitter::Opportunities(o) => o.serve(now, bytes),
        }
    }

    /// When the packet served last is out.
    pub fn free_at(&self) -> Nanos {
        match self {
            Transmitter::Constant(c) => c.free_at(),
            Transmitter::Opportunities(o) => o.free_at,
        }
    }

    /// When the transmission of a packet that is served at `now` would start; `Nanos::NEVER` of one that never is.
    #[inline]
    pub fn next_start(&self, now: Nanos) -> Nanos {
        match self {
            _ if now == Nanos::NEVER => now,
            Transmitter::Constant(c) => now.max(c.free_at()),
            Transmitter::Opportunities(o) => o.next_start(now),
        }
    }

    /// Share of the capacity of the counting interval that was used, in percent; 0 where there was none.
    pub fn utilisation_percent(&self) -> f64 {
        match self {
            Transmitter::Constant(c) => c.utilisation_percent(),
            Transmitter::Opportunities(o) => {
                let count = o.count_until(o.to) - o.count_until(o.from);
                percent(o.used_bytes as f64, (count * OPPORTUNITY_BYTES as u64) as f64)
            }
        }
    }
}

fn percent(used: f64, capacity: f64) -> f64 {
    if capacity > 0.0 { 100.0 * used / capacity } else { 0.0 }
}

/// The division by a rate, remembered for the size seen last: sizes hardly vary.
#[derive(Clone, Debug)]
pub struct Pace {
    rate: Rate,
    last: (u32, Nanos),
}

impl Pace {
    pub fn new(rate: Rate) -> Pace {
        Pace { rate, last: (0, Nanos::ZERO) }
    }

    #[inline]
    pub fn time_to_send(&mut self, bytes: u32) -> Nanos {
        if self.last.0 != bytes {
            self.last = (bytes, self.rate.time_to_send(Bytes(bytes as u64)));
        }
        self.last.1
    }
}

/// A fixed bit rate.
#[derive(Clone, Debug)]
pub struct Constant {
    pace: Pace,
    free_at: Nanos,
    from: Nanos,
    to: Nanos,
    /// A transmission that ends by this time lies inside the counting interval: none until one has started there.
    inside_until: Nanos,
    /// Time spent sending, inside the counting interval.
    busy_ns: u64,
}

impl Constant {
    pub fn new(rate: Rate, from: Nanos, to: Nanos) -> Constant {
        Constant { pace: Pace::new(rate), free_at: Nanos::ZERO, from, to, inside_until: Nanos::ZERO, busy_ns: 0 }
    }

    #[inline]
    pub fn serve(&mut self, now: Nanos, bytes: u32) -> Slot {
        let start = now.max(self.free_at);
        let length = self.pace.time_to_send(bytes);
        let end = start + length;
        self.free_at = end;
        if end <= self.inside_until {
            self.busy_ns += length.0;
        } else {
            self.count_part(start, end);
        }
        Slot { start, end }
    }

    /// Counts what lies inside the interval of a transmission that may not.
    #[cold]
    fn count_part(&mut self, start: Nanos, end: Nanos) {
        self.busy_ns += end.min(self.to).since(start.max(self.from)).0;
        if start >= self.from {
            self.inside_until = self.to;
        }
    }

    /// When the packet served last is out.
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Share of the counting interval in which it sent, in percent.
    pub fn utilisation_percent(&self) -> f64 {
        percent(self.busy_ns as f64, (self.to - self.from).0 as f64)
    }
}

/// Recorded delivery opportunities, each good for 1500 bytes; a packet may be spread over several, several may share one,
/// and what nobody waits for is gone.
#[derive(Clone, Debug)]
pub struct Opportunities {
    trace: Arc<Trace>,
    /// Index of the opportunity in use, counted over all rounds of the trace.
    index: u64,
    /// Bytes of it that are left.
    left: u32,
    /// When the packet served last is out.
    free_at: Nanos,
    from: Nanos,
    to: Nanos,
    /// Bytes sent at opportunities inside the counting interval.
    used_bytes: u64,
}

impl Opportunities {
    pub fn new(trace: Arc<Trace>, from: Nanos, to: Nanos) -> Opportunities {
        let left = OPPORTUNITY_BYTES;
        Opportunities { trace, index: 0, left, free_at: Nanos::ZERO, from, to, used_bytes: 0 }
    }

    fn time(&self, index: u64) -> Nanos {
        let n = self.trace.opportunities.len() as u64;
        let offset = self.trace.opportunities[(index % n) as usize];
        Nanos(offset.0 + index / n * self.trace.period.0)
    }

    /// How many opportunities lie before `at`.
    pub fn count_until(&self, at: Nanos) -> u64 {
        let n = self.trace.opportunities.len() as u64;
        // The last of a round may be at its very end.
        let rounds = at.0.saturating_sub(1) / self.trace.period.0;
        let offset = at.0 - rounds * self.trace.period.0;
        rounds * n + self.trace.opportunities.partition_point(|t| t.0 < offset) as u64
    }

    /// The opportunity that carries the first byte of a packet served at `now`, and how many bytes of it are left.
    fn next_opportunity(&self, now: Nanos) -> (u64, u32) {
        if now > self.free_at && self.time(self.index) < now {
            (self.count_until(now), OPPORTUNITY_BYTES)
        } else if self.left == 0 {
            (self.index + 1, OPPORTUNITY_BYTES)
        } else {
            (self.index, self.left)
        }
    }

    fn next_start(&self, now: Nanos) -> Nanos {
        self.time(self.next_opportunity(now).0).max(now)
    }

    pub fn serve(&mut self, now: Nanos, bytes: u32) -> Slot {
        (self.index, self.left) = self.next_opportunity(now);
        let start = self.time(self.index).max(now);
        let mut remaining = bytes;
        while remaining > self.left {
            remaining -= self.left;
            self.use_bytes(self.left);
            self.advance();
        }
        self.use_bytes(remaining);
        self.free_at = self.time(self.index).max(now);
        Slot { start, end: self.free_at }
    }

    fn use_bytes(&mut self, bytes: u32) {
        self.left -= bytes;
        let at = self.time(self.index);
        if at >= self.from && at < self.to {
            self.used_bytes += bytes as u64;
        }
    }

    fn advance(&mut self) {
        self.index += 1;
        self.left = OPPORTUNITY_BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_sends_back_to_back() {
        let mut c = Constant::new(Rate(2_000_000), Nanos::ZERO, Nanos::from_secs(1));
        // 1500 bytes at 2 Mbit/s take 6 ms.
        assert_eq!(c.serve(Nanos::ZERO, 1500), Slot { start: Nanos::ZERO, end: Nanos::from_millis(6) });
        assert_eq!(c.serve(Nanos::from_millis(1), 1500).end, Nanos::from_millis(12));
        assert_eq!(c.serve(Nanos::from_millis(100), 1500).start, Nanos::from_millis(100));
    }

    fn trace(ms: &[u64]) -> Opportunities {
        let opportunities: Vec<_> = ms.iter().map(|t| Nanos::from_millis(*t)).collect();
        let period = *opportunities.last().unwrap();
        let trace = Arc::new(Trace { path: "t".into(), opportunities, period });
        Opportunities::new(trace, Nanos::ZERO, Nanos::from_secs(1))
    }

    #[test]
    fn an_opportunity_carries_1500_bytes_and_waits_for_nobody() {
        let mut o = trace(&[5, 5, 8, 20]);
        let at = Nanos::from_millis;
        assert_eq!(o.serve(Nanos::ZERO, 1500).end, at(5));
        assert_eq!(o.serve(Nanos::ZERO, 750).end, at(5));
        assert_eq!(o.serve(Nanos::ZERO, 750).end, at(5));
        // 1500 bytes of three opportunities are gone; half of this packet's bytes leave at 8, the rest at 20.
        assert_eq!(o.serve(Nanos::ZERO, 750).end, at(8));
        assert_eq!(o.serve(Nanos::ZERO, 1500), Slot { start: at(8), end: at(20) });
        // 22 ms: nobody waited at 20; the next round starts there, its first opportunity is at 25.
        assert_eq!(o.serve(at(22), 1500).end, at(25));
        assert_eq!(o.serve(at(40), 1500).end, at(40));
    }

    #[test]
    fn the_next_start_is_that_of_the_packet_served_then() {
        let mut o = trace(&[5, 5, 8, 20]);
        for (ms, bytes) in [(0, 750), (1, 1500), (5, 750), (5, 1500), (9, 40), (33, 40), (33, 1500), (60, 3000)] {
            let now = Nanos::from_millis(ms);
            let start = o.next_start(now);
            assert_eq!(o.serve(now, bytes).start, start, "{bytes} bytes at {ms} ms");
        }
    }

    #[test]
    fn opportunities_are_counted_over_rounds() {
        let o = trace(&[5, 5, 8, 20]);
        assert_eq!(o.count_until(Nanos::from_millis(5)), 0);
        assert_eq!(o.count_until(Nanos::from_millis(9)), 3);
        assert_eq!(o.count_until(Nanos::from_millis(49)), 11);
        assert_eq!([20, 21, 40].map(|ms| o.count_until(Nanos::from_millis(ms))), [3, 4, 7]);
    }
}
