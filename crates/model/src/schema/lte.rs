//! The keys of LTE cells.

use super::key::Absence::Required;
use super::key::KeyType::Table;
use super::key::{Key, keys};
use crate::declare::Declared;
use crate::lte::Cell;

/// The keys of LTE cells, section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "lte":
        "NAME" = Table, Required => "an LTE cell, under a name of your choice; links to its users have lte = NAME";
    },
    Cell::KEYS,
];
