//! The keys of meshes.

use super::key::Absence::Required;
use super::key::KeyType::Table;
use super::key::{Key, keys};
use crate::declare::Declared;
use crate::mesh::{Csma, Down, DutyCycle, Energy, Mesh, MeshKeys, NodeKeys};

/// The keys of meshes, section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "mesh":
        "NAME" = Table, Required =>
            "a mesh of IEEE 802.15.4 radios at 250 kbit/s, under a name of your choice; flow groups have mesh = NAME";
    },
    MeshKeys::KEYS,
    Csma::KEYS,
    Mesh::KEYS,
    DutyCycle::KEYS,
    Energy::KEYS,
    keys! {
        "mesh.NAME.nodes":
        "NAME" = Table, Required => "a node, under a name of your choice";
    },
    NodeKeys::KEYS,
    Down::KEYS,
];
