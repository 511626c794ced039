//! LTE cells, and links to their users.

use crate::declare::{choice, section};
use crate::quantity::Share;
use crate::radio::lte::{Bandwidth, Cqi, Direction, Harq, SUBFRAME, timing};
use crate::units::{Decibels, Nanos, Rate};
use serde::{Deserialize, Serialize};

section! {
    /// An LTE cell, `[lte.NAME]`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Cell in "lte.NAME" {
        /// The name of the cell, by which links refer to it.
        pub name: String;
        /// bandwidth of the carrier in either direction: 6, 15, 25, 50, 75 or 100 resource blocks; one layer, no MIMO
        pub bandwidth: Bandwidth = Required;
        /// how the base station chooses users: proportional fair, or round robin
        pub scheduler: Scheduling = Default("pf");
        /// share of transport blocks whose first try fails; a block gets up to four tries, 8 ms apart, which are
        /// combined
        pub error_rate: f64 [Share] = Default("10%"), "0%..90%";
    }
}

section! {
    /// The keys of a link to a user.
    pub struct UserKeys in "link.NAME" {
        /// name of an LTE cell, which replaces rate; the forward direction goes from the base station to the handset
        pub lte: Option<String> = Means("a rate, a trace or wifi must be given");
        /// signal-to-noise ratio of a link with lte, which gives its channel quality indicator
        pub snr: Option<Decibels> = Means("cqi must be given"), "-2.1db..60db";
        /// channel quality indicator of a link with lte, which sets the bits of a resource block (3GPP TS 36.213)
        pub cqi: Option<u8> = Means("derived from snr"), "1..15";
    }
}

choice! {
    /// The rule by which a base station chooses the user to serve.
    pub enum Scheduling {
        /// The user with the highest rate relative to what it was given recently.
        ProportionalFair = "pf",
        /// One user after the other.
        RoundRobin = "rr",
    }
}

/// One direction of a link between a base station and a handset.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// The number of the cell in the scenario.
    pub cell: usize,
    /// The quality of the channel.
    pub cqi: Cqi,
    /// The rate of a user that is alone in the cell. It is the packets, headers included, that a transport block of all
    /// resource blocks carries in every millisecond without a repeat.
    pub most: Rate,
    /// The mean delay that the cell adds to a packet that meets no other packet.
    pub idle_delay: Nanos,
}

impl Cell {
    /// Returns the retransmission model of the cell's transport blocks.
    pub fn harq(&self) -> Harq {
        Harq::new(self.error_rate)
    }

    /// Makes a direction of a user's link in this cell, which has number `number` in the scenario.
    pub fn user(&self, number: usize, direction: Direction, cqi: Cqi) -> User {
        let harq = self.harq();
        let block = cqi.payload(direction, self.bandwidth.blocks(direction));
        let most = Rate((f64::from(8 * block) / SUBFRAME.as_secs_f64() / harq.mean_tries()) as u64);
        User { cell: number, cqi, most, idle_delay: timing::idle_delay(direction, &harq) }
    }
}
