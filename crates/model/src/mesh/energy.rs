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
        /// current of a radio that transmits, in mA (CC2420)
        pub transmit_ma: f64 [Number] = Default("17.4"), MILLIAMPERE;
        /// current of a radio that receives or listens, in mA
        pub receive_ma: f64 [Number] = Default("18.8"), MILLIAMPERE;
        /// current of a radio that sleeps, in mA
        pub sleep_ma: f64 [Number] = Default("0.02"), MILLIAMPERE;
        /// supply voltage, in V
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
        /// how often a node's radio wakes up, except the border router's: low-power listening, where a sender repeats a
        /// frame until it is answered
        pub interval("wake_interval"): Nanos = Means("radios listen whenever they do not transmit"), "20ms..60s";
        /// how long a radio that woke up listens if it hears nothing
        pub listens_for("listen_for"): Nanos = Default("10ms"), "6ms..60s";
    }
}
