//! Choice of a file's `struct tcp_congestion_ops`, and checks that the kernel would take it.

use crate::bind::control_name::{ControlName, RULE};
use crate::bind::ops::{CongestionOps, NAME_LENGTH};
use crate::build::object_file::{Object, Symbol};
use std::mem::{offset_of, size_of};

/// Licences under which the kernel takes a program that calls its functions.
const GPL_COMPATIBLE: &[&str] =
    &["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];

/// The symbol of the operations to bind: the one called `wanted` (by variable or by name), else the first complete one
/// of the file. `declared` has the file's order. The error continues a sentence that begins with the file's path.
pub(crate) fn choose(
    image: &[u8],
    object: &Object,
    declared: &[String],
    wanted: Option<&str>,
) -> Result<String, String> {
    let mut all: Vec<_> = object
        .data_in(|section| section.trim_start_matches('?').starts_with(".struct_ops"))
        .into_iter()
        .filter(|(_, symbol)| symbol.size as usize == size_of::<CongestionOps>())
        .collect();
    all.sort_by_key(|(variable, _)| declared.iter().position(|name| name == variable));
    if all.is_empty() {
        return Err("is not a congestion control: it has no struct tcp_congestion_ops in SEC(\".struct_ops\")".into());
    }
    refuse_licence(image, object)?;
    let candidates: Vec<_> = all
        .iter()
        .filter(|(variable, symbol)| {
            wanted.is_none_or(|name| name == *variable || name_of(image, symbol).as_deref() == Ok(name))
        })
        .collect();
    if candidates.is_empty() {
        let names: Vec<_> = all.iter().map(|(variable, _)| *variable).collect();
        return Err(format!("has no congestion control \"{}\", only {}", wanted.unwrap_or_default(), names.join(", ")));
    }
    let mut first_reason = None;
    for (variable, symbol) in candidates {
        match refusal(image, object, symbol) {
            None => return Ok(variable.to_string()),
            Some(reason) => first_reason = first_reason.or(Some(reason)),
        }
    }
    Err(first_reason.unwrap_or_default())
}

fn refuse_licence(image: &[u8], object: &Object) -> Result<(), String> {
    let licence = object.data_in(|section| section == "license").first().and_then(|(_, symbol)| {
        let bytes = &image[symbol.file_range.clone()?];
        Some(String::from_utf8_lossy(bytes.split(|&b| b == 0).next()?).into_owned())
    });
    match licence {
        Some(licence) if GPL_COMPATIBLE.contains(&licence.as_str()) => Ok(()),
        Some(licence) => Err(format!(
            "has the licence \"{licence}\", which the kernel refuses for a congestion control; valid: {}",
            GPL_COMPATIBLE.join(", ")
        )),
        None => {
            Err("lacks the licence that the kernel requires; write char _license[] SEC(\"license\") = \"GPL\";".into())
        }
    }
}

fn refusal(image: &[u8], object: &Object, symbol: &Symbol) -> Option<String> {
    let name = match name_of(image, symbol) {
        Ok(name) if ControlName::new(&name).is_ok() => name,
        Ok(name) => return Some(format!("has a congestion control with the name {name:?}: {RULE}")),
        Err(reason) => return Some(reason),
    };
    let has = |member: usize| object.is_set(symbol.address + member as u64);
    let lacks = |callback: &str| Some(format!("is incomplete: \"{name}\" lacks the required callback {callback}"));
    if has(offset_of!(CongestionOps, get_info)) {
        return Some(format!(
            "cannot be used: \"{name}\" has get_info, which the kernel does not support in BPF programs"
        ));
    }
    if !has(offset_of!(CongestionOps, ssthresh)) {
        return lacks("ssthresh");
    }
    if !has(offset_of!(CongestionOps, undo_cwnd)) {
        return lacks("undo_cwnd");
    }
    if !has(offset_of!(CongestionOps, cong_avoid)) && !has(offset_of!(CongestionOps, cong_control)) {
        return lacks("cong_avoid or cong_control");
    }
    None
}

/// The name in the operations.
pub(crate) fn name_of(image: &[u8], symbol: &Symbol) -> Result<String, String> {
    let start = symbol.file_range.as_ref().map_or(0, |range| range.start) + offset_of!(CongestionOps, name);
    let bytes = &image[start..start + NAME_LENGTH];
    match bytes.iter().position(|&b| b == 0) {
        Some(0) => Err("has a congestion control without a name".into()),
        Some(end) => Ok(String::from_utf8_lossy(&bytes[..end]).into_owned()),
        None => Err(format!(
            "has a congestion control with a name longer than the kernel's 15 characters, which begins with \"{}\"",
            String::from_utf8_lossy(bytes)
        )),
    }
}
