//! Reports a run to Python while it proceeds.

use model::records::ProgressUpdate;
use model::series::{FlowRow, LinkRow, Step};
use model::units::Nanos;
use model::{Link, Scenario};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How often Python gets a chance to stop the run.
const TICK: Duration = Duration::from_millis(100);

/// Takes the interpreter's lock for each step that Python watches. Now and then it also takes the
/// lock to report progress and to look for signals.
pub struct Watcher<'a> {
    scenario: &'a Scenario,
    /// The directions of links by their numbers; access links have higher numbers.
    links: Vec<&'a Link>,
    /// Called with the share of the run that is done.
    progress: Option<Py<PyAny>>,
    /// Called with the rows of each step of the series.
    steps: Option<Py<PyAny>>,
    /// Time of the step before.
    before: Nanos,
    next: Instant,
    /// The exception that a callback raised.
    pub raised: Option<PyErr>,
}

impl<'a> Watcher<'a> {
    /// Creates a watcher, whose first report comes when it is due.
    pub fn new(scenario: &'a Scenario, progress: Option<Py<PyAny>>, steps: Option<Py<PyAny>>) -> Watcher<'a> {
        let (links, next) = (scenario.directions().collect(), Instant::now() + TICK);
        Watcher { scenario, links, progress, steps, before: Nanos::ZERO, next, raised: None }
    }

    /// Sends all reports that are due. An exception in Python ends the run.
    pub fn look(&mut self, moment: ProgressUpdate) -> ControlFlow<()> {
        self.raised = self.tell(moment).err();
        if self.raised.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn tell(&mut self, moment: ProgressUpdate) -> PyResult<()> {
        if let (Some(call), Some(step)) = (&self.steps, moment.step) {
            Python::attach(|py| {
                py.check_signals()?;
                call.call1(py, (pythonize(py, &self.rows(step))?,)).map(|_| ())
            })?;
            self.before = step.at;
        }
        if Instant::now() < self.next {
            return Ok(());
        }
        self.next = Instant::now() + TICK;
        let share = moment.now.as_secs_f64() / self.scenario.duration.as_secs_f64();
        Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map_or(Ok(()), |call| call.call1(py, (share,)).map(|_| ()))
        })
    }

    /// Returns the rows of a step under the names of the series' columns. Access links are left
    /// out.
    fn rows<'s>(&'s self, step: &'s Step) -> Now<'s> {
        let seconds = step.at.since(self.before).as_secs_f64();
        let now = |row: &LinkRow| {
            let link = self.links.get(row.link as usize)?;
            Some(LinkNow {
                link: &link.name,
                queue_bytes: row.queue_bytes,
                queue_packets: row.queue_packets,
                ring_bytes: row.ring_bytes,
                bql_limit_bytes: row.bql_limit_bytes,
                drops: row.drops,
                throughput_mbps: row.throughput_mbps,
                capacity_mbps: (seconds > 0.0).then(|| link.capacity_bits(self.before, step.at) / seconds / 1e6),
            })
        };
        let links = step.links.iter().filter_map(now).collect();
        Now { time_s: step.at.as_secs_f64(), flows: &step.flows, links }
    }
}

#[derive(Serialize)]
struct Now<'a> {
    time_s: f64,
    flows: &'a [FlowRow],
    links: Vec<LinkNow<'a>>,
}

#[derive(Serialize)]
struct LinkNow<'a> {
    link: &'a str,
    queue_bytes: u64,
    queue_packets: u64,
    ring_bytes: Option<u64>,
    bql_limit_bytes: Option<u64>,
    drops: u64,
    throughput_mbps: f64,
    capacity_mbps: Option<f64>,
}
