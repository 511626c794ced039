//! The keys of meshes.

use super::key::Absence::{Default, Means, Required};
use super::key::KeyType::{Flag, Integer, Number, Signal, Table, Tables, Text, Time};
use super::key::{Key, SOME_TIME, TIMES, keys};

const MILLIAMPERE: &str = "0..1000";

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "mesh":
        "NAME" = Table, Required =>
            "a mesh of IEEE 802.15.4 radios at 250 kbit/s, under a name of your choice; flow groups say mesh = NAME";
    },
    keys! {
        "mesh.NAME":
        "border_router" = Text, Required => "the node at the root of the tree, where the links of path begin";
        "nodes" = Table, Required => "the nodes, each a table of its own, [mesh.NAME.nodes.NAME]";
        "queue" = Table, Means("a FIFO of 15 packets") =>
            "where packets wait in each node, its own and those that it forwards, up and down";
        "tx_power" = Signal, Default("0dbm"), "-40dbm..20dbm" => "transmit power of the radios; for nodes with places";
        "path_loss" = Number, Default("3"), "1.5..6" =>
            "exponent of the loss with distance, 40.2 dB at one metre; for nodes with places";
        "min_be" = Integer, Default("3"), "0..8" => "macMinBE: a node first backs off 0 to 2^BE - 1 periods of 320 us";
        "max_be" = Integer, Default("5"), "0..8" => "macMaxBE: BE grows by one with each busy channel, up to this";
        "max_backoffs" = Integer, Default("4"), "0..5" =>
            "macMaxCSMABackoffs: a frame that finds the channel busy more often is given up";
        "max_retries" = Integer, Default("3"), "0..7" =>
            "macMaxFrameRetries: how often a frame without acknowledgement is sent again";
        "retry_delay" = Time, Default("0s"), "0s..10s" =>
            "how long it waits before that; TinyOS's BLIP waits, the standard does not";
        "announces_rate" = Flag, Default("false") =>
            "the border router tells nodes the mean rate of the flows that it forwards, in 6 bytes of each packet \
            down, for dtpa_auto";
        "repair_after" = Time, Default("8s"), "1ms..3600s" =>
            "after how long other nodes find out that one is down, or back, and build the tree anew; by default what \
            IPv6 takes to find a neighbour unreachable, five seconds and three probes (RFC 4861, section 10)";
        "wake_interval" = Time, Means("radios listen whenever they do not transmit"), "20ms..60s" =>
            "how often the radio of a node wakes up, the border router's excepted: low-power listening, in which a \
            frame is repeated until the receiver answers";
        "listen_for" = Time, Default("10ms"), "6ms..60s" => "how long it listens then, if it hears nothing";
        "transmit_ma" = Number, Default("17.4"), MILLIAMPERE => "what a radio draws while it transmits (CC2420)";
        "receive_ma" = Number, Default("18.8"), MILLIAMPERE => "what it draws while it receives or listens";
        "sleep_ma" = Number, Default("0.02"), MILLIAMPERE => "what it draws while it sleeps";
        "volts" = Number, Default("3"), "0..100" => "supply voltage";
    },
    keys! {
        "mesh.NAME.nodes":
        "NAME" = Table, Required => "a node, under a name of your choice";
    },
    keys! {
        "mesh.NAME.nodes.NAME":
        "x" = Number, Means("hears must be given"), "-100000..100000" => "where it stands, metres";
        "y" = Number, Means("0"), "-100000..100000" => "likewise, across";
        "hears" = Table, Means("as places and path_loss say") =>
            "the strength with which it hears others, such as { n2 = \"-80dbm\" }; it hears no others";
        "parent" = Text, Means("the tree of least ETX, as RPL builds it") => "the next node towards the border router";
        "down" = Tables, Means("never") =>
            "when it is down: what it has waiting is lost, and what is for it; its own flow stays";
    },
    keys! {
        "down":
        "at" = Time, Required, TIMES => "when the node goes down";
        "for" = Time, Required, SOME_TIME => "how long it is down";
    },
];
