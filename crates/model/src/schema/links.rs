//! The keys of links: rates, delays, losses, impairments, in either direction.

use super::key::Absence::{Default, Means, Required};
use super::key::KeyType::{Integer, Loss, Rate, Ratio, Share, Signal, Table, Tables, Text, Time};
use super::key::{DELAYS, Key, RATES, SOME_TIME, keys};
use crate::declare::{Declared, count, flat, in_section};
use crate::impairments::{Impairments, Jitter, Outage, Reorder};
use crate::{Gemodel, WifiCell};

const RATE_CHANGES: &str =
    "changes of the rate, in order of time; the packet under way sends the rest of its bits at the new rate";
/// What both directions of a link may have, each its own: the changes of the rate first.
const RATES_AND_IMPAIRMENTS: &[&[Key]] = &[
    keys! {
        "link.NAME":
        "rates" = Tables, Means("one rate") => RATE_CHANGES;
    },
    Jitter::KEYS,
    Reorder::KEYS,
    Impairments::KEYS,
];
const OF_IMPAIRMENTS: usize = count(RATES_AND_IMPAIRMENTS);
/// Those of the reverse direction.
const OF_REVERSE: [Key; OF_IMPAIRMENTS] = in_section("link.NAME.reverse", flat(RATES_AND_IMPAIRMENTS));

/// Section by section.
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
            "a link, under a name of your choice; one that all flows share is mostly called bottleneck";
    },
    keys! {
        "link.NAME":
        "rate" = Rate, Means("a trace, wifi or lte must be given"), RATES => "what the transmitter sends";
        "trace" = Text, Means("a rate, wifi or lte must be given") =>
            "a file of recorded delivery opportunities, beside the experiment file";
        "wifi" = Text, Means("a rate, a trace or lte must be given") =>
            "the name of a cell: the link leads from its access point to a station, and both directions share its air";
        "signal" = Signal, Means("phy_rate must be given beside wifi"), "-120dbm..0dbm" =>
            "how strongly each hears the other: the rate is the highest whose minimum sensitivity this reaches";
        "phy_rate" = Rate, Means("that of the signal"), RATES => "one of the rates of the cell's standard";
        "frame_errors" = Share, Default("0%"), "0%..99%" =>
            "share of 1500-byte frames that fail at that rate; at lower rates none fails";
        "lte" = Text, Means("a rate, a trace or wifi must be given") =>
            "the LTE cell in the place of a rate: forward is from the base station to the handset";
        "snr" = Ratio, Means("cqi must be given"), "-2.1db..60db" =>
            "signal-to-noise ratio of a link with lte, which gives its channel quality indicator";
        "cqi" = Integer, Means("as snr gives it"), "1..15" =>
            "channel quality indicator of a link with lte: the bits of a resource block (3GPP TS 36.213)";
        "delay" = Time, Required, DELAYS => "propagation, one way";
        "queue" = Table, Required =>
            "where packets wait for the transmitter; left out where wifi has one queue for all its stations";
        "loss" = Loss, Default("0%") => "share of the packets that the channel loses, or a model of how it loses them";
        "reverse" = Table, Means("as its keys say") =>
            "its reverse direction, for acknowledgements, and for the data of reverse flows";
    },
    &flat::<OF_IMPAIRMENTS>(RATES_AND_IMPAIRMENTS),
    keys! {
        "link.NAME.reverse":
        "rate" = Rate, Means("the forward direction's, or 1gbit beside a trace"), RATES =>
            "what the reverse direction's transmitter sends";
        "trace" = Text, Means("a rate holds") => "the reverse direction's delivery opportunities";
        "delay" = Time, Means("the forward direction's"), DELAYS => "propagation, one way";
        "queue" = Table, Means("a queue that never drops") =>
            "where packets wait for the reverse direction's transmitter";
        "loss" = Loss, Default("0%") =>
            "share of the packets that the reverse channel loses, or a model of how it loses them";
    },
    &OF_REVERSE,
    keys! {
        "rates":
        "at" = Time, Required, SOME_TIME => "from when on the rate holds";
        "rate" = Rate, Required, RATES => "what the transmitter sends from then on";
    },
    Outage::KEYS,
    Gemodel::KEYS,
];
