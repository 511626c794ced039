//! The series of a run: joins what both threads sample at each step, while the run goes on.

use crate::emulator::network::Sample;
use measure::{FlowSample, Sampler};
use model::series::{FlowRow, Step};
use std::sync::mpsc::Receiver;

/// Joins the samples of a series, which the two threads hand over each at its own time.
pub struct Gathering {
    sampler: Sampler,
    links: Receiver<Sample>,
    flows: Receiver<Vec<FlowSample>>,
    /// The links' sample of a step whose flow samples have not come yet.
    ahead: Option<Sample>,
}

impl Gathering {
    /// Joins the samples of the thread that carries packets (`links`) and of the applications' thread (`flows`).
    pub fn new(sampler: Sampler, links: Receiver<Sample>, flows: Receiver<Vec<FlowSample>>) -> Gathering {
        Gathering { sampler, links, flows, ahead: None }
    }

    /// Returns the next step that both threads have sampled, if there is one.
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

    /// Returns the sampler with all joined steps.
    pub fn finish(self) -> Sampler {
        self.sampler
    }
}
