//! Why a run gave no records.

use mechanism::Fault;
use scenario::model::OnlyInTheKernel;
use std::fmt;

/// Why a run gave no records.
#[derive(Debug)]
pub enum Error {
    /// The congestion control of a flow group could not be built, opened or set.
    Mechanism {
        /// The group's number.
        group: usize,
        /// Why not.
        error: mechanism::Error,
    },
    /// The same of its receiver's window controller.
    Receiver {
        /// The group's number.
        group: usize,
        /// Why not.
        error: mechanism::Error,
    },
    /// The same of a host's classifier.
    Classifier {
        /// The host's name.
        host: String,
        /// Why not.
        error: mechanism::Error,
    },
    /// A mechanism did what no kernel lets it do.
    Fault(Fault),
    /// The scenario asks for something that the simulator does not have.
    OnlyInTheKernel(OnlyInTheKernel),
    /// The packet trace could not be written.
    Pcap(std::io::Error),
    /// `progress` asked to stop.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Mechanism { error, .. } | Error::Receiver { error, .. } | Error::Classifier { error, .. } => {
                error.fmt(f)
            }
            Error::Fault(fault) => fault.fmt(f),
            Error::OnlyInTheKernel(why) => why.fmt(f),
            Error::Pcap(why) => write!(f, "the packet trace cannot be written: {why}"),
            Error::Interrupted => f.write_str("the run was interrupted"),
        }
    }
}

impl std::error::Error for Error {}
