//! The mechanisms' descriptions of themselves.

use crate::errors::input_error;
use crate::to_python;
use mechanism::{Description, Library, MechanismKind, Parameter};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Serialize)]
struct Mechanism {
    name: String,
    about: String,
    prose: String,
    parameters: Vec<ParameterInfo>,
}

#[derive(Serialize)]
struct ParameterInfo {
    name: String,
    about: String,
    kind: &'static str,
    default: String,
    lowest: String,
    highest: String,
}

/// Lists every congestion control of a library, with its parameters.
#[pyfunction]
pub fn mechanisms(py: Python<'_>, algorithms: PathBuf) -> PyResult<Py<PyAny>> {
    described(py, || Library::open(algorithms).list())
}

/// Lists every window controller, with its parameters.
#[pyfunction]
pub fn window_controllers(py: Python<'_>, algorithms: PathBuf) -> PyResult<Py<PyAny>> {
    described(py, || Library::open(algorithms).list_of(MechanismKind::WindowController))
}

/// Lists every classifier, with its parameters.
#[pyfunction]
pub fn classifiers(py: Python<'_>, algorithms: PathBuf) -> PyResult<Py<PyAny>> {
    described(py, || Library::open(algorithms).list_of(MechanismKind::Classifier))
}

fn described(
    py: Python<'_>,
    list: impl FnOnce() -> Result<Vec<Description>, mechanism::Error> + Send,
) -> PyResult<Py<PyAny>> {
    let found = py.detach(list).map_err(input_error)?;
    let found: Vec<_> = found.into_iter().map(Mechanism::from).collect();
    to_python(py, &found)
}

impl From<Description> for Mechanism {
    fn from(description: Description) -> Mechanism {
        Mechanism {
            name: description.name,
            about: description.summary,
            prose: description.prose,
            parameters: description.parameters.iter().map(ParameterInfo::from).collect(),
        }
    }
}

impl From<&Parameter> for ParameterInfo {
    fn from(parameter: &Parameter) -> ParameterInfo {
        ParameterInfo {
            name: parameter.name.clone(),
            about: parameter.meaning.clone(),
            kind: parameter.kind(),
            default: parameter.default(),
            lowest: parameter.lowest(),
            highest: parameter.highest(),
        }
    }
}
