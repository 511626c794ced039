//! Reasons for which a run gives no records.

use mechanism::{Fault, MechanismError};
use model::OnlyInTheKernel;
use std::fmt;

/// The reason for which a run gave no records.
#[derive(Debug)]
pub enum Error {
    /// A mechanism could not be built, opened or set.
    Mechanism(MechanismError),
    /// A mechanism did something that no kernel allows.
    Fault(Fault),
    /// The scenario asks for something that the simulator does not have.
    OnlyInTheKernel(OnlyInTheKernel),
    /// The packet trace could not be written.
    Pcap(std::io::Error),
    /// The caller's `progress` asked to stop.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Mechanism(error) => error.fmt(f),
            Error::Fault(fault) => fault.fmt(f),
            Error::OnlyInTheKernel(why) => why.fmt(f),
            Error::Pcap(why) => write!(f, "the packet trace cannot be written: {why}"),
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
