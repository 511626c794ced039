//! The keys of links: rates, delays, losses and impairments of both directions.

use super::key::Absence::Required;
use super::key::KeyType::Table;
use super::key::{Key, keys};
use crate::declare::{Declared, count, flat, in_section};
use crate::handover::Handover;
use crate::impairments::{DelayChange, Impairments, Jitter, Outage, Policer, RateChange, RateChanges, Reorder, Slot};
use crate::lte::UserKeys;
use crate::script::Scripted;
use crate::{Gemodel, LinkKeys, ReverseKeys, StationKeys, TransmitterKeys, WifiCell};

/// The keys that each direction of a link may have.
const RATES_AND_IMPAIRMENTS: &[&[Key]] = &[RateChanges::KEYS, Jitter::KEYS, Reorder::KEYS, Impairments::KEYS];
const OF_IMPAIRMENTS: usize = count(RATES_AND_IMPAIRMENTS);
/// The keys of rate changes and impairments of the reverse direction.
const OF_REVERSE: [Key; OF_IMPAIRMENTS] = in_section("link.NAME.reverse", flat(RATES_AND_IMPAIRMENTS));

/// The keys that choose the transmitter or medium of a link, each with its further keys; a link has one of them.
pub const SERVICES: [(&str, &[&str]); 4] =
    [("rate", &["rates"]), ("trace", &[]), ("wifi", &["signal", "phy_rate", "frame_errors"]), ("lte", &["snr", "cqi"])];

/// The keys of links, section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "wifi":
        "NAME" = Table, Required =>
            "a cell, under a name of your choice: an access point and its stations, which share one channel";
    },
    WifiCell::KEYS,
    keys! {
        "link":
        "NAME" = Table, Required =>
            "a link, under a name of your choice; a link that all flows share is usually called bottleneck";
    },
    TransmitterKeys::KEYS,
    StationKeys::KEYS,
    UserKeys::KEYS,
    LinkKeys::KEYS,
    &flat::<OF_IMPAIRMENTS>(RATES_AND_IMPAIRMENTS),
    ReverseKeys::KEYS,
    &OF_REVERSE,
    RateChange::KEYS,
    DelayChange::KEYS,
    Outage::KEYS,
    Handover::KEYS,
    Slot::KEYS,
    Scripted::KEYS,
    Policer::KEYS,
    Gemodel::KEYS,
];
