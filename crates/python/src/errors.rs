//! The exceptions: each carries one sentence.

use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use std::fmt::Display;

pyo3::create_exception!(unbloat._core, Unbloat, PyException, "Whatever kept a run from giving records.");
pyo3::create_exception!(
    unbloat._core,
    InputError,
    Unbloat,
    "The scenario, a congestion control or an override is wrong."
);
pyo3::create_exception!(unbloat._core, RunError, Unbloat, "The input is right, but the run failed.");

/// What the user can mend in the input.
pub fn input_error(sentence: impl Display) -> PyErr {
    InputError::new_err(sentence.to_string())
}

/// Somebody asked to stop.
pub fn interrupted() -> PyErr {
    PyKeyboardInterrupt::new_err("the run was interrupted")
}

/// A broken assertion inside a backend; where it broke stands on stderr.
pub fn fault() -> PyErr {
    RunError::new_err("unbloat stopped at a fault of its own; please report it with the scenario and the line above")
}
