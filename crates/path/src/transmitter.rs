//! Transmitters, which decide when the transmission of a waiting packet starts and ends.

use model::impairments::Outage;
use model::units::{Bytes, Nanos, Rate};
use model::{Link, Service, Trace};
use std::sync::Arc;

/// Bytes that one delivery opportunity carries.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// The times at which the first and the last bit of a packet leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub start: Nanos,
    pub end: Nanos,
}

/// Assigns each packet, in order of arrival, the time of its transmission.
#[derive(Clone, Debug)]
pub enum Transmitter {
    Constant(Constant),
    Varying(Varying),
    Opportunities(Opportunities),
}

impl Transmitter {
    /// Creates the transmitter of a link, which measures from `from` to `to`.
    pub fn new(link: &Link, from: Nanos, to: Nanos) -> Transmitter {
        let outages: Vec<_> = link.impairments.waiting_outages().copied().collect();
        let Service::Own(transmitter) = &link.service else {
            unreachable!("what shares a medium is a port of the medium")
        };
        match transmitter {
            model::Transmitter::Rate(rate) if outages.is_empty() => {
                Transmitter::Constant(Constant::new(*rate, from, to))
            }
            model::Transmitter::Rate(rate) => {
                Transmitter::Varying(Varying::new(&[(Nanos::ZERO, *rate)], &outages, from, to))
            }
            model::Transmitter::Rates(rates) => Transmitter::Varying(Varying::new(&rates.steps, &outages, from, to)),
            model::Transmitter::Trace(trace) => {
                Transmitter::Opportunities(Opportunities::new(trace.clone(), outages, from, to))
            }
        }
    }

    /// Returns the slot of a packet that arrives at `now`, behind all earlier ones.
    #[inline]
    pub fn serve(&mut self, now: Nanos, bytes: u32) -> Slot {
        match self {
            Transmitter::Constant(c) => c.serve(now, bytes),
            _ => self.serve_at_changing_rates(now, bytes),
        }
    }

    /// Serves a packet at any kind of transmitter, out of the way of the most common kind, which
    /// takes one comparison.
    #[inline(never)]
    fn serve_at_changing_rates(&mut self, now: Nanos, bytes: u32) -> Slot {
        match self {
            Transmitter::Constant(c) => c.serve(now, bytes),
            Transmitter::Varying(v) => v.serve(now, bytes),
            Transmitter::Opportunities(o) => o.serve(now, bytes),
        }
    }

    /// Returns when the last bit of the latest packet leaves.
    pub fn free_at(&self) -> Nanos {
        match self {
            Transmitter::Constant(c) => c.free_at(),
            Transmitter::Varying(v) => v.free_at,
            Transmitter::Opportunities(o) => o.free_at,
        }
    }

    /// Returns when the transmission of a packet served at `now` would start; `Nanos::NEVER` if
    /// never.
    #[inline]
    pub fn next_start(&self, now: Nanos) -> Nanos {
        match self {
            _ if now == Nanos::NEVER => now,
            Transmitter::Constant(c) => now.max(c.free_at()),
            Transmitter::Varying(v) => v.up_at(now.max(v.free_at)),
            Transmitter::Opportunities(o) => o.next_start(now),
        }
    }

    /// Returns the used share of the capacity in the measuring interval, in percent; 0 without any
    /// capacity.
    pub fn utilisation_percent(&self) -> f64 {
        match self {
            Transmitter::Constant(c) => c.utilisation_percent(),
            Transmitter::Varying(v) => percent(v.used as f64, v.capacity() as f64),
            Transmitter::Opportunities(o) => {
                let count = o.count_between(o.from, o.to);
                percent(o.used_bytes as f64, (count * OPPORTUNITY_BYTES as u64) as f64)
            }
        }
    }
}

fn percent(used: f64, capacity: f64) -> f64 {
    if capacity > 0.0 { 100.0 * used / capacity } else { 0.0 }
}

/// The transmission time at a rate, cached for the last size: sizes hardly vary.
#[derive(Clone, Debug)]
pub struct TxTime {
    rate: Rate,
    last: (u32, Nanos),
}

impl TxTime {
    pub fn new(rate: Rate) -> TxTime {
        TxTime { rate, last: (0, Nanos::ZERO) }
    }

    #[inline]
    pub fn time_to_send(&mut self, bytes: u32) -> Nanos {
        if self.last.0 != bytes {
            self.last = (bytes, self.rate.time_to_send(Bytes(bytes as u64)));
        }
        self.last.1
    }
}

