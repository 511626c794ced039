//! The keys of links: rates, delays, losses, impairments, in either direction.

use super::key::Absence::{Default, Means, Required};
use super::key::KeyType::{Choice, Flag, Integer, Loss, Rate, Ratio, Share, Signal, Table, Tables, Text, Time};
use super::key::{DELAYS, JITTERS, Key, LOSSES, RATES, SOME_TIME, STANDARDS, TIMES, keys};

const SHORT_DELAYS: &str = "1ns..3600s";
const RATE_CHANGES: &str =
    "changes of the rate, in order of time; the packet under way sends the rest of its bits at the new rate";
const JITTER: &str = "how far the delay varies from packet to packet, up to the delay itself, as in tc-netem(8)";
const JITTER_DISTRIBUTION: &str = "uniform: from delay - jitter to delay + jitter; normal: jitter is the standard \
    deviation, and no delay is below 0s";
const JITTER_REORDER: &str = "a packet with less delay overtakes those before it, as in tc-netem(8); by default it \
    arrives behind them, as on most paths";
const REORDER: &str =
    "share of the packets that leave the order, as in tc-netem(8): they arrive without any delay, ahead of others";
const REORDER_GAP: &str = "after a packet that left the order, at least gap - 1 keep it, as in tc-netem(8)";
const REORDER_BY: &str = "packets that leave the order are held back by this in place of arriving ahead";
const DUPLICATE: &str = "share of the packets of which the channel delivers a second copy, with a delay of its own";
const OUTAGES: &str = "when this direction is down, in order of time";

/// What both directions of a link may have, each its own.
macro_rules! impairments {
    ($section:literal) => {
        keys! {
            $section:
            "rates" = Tables, Means("one rate") => RATE_CHANGES;
            "jitter" = Time, Default("0s"), DELAYS => JITTER;
            "jitter_distribution" = Choice(JITTERS), Default("uniform") => JITTER_DISTRIBUTION;
            "jitter_reorder" = Flag, Default("false") => JITTER_REORDER;
            "reorder" = Share, Default("0%") => REORDER;
            "reorder_gap" = Integer, Default("1"), "1..1000000" => REORDER_GAP;
            "reorder_by" = Time, Means("they arrive ahead"), SHORT_DELAYS => REORDER_BY;
            "duplicate" = Share, Default("0%") => DUPLICATE;
            "outages" = Tables, Means("always up") => OUTAGES;
        }
    };
}

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "wifi":
        "NAME" = Table, Required =>
            "a cell, under a name of your choice: an access point and its stations, which share one channel";
    },
    keys! {
        "wifi.NAME":
        "standard" = Choice(STANDARDS), Required =>
            "how they transmit: 802.11g frame by frame, 802.11n in aggregates (20 MHz, one stream)";
        "short_slot" = Flag, Default("true") =>
            "slots of 9 us; false has those of 20 us, which an access point asks for that hears stations of 802.11b";
        "queue" = Table, Means("each link has its own, and they take turns as in mac80211") =>
            "the access point's one queue for all its stations";
    },
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
    impairments!("link.NAME"),
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
    impairments!("link.NAME.reverse"),
    keys! {
        "rates":
        "at" = Time, Required, SOME_TIME => "from when on the rate holds";
        "rate" = Rate, Required, RATES => "what the transmitter sends from then on";
    },
    keys! {
        "outages":
        "at" = Time, Required, TIMES => "when the link goes down";
        "for" = Time, Required, SOME_TIME => "how long it is down";
        "lose" = Flag, Default("false") =>
            "the transmitter goes on, and packets whose last bit it sends meanwhile are lost; by default nothing is \
            sent, and packets wait in the queue";
    },
    keys! {
        "loss":
        "kind" = Choice(LOSSES), Default("gemodel") =>
            "bursts by the model of Gilbert and Elliott, as in tc-netem(8): the wire is good or bad, and good at first";
        "p" = Share, Required => "probability that a wire that was good for a packet is bad for the next";
        "r" = Share, Means("100% - p, so that each packet is lost by itself") =>
            "probability that a wire that was bad for a packet is good for the next: the mean stay is 1/r packets";
        "1-h" = Share, Default("100%") => "share of the packets that a bad wire loses";
        "1-k" = Share, Default("0%") => "share of the packets that a good wire loses";
    },
];
