//! Wi-Fi cells, and links that share the air of one.

use crate::queue::Queue;
use crate::units::{Bytes, Rate};
use crate::wifi::{Slot, Standard};
use serde::{Deserialize, Serialize};

/// An access point and its stations, which share one channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WifiCell {
    /// The key under `[wifi]`.
    pub name: String,
    /// How all of them transmit.
    pub standard: Standard,
    /// What their back-off counts.
    pub slot: Slot,
    /// The access point's one queue for all stations; without it each link has a queue of its own towards its station.
    pub queue: Option<Queue>,
}

/// The station at the far end of a link, as both directions of that share the air of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WifiStation {
    /// The place of its cell in the file.
    pub cell: usize,
    /// That of the cell.
    pub standard: Standard,
    /// That of the cell.
    pub slot: Slot,
    /// The rate of its physical layer, one of those of the standard.
    pub phy_rate: Rate,
    /// Share of the frames with 1500 bytes of IP that are not understood at that rate, 0 to 1.
    pub frame_errors: f64,
}

impl WifiStation {
    /// The place of its rate among those of the standard.
    pub fn mode(&self) -> usize {
        self.standard.mode_of(self.phy_rate).unwrap_or_default()
    }

    /// What it carries at most of packets of 1500 bytes, if nobody else transmits: the physical layer's rate less
    /// preambles, headers, back-off and acknowledgements.
    pub fn carries(&self) -> Rate {
        self.standard.most_carried(self.slot, self.mode(), Bytes(1500))
    }
}