/// A transmitter with a fixed bit rate.
#[derive(Clone, Debug)]
pub struct Constant {
    tx_time: TxTime,
    free_at: Nanos,
    from: Nanos,
    to: Nanos,
    /// Transmissions that end by this time are inside the measuring interval; zero until one has
    /// started there.
    inside_until: Nanos,
    /// Nanoseconds of transmissions inside the measuring interval.
    busy_ns: u64,
}

impl Constant {
    pub fn new(rate: Rate, from: Nanos, to: Nanos) -> Constant {
        Constant { tx_time: TxTime::new(rate), free_at: Nanos::ZERO, from, to, inside_until: Nanos::ZERO, busy_ns: 0 }
    }

    #[inline]
    pub fn serve(&mut self, now: Nanos, bytes: u32) -> Slot {
        let start = now.max(self.free_at);
        let length = self.tx_time.time_to_send(bytes);
        let end = start + length;
        self.free_at = end;
        if end <= self.inside_until {
            self.busy_ns += length.0;
        } else {
            self.count_part(start, end);
        }
        Slot { start, end }
    }

    /// Counts the part of a transmission inside the measuring interval.
    #[cold]
    fn count_part(&mut self, start: Nanos, end: Nanos) {
        self.busy_ns += end.min(self.to).since(start.max(self.from)).0;
        if start >= self.from {
            self.inside_until = self.to;
        }
    }

    /// Returns when the last bit of the latest packet leaves.
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Returns the share of the measuring interval spent on transmissions, in percent.
    pub fn utilisation_percent(&self) -> f64 {
        percent(self.busy_ns as f64, (self.to - self.from).0 as f64)
    }
}

/// A transmitter whose bit rate changes at given times, and is zero in outages. A packet under way
/// at a change sends the rest of its bits at the new rate.
#[derive(Clone, Debug)]
pub struct Varying {
    /// Each rate with the time of its start, in order; none during an outage. The first starts with
    /// the run, and the last is a rate.
    steps: Vec<(Nanos, Option<Rate>)>,
    /// The step in which the latest packet left.
    current: usize,
    free_at: Nanos,
    from: Nanos,
    to: Nanos,
    /// Billionths of a bit sent inside the measuring interval.
    used: u128,
}

impl Varying {
    /// Creates a transmitter from rates, each with the time of its start, and from outages.
    pub fn new(rates: &[(Nanos, Rate)], outages: &[Outage], from: Nanos, to: Nanos) -> Varying {
        let mut steps: Vec<_> = rates.iter().map(|(at, rate)| (*at, Some(*rate))).collect();
        for outage in outages {
            let (at, end) = (outage.at, outage.end());
            let before = |time: Nanos| steps.partition_point(|(from, _)| *from <= time).checked_sub(1);
            let rate_then = before(end).and_then(|step| steps[step].1);
            steps.retain(|(from, _)| *from < at || *from > end);
            let place = steps.partition_point(|(from, _)| *from < at);
            steps.splice(place..place, [(at, None), (end, rate_then)]);
        }
        Varying { steps, current: 0, free_at: Nanos::ZERO, from, to, used: 0 }
    }

    /// Returns the step at time `at`, which is not before the current step.
    fn step_at(&self, at: Nanos) -> usize {
        self.current + self.steps[self.current + 1..].partition_point(|(from, _)| *from <= at)
    }

    /// Returns when a step ends.
    fn end(&self, step: usize) -> Nanos {
        self.steps.get(step + 1).map_or(Nanos::NEVER, |(from, _)| *from)
    }

    /// Returns the first time from `at` on when the link is up.
    fn up_at(&self, at: Nanos) -> Nanos {
        let step = self.step_at(at);
        match self.steps[step..].iter().position(|(_, rate)| rate.is_some()) {
            Some(0) => at,
            Some(later) => self.steps[step + later].0,
            None => Nanos::NEVER,
        }
    }

    pub fn serve(&mut self, now: Nanos, bytes: u32) -> Slot {
        let start = self.up_at(now.max(self.free_at));
        let mut step = self.step_at(start);
        let mut at = start;
        // The unit is a billionth of a bit, of which a rate sends a whole number in a nanosecond.
        let mut left = u128::from(bytes) * 8_000_000_000;
        loop {
            let (rate, changes_at) = (self.bits_per_second(step), self.end(step));
            let sent = u128::from((changes_at - at).0) * rate;
            let is_last = left <= sent;
            let end = if is_last { at + Nanos(left.div_ceil(rate) as u64) } else { changes_at };
            self.used += u128::from(self.inside(at, end)) * rate;
            at = end;
            if is_last {
                break;
            }
            left -= sent;
            step += 1;
        }
        self.current = step;
        self.free_at = at;
        Slot { start, end: at }
    }

