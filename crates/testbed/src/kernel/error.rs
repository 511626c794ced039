//! Why something about the running kernel failed.

use mechanism::About;
use std::fmt;

/// Why a congestion control cannot be loaded, or something else asked of the kernel failed: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The sentence; what a compiler said begins on the next line.
    pub message: String,
    /// Somebody wrote something wrong, which can be mended there; else the machine fails to do what is right.
    pub is_input: bool,
    /// The setting that it is about, if it is about one.
    pub about: Option<About>,
    /// All that the kernel's verifier said.
    pub log: Option<String>,
}

impl Error {
    /// What was asked for is wrong.
    pub(crate) fn input(message: impl Into<String>) -> Error {
        Error { message: message.into(), is_input: true, about: None, log: None }
    }

    /// The machine does not do it.
    pub(crate) fn machine(message: impl Into<String>) -> Error {
        Error { is_input: false, ..Error::input(message) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<mechanism::Error> for Error {
    fn from(error: mechanism::Error) -> Error {
        Error { about: error.about, is_input: error.is_input, ..Error::input(error.message) }
    }
}
