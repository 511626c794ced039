//! What a run is asked for, and what it answers.

use crate::emulator::clock::Time;
use scenario::records::{Run, Series};
use scenario::units::Nanos;
use std::path::PathBuf;

/// The finest step of a series. Each of the threads that sample looks at the clock without sleeping before a step for
/// as long as waking up may take ([`crate::emulator::clock`]): steps of little more leave no processor to those that
/// carry packets.
pub const LEAST_STEP: Nanos = Nanos::from_millis(1);

/// What to keep of a run besides its records.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sample links and flows this often, [`LEAST_STEP`] or longer.
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
