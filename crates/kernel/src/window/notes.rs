//! Window controllers at devices, and whose acknowledgements they lower there.

use super::programs::{WindowPrograms, detach, is_attached};
use crate::cgroup;
use crate::device::Device;
use crate::device_notes::{self, AtDevice, DeviceNote, DeviceUnloaded};
use crate::rights;
use mechanism::Error;
use mechanism::{Library, WindowScope};
use model::MechanismRef;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

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
    /// What it is, and where.
    #[serde(flatten)]
    pub at: AtDevice,
    /// Whose acknowledgements it lowers.
    pub target: Target,
}

impl DeviceNote for WindowNote {
    const FOLDER: &'static str = device_notes::WINDOWS;
    const WHAT: &'static str = "window controller";

    fn at(&self) -> &AtDevice {
        &self.at
    }

    fn is_whole(&self) -> bool {
        is_attached(self.at.index)
    }

    /// Programs, then `clsact` if it was made for them and nobody else's filters are there.
    fn take_from_device(&self) -> Result<(), Error> {
        let device = self.at.device();
        detach(device.index, || self.at.made_clsact && !device.has_filters());
        Ok(())
    }
}

/// Gives a device a window controller, until [`unload_window`], the device's end or the next boot.
///
/// # Errors
/// As [`WindowPrograms::load`]; also if there is no such device, it has a controller already or no room for one, or the
/// target does not exist. Then nothing has changed.
pub fn load_window(
    library: &Library,
    receiver: &MechanismRef,
    device: &str,
    target: &Target,
) -> Result<WindowNote, Error> {
    rights::require("loading a window controller")?;
    let device = Device::named(device)?;
    let (target, group) = settled(target)?;
    let scope = WindowScope { link_header: device.link_header()?, ..scope_of(&target)? };
    let _lock = device_notes::lock()?;
    device_notes::sweep_locked::<WindowNote>()?;
    device_notes::require_none::<WindowNote>(&device)?;
    let programs = WindowPrograms::load(library, receiver, &scope, group.as_ref())?;
    let at = AtDevice::new(&device, &programs.source, &programs.parameters)?;
    device_notes::keep(WindowNote { at, target }, || {
        let attached = programs.attach(device.index);
        attached.map_err(|error| {
            Error::machine(format!("the kernel does not attach the window controller to {}: {error}", device.name))
        })
    })
}

/// Takes the window controller `source` from `device`, or from every device that has it.
///
/// # Errors
/// If no device has it, or this process may not.
pub fn unload_window(source: &str, device: Option<&str>) -> Result<Vec<DeviceUnloaded>, Error> {
    device_notes::unload::<WindowNote>(source, device)
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
