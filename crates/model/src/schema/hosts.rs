//! The keys of hosts.

use super::key::Absence::Required;
use super::key::KeyType::Table;
use super::key::{Key, keys};
use crate::declare::Declared;
use crate::{Host, SendBuffer};

/// The keys of hosts, section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "host":
        "NAME" = Table, Required =>
            "a host, under a name of your choice; its flows share rules of send buffers and the queue of their first \
             link";
    },
    Host::KEYS,
    SendBuffer::KEYS,
];
