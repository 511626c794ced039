//! How nodes share the channel: unslotted CSMA/CA (IEEE 802.15.4-2006, 7.5.1.4).

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// What of it may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Csma {
    /// macMinBE: before the first try a node backs off 0 to 2^BE - 1 periods.
    pub min_be: u32,
    /// macMaxBE: BE grows by one with each busy channel, up to this.
    pub max_be: u32,
    /// macMaxCSMABackoffs: how often the channel may be found busy again.
    pub max_backoffs: u32,
    /// macMaxFrameRetries: how often a frame is sent again that was not acknowledged.
    pub max_retries: u32,
    /// How long it waits before that; the standard sends at once.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub retry_delay: Nanos,
}

impl Csma {
    /// The defaults of the standard (IEEE 802.15.4-2006, table 86).
    pub const STANDARD: Csma = Csma { min_be: 3, max_be: 5, max_backoffs: 4, max_retries: 3, retry_delay: Nanos::ZERO };

    /// How many periods a node backs off at most with this exponent.
    pub fn most_periods(exponent: u32) -> u64 {
        (1 << exponent) - 1
    }
}

impl Default for Csma {
    fn default() -> Csma {
        Csma::STANDARD
    }
}
