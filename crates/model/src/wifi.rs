//! Wi-Fi cells, and links to their stations.

use crate::declare::section;
use crate::quantity::Share;
use crate::queue::Queue;
use crate::radio::ieee80211::{Slot, Standard};
use crate::schema::{KeyType, RATES};
use crate::units::{Bytes, Dbm, Rate};
use serde::{Deserialize, Serialize};

section! {
    /// An access point and its stations, which share one channel.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct WifiCell in "wifi.NAME" {
        /// The name of the cell.
        pub name: String;
        /// radio standard: 802.11g sends frame by frame, 802.11n in aggregates (20 MHz, one stream)
        pub standard: Standard = Required;
        /// slots of 9 us; false: of 20 us, as access points choose when they hear stations of 802.11b
        pub slot("short_slot"): Slot [bool] = Default("true");
        /// The access point's shared queue for all stations; without it each link has a queue of its own towards its
        /// station.
        pub queue: Option<Queue>;
        "queue" = KeyType::Table, Means("each link has its own queue, and they take turns as in mac80211") =>
            "the access point's one queue for all its stations";
    }
}

section! {
    /// The keys of the station at the far end of a link.
    pub struct StationKeys in "link.NAME" {
        /// name of a Wi-Fi cell: the link goes from its access point to a station, and both directions share its air
        pub wifi: Option<String> = Means("a rate, a trace or lte must be given");
        /// signal strength in both directions; the link uses the highest rate whose minimum sensitivity it reaches
        pub signal: Option<Dbm> = Means("phy_rate must be given beside wifi"), "-120dbm..0dbm";
        /// rate of the radio, one of those that the Wi-Fi standard has
        pub phy_rate: Option<Rate> = Means("the rate that signal allows"), RATES;
        /// share of 1500-byte frames that fail at this rate; at lower rates none fails
        pub frame_errors: f64 [Share] = Default("0%"), "0%..99%";
    }
}

/// The station at the far end of a link, whose two directions share the air of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WifiStation {
    /// The number of the station's cell in the scenario.
    pub cell: usize,
    /// The standard of the cell.
    pub standard: Standard,
    /// The slot length of the cell.
    pub slot: Slot,
    /// The rate of the physical layer, one of the standard's rates.
    pub phy_rate: Rate,
    /// The share of frames with 1500 bytes of IP that fail at that rate, 0 to 1.
    pub frame_errors: f64,
}

impl WifiStation {
    /// Returns the index of the station's rate among the standard's rates.
    pub fn mode(&self) -> usize {
        self.standard.mode_of(self.phy_rate).unwrap_or_default()
    }

    /// Returns the rate that the station carries in packets of 1500 bytes if nobody else transmits. It is the physical
    /// layer's rate less preambles, headers, back-off and acknowledgements.
    pub fn carries(&self) -> Rate {
        self.standard.most_carried(self.slot, self.mode(), Bytes(1500))
    }
}
