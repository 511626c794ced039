//! Every key of scenario files: type, default, range, meaning. The reader, its errors and the documentation use this
//! schema.

mod flows;
mod hosts;
mod key;
mod links;
mod lte;
mod mesh;
mod queues;

pub use key::OF_THE_KERNEL;
pub use key::{Absence, Key, KeyType};
pub(crate) use key::{DELAYS, DROPTAIL, OnKernel, RATES, SOME_TIME, TIMES};
pub use links::SERVICES;
pub use queues::QUEUES;

use crate::app::App;
use crate::declare::Declared;
use crate::{CompileKeys, Scenario};

/// Returns every key, section by section.
pub fn all() -> impl Iterator<Item = &'static Key> {
    sections().flatten()
}

/// Returns the keys of each section; those of some sections are in several places.
fn sections() -> impl Iterator<Item = &'static [Key]> {
    let before = [&[Scenario::KEYS, CompileKeys::KEYS], links::SECTIONS, lte::SECTIONS, mesh::SECTIONS];
    let after = [hosts::SECTIONS, flows::SECTIONS, App::SECTIONS];
    before.into_iter().flatten().copied().chain(queues::sections()).chain(after.into_iter().flatten().copied())
}

/// Returns the keys of one section.
pub fn keys_of(section: &str) -> impl Iterator<Item = &'static Key> {
    sections().filter(move |keys| keys[0].section == section).flatten()
}

/// Returns one key.
///
/// # Panics
///
/// If the schema does not have the key: the reader asks only for keys of the schema.
pub fn find(section: &str, name: &str) -> &'static Key {
    keys_of(section).find(|key| key.name == name).unwrap_or_else(|| panic!("[{section}] {name} is not in the schema"))
}
