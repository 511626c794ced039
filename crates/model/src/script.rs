//! What happens to chosen packets of a link, by their number or time, as error models of ns-2 and ns-3 choose them.

use crate::declare::{choice, section};
use crate::quantity::Between;
use crate::schema::{SOME_TIME, TIMES};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

section! {
    /// One rule for packets of a direction of a link.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Scripted in "script" {
        /// lose the packets, mark them CE if they are ECN-capable, duplicate them, or hold them while others overtake
        #[serde(rename = "do")]
        pub action("do"): Action = Required;
        /// number of the packet from 1, or a range such as "10..20", in the order of transmission; packets that the
        /// queue drops have no number
        pub packets: Option<Between<u64>> = Means("all packets"), "1..1000000000000";
        /// count only packets of the flow with this number in the results, handshake included
        pub flow: Option<u32> = Means("all packets of the direction count"), "0..999999";
        /// only packets whose last bit is sent at this time or later
        pub from: Nanos = Default("0s"), TIMES;
        /// only packets whose last bit is sent before this time
        pub to: Option<Nanos> = Means("until the end of the run"), SOME_TIME;
        /// how long held packets arrive later
        pub time: Option<Nanos> = Means("must be set to hold packets"), SOME_TIME;
    }
}

choice! {
    /// What happens to packets of a script.
    pub enum Action {
        /// The channel loses them.
        Lose = "lose",
        /// They get the mark CE if they are capable of ECN.
        Mark = "mark",
        /// They arrive twice.
        Duplicate = "duplicate",
        /// They arrive late.
        Hold = "hold",
    }
}
