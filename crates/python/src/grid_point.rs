//! One run of an experiment, as a Python object.

use crate::backend::{Backend, mechanism_error, testbed_error};
use crate::columns;
use crate::errors::input_error;
use crate::live::Watcher;
use crate::to_python;
use mechanism::{Library, Role};
use model::metric::Fold;
use model::record;
use model::records::{self, Options, Outcome, Progress, ProgressUpdate, Run};
use model::units::Nanos;
use model::{Compile, DuplexLink, FlowGroup, Link, MechanismSource, Portable, Queue, Scenario, Settings};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Number of bits of a packet of the usual size.
const FULL_PACKET_BITS: f64 = 1500.0 * 8.0;

/// One run of an experiment: the scenario itself, or one point of its grid.
#[pyclass(frozen, module = "unbloat._core")]
pub struct GridPoint(pub scenario::GridPoint);

#[pymethods]
impl GridPoint {
    /// Name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        &self.0.scenario.name
    }

    /// Seed of every draw of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.scenario.seed
    }

    /// Returns this run with another seed.
    fn seeded(&self, seed: u64) -> GridPoint {
        let mut point = self.0.clone();
        point.scenario = point.scenario.seeded(seed);
        GridPoint(point)
    }

    /// Duration of the run in seconds, warm-up included.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.scenario.duration.as_secs_f64()
    }

    /// The axes of the sweep with this grid point's labels, in the file's order.
    #[getter]
    fn axes(&self) -> Vec<(String, String)> {
        self.0.axes.clone()
    }

    /// Statements that the results must fulfil: name, text, and the place `FILE:LINE: expect.NAME`.
    #[getter]
    fn expectations(&self) -> Vec<(String, String, String)> {
        let expectations = self.0.expectations.iter();
        let place = |each: &scenario::Expectation| each.place.of(&format!("expect.{}", each.name));
        expectations.map(|each| (each.name.clone(), each.statement.clone(), place(each))).collect()
    }

    /// Lists the source files of the user's own mechanisms, including headers beside them.
    fn sources(&self, algorithms: PathBuf) -> PyResult<Vec<PathBuf>> {
        let library = self.library(algorithms);
        let mut files = Vec::new();
        for (role, mechanism) in Role::all(&self.0.scenario) {
            if let MechanismSource::File(_) = mechanism.source {
                let found = library.files(&mechanism.source).map_err(|error| error.of(role));
                files.extend(found.map_err(|error| mechanism_error(&self.0, &error))?);
            }
        }
        Ok(files)
    }

    /// The lowest constant rate of a link's forward direction, in bit/s.
    #[getter]
    fn slowest_rate_bps(&self) -> Option<u64> {
        self.0.scenario.slowest_rate().map(|rate| rate.0)
    }

    /// IP length in bytes of the smallest data packet that a group of flows sends.
    #[getter]
    fn smallest_packet_bytes(&self) -> u64 {
        self.0.scenario.flows.iter().map(|group| group.packet.0).min().unwrap_or_default()
    }

    /// The user's own mechanisms, each as the scenario writes it: a path, maybe with `#NAME` behind
    /// it.
    #[getter]
    fn own_controls(&self) -> Vec<PathBuf> {
        let own = self.0.scenario.mechanisms().filter_map(|mechanism| match &mechanism.source {
            MechanismSource::File(path) => Some(path.clone()),
            _ => None,
        });
        own.collect()
    }

    /// Returns this run with other paths of the user's own mechanisms. `paths` has the new path for
    /// each present one.
    fn with_own_controls(&self, paths: HashMap<PathBuf, PathBuf>) -> GridPoint {
        let mut point = self.0.clone();
        for mechanism in point.scenario.mechanisms_mut() {
            if let MechanismSource::File(path) = &mut mechanism.source {
                *path = paths.get(path).unwrap_or(path).clone();
            }
        }
        GridPoint(point)
    }

    /// Compiles the run's mechanisms for the kernel, by the names under which a library takes them.
    fn objects(&self, py: Python<'_>, algorithms: PathBuf) -> PyResult<HashMap<String, Cow<'static, [u8]>>> {
        let compile = || {
            let library = self.library(algorithms);
            let object = |(role, mechanism): (Role, _)| {
                let object = library.object_file(role.kind(), mechanism).map_err(|error| error.of(role));
                object.map_err(|error| mechanism_error(&self.0, &error)).transpose()
            };
            Role::all(&self.0.scenario).filter_map(object).collect::<PyResult<Vec<_>>>()
        };
        Ok(py.detach(compile)?.into_iter().map(|(name, bytes)| (name, bytes.into())).collect())
    }

    /// The congestion control of each group of flows: its kind, and its name in the scenario.
    #[getter]
    fn controls(&self) -> Vec<(&'static str, String)> {
        let control = |group: &FlowGroup| match &group.cc.source {
            MechanismSource::Builtin(name) => ("builtin", name.clone()),
            MechanismSource::File(path) => ("file", path.display().to_string()),
            MechanismSource::Kernel(name) => ("kernel", name.clone()),
            MechanismSource::None => ("none", "none".to_string()),
        };
        self.0.scenario.flows.iter().map(control).collect()
    }

    /// The name of each group of flows, or None.
    #[getter]
    fn group_names(&self) -> Vec<Option<String>> {
        self.0.scenario.flows.iter().map(|group| group.name.clone()).collect()
    }

    /// The number of flows in each group; flows are numbered group by group.
    #[getter]
    fn groups(&self) -> Vec<usize> {
        self.0.scenario.flow_arrivals().iter().map(Vec::len).collect()
    }

    /// Returns the place in the file of a dotted key such as `flows.0.cc`, as `FILE:LINE: KEY`;
    /// just the key if it was set anew.
    fn locate(&self, key: &str) -> String {
        self.0.locate(key)
    }

    /// Refuses features that a backend lacks, before the run.
    fn check(&self, on: &str) -> PyResult<()> {
        Backend::named(on)?.check(&self.0)
    }

    /// Refuses features that a backend lacks when programs run behind the link.
    fn check_shell(&self, on: &str) -> PyResult<()> {
        Backend::named(on)?.check_shell(&self.0)
    }

    /// Returns the whole scenario with its defaults as JSON, equal for equal scenarios.
    fn json(&self) -> String {
        serde_json::to_string(&self.0.scenario).expect("a scenario has no maps but those with text keys")
    }

    /// Returns the settings whose hash gives the seeds of a sweep, as JSON.
    fn settings(&self) -> String {
        let settings = serde_json::to_value(Settings::from(self.0.scenario.clone()));
        settings.expect("a scenario has no maps but those with text keys").to_string()
    }

    /// Returns the whole scenario, with the text of its traces, for another process, which reads it
    /// with `resolved`.
    fn portable(&self) -> String {
        let portable = Portable(self.0.scenario.clone());
        serde_json::to_string(&portable).expect("a scenario has no maps but those with text keys")
    }

    /// Names of the links, in the scenario's order.
    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.0.scenario.links.iter().map(|link| link.forward.name.as_str()).collect()
    }

    /// One-way delay of each group's access links, in ns.
    #[getter]
    fn access_delays_ns(&self) -> Vec<u64> {
        self.0.scenario.flows.iter().map(|group| group.access.delay.0).collect()
    }

    /// Folders for the compiler's -I, and definitions for its -D.
    #[getter]
    fn compiler_options(&self) -> (Vec<PathBuf>, Vec<String>) {
        let Compile { include, define } = &self.0.scenario.compile;
        (include.clone(), define.clone())
    }

    /// Estimates the data packets that the run carries if every link is full. The second number is
    /// the datagrams that wait at the end in queues without a limit. Links of varying rate count as
    /// empty.
    fn expected_packets(&self) -> (f64, f64) {
        let Scenario { links, flows, duration, .. } = &self.0.scenario;
        let seconds = duration.as_secs_f64();
        let rate = |link: &DuplexLink| link.forward.service.constant().map_or(0.0, |rate| rate.0 as f64);
        let capacity = |link: &DuplexLink| rate(link) / FULL_PACKET_BITS * seconds;
        let capacities: Vec<f64> = links.iter().map(capacity).collect();
        let mut carried: Vec<f64> = vec![0.0; links.len()];
        let mut offered = carried.clone();
        for group in flows {
            let slower = |one: &&usize, other: &&usize| capacities[**one].total_cmp(&capacities[**other]);
            let Some(&slowest) = group.path.iter().min_by(slower) else { continue };
            match group.datagrams() {
                Some(datagrams) => {
                    offered[slowest] += f64::from(group.count) * seconds / datagrams.every.max(Nanos(1)).as_secs_f64();
                }
                None => carried[slowest] = capacities[slowest],
            }
        }
        let has_no_limit = |link: &DuplexLink| matches!(link.forward.queue, Queue::Droptail { limit: None, .. });
        let held = |number: usize| (offered[number] - capacities[number]).max(0.0);
        let packets = carried.iter().zip(&offered).map(|(carried, offered)| carried.max(*offered)).sum();
        let waiting = (0..links.len()).filter(|&number| has_no_limit(&links[number])).map(held).sum();
        (packets, waiting)
    }

    /// Number of flows that exist from beginning to end, which leaves out those that arrive at
    /// random.
    #[getter]
    fn steady_flows(&self) -> u64 {
        let groups = self.0.scenario.flows.iter().filter(|group| group.arrivals.is_none());
        groups.map(|group| u64::from(group.count)).sum()
    }

    /// Number of links in a series: each direction of a link, and access links with a rate.
    #[getter]
    fn sampled_links(&self) -> u64 {
        let scenario = &self.0.scenario;
        let limited = |group: &&FlowGroup| group.access.rate.is_some();
        let access = scenario.flows.iter().filter(limited).map(|group| u64::from(group.count));
        2 * scenario.links.len() as u64 + access.sum::<u64>()
    }

    /// Warnings about settings that are allowed but likely a mistake, with their places.
    #[getter]
    fn doubts(&self) -> Vec<String> {
        let message = "has no limit and never drops; write one such as limit = \"100kb\" or \"100p\"";
        let sentence = |link: &Link| format!("{}: {message}", self.0.locate(&format!("link.{}.queue", link.name)));
        self.0.scenario.never_drop().map(sentence).collect()
    }

    /// Runs the scenario on a backend. Returns the records as JSON and, on request, the series as
    /// tables of columns.
    #[pyo3(signature = (algorithms, *, on="simulator", series_ns=None, pcap=None, pcap_links=false,
                        pcap_headers_only=false, progress=None, steps=None, objects=None, stamp=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        algorithms: PathBuf,
        on: &str,
        series_ns: Option<u64>,
        pcap: Option<PathBuf>,
        pcap_links: bool,
        pcap_headers_only: bool,
        progress: Option<Py<PyAny>>,
        steps: Option<Py<PyAny>>,
        objects: Option<HashMap<String, Vec<u8>>>,
        stamp: Option<String>,
    ) -> PyResult<(String, Option<Bound<'py, PyDict>>)> {
        let backend = Backend::named(on)?;
        if series_ns == Some(0) {
            return Err(input_error("a time series needs a step of at least 1ns"));
        }
        let library = match (stamp, objects) {
            (Some(stamp), None) => self.library_at(algorithms, stamp),
            (_, objects) => Arc::new(self.library(algorithms).with_objects(objects.unwrap_or_default())),
        };
        let options = Options { series: series_ns.map(Nanos), pcap, pcap_links, pcap_headers_only };
        let mut watcher = Watcher::new(&self.0.scenario, progress, steps);
        let outcome = py.detach(|| backend.run(&self.0, &library, &options, &mut |moment| watcher.look(moment)));
        let mut outcome = outcome.map_err(|error| watcher.raised.unwrap_or(error))?;
        outcome.run.describe(&self.0.scenario);
        let series = outcome.series.as_ref().map(|series| columns::tables(py, series, &self.0.scenario));
        Ok((record(&self.0.scenario, &outcome), series.transpose()?))
    }

    /// Runs programs behind the scenario's link, where time passes as on that backend. Returns the
    /// near program's exit status. If the machine could not keep up, it also returns why the link
    /// was not the scenario's.
    #[pyo3(signature = (algorithms, *, at, program, far=None, on="kernel", series_ns=None, steps=None, objects=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn shell(
        &self,
        py: Python<'_>,
        algorithms: PathBuf,
        at: &str,
        program: Vec<OsString>,
        far: Option<Vec<OsString>>,
        on: &str,
        series_ns: Option<u64>,
        steps: Option<Py<PyAny>>,
        objects: Option<HashMap<String, Vec<u8>>>,
    ) -> PyResult<(i32, Option<String>)> {
        let at = if at == "receiver" { testbed::End::Receiver } else { testbed::End::Sender };
        let time = Backend::named(on)?.time();
        let programs = testbed::Programs { at, near: program, far, time };
        let library = self.library(algorithms).with_objects(objects.unwrap_or_default());
        let mut watcher = Watcher::new(&self.0.scenario, None, steps);
        let status = py.detach(|| {
            let mut look = |moment: ProgressUpdate| watcher.look(moment);
            let watch = series_ns.map(|step| (Nanos(step), &mut look as Progress));
            testbed::shell(&self.0.scenario, &library, &programs, watch)
        });
        watcher.raised.map_or(Ok(()), Err)?;
        let ended = status.map_err(|error| testbed_error(&self.0, &error))?;
        Ok((ended.status, ended.unsound_because))
    }
}

