//! Errors of mechanisms that cannot be used.

use crate::role::{MechanismError, Role};
use std::path::Path;
use std::{fmt, io};

/// The reason for which a mechanism cannot be used, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The sentence; the compiler's own message begins on the next line.
    pub message: String,
    /// The setting with the error, so that the reader of the scenario can point to its line.
    pub about: Option<About>,
    /// The user's input is wrong; otherwise this machine lacks something, such as room on its disk.
    pub is_input: bool,
    /// The whole log of the kernel's verifier, if the kernel refused the mechanism.
    pub log: Option<String>,
}

/// A setting of a mechanism in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A parameter, by its name.
    Parameter(String),
    /// A BPF map, by its name, or an entry of one: name, dot, key.
    Map(String),
}

impl Error {
    /// Returns an error of the user's input.
    pub fn input(message: impl Into<String>) -> Error {
        Error { message: message.into(), about: None, is_input: true, log: None }
    }

    /// Returns an error of this machine, which lacks something.
    pub fn machine(message: impl Into<String>) -> Error {
        Error { is_input: false, ..Error::input(message) }
    }

    /// Names the mechanism that cannot be used.
    pub fn of(self, role: Role) -> MechanismError {
        MechanismError { role, error: self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Returns the error for a file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::input(format!("{} cannot be read: {error}", path.display()))
}

/// Returns the error for a file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::machine(format!("{} cannot be written: {error}", path.display()))
}
