//! The module `unbloat._core`, with the functions of the core that Python uses, and none that
//! Python could do itself.

mod backend;
mod catalogue;
mod columns;
mod errors;
mod grid_point;
mod kernel;
mod line;
mod live;
mod process;

use errors::input_error;
use model::units::Nanos;
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The compiled core: reads scenarios, knows the mechanisms, simulates.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::kernel::{
        clean, control_name, kernel_attach, kernel_classifier_status, kernel_detach, kernel_doctor, kernel_load,
        kernel_load_classifier, kernel_load_window, kernel_status, kernel_unload, kernel_unload_classifier,
        kernel_unload_window, kernel_window_status,
    };
    #[pymodule_export]
    use super::line::{LineServer, call_rating, measure_line};
    #[pymodule_export]
    use super::process::{end_with, sweep_compilations, take_warnings, watch_controls};
    #[pymodule_export]
    use super::{
        catalogue::classifiers, catalogue::mechanisms, catalogue::window_controllers, columns::series_columns,
        duration_ns, grid_point::GridPoint, grid_point::folds, grid_point::record_columns, grid_point::simulate_all,
        line_of, load, parse, quantity, resolved, scenario_keys,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("LEAST_STEP_NS", testbed::LEAST_STEP.0)?;
        module.add("BASE_UNITS", model::quantity::base_units().collect::<Vec<_>>())?;
        module.add("LINUX", engine::LINUX)?;
        module.add("RENAMED_KEYS", scenario::renamed_keys().collect::<BTreeMap<_, _>>())?;
        errors::add_to(module)
    }
}

/// Reads a scenario file; each override sets a key as if it were in the file. `warn` gets each
/// warning's sentence.
#[pyfunction]
#[pyo3(signature = (path, overrides, warn=None))]
fn load(
    path: PathBuf,
    overrides: Vec<(String, String)>,
    warn: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<grid_point::GridPoint>> {
    points(scenario::load(&path, &overrides), warn)
}

/// Reads a scenario's text; its paths are relative to `folder`. `warn` gets each warning's sentence.
#[pyfunction]
#[pyo3(signature = (text, folder, overrides, warn=None))]
fn parse(
    text: &str,
    folder: PathBuf,
    overrides: Vec<(String, String)>,
    warn: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<grid_point::GridPoint>> {
    points(scenario::load_text(text, "<text>", &folder, &overrides), warn)
}

/// Reads the output of `GridPoint.portable` in another process. The place of every error is `?: KEY`,
/// which the other process can locate.
#[pyfunction]
fn resolved(json: &str) -> PyResult<grid_point::GridPoint> {
    let model::Portable(scenario) = serde_json::from_str(json).map_err(input_error)?;
    Ok(grid_point::GridPoint(scenario::GridPoint::resolved(scenario)))
}

fn points(
    experiment: Result<scenario::Experiment, model::Error>,
    warn: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<grid_point::GridPoint>> {
    let experiment = experiment.map_err(errors::scenario_error)?;
    if let Some(warn) = warn {
        experiment.warnings.iter().try_for_each(|warning| warn.call1((warning.to_string(),)).map(drop))?;
    }
    Ok(experiment.points.into_iter().map(grid_point::GridPoint).collect())
}

/// Converts a duration such as `10ms` to nanoseconds.
#[pyfunction]
fn duration_ns(text: &str) -> PyResult<u64> {
    let duration: Nanos = text.parse().map_err(|e: model::quantity::QuantityError| input_error(e.0))?;
    Ok(duration.0)
}

/// Reads a quantity such as `10mbit`: its base unit and the number of them. None if the text is not
/// a quantity.
#[pyfunction]
fn quantity(text: &str) -> Option<(&'static str, f64)> {
    model::quantity::in_base_unit(text)
}

/// Returns the line of a TOML text on which a key begins, from 1. For a missing key it is the line
/// of the table that would contain it.
#[pyfunction]
fn line_of(text: &str, keys: Vec<String>) -> usize {
    scenario::line_of(text, &keys)
}

/// Returns every key of the scenario file with its kind, default, range and meaning.
#[pyfunction]
fn scenario_keys(py: Python<'_>) -> PyResult<Py<PyAny>> {
    to_python(py, &model::schema::all().collect::<Vec<_>>())
}

/// Converts a value to Python dictionaries, lists, numbers and text, whose types the stub declares.
fn to_python(py: Python<'_>, value: &impl Serialize) -> PyResult<Py<PyAny>> {
    Ok(pythonize(py, value)?.unbind())
}
