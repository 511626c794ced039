//! Window controllers that outlive whoever loaded them: the device holds the programs, a note says what they are.
//!
//! The note is written before the device is touched, so that whoever comes after a process that was killed in the
//! middle finds what to take away.

use super::programs::{WindowPrograms, detach, is_attached};
use crate::kernel::cgroup;
use crate::kernel::classifier;
use crate::kernel::device::{Device, namespace};
use crate::kernel::device_notes::{self, lock};
use crate::kernel::error::Error;
use crate::kernel::rights;
use mechanism::{Library, WindowScope};
use scenario::model::CongestionControl;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

/// The notes, one a device; like the programs they do not outlive the kernel.
const NOTES: &str = "/run/unbloat-windows";

/// Whose acknowledgements are lowered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The other end's port; none means any.
    pub port: Option<u16>,
    /// The other end's address or network; none means any.
    pub dest: Option<String>,
    /// The control group whose sockets are meant; none means all.
    pub cgroup: Option<PathBuf>,
    /// Also connections that this host forwards.
    pub router: bool,
}

/// What is remembered of a window controller at a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WindowNote {
    /// The device's name.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// Whose acknowledgements it lowers.
    pub target: Target,
    /// The device had no `clsact` before.
    pub made_clsact: bool,
    index: u32,
    namespace: u64,
}

/// What unloading did.
#[derive(Debug, Serialize)]
pub struct WindowUnloaded {
    /// The device.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
}

/// Gives a device a window controller, until [`unload_window`], the device's end or the next boot.
///
/// # Errors
/// As [`WindowPrograms::load`]; also if there is no such device, it has a controller already or no room for one, or the
/// target does not exist. Then nothing has changed.
pub fn load_window(
    library: &Library,
    receiver: &CongestionControl,
    device: &str,
    target: &Target,
) -> Result<WindowNote, Error> {
    rights::require("loading a window controller")?;
    let device = Device::named(device)?;
    let (target, group) = settled(target)?;
    let scope = WindowScope { link_header: device.link_header()?, ..scope_of(&target)? };
    let _lock = lock()?;
    sweep_locked();
    if let Some(note) = note_of(&device) {
        let (name, has) = (&note.device, &note.source);
        return Err(Error::input(format!("{name} has {has} already: unbloat unload {has} --dev {name}")));
    }
    let made_clsact = !device.has_clsact()? || classifier::has_made_clsact(device.index);
    let programs = WindowPrograms::load(library, receiver, &scope, group.as_ref())?;
    let note = WindowNote {
        device: device.name.clone(),
        source: programs.source.clone(),
        parameters: programs.parameters.clone(),
        target,
        made_clsact,
        index: device.index,
        namespace: namespace(),
    };
    device_notes::write(NOTES, (note.namespace, note.index), &note)?;
    programs.attach(device.index).map_err(|error| {
        take_away(&note);
        Error::machine(format!("the kernel gives {} no window controller: {error}", note.device))
    })?;
    Ok(note)
}

/// Takes the window controller `source` from `device`, or from every device that has it.
///
/// # Errors
/// If no device has it, or this process may not.
pub fn unload_window(source: &str, device: Option<&str>) -> Result<Vec<WindowUnloaded>, Error> {
    rights::require("unloading a window controller")?;
    let _lock = lock()?;
    sweep_locked();
    let all = notes();
    let is_meant = |note: &&WindowNote| note.source == source && device.is_none_or(|device| note.device == device);
    let meant: Vec<_> = all.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let place = device.map_or("no device has".to_string(), |device| format!("{device} does not have"));
        let there: Vec<_> = all.iter().map(|note| format!("{} at {}", note.source, note.device)).collect();
        let there = if there.is_empty() { "nothing".to_string() } else { there.join(", ") };
        return Err(Error::input(format!("{place} the window controller {source}; `unbloat load` has loaded {there}")));
    }
    let unload = |note: &WindowNote| {
        take_away(note);
        WindowUnloaded { device: note.device.clone(), source: note.source.clone() }
    };
    Ok(meant.into_iter().map(unload).collect())
}

