//! The real thing: mechanisms in the running kernel, and scenarios over emulated links.

mod apps;
mod cake;
mod clock;
mod controls;
mod direction;
mod emulator;
mod error;
mod hop;
mod host;
mod inside;
pub mod kernel;
mod kernel_draws;
mod kernel_link;
mod namespace;
mod netlink;
mod network;
mod parcel;
mod pcap;
mod plan;
mod priority;
mod qdisc;
pub mod recording;
mod red;
mod run;
mod shell;
mod sockets;
mod soundness;
mod stack;
mod tcp_info;
mod tun;
mod waiting;
mod way;
mod wire;

pub use clock::Time;
pub use controls::{Control, load as load_controls};
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