    fn bits_per_second(&self, step: usize) -> u128 {
        self.steps[step].1.map_or(0, |rate| rate.0.into())
    }

    /// Returns the part of `start..end` inside the measuring interval, in nanoseconds.
    fn inside(&self, start: Nanos, end: Nanos) -> u64 {
        end.min(self.to).since(start.max(self.from)).0
    }

    /// Returns the capacity of the measuring interval, in billionths of a bit.
    fn capacity(&self) -> u128 {
        let sent =
            |step: usize| u128::from(self.inside(self.steps[step].0, self.end(step))) * self.bits_per_second(step);
        (0..self.steps.len()).map(sent).sum()
    }
}

/// A transmitter with recorded delivery opportunities, each for 1500 bytes. A packet may use
/// several, and several may share one. An opportunity is lost if no packet waits for it.
#[derive(Clone, Debug)]
pub struct Opportunities {
    trace: Arc<Trace>,
    /// The outages, in which no opportunity counts.
    outages: Vec<Outage>,
    /// Index of the opportunity in use, counted over all rounds of the trace.
    index: u64,
    /// Bytes that are left of the opportunity in use.
    left: u32,
    /// When the last bit of the latest packet leaves.
    free_at: Nanos,
    from: Nanos,
    to: Nanos,
    /// Bytes sent at opportunities inside the measuring interval.
    used_bytes: u64,
}

impl Opportunities {
    pub fn new(trace: Arc<Trace>, outages: Vec<Outage>, from: Nanos, to: Nanos) -> Opportunities {
        let left = OPPORTUNITY_BYTES;
        Opportunities { trace, outages, index: 0, left, free_at: Nanos::ZERO, from, to, used_bytes: 0 }
    }

    fn time(&self, index: u64) -> Nanos {
        let n = self.trace.opportunities.len() as u64;
        let offset = self.trace.opportunities[(index % n) as usize];
        Nanos(offset.0 + index / n * self.trace.period.0)
    }

    /// Counts the opportunities before `at`.
    pub fn count_until(&self, at: Nanos) -> u64 {
        let n = self.trace.opportunities.len() as u64;
        // The last of a round may be at its very end.
        let rounds = at.0.saturating_sub(1) / self.trace.period.0;
        let offset = at.0 - rounds * self.trace.period.0;
        rounds * n + self.trace.opportunities.partition_point(|t| t.0 < offset) as u64
    }

    /// Counts the opportunities in `from..to` while the link is up.
    fn count_between(&self, from: Nanos, to: Nanos) -> u64 {
        let count = |from: Nanos, to: Nanos| self.count_until(to).saturating_sub(self.count_until(from));
        let down = self.outages.iter().map(|outage| count(outage.at.max(from), outage.end().min(to)));
        count(from, to) - down.sum::<u64>()
    }

    /// Returns the first time from `at` on when the link is up.
    fn up_at(&self, at: Nanos) -> Nanos {
        self.outages.iter().fold(at, |at, outage| if outage.at <= at && at < outage.end() { outage.end() } else { at })
    }

    /// Returns the first opportunity, from this one on, outside all outages.
    fn while_up(&self, mut index: u64) -> u64 {
        while !self.outages.is_empty() {
            let at = self.time(index);
            let up_at = self.up_at(at);
            if up_at == at {
                break;
            }
            index = self.count_until(up_at);
        }
        index
    }

