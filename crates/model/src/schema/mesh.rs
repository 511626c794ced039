//! The keys of meshes.

use super::key::Absence::{Default, Means, Required};
use super::key::KeyType::{Number, Signal, Table, Tables, Text, Time};
use super::key::{Key, SOME_TIME, TIMES, keys};
use crate::declare::Declared;
use crate::mesh::{Csma, DutyCycle, Energy, Mesh};

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
    },
    Csma::KEYS,
    Mesh::KEYS,
    DutyCycle::KEYS,
    Energy::KEYS,
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
