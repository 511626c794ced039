//! Congestion controls, window controllers and classifiers in the running kernel.

use crate::errors::{input_error, run_error};
use crate::to_python;
use ::kernel::{self, Group, Target};
use mechanism::{ControlName, Library};
use model::units::Rate;
use model::{Compile, MapContents, MechanismRef, MechanismSource, ParamValue};
use pyo3::prelude::*;
use pythonize::depythonize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Checks a name under which the kernel can register a congestion control, and returns it. The name
/// is also safe as part of a path.
#[pyfunction]
pub fn control_name(name: &str) -> PyResult<String> {
    ControlName::new(name).map(String::from).map_err(input_error)
}

/// Loads a congestion control to stay, and returns a description of it. `maps` has the contents of
/// its BPF maps: name, key and the numbers of the value.
#[pyfunction]
#[pyo3(signature = (
    algorithms, control, parameters, *, maps=vec![], include=vec![], define=vec![], name=None, make_default=false
))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn kernel_load(
    py: Python<'_>,
    algorithms: PathBuf,
    control: &str,
    parameters: Vec<(String, String)>,
    maps: Vec<(String, String, Vec<i128>)>,
    include: Vec<PathBuf>,
    define: Vec<String>,
    name: Option<&str>,
    make_default: bool,
) -> PyResult<Py<PyAny>> {
    let params = parameters.into_iter().map(|(key, value)| (key, parameter_value(value))).collect();
    let control = MechanismRef { maps: by_map(maps), ..MechanismRef::new(source(control), params) };
    let library = Library::open(algorithms).with_options(&Compile { include, define });
    answer(py, || kernel::load_pinned(&library, &control, name, make_default))
}

/// Unloads a congestion control, and returns the outcome.
#[pyfunction]
#[pyo3(signature = (name, *, drain=false))]
pub fn kernel_unload(py: Python<'_>, name: &str, drain: bool) -> PyResult<Py<PyAny>> {
    answer(py, || kernel::unload(name, drain))
}

/// Gives a device a window controller to stay, and returns a description of it. `target` selects
/// the acknowledgements.
#[pyfunction]
#[pyo3(signature = (algorithms, controller, parameters, device, target, *, include=vec![], define=vec![]))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn kernel_load_window(
    py: Python<'_>,
    algorithms: PathBuf,
    controller: &str,
    parameters: Vec<(String, String)>,
    device: &str,
    target: &Bound<'_, PyAny>,
    include: Vec<PathBuf>,
    define: Vec<String>,
) -> PyResult<Py<PyAny>> {
    let params = parameters.into_iter().map(|(key, value)| (key, parameter_value(value))).collect();
    let controller = MechanismRef::new(source(controller), params);
    let target: Target = depythonize(target)?;
    let library = Library::open(algorithms).with_options(&Compile { include, define });
    answer(py, || kernel::load_window(&library, &controller, device, &target))
}

/// Takes a window controller from a device, or from all that have it, and lists those devices.
#[pyfunction]
#[pyo3(signature = (source, *, device=None))]
pub fn kernel_unload_window(py: Python<'_>, source: &str, device: Option<&str>) -> PyResult<Py<PyAny>> {
    answer(py, || kernel::unload_window(source, device))
}

/// Lists the window controllers of this network namespace's devices, with their connections.
#[pyfunction]
pub fn kernel_window_status(py: Python<'_>) -> PyResult<Py<PyAny>> {
    answer(py, kernel::window_status)
}

/// Gives a device a classifier to stay, and returns a description of it. The device sends at `rate`
/// at most, such as `20mbit`.
#[pyfunction]
#[pyo3(signature = (algorithms, classifier, parameters, device, *, include=vec![], define=vec![], rate=None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn kernel_load_classifier(
    py: Python<'_>,
    algorithms: PathBuf,
    classifier: &str,
    parameters: Vec<(String, String)>,
    device: &str,
    include: Vec<PathBuf>,
    define: Vec<String>,
    rate: Option<&str>,
) -> PyResult<Py<PyAny>> {
    let params = parameters.into_iter().map(|(key, value)| (key, parameter_value(value))).collect();
    let classifier = MechanismRef::new(source(classifier), params);
    let rate = rate.map(str::parse::<Rate>).transpose().map_err(|why| input_error(format!("--rate: {why}")))?;
    if let Some(rate) = rate.filter(|rate| *rate < kernel::LEAST_RATE) {
        let least = kernel::LEAST_RATE;
        return Err(input_error(format!("--rate: {rate} is too low; a device needs at least {least}")));
    }
    let library = Library::open(algorithms).with_options(&Compile { include, define });
    answer(py, || kernel::load_classifier(&library, &classifier, device, rate))
}

