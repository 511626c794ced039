//! Why a mechanism cannot be used.

use std::path::Path;
use std::{fmt, io};

/// Why a congestion control cannot be used: one sentence, and behind it the compiler's own message where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The sentence; what the compiler said begins on the next line.
    pub message: String,
    /// The parameter that it is about, so that whoever read the scenario can point to its line.
    pub parameter: Option<String>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Error {
        Error { message: message.into(), parameter: None }
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
