//! Every key of the experiment file: type, default, range, meaning. The reader, its errors and the documentation all
//! read this.

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

/// Every key, section by section.
pub fn all() -> impl Iterator<Item = &'static Key> {
    sections().flatten()
}

/// The keys of each section; those of some are in several places.
fn sections() -> impl Iterator<Item = &'static [Key]> {
    let before = [&[Scenario::KEYS, CompileKeys::KEYS], links::SECTIONS, lte::SECTIONS, mesh::SECTIONS];
    let after = [hosts::SECTIONS, flows::SECTIONS, App::SECTIONS];
    before.into_iter().flatten().copied().chain(queues::sections()).chain(after.into_iter().flatten().copied())
}

/// The keys of one section.
pub fn keys_of(section: &str) -> impl Iterator<Item = &'static Key> {
    sections().filter(move |keys| keys[0].section == section).flatten()
}

/// One key; the reader asks for keys of the schema only.
pub fn find(section: &str, name: &str) -> &'static Key {
    keys_of(section).find(|key| key.name == name).unwrap_or_else(|| panic!("[{section}] {name} is not in the schema"))
}
