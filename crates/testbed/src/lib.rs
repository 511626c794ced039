//! The real thing: mechanisms in the running kernel, and scenarios over emulated links.

mod controls;
mod emulator;
mod error;
mod flows;
mod host;
pub mod kernel;
mod kernel_qdisc;
mod packet;
mod pcap;
pub mod recording;
mod run;
mod shell;
mod soundness;

pub use controls::{Control, load as load_controls};
pub use emulator::clock::Time;
pub use error::Error;
pub use host::End;
pub use run::{check, run, run_with};
pub use shell::{Programs, shell};

use scenario::records::{Run, Series};
use scenario::units::Nanos;
use std::path::PathBuf;

/// What to keep of a run besides its records.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sample the run's inside this often.
    pub series: Option<Nanos>,
    /// Write every packet at the senders' interfaces to this pcapng file.
    pub pcap: Option<PathBuf>,
    /// How time passes here.
    pub time: Time,
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
