//! The keys of LTE cells.

use super::key::Absence::{Default, Required};
use super::key::KeyType::{Choice, Share, Table};
use super::key::{Key, keys};
use crate::lte::{Bandwidth, Scheduling};

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "lte":
        "NAME" = Table, Required => "an LTE cell, under a name of your choice; links to its users say lte = NAME";
    },
    keys! {
        "lte.NAME":
        "bandwidth" = Choice(&Bandwidth::NAMES), Required =>
            "of the carrier in either direction: 6, 15, 25, 50, 75 or 100 resource blocks; one layer, no MIMO";
        "scheduler" = Choice(&Scheduling::NAMES), Default("pf") =>
            "whom the base station serves: proportional fair, or one after the other (round robin)";
        "error_rate" = Share, Default("10%"), "0%..90%" =>
            "share of the transport blocks whose first try fails; each is tried up to four times, 8 ms apart, and the \
            tries add up";
    },
];
