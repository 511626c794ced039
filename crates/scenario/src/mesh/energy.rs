//! What a radio draws from its battery.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Currents and voltage of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// While it transmits, or turns round to, mA.
    pub transmit_ma: f64,
    /// While it receives or listens, mA.
    pub receive_ma: f64,
    /// Of its supply, V.
    pub volts: f64,
}

impl Energy {
    /// Texas Instruments' CC2420 at 0 dBm (data sheet SWRS041), on two cells.
    pub const CC2420: Energy = Energy { transmit_ma: 17.4, receive_ma: 18.8, volts: 3.0 };

    /// What a radio has used, in millijoule, that transmitted for one time and listened for another.
    pub fn used_mj(&self, transmitted: Nanos, listened: Nanos) -> f64 {
        self.volts * (self.transmit_ma * transmitted.as_secs_f64() + self.receive_ma * listened.as_secs_f64())
    }
}
