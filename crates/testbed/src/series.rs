//! The series of a run: what both threads see at each step, put side by side while the run goes on.

use crate::emulator::network::Sample;
use measure::{FlowSample, Sampler};
use model::series::{FlowRow, Step};
use std::sync::mpsc::Receiver;

/// Takes the steps of a series as the threads hand them over, each at its own time.
pub struct Gathering {
    sampler: Sampler,
    links: Receiver<Sample>,
    flows: Receiver<Vec<FlowSample>>,
    /// The links at a step of which the flows are still missing.
    ahead: Option<Sample>,
}

impl Gathering {
    /// What comes from the thread that carries packets, and from the applications'.
    pub fn new(sampler: Sampler, links: Receiver<Sample>, flows: Receiver<Vec<FlowSample>>) -> Gathering {
        Gathering { sampler, links, flows, ahead: None }
    }

    /// The next step that both have seen, if there is one.
    pub fn next(&mut self) -> Option<&Step> {
        let seen = self.ahead.take().or_else(|| self.links.try_recv().ok())?;
        let Ok(flows) = self.flows.try_recv() else {
            self.ahead = Some(seen);
            return None;
        };
        let flows = flows.into_iter().map(|flow| {
            let rtt_us = seen.rtt_us[flow.row.flow as usize];
            let row = FlowRow { rtt_ms: rtt_us.map(|us| us as f64 / 1000.0), ..flow.row };
            FlowSample { row, ..flow }
        });
        self.sampler.take(seen.at, flows, seen.links.iter().copied());
        Some(self.sampler.latest())
    }

    /// The steps so far.
    pub fn finish(self) -> Sampler {
        self.sampler
    }
}
