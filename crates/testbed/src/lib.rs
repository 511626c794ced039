//! The real thing: mechanisms in the running kernel, and scenarios over emulated links.

mod apps;
mod clock;
mod controls;
mod emulator;
mod error;
mod host;
pub mod kernel;
mod namespace;
mod netlink;
mod parcel;
mod priority;
pub mod recording;
mod run;
mod sockets;
mod soundness;
mod stack;
mod tcp_info;
mod tun;
mod waiting;
mod wire;

pub use error::Error;
pub use run::run;

use scenario::records::{Run, Series};
use scenario::units::Nanos;

/// What to keep of a run besides its records.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sample the run's inside this often.
    pub series: Option<Nanos>,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The result records.
    pub run: Run,
    /// Present if asked for.
    pub series: Option<Series>,
    /// Data packets sent, over all flows and the whole run.
    pub data_packets: u64,
}
