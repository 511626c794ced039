//! The exceptions: each carries one sentence.

use model::Location;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use std::fmt::Display;

pyo3::create_exception!(unbloat, Error, PyException, "Whatever kept a run from giving records.");
pyo3::create_exception!(unbloat, InputError, Error, "The scenario, a congestion control or an override is wrong.");
pyo3::create_exception!(unbloat, RunError, Error, "The input is right, but the run failed.");

/// Creates the exception for a mistake that the user can correct in the input.
pub fn input_error(sentence: impl Display) -> PyErr {
    InputError::new_err(plain(&sentence.to_string()))
}

/// Creates the exception for the mistakes of a scenario. Its sentence names all of them, and its
/// attributes the first.
pub fn scenario_error(mistakes: model::Error) -> PyErr {
    let error = input_error(&mistakes);
    let Some(first) = mistakes.problems.first() else { return error };
    let (file, line) = match &first.place {
        Location::Override => (None, None),
        Location::File(file) => (Some(&**file), None),
        Location::Line(file, line) => (Some(&**file), Some(*line)),
    };
    let key = Some(first.key.as_str()).filter(|key| !key.is_empty());
    let noted = Python::attach(|py| {
        let value = error.value(py);
        value.setattr("file", file)?;
        value.setattr("line", line)?;
        value.setattr("key", key)
    });
    noted.map_or_else(|failed| failed, |()| error)
}

/// Adds the exceptions to the module. The attributes of an `InputError` without a place in a
/// scenario are None.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let input_error = py.get_type::<InputError>();
    for attribute in ["file", "line", "key"] {
        input_error.setattr(attribute, py.None())?;
    }
    let property = py.import("builtins")?.getattr("property")?;
    input_error.setattr("hint", property.call1((wrap_pyfunction!(hint, module)?,))?)?;
    module.add("Error", py.get_type::<Error>())?;
    module.add("InputError", input_error)?;
    module.add("RunError", py.get_type::<RunError>())
}

/// Returns the next step to try that the sentence of an error names; None if it names none.
#[pyfunction]
fn hint(error: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    Ok(model::hint(&error.str()?.to_cow()?))
}

/// Creates the exception for a run that failed, or for a problem of this machine.
pub fn run_error(sentence: impl Display) -> PyErr {
    RunError::new_err(plain(&sentence.to_string()))
}

/// Escapes control characters as Python's `legible` does, so that a file's content cannot control
/// the terminal.
fn plain(sentence: &str) -> String {
    let mut shown = String::with_capacity(sentence.len());
    for letter in sentence.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown += &format!("\\u{:04x}", u32::from(letter)),
            _ if letter.is_control() => shown += &format!("\\x{:02x}", u32::from(letter)),
            _ => shown.push(letter),
        }
    }
    shown
}

/// Creates the exception for a run that somebody has interrupted.
pub fn interrupted() -> PyErr {
    PyKeyboardInterrupt::new_err("the run was interrupted")
}

/// Creates the exception for a broken assertion inside a backend, whose place is on stderr.
pub fn fault() -> PyErr {
    run_error("unbloat has a bug; please report it with the scenario and the line above")
}
