//! One run of an experiment, as Python holds it.

use crate::columns;
use crate::errors::{engine_error, engine_fault, input_error};
use engine::{Options, Outcome};
use mechanism::Library;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::model::{CcSource, Scenario, Service};
use scenario::records::Run;
use scenario::units::Nanos;
use serde::Serialize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often Python is asked whether to go on.
const TICK: Duration = Duration::from_millis(100);

/// One run of an experiment: the scenario itself, or one point of its grid.
#[pyclass(frozen, module = "unbloat._core")]
pub struct Cell(pub scenario::Cell);

#[pymethods]
impl Cell {
    /// What the scenario calls itself.
    #[getter]
    fn name(&self) -> &str {
        &self.0.scenario.name
    }

    /// Seeds every draw of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.scenario.seed
    }

    /// How long the run lasts, warm-up included.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.scenario.duration.as_secs_f64()
    }

    /// The axes of the sweep with this cell's labels, in the file's order.
    #[getter]
    fn axes(&self) -> Vec<(String, String)> {
        self.0.axes.clone()
    }

    /// The files that the user's own congestion controls are written in, headers beside them included.
    fn sources(&self, algorithms: PathBuf) -> PyResult<Vec<PathBuf>> {
        let library = Library::open(algorithms);
        let mut files = Vec::new();
        for (group, flows) in self.0.scenario.flows.iter().enumerate() {
            if let CcSource::File(_) = flows.cc.source {
                files.extend(library.files(&flows.cc.source).map_err(|error| self.wrong_control(group, error))?);
            }
        }
        Ok(files)
    }

    /// The whole scenario, defaults filled in, as JSON: equal for equal scenarios.
    fn json(&self) -> String {
        serde_json::to_string(&self.0.scenario).expect("a scenario has no maps but those with text keys")
    }

    /// Runs it on a backend; gives the records as JSON and, if asked for, the series as tables of columns.
    #[pyo3(signature = (algorithms, *, on="simulator", series_ns=None, pcap=None, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        algorithms: PathBuf,
        on: &str,
        series_ns: Option<u64>,
        pcap: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, Option<Bound<'py, PyDict>>)> {
        if on != "simulator" {
            return Err(input_error(format!("--on {on}: this build has the simulator only")));
        }
        let options = Options { series: series_ns.map(Nanos), pcap, fingerprint: false };
        let library = Library::open(algorithms);
        let outcome = py.detach(|| {
            self.check(&library)?;
            self.simulate(&library, &options, progress)
        })?;
        let series = outcome.series.as_ref().map(|series| columns::tables(py, series));
        Ok((record(&self.0.scenario, &outcome), series.transpose()?))
    }
}

impl Cell {
    /// Binds every group's congestion control once, because only here is it known where in the file it stands.
    fn check(&self, library: &Library) -> PyResult<()> {
        let scenario = &self.0.scenario;
        for (group, flows) in scenario.flows.iter().enumerate() {
            library.load(&flows.cc, scenario.seed).map_err(|error| self.wrong_control(group, error))?;
        }
        Ok(())
    }

    fn wrong_control(&self, group: usize, error: mechanism::Error) -> PyErr {
        let place = match &error.parameter {
            Some(parameter) => self.0.locate_param(group, parameter),
            None => self.0.locate(&format!("flows.{group}.cc")),
        };
        input_error(format!("{place}: {error}"))
    }

    /// Runs without the interpreter's lock, taking it now and then to tell `progress` and to look for signals.
    fn simulate(&self, library: &Library, options: &Options, progress: Option<Py<PyAny>>) -> PyResult<Outcome> {
        let duration = self.duration_s();
        let mut raised = None;
        let mut next = Instant::now() + TICK;
        let mut tick = |now: Nanos| {
            if Instant::now() < next {
                return ControlFlow::Continue(());
            }
            next = Instant::now() + TICK;
            let told = Python::attach(|py| {
                py.check_signals()?;
                let share = now.as_secs_f64() / duration;
                progress.as_ref().map_or(Ok(()), |call| call.call1(py, (share,)).map(|_| ()))
            });
            raised = told.err();
            if raised.is_some() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| engine::run(&self.0.scenario, library, options, &mut tick)));
        outcome.map_err(|_| engine_fault())?.map_err(|error| raised.unwrap_or_else(|| engine_error(error)))
    }
}

/// The records with what identifies the run's making.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    run: &'a Run,
    version: &'static str,
    data_packets: u64,
    /// What the bottleneck takes to send the largest packet; none for a link without a constant rate.
    packet_ms: Option<f64>,
}

fn record(scenario: &Scenario, outcome: &Outcome) -> String {
    let record = Record {
        run: &outcome.run,
        version: env!("CARGO_PKG_VERSION"),
        data_packets: outcome.data_packets,
        packet_ms: packet_ms(scenario),
    };
    serde_json::to_string(&record).expect("records hold numbers and text only")
}

fn packet_ms(scenario: &Scenario) -> Option<f64> {
    let Service::Rate(rate) = scenario.bottleneck.service else { return None };
    let largest = scenario.flows.iter().map(|group| group.packet).max()?;
    Some(rate.time_to_send(largest).as_millis_f64())
}
