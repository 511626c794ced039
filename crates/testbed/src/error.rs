//! Why a run gave no records.

use crate::host::stack::Unswitchable;
use mechanism::MechanismError;
use model::units::Nanos;
use std::fmt;
use std::io;

/// Why a run gave no records.
#[derive(Debug)]
pub enum Error {
    /// A mechanism cannot be built or loaded.
    Mechanism(MechanismError),
    /// The kernel's TCP cannot do what the group's profile asks for.
    Unswitchable {
        /// The number of the flow group.
        group: usize,
        /// The setting that the kernel cannot change.
        switch: Unswitchable,
    },
    /// The running kernel does not support the value of a key.
    Scenario {
        /// The dotted key, such as `link.bottleneck.queue.kind`.
        key: String,
        /// The reason, as a sentence.
        why: String,
    },
    /// The step of the series is shorter than [`crate::LEAST_STEP`].
    #[allow(missing_docs)]
    Step { step: Nanos, least: Nanos },
    /// A call to the operating system failed.
    Machine(String),
    /// The `progress` callback asked to stop.
    Interrupted,
}

impl Error {
    /// Wraps an error of the operating system.
    pub(crate) fn machine(error: io::Error) -> Error {
        Error::Machine(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Mechanism(error) => error.fmt(f),
            Error::Unswitchable { switch: Unswitchable { key, always }, .. } => {
                write!(f, "the kernel's TCP always {always}; leave profile.{key} as in profile \"linux\", or simulate")
            }
            Error::Scenario { why, .. } | Error::Machine(why) => f.write_str(why),
            Error::Step { step, least } => write!(
                f,
                "the step of the series is {} us; with the kernel's TCP it must be at least {} us, or sampling delays \
                 packets",
                step.0 as f64 / 1e3,
                least.as_micros()
            ),
            Error::Interrupted => f.write_str("the run was interrupted"),
        }
    }
}

impl std::error::Error for Error {}

impl From<MechanismError> for Error {
    fn from(error: MechanismError) -> Error {
        Error::Mechanism(error)
    }
}
