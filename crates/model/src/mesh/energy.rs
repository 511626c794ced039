//! The energy that a radio draws from its battery.

use crate::declare::section;
use crate::quantity::Number;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The range of a radio's current, mA.
const MILLIAMPERE: &str = "0..1000";

section! {
    /// Currents and voltage of a radio, by default Texas Instruments' CC2420 at 0 dBm (data sheet SWRS041) with two
    /// battery cells.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Energy: Default in "mesh.NAME" {
        /// what a radio draws while it transmits (CC2420)
        pub transmit_ma: f64 [Number] = Default("17.4"), MILLIAMPERE;
        /// what it draws while it receives or listens
        pub receive_ma: f64 [Number] = Default("18.8"), MILLIAMPERE;
        /// what it draws while it sleeps
        pub sleep_ma: f64 [Number] = Default("0.02"), MILLIAMPERE;
        /// supply voltage
        pub volts: f64 [Number] = Default("3"), "0..100";
    }
}

impl Energy {
    /// Returns the energy that a radio has used in these times, mJ.
    pub fn used_mj(&self, times: &Times) -> f64 {
        let states =
            [(self.transmit_ma, times.transmitted), (self.receive_ma, times.listened), (self.sleep_ma, times.slept)];
        self.volts * states.iter().map(|(ma, time)| ma * time.as_secs_f64()).sum::<f64>()
    }
}

/// The time that a radio spent in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Time in which it transmitted, or switched to transmitting.
    pub transmitted: Nanos,
    /// Time in which it received or listened.
    pub listened: Nanos,
    /// Time in which it was off, to save energy.
    pub slept: Nanos,
    /// Time in which its node was down.
    pub down: Nanos,
}

section! {
    /// Low-power listening as in TinyOS (BoX-MAC-2): radios listen from time to time. A sender repeats a frame until
    /// the receiver has woken up and answers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct DutyCycle in "mesh.NAME" {
        /// how often the radio of a node wakes up, the border router's excepted: low-power listening, in which a frame
        /// is repeated until the receiver answers
        pub interval("wake_interval"): Nanos = Means("radios listen whenever they do not transmit"), "20ms..60s";
        /// how long it listens then, if it hears nothing
        pub listens_for("listen_for"): Nanos = Default("10ms"), "6ms..60s";
    }
}