/// Takes away what processes that were killed have begun, and the notes of devices that are no more; says what that
/// was.
pub(crate) fn sweep() -> Vec<String> {
    if notes().is_empty() {
        return Vec::new();
    }
    lock().map(|_lock| sweep_locked()).unwrap_or_default()
}

fn sweep_locked() -> Vec<String> {
    let half_done = notes().into_iter().filter(|note| !is_attached(note.index));
    half_done
        .map(|note| {
            take_away(&note);
            format!("the window controller {} at {}", note.source, note.device)
        })
        .collect()
}

/// The notes of this network namespace, by device.
pub(super) fn notes() -> Vec<WindowNote> {
    let read = device_notes::all::<WindowNote>(NOTES);
    let mut all: Vec<_> = read.filter(|note| note.namespace == namespace()).collect();
    all.sort_by(|one, other| one.device.cmp(&other.device));
    all
}

impl WindowNote {
    /// The device's number.
    pub(super) fn index(&self) -> u32 {
        self.index
    }
}

/// Has a window controller's coming given this device its `clsact`?
pub(in crate::kernel) fn has_made_clsact(device: u32) -> bool {
    notes().iter().any(|note| note.index == device && note.made_clsact)
}

fn note_of(device: &Device) -> Option<WindowNote> {
    notes().into_iter().find(|note| note.index == device.index)
}

/// Programs, then the discipline if it was made for them and nobody else's filters are there, then the note.
fn take_away(note: &WindowNote) {
    let device = Device { name: note.device.clone(), index: note.index };
    detach(note.index, || note.made_clsact && !device.has_filters());
    device_notes::remove(NOTES, (note.namespace, note.index));
}

/// The target with its control group's folder in full, and that opened.
fn settled(target: &Target) -> Result<(Target, Option<File>), Error> {
    let Some(named) = &target.cgroup else { return Ok((target.clone(), None)) };
    if target.router {
        return Err(Error::input("--cgroup means sockets of this host, and --router connections that have none here"));
    }
    let folder = cgroup::folder_of(cgroup::Group::Named(named))?;
    let opened = File::open(&folder).map_err(|e| Error::machine(format!("{}: {e}", folder.display())))?;
    Ok((Target { cgroup: Some(folder), ..target.clone() }, Some(opened)))
}

/// What the programs know of a target.
fn scope_of(target: &Target) -> Result<WindowScope, Error> {
    let (net, mask) = target.dest.as_deref().map_or(Ok(([0; 16], [0; 16])), network)?;
    Ok(WindowScope {
        net,
        mask,
        link_header: 0,
        port: target.port.unwrap_or(0).to_be_bytes(),
        forwards: target.router,
        in_group: target.cgroup.is_some(),
    })
}

/// An address or network such as `192.0.2.0/24`, as bytes of IPv6 and those that count.
fn network(text: &str) -> Result<([u8; 16], [u8; 16]), Error> {
    let wrong = || Error::input(format!("\"{text}\" is no address or network, such as 192.0.2.7 or 2001:db8::/32"));
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| wrong())?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let (all, before): (u32, u32) = if address.is_ipv4() { (32, 96) } else { (128, 0) };
    let bits = bits.unwrap_or(all);
    if bits > all {
        return Err(wrong());
    }
    let full: Ipv6Addr = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let mask = u128::MAX.checked_shl(128 - before - bits).unwrap_or(0);
    Ok(((full.to_bits() & mask).to_be_bytes(), mask.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let bytes = |text: &str| text.parse::<Ipv6Addr>().unwrap().octets();
        let expected = [
            ("192.0.2.7", "::ffff:192.0.2.7", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("192.0.2.7/24", "::ffff:192.0.2.0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff00"),
            ("0.0.0.0/0", "::ffff:0:0", "ffff:ffff:ffff:ffff:ffff:ffff::"),
            ("2001:db8::1/32", "2001:db8::", "ffff:ffff::"),
            ("::/0", "::", "::"),
        ];
        for (text, net, mask) in expected {
            assert_eq!(network(text).unwrap(), (bytes(net), bytes(mask)), "{text}");
        }
        for wrong in ["", "x", "192.0.2.0/33", "192.0.2.0/", "2001:db8::/129", "192.0.2.0/-1"] {
            assert!(network(wrong).unwrap_err().is_input, "{wrong}");
        }
    }
}