    /// Returns the opportunity that carries the first byte of a packet served at `now`, and its
    /// bytes that are left.
    fn next_opportunity(&self, now: Nanos) -> (u64, u32) {
        let (index, left) = if now > self.free_at && self.time(self.index) < now {
            (self.count_until(now), OPPORTUNITY_BYTES)
        } else if self.left == 0 {
            (self.index + 1, OPPORTUNITY_BYTES)
        } else {
            (self.index, self.left)
        };
        let up = self.while_up(index);
        (up, if up == index { left } else { OPPORTUNITY_BYTES })
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
        self.index = self.while_up(self.index + 1);
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
        Opportunities::new(trace, vec![], Nanos::ZERO, Nanos::from_secs(1))
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

    fn outage(at: u64, lasts: u64) -> Outage {
        Outage { at: Nanos::from_millis(at), lasts: Nanos::from_millis(lasts), lose: false }
    }

    /// 1500 bytes are 12 000 bits: 6 ms at 2 Mbit/s, 12 ms at 1 Mbit/s, 4 ms at 3 Mbit/s. The rates
    /// change after 10 ms and after 25 ms.
    #[test]
    fn the_rest_of_a_packet_is_sent_at_the_new_rate() {
        let rates =
            [(0, 2_000_000), (10, 1_000_000), (25, 3_000_000)].map(|(ms, rate)| (Nanos::from_millis(ms), Rate(rate)));
        let mut v = Varying::new(&rates, &[], Nanos::ZERO, Nanos::from_millis(40));
        let us = Nanos::from_micros;
        assert_eq!(v.serve(us(0), 1500), Slot { start: us(0), end: us(6000) });
        // 8000 bits by 10 ms, the other 4000 in 4 ms.
        assert_eq!(v.serve(us(0), 1500), Slot { start: us(6000), end: us(14_000) });
        // 11 000 bits by 25 ms, the other 1000 in 333 333 1/3 ns.
        assert_eq!(v.serve(us(0), 1500), Slot { start: us(14_000), end: Nanos(25_333_334) });
        assert_eq!(v.serve(us(30_000), 1500).end, us(34_000));
        // 20 + 15 + 45 kbit could be sent in 40 ms, and 48 were.
        assert!((percent(v.used as f64, v.capacity() as f64) - 60.0).abs() < 1e-3);
    }

    #[test]
    fn a_packet_may_take_several_rates() {
        let rates = [(0, 1000), (1, 2000), (2, 4000), (3, 8000)].map(|(s, rate)| (Nanos::from_secs(s), Rate(rate)));
        let mut v = Varying::new(&rates, &[], Nanos::ZERO, Nanos::from_secs(9));
        // 1000 + 2000 + 4000 bits in the first three seconds, 1000 in an eighth of the fourth.
        assert_eq!(v.serve(Nanos::ZERO, 1000).end, Nanos::from_millis(3125));
    }

    /// A packet takes 6 ms; the link is down from 10 to 30 ms and from 30 to 33 ms.
    #[test]
    fn a_packet_waits_while_the_link_is_down() {
        let rates = [(Nanos::ZERO, Rate(2_000_000))];
        let mut v = Varying::new(&rates, &[outage(10, 20), outage(30, 3)], Nanos::ZERO, Nanos::from_millis(50));
        let ms = Nanos::from_millis;
        assert_eq!(v.serve(ms(0), 1500).end, ms(6));
        assert_eq!(v.serve(ms(0), 1500), Slot { start: ms(6), end: ms(35) });
        let mut v = Varying::new(&rates, &[outage(10, 20), outage(30, 3)], Nanos::ZERO, ms(50));
        assert_eq!(v.serve(ms(10), 1500), Slot { start: ms(33), end: ms(39) });
        // 27 ms of 50 are up, and 6 of those were used.
        assert!((percent(v.used as f64, v.capacity() as f64) - 600.0 / 27.0).abs() < 1e-9);
    }

    /// An outage continues over a change of the rate inside it, and over changes at its very start
    /// and end.
    #[test]
    fn rates_may_change_while_the_link_is_down() {
        let ms = Nanos::from_millis;
        for change in [10, 15, 30] {
            let rates = [(ms(0), Rate(2_000_000)), (ms(change), Rate(1_000_000))];
            let mut v = Varying::new(&rates, &[outage(10, 20)], Nanos::ZERO, ms(50));
            assert_eq!(v.serve(ms(8), 1500), Slot { start: ms(8), end: ms(38) }, "{change}");
        }
    }

    #[test]
    fn no_opportunity_is_used_while_the_link_is_down() {
        let at = Nanos::from_millis;
        let outages = vec![outage(0, 6), outage(19, 7), outage(27, 12)];
        // At 5, 5, 8, 20; 25, 25, 28, 40; of which 8, then 40 are left; and again from 45 on.
        let mut o = Opportunities { outages, ..trace(&[5, 5, 8, 20]) };
        assert_eq!(o.serve(Nanos::ZERO, 1500).end, at(8));
        assert_eq!(o.serve(Nanos::ZERO, 1500).end, at(40));
        assert_eq!(o.serve(Nanos::ZERO, 1500).end, at(45));
        assert_eq!(o.serve(at(47), 1500).end, at(48));
        // An outage may end with an opportunity, where a round of the trace ends.
        let mut p = Opportunities { outages: vec![outage(0, 20)], ..trace(&[5, 5, 8, 20]) };
        assert_eq!(p.serve(Nanos::ZERO, 1500).end, at(20));
        assert_eq!((o.up_at(at(5)), o.up_at(at(6)), o.count_between(at(1), at(44))), (at(6), at(6), 2));
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
