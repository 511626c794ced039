//! The part of a run that statistics speak of.

use model::Scenario;
use model::units::Nanos;

/// The part of a run that statistics speak of.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Its first instant.
    pub from: Nanos,
    /// Its last.
    pub to: Nanos,
}

impl Interval {
    /// The measuring interval of a run, or of a flow that stops before its end.
    pub fn new(scenario: &Scenario, stop: Option<Nanos>) -> Interval {
        Interval { from: scenario.warmup, to: stop.unwrap_or(scenario.duration).min(scenario.duration) }
    }

    /// The rate of so many bytes over it, Mbit/s; 0 over an empty one.
    pub fn mbps(&self, bytes: u64) -> f64 {
        let seconds = (self.to - self.from).as_secs_f64();
        if seconds > 0.0 { bytes as f64 * 8.0 / 1e6 / seconds } else { 0.0 }
    }
}
