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
    /// While it sleeps, mA.
    pub sleep_ma: f64,
    /// Of its supply, V.
    pub volts: f64,
}

impl Energy {
    /// Texas Instruments' CC2420 at 0 dBm (data sheet SWRS041), on two cells.
    pub const CC2420: Energy = Energy { transmit_ma: 17.4, receive_ma: 18.8, sleep_ma: 0.02, volts: 3.0 };

    /// What a radio has used in these times, in millijoule.
    pub fn used_mj(&self, times: &Times) -> f64 {
        let states =
            [(self.transmit_ma, times.transmitted), (self.receive_ma, times.listened), (self.sleep_ma, times.slept)];
        self.volts * states.iter().map(|(ma, time)| ma * time.as_secs_f64()).sum::<f64>()
    }
}

/// How long a radio was in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// It transmitted, or turned round to.
    pub transmitted: Nanos,
    /// It received or listened.
    pub listened: Nanos,
    /// It was off, to save energy.
    pub slept: Nanos,
    /// Its node was down.
    pub down: Nanos,
}

/// Listening now and then: low-power listening as TinyOS has it (BoX-MAC-2). Whoever sends repeats a frame until the
/// receiver has woken up and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DutyCycle {
    /// How often a node wakes up.
    pub interval: Nanos,
    /// How long it listens then, if it hears nothing.
    pub listens_for: Nanos,
}
