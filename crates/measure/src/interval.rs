//! The part of a run that statistics cover.

use model::Scenario;
use model::units::Nanos;

/// The part of a run that statistics cover.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// The first instant of the interval.
    pub from: Nanos,
    /// The last instant of the interval.
    pub to: Nanos,
}

impl Interval {
    /// Returns the measuring interval of a run, or of a flow that stops before its end.
    pub fn new(scenario: &Scenario, stop: Option<Nanos>) -> Interval {
        Interval { from: scenario.warmup, to: stop.unwrap_or(scenario.duration).min(scenario.duration) }
    }

    /// Returns the rate of `bytes` over the interval in Mbit/s; 0 if the interval is empty.
    pub fn mbps(&self, bytes: u64) -> f64 {
        let seconds = (self.to - self.from).as_secs_f64();
        if seconds > 0.0 { bytes as f64 * 8.0 / 1e6 / seconds } else { 0.0 }
    }
}
