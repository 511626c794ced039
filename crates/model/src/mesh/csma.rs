//! The access to the channel of a mesh: unslotted CSMA/CA (IEEE 802.15.4-2006, 7.5.1.4).

use crate::declare::section;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

section! {
    /// The parameters of CSMA/CA, by default those of the standard (IEEE 802.15.4-2006, table 86).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Csma: Default in "mesh.NAME" {
        /// macMinBE: a node first backs off 0 to 2^BE - 1 periods of 320 us
        pub min_be: u32 = Default("3"), "0..8";
        /// macMaxBE: BE grows by one with each busy channel, up to this
        pub max_be: u32 = Default("5"), "0..8";
        /// macMaxCSMABackoffs: a node gives up a frame that finds the channel busy more often
        pub max_backoffs: u32 = Default("4"), "0..5";
        /// macMaxFrameRetries: how often a node resends a frame without acknowledgement
        pub max_retries: u32 = Default("3"), "0..7";
        /// pause before a node resends a frame; TinyOS's BLIP waits, the standard does not
        #[serde(default, skip_serializing_if = "Nanos::is_zero")]
        pub retry_delay: Nanos = Default("0s"), "0s..10s";
    }
}

impl Csma {
    /// Returns the largest number of periods that a node backs off with this exponent.
    pub fn most_periods(exponent: u32) -> u64 {
        (1 << exponent) - 1
    }
}
