//! LTE cells, and links that share the air of one.

use crate::declare::{choice, section};
use crate::quantity::Share;
use crate::radio::lte::{Bandwidth, Cqi, Direction, Harq, SUBFRAME, timing};
use crate::units::{Decibels, Nanos, Rate};
use serde::{Deserialize, Serialize};

section! {
    /// A cell, `[lte.NAME]`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Cell in "lte.NAME" {
        /// What links call it.
        pub name: String;
        /// of the carrier in either direction: 6, 15, 25, 50, 75 or 100 resource blocks; one layer, no MIMO
        pub bandwidth: Bandwidth = Required;
        /// whom the base station serves: proportional fair, or one after the other (round robin)
        pub scheduler: Scheduling = Default("pf");
        /// share of the transport blocks whose first try fails; each is tried up to four times, 8 ms apart, and the
        /// tries add up
        pub error_rate: f64 [Share] = Default("10%"), "0%..90%";
    }
}

section! {
    /// What a file says of a link to a user.
    pub struct UserKeys in "link.NAME" {
        /// the LTE cell in the place of a rate: forward is from the base station to the handset
        pub lte: Option<String> = Means("a rate, a trace or wifi must be given");
        /// signal-to-noise ratio of a link with lte, which gives its channel quality indicator
        pub snr: Option<Decibels> = Means("cqi must be given"), "-2.1db..60db";
        /// channel quality indicator of a link with lte: the bits of a resource block (3GPP TS 36.213)
        pub cqi: Option<u8> = Means("as snr gives it"), "1..15";
    }
}

choice! {
    /// Whom a base station serves.
    pub enum Scheduling {
        /// Who can send most, measured by what he was given lately.
        ProportionalFair = "pf",
        /// One after the other.
        RoundRobin = "rr",
    }
}

/// One direction of a link between a base station and a handset.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// The place of the cell among those of the scenario.
    pub cell: usize,
    /// How good the channel is.
    pub cqi: Cqi,
    /// What a user who is alone in the cell gets: the bytes of packets, with their headers, that a transport block of
    /// all resource blocks carries, every millisecond in which none is repeated.
    pub most: Rate,
    /// What the cell adds to the delay of a packet that meets no other, in the mean.
    pub idle_delay: Nanos,
}

impl Cell {
    /// The chances of its transport blocks.
    pub fn harq(&self) -> Harq {
        Harq::new(self.error_rate)
    }

    /// A direction of a user's link, if this is the scenario's cell number `number`.
    pub fn user(&self, number: usize, direction: Direction, cqi: Cqi) -> User {
        let harq = self.harq();
        let block = cqi.payload(direction, self.bandwidth.blocks(direction));
        let most = Rate((f64::from(8 * block) / SUBFRAME.as_secs_f64() / harq.mean_tries()) as u64);
        User { cell: number, cqi, most, idle_delay: timing::idle_delay(direction, &harq) }
    }
}