/// Takes a classifier from a device, or from all that have it, and lists those devices.
#[pyfunction]
#[pyo3(signature = (source, *, device=None))]
pub fn kernel_unload_classifier(py: Python<'_>, source: &str, device: Option<&str>) -> PyResult<Py<PyAny>> {
    answer(py, || kernel::unload_classifier(source, device))
}

/// Lists the classifiers of this network namespace's devices, with their connections.
#[pyfunction]
pub fn kernel_classifier_status(py: Python<'_>) -> PyResult<Py<PyAny>> {
    answer(py, kernel::classifier_status)
}

/// Gives a congestion control to the connections of a control group, and returns both. The group is
/// the root with `everyone`, and this process's own without a name.
#[pyfunction]
#[pyo3(signature = (control, cgroup, *, everyone=false))]
pub fn kernel_attach(py: Python<'_>, control: &str, cgroup: Option<PathBuf>, everyone: bool) -> PyResult<Py<PyAny>> {
    answer(py, || kernel::attach(control, group(cgroup.as_deref(), everyone)))
}

/// Takes the congestion control back from a control group, and returns both.
#[pyfunction]
#[pyo3(signature = (cgroup, *, everyone=false))]
pub fn kernel_detach(py: Python<'_>, cgroup: Option<PathBuf>, everyone: bool) -> PyResult<Py<PyAny>> {
    answer(py, || kernel::detach(group(cgroup.as_deref(), everyone)))
}

fn group(named: Option<&Path>, everyone: bool) -> Group<'_> {
    match named {
        _ if everyone => Group::Everyone,
        Some(path) => Group::Named(path),
        None => Group::Own,
    }
}

/// Lists the BPF congestion controls in the kernel. With `measure_ns`, their runs are counted for
/// that time.
#[pyfunction]
#[pyo3(signature = (*, measure_ns=None))]
pub fn kernel_status(py: Python<'_>, measure_ns: Option<u64>) -> PyResult<Py<PyAny>> {
    answer(py, || kernel::status(measure_ns.map(Duration::from_nanos)))
}

/// Checks what this machine has for loading and for tests over emulated links, with remedies for
/// what it lacks.
#[pyfunction]
pub fn kernel_doctor(py: Python<'_>) -> PyResult<Py<PyAny>> {
    answer(py, || Ok(kernel::doctor()))
}

/// Removes what killed runs left behind, and lists it in words.
#[pyfunction]
pub fn clean(py: Python<'_>) -> PyResult<Py<PyAny>> {
    answer(py, kernel::clean)
}

fn answer<T: Serialize + Send>(
    py: Python<'_>,
    ask: impl FnOnce() -> Result<T, kernel::Error> + Send,
) -> PyResult<Py<PyAny>> {
    let found = py.detach(ask).map_err(|error| kernel_error(py, error))?;
    to_python(py, &found)
}

/// Converts an error to an exception, with the verifier's log as its `log`.
fn kernel_error(py: Python<'_>, error: kernel::Error) -> PyErr {
    let exception = if error.is_input { input_error(error.message) } else { run_error(error.message) };
    match exception.value(py).setattr("log", error.log) {
        Ok(()) => exception,
        Err(failure) => failure,
    }
}

/// Selects a path, or a built-in by its name.
fn source(text: &str) -> MechanismSource {
    if model::is_path(text) { MechanismSource::File(text.into()) } else { MechanismSource::Builtin(text.into()) }
}

/// Sorts entries by their maps; the last entry of a key counts.
fn by_map(entries: Vec<(String, String, Vec<i128>)>) -> BTreeMap<String, MapContents> {
    let mut maps: BTreeMap<String, MapContents> = BTreeMap::new();
    for (map, key, numbers) in entries {
        maps.entry(map).or_default().insert(key, numbers);
    }
    maps
}

/// Reads a value as a scenario would have it: a number, `true` or `false`, or a text with a unit.
fn parameter_value(text: String) -> ParamValue {
    match (text.parse(), text.parse()) {
        (Ok(flag), _) => ParamValue::Bool(flag),
        (_, Ok(number)) => ParamValue::Integer(number),
        _ => ParamValue::Text(text),
    }
}
