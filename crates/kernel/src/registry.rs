//! The BPF congestion controls in the kernel, whoever loaded them.

use super::types::OperationsLayout;
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use std::collections::HashSet;

/// State of a registration that is a map and not a link (`enum bpf_struct_ops_state`).
const STATE_IN_USE: u32 = 1;

/// A BPF congestion control in the kernel.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) name: String,
    /// Whether it can be chosen; if not, it is only there because sockets still use it.
    pub(crate) is_offered: bool,
    /// Number of sockets that use it, and of namespaces whose default it is.
    pub(crate) users: u32,
    /// Names of the callbacks, with the ids of their programs.
    pub(crate) programs: Vec<(String, u32)>,
}

/// Lists all BPF congestion controls, in the order of their loading.
pub(crate) fn registered(layout: &OperationsLayout, has_links: bool) -> Vec<Registered> {
    let linked = linked_maps();
    let maps = MapInfoIter::default()
        .filter(|map| map.ty == MapType::StructOps && map.btf_vmlinux_value_type_id == layout.value_type);
    let entries = maps.filter_map(|map| {
        let value = value_of(map.id)?;
        let offered = if has_links { linked.contains(&map.id) } else { number(&value, 4) == STATE_IN_USE };
        Some(entry(layout, offered, &value))
    });
    entries.filter(|entry| entry.is_offered || entry.users > 0).collect()
}

/// Lists the registrations without a link, which are all before Linux 6.4, with the name and the
/// map of each.
pub(crate) fn held_by_maps(layout: &OperationsLayout) -> Vec<(String, MapHandle)> {
    let maps = MapInfoIter::default()
        .filter(|map| map.ty == MapType::StructOps && map.btf_vmlinux_value_type_id == layout.value_type);
    let in_use = maps.filter_map(|map| {
        let value = value_of(map.id).filter(|value| number(value, 4) == STATE_IN_USE)?;
        Some((entry(layout, true, &value).name, MapHandle::from_map_id(map.id).ok()?))
    });
    in_use.collect()
}

/// Returns the maps that a link registers.
fn linked_maps() -> HashSet<u32> {
    let maps = LinkInfoIter::default().filter_map(|link| match link.info {
        LinkTypeInfo::StructOps(info) => Some(info.map_id),
        _ => None,
    });
    maps.collect()
}

fn value_of(map: u32) -> Option<Vec<u8>> {
    MapHandle::from_map_id(map).ok()?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

/// Reads an entry. Its count of users leaves out the registration itself, which is one reference.
fn entry(layout: &OperationsLayout, is_offered: bool, value: &[u8]) -> Registered {
    let name = &value[layout.name..];
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let programs = layout.callbacks.iter().map(|(callback, place)| (callback.clone(), number(value, *place)));
    Registered {
        name: String::from_utf8_lossy(name).into_owned(),
        is_offered,
        users: number(value, 0).saturating_sub(u32::from(is_offered)),
        programs: programs.filter(|(_, program)| *program != 0).collect(),
    }
}

fn number(value: &[u8], place: usize) -> u32 {
    u32::from_ne_bytes(value[place..place + 4].try_into().expect("four bytes"))
}
