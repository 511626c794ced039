//! The running kernel: congestion controls loaded into it, and scenarios with its TCP over emulated links.

mod controls;
mod emulator;
mod error;
mod flows;
mod host;
mod ip;
pub mod kernel;
mod kernel_qdisc;
mod packet;
mod pcap;
pub mod recording;
mod run;
mod series;
mod shell;
mod soundness;
mod surroundings;
mod tc;
mod timing;
mod uplink;

pub use controls::{GroupControl, load as load_controls};
pub use error::Error;
pub use host::End;
pub use kernel::{ANY_VERSION, running_version};
pub use run::LEAST_STEP;
pub use run::{check, run, run_with};
pub use shell::{Ended, Programs, check_shell, shell};
pub use timing::clock::Time;