impl GridPoint {
    /// Returns the library of this stamp: a later run with one stamp reads no file again.
    fn library_at(&self, algorithms: PathBuf, stamp: String) -> Arc<Library> {
        let options = &self.0.scenario.compile;
        let mut kept = LIBRARIES.lock().expect("nothing panics with the lock");
        if let Some((.., library)) = kept.iter().find(|(known, given, _)| *known == stamp && given == options) {
            return library.clone();
        }
        if kept.len() == MOST_LIBRARIES {
            kept.clear();
        }
        let library = Arc::new(self.library(algorithms).reading_once());
        kept.push((stamp, options.clone(), library.clone()));
        library
    }

    /// Opens a library, with the scenario's compiler options for users' own mechanisms.
    fn library(&self, algorithms: PathBuf) -> Library {
        Library::open(algorithms).with_options(&self.0.scenario.compile)
    }
}

/// The libraries of this process, by the stamp of the files that they have read and by their
/// compiler options.
static LIBRARIES: Mutex<Vec<(String, Compile, Arc<Library>)>> = Mutex::new(Vec::new());
/// Number of libraries that are cached at most.
const MOST_LIBRARIES: usize = 16;

/// Simulates runs one after the other, and reads each mechanism once. Returns the records of each
/// as JSON, or its error.
#[pyfunction]
pub fn simulate_all(py: Python<'_>, points: Vec<Py<GridPoint>>, algorithms: PathBuf) -> PyResult<Vec<Py<PyAny>>> {
    let mut libraries: Vec<(&Compile, Library)> = Vec::new();
    let mut found = Vec::with_capacity(points.len());
    for point in &points {
        let GridPoint(point) = point.get();
        let options = &point.scenario.compile;
        let known = libraries.iter().position(|(known, _)| *known == options);
        let number = known.unwrap_or_else(|| {
            let library = Library::open(algorithms.clone()).with_options(options).reading_once();
            libraries.push((options, library));
            libraries.len() - 1
        });
        let library = &libraries[number].1;
        let mut watcher = Watcher::new(&point.scenario, None, None);
        let outcome = py
            .detach(|| Backend::Simulator.run(point, library, &Options::default(), &mut |moment| watcher.look(moment)));
        if let Some(raised) = watcher.raised {
            return Err(raised);
        }
        found.push(match outcome {
            Ok(mut outcome) => {
                outcome.run.describe(&point.scenario);
                record(&point.scenario, &outcome).into_pyobject(py)?.into_any().unbind()
            }
            Err(error) => error.into_value(py).into_any(),
        });
    }
    Ok(found)
}

