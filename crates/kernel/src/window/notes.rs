//! Window controllers at devices, and the connections whose acknowledgements they change.

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

/// Selects the connections whose acknowledgements are changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Port of the other end; none means any.
    pub port: Option<u16>,
    /// Address or network of the other end; none means any.
    pub dest: Option<String>,
    /// Control group of the sockets; none means all.
    pub cgroup: Option<PathBuf>,
    /// Whether connections that this host forwards count too.
    pub router: bool,
}

/// The record of a window controller at a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WindowNote {
    /// The mechanism, and its device.
    #[serde(flatten)]
    pub at: AtDevice,
    /// The connections whose acknowledgements it changes.
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

    /// Takes away the programs. Also removes `clsact` if this crate made it and no filters of
    /// others are there.
    fn take_from_device(&self) -> Result<(), Error> {
        let device = self.at.device();
        detach(device.index, || self.at.made_clsact && !device.has_filters());
        Ok(())
    }
}

/// Gives a device a window controller, until [`unload_window`], the device's end or the next boot.
///
/// # Errors
/// Fails like [`WindowPrograms::load`]. Also fails if the device does not exist, it has a window
/// controller already or no room for one, or the target does not exist. Nothing has changed then.
pub fn load_window(
    library: &Library,
    controller: &MechanismRef,
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
    let programs = WindowPrograms::load(library, controller, &scope, group.as_ref())?;
    let at = AtDevice::new(&device, &programs.source, &programs.parameters)?;
    device_notes::keep(WindowNote { at, target }, || {
        let attached = programs.attach(device.index);
        attached.map_err(|error| {
            Error::machine(format!("the kernel cannot attach the window controller to {}: {error}", device.name))
        })
    })
}

/// Takes the window controller `source` from `device`, or from every device that has it.
///
/// # Errors
/// Fails if no device has it, or this process lacks the rights.
pub fn unload_window(source: &str, device: Option<&str>) -> Result<Vec<DeviceUnloaded>, Error> {
    device_notes::unload::<WindowNote>(source, device)
}

/// Returns the target with the full path of its control group's folder, and that folder opened.
fn settled(target: &Target) -> Result<(Target, Option<File>), Error> {
    let Some(named) = &target.cgroup else { return Ok((target.clone(), None)) };
    if target.router {
        return Err(Error::input(
            "--cgroup is for sockets of this computer, and --router for connections of other \
                                 computers; leave one of the two out",
        ));
    }
    let folder = cgroup::folder_of(cgroup::Group::Named(named))?;
    let opened = File::open(&folder).map_err(|e| Error::machine(format!("{}: {e}", folder.display())))?;
    Ok((Target { cgroup: Some(folder), ..target.clone() }, Some(opened)))
}

/// Converts a target for the programs.
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

/// Parses an address or network such as `192.0.2.0/24`, to bytes of IPv6 and their mask.
fn network(text: &str) -> Result<([u8; 16], [u8; 16]), Error> {
    let wrong = || {
        Error::input(format!(
            "\"{text}\" is not an address or network; write one such as 192.0.2.7 or \
                                         2001:db8::/32"
        ))
    };
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
