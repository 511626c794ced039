//! Why a mechanism cannot be used.

use crate::role::{MechanismError, Role};
use std::path::Path;
use std::{fmt, io};

/// Why a mechanism cannot be used: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The sentence; the compiler's own message begins on the next line.
    pub message: String,
    /// The setting that it is about, so that whoever read the scenario can point to its line.
    pub about: Option<About>,
    /// The user's input is wrong; otherwise this machine lacks something, such as room on its disk.
    pub is_input: bool,
    /// The whole log of the kernel's verifier, if the kernel refused the mechanism.
    pub log: Option<String>,
}

/// What a scenario sets in a mechanism.
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

    /// Returns an error of this machine, which does not do what is right.
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

/// A file that should be there cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::input(format!("{} cannot be read: {error}", path.display()))
}

/// Nor can a file be written where it should go.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::machine(format!("{} cannot be written: {error}", path.display()))
}