record! {
    /// The records with what identifies the run's making.
    pub struct Record<'a> {
        /// What the backend recorded.
        #[serde(flatten)]
        run: &'a Run,
        /// Version of unbloat.
        version: &'static str,
        /// Data packets sent by all flows, warm-up included.
        data_packets: u64,
        /// Transmission time of a full-sized packet at the bottleneck; empty without a fixed rate.
        packet_ms: Option<f64>,
        /// The first part of the run, which the statistics leave out.
        warmup_s: f64,
        /// Number of flows in each group (`[[flows]]`) of the scenario, in its order.
        groups: Vec<usize>,
    }
}

/// Returns the tables of records with their columns: each column's name, kind, definition and
/// metric.
#[pyfunction]
pub fn record_columns(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let mut tables = BTreeMap::from(records::tables());
    tables.insert("runs", records::columns::<Record>());
    to_python(py, &tables)
}

/// Returns the words for each way to fold several flows into one number.
#[pyfunction]
pub fn folds(py: Python<'_>) -> PyResult<Py<PyAny>> {
    to_python(py, &BTreeMap::from(Fold::WORDS))
}

fn record(scenario: &Scenario, outcome: &Outcome) -> String {
    let record = Record {
        run: &outcome.run,
        version: env!("CARGO_PKG_VERSION"),
        data_packets: outcome.data_packets,
        packet_ms: scenario.packet_time().map(Nanos::as_millis_f64),
        warmup_s: scenario.warmup.as_secs_f64(),
        groups: scenario.flow_arrivals().iter().map(Vec::len).collect(),
    };
    serde_json::to_string(&record).expect("records hold numbers and text only")
}
