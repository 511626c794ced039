//! Why a mechanism cannot be used.

use std::path::Path;
use std::{fmt, io};

/// Why a congestion control cannot be used: one sentence, and behind it the compiler's own message where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The sentence; what the compiler said begins on the next line.
    pub message: String,
    /// The setting that it is about, so that whoever read the scenario can point to its line.
    pub about: Option<About>,
    /// The user's input is wrong; otherwise this machine lacks something, such as room on its disk.
    pub is_input: bool,
}

/// What a scenario sets in a mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A parameter, by its name.
    Parameter(String),
    /// A BPF map, by its name, or an entry of one: name, dot, key.
    Map(String),
}

impl About {
    /// The scenario's key in the group or host whose table `params` holds the mechanism's parameters.
    pub fn key(&self, params: &str) -> String {
        match self {
            About::Parameter(name) => format!("{params}.{name}"),
            About::Map(name) => format!("maps.{name}"),
        }
    }
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Error {
        Error { message: message.into(), about: None, is_input: true }
    }

    pub(crate) fn machine(message: impl Into<String>) -> Error {
        Error { is_input: false, ..Error::new(message) }
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
    Error::new(format!("{} cannot be read: {error}", path.display()))
}

/// Nor can a file be written where it should go.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::machine(format!("{} cannot be written: {error}", path.display()))
}
