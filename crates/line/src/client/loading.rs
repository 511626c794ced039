//! How long a phase under load takes: until goodput and round-trip time are stable (draft-ietf-ippm-responsiveness).

use super::load::{Carrier, Target, carriers_of};
use super::records::Direction;
use super::records::RequestKind;
use super::{FOREIGN, OWN, SAMPLE};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time over which goodput is averaged; the draft proposes a second.
const INTERVAL: Duration = Duration::from_millis(500);

/// Intervals of a moving average, and moving averages that are compared (the draft's MAD).
const AVERAGES: usize = 4;

/// Standard deviation of the moving averages, as a share of their mean, below which they are stable (the draft's SDT).
const STABLE: f64 = 0.05;

/// How far a phase under load has come.
pub(super) struct Loading {
    until: Instant,
    directions: Vec<Direction>,
    interval_start: Instant,
    bytes: [u64; 2],
    /// Goodputs of the last intervals, down and up, and round-trip times at their ends.
    intervals: VecDeque<[f64; 3]>,
    averages: VecDeque<[f64; 3]>,
    stable_for: usize,
    last_foreign: Instant,
    last_own: Instant,
    next_sample: Instant,
    next_look: Instant,
}

impl Loading {
    pub(super) fn new(targets: &[Target], until: Instant) -> Self {
        let now = Instant::now();
        Self {
            until,
            directions: targets.iter().map(|target| target.direction).collect(),
            interval_start: now,
            bytes: [0; 2],
            intervals: VecDeque::new(),
            averages: VecDeque::new(),
            stable_for: 0,
            last_foreign: now,
            last_own: now,
            next_sample: now + SAMPLE,
            next_look: now,
        }
    }

    /// Returns the goodputs down and up of an interval that has just ended, in bytes a second.
    pub(super) fn interval_ended(&mut self, carriers: &[Carrier]) -> Option<[f64; 2]> {
        let time = self.interval_start.elapsed();
        if time < INTERVAL {
            return None;
        }
        self.interval_start = Instant::now();
        let bytes = [Direction::Down, Direction::Up].map(|way| carriers_of(carriers, way).map(Carrier::bytes).sum());
        let before = std::mem::replace(&mut self.bytes, bytes);
        let rate = |way: usize| bytes[way].saturating_sub(before[way]) as f64 / time.as_secs_f64();
        Some([rate(0), rate(1)])
    }

    /// Takes an interval into account.
    pub(super) fn judge(&mut self, [down, up]: [f64; 2], rtt: Option<Duration>) {
        self.intervals.push_back([down, up, rtt.map_or(0.0, |rtt| rtt.as_secs_f64())]);
        if self.intervals.len() > AVERAGES {
            self.intervals.pop_front();
        }
        if self.intervals.len() == AVERAGES {
            self.averages.push_back(mean(&self.intervals));
        }
        if self.averages.len() > AVERAGES {
            self.averages.pop_front();
        }
        let is_steady =
            self.averages.len() == AVERAGES && self.columns().all(|column| is_within(&self.averages, column));
        self.stable_for = if is_steady { self.stable_for + 1 } else { 0 };
    }

    /// Returns the columns that must be stable: the goodputs of the load's directions, and the round-trip time.
    fn columns(&self) -> impl Iterator<Item = usize> {
        let ways = self.directions.iter().map(|way| if *way == Direction::Down { 0 } else { 1 });
        ways.chain(std::iter::once(2))
    }

    pub(super) fn is_stable(&self) -> bool {
        self.stable_for > 0
    }

    /// Reports whether the phase is long enough: stable for a moving average more, or at its last moment.
    pub(super) fn is_over(&self) -> bool {
        self.stable_for > AVERAGES || Instant::now() >= self.until
    }

    /// Reports once in a round trip that windows may be widened.
    pub(super) fn may_widen(&mut self, rtt: Option<Duration>) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next_look;
        if is_due {
            self.next_look = now + rtt.unwrap_or(SAMPLE).max(SAMPLE);
        }
        is_due
    }

    /// Reports that the connections are to be looked at.
    pub(super) fn may_sample(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next_sample;
        if is_due {
            self.next_sample = now + SAMPLE;
        }
        is_due
    }

    /// Reports that a request of a kind is due, at the best rates so far.
    pub(super) fn may_ask(&mut self, kind: RequestKind, best: [f64; 2]) -> bool {
        let (last, asking) = match kind {
            RequestKind::Foreign => (&mut self.last_foreign, &FOREIGN),
            RequestKind::Own => (&mut self.last_own, &OWN),
        };
        let pause = asking.pause(best);
        let late = last.elapsed().saturating_sub(pause);
        let is_due = last.elapsed() >= pause;
        if is_due {
            // A moment's delay of this program makes no request rarer; a long one makes no burst of them.
            *last = Instant::now() - late.min(SAMPLE);
        }
        is_due
    }
}

fn mean(rows: &VecDeque<[f64; 3]>) -> [f64; 3] {
    let sum = rows.iter().fold([0.0; 3], |all, row| [all[0] + row[0], all[1] + row[1], all[2] + row[2]]);
    sum.map(|sum| sum / rows.len() as f64)
}

/// Reports whether a column varies by at most [`STABLE`] of its mean.
fn is_within(rows: &VecDeque<[f64; 3]>, column: usize) -> bool {
    let mean = mean(rows)[column];
    let variance = rows.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / rows.len() as f64;
    variance.sqrt() <= STABLE * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(goodputs: impl IntoIterator<Item = f64>, rtt_ms: impl Fn(usize) -> u64) -> Loading {
        let mut loading = Loading::new(&[], Instant::now() + Duration::from_secs(3600));
        loading.directions = vec![Direction::Down];
        for (at, goodput) in goodputs.into_iter().enumerate() {
            loading.judge([goodput, 0.0], Some(Duration::from_millis(rtt_ms(at))));
        }
        loading
    }

    #[test]
    fn a_phase_ends_when_goodput_and_delay_are_steady() {
        assert!(judged([1e6; 12], |_| 50).is_over());
        assert!(!judged([1e6; 6], |_| 50).is_stable());
    }

    #[test]
    fn a_buffer_that_still_fills_is_waited_for() {
        assert!(!judged([1e6; 12], |at| 50 + 40 * at as u64).is_stable());
    }

    #[test]
    fn a_goodput_that_still_grows_is_waited_for() {
        assert!(!judged((0..12).map(|at| 1e6 * f64::from(1 + at)), |_| 50).is_stable());
    }
}
