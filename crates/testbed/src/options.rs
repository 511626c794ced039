//! What a run is asked for, and what it answers.

use crate::emulator::clock::Time;
use scenario::records::{Run, Series};
use scenario::units::Nanos;
use std::path::PathBuf;

/// What to keep of a run besides its records.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sample links and flows this often.
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
