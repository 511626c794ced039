//! The device of a window controller or a classifier.

use crate::netlink::Netlink;
use mechanism::Error;
use netlink_packet_route::tc::TcHandle;
use nix::net::if_::{if_indextoname, if_nametoindex};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Kinds of devices (`linux/if_arp.h`) whose frames begin with an Ethernet header.
const WITH_ETHERNET: [u32; 2] = [1, 772];
const ETHERNET_HEADER: u32 = 14;
/// Kinds of devices whose frames begin with the IP header: PPP, raw IP, tunnels, TUN.
const WITHOUT_HEADER: [u32; 7] = [512, 519, 768, 769, 776, 778, 65_534];
/// Parents of the filters in `clsact`, for incoming and for outgoing packets.
const FILTERS: [u32; 2] = [0xffff_fff2, 0xffff_fff3];

/// A device of the calling thread's network namespace.
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) index: u32,
}

impl Device {
    /// Finds the device of this name.
    ///
    /// # Errors
    /// Fails if the device does not exist.
    pub(crate) fn named(name: &str) -> Result<Device, Error> {
        match if_nametoindex(name) {
            Ok(index) => Ok(Device { name: name.to_string(), index }),
            Err(_) => {
                let there = names().join(", ");
                Err(Error::input(format!("unknown network device {name}; valid: {there}")))
            }
        }
    }

    /// Finds the device with this number, whatever its name is by now; none if it is gone.
    pub(crate) fn numbered(index: u32) -> Option<Device> {
        let name = if_indextoname(index).ok()?.into_string().ok()?;
        Some(Device { name, index })
    }

    /// Returns the length in bytes of a frame's header before its IP header.
    pub(crate) fn link_header(&self) -> Result<u32, Error> {
        let kind = netlink().and_then(|netlink| netlink.device_kind(self.index).map_err(machine))?;
        match kind {
            kind if WITH_ETHERNET.contains(&kind) => Ok(ETHERNET_HEADER),
            kind if WITHOUT_HEADER.contains(&kind) => Ok(0),
            kind => Err(Error::machine(format!(
                "{} has frames of an unknown kind ({kind}): use a device with Ethernet frames or with IP alone, such \
                 as PPP or TUN",
                self.name
            ))),
        }
    }

    /// Reports whether the device has the discipline `clsact`. Fails if another discipline leaves
    /// no room for it.
    pub(crate) fn has_clsact(&self) -> Result<bool, Error> {
        let kinds = netlink()?.qdiscs(self.index).map_err(machine)?;
        if kinds.iter().any(|kind| kind == "ingress") {
            return Err(Error::machine(format!(
                "{0} has the queue discipline ingress, which excludes clsact: remove it (tc qdisc del dev {0} \
                 ingress) and move its filters to clsact",
                self.name
            )));
        }
        Ok(kinds.iter().any(|kind| kind == "clsact"))
    }

    /// Reports whether `clsact` has any filter.
    pub(crate) fn has_filters(&self) -> bool {
        let has = |parent: u32| netlink()?.has_filter(self.index, TcHandle::from(parent)).map_err(machine);
        FILTERS.into_iter().any(|parent| has(parent).unwrap_or(false))
    }
}

/// Opens a route-netlink socket of this namespace.
pub(crate) fn netlink() -> Result<Netlink, Error> {
    Netlink::open().map_err(machine)
}

fn machine(error: io::Error) -> Error {
    Error::machine(format!("the kernel does not list its devices: {error}"))
}

/// Lists the names of the devices of this namespace.
fn names() -> Vec<String> {
    let mut names: Vec<String> =
        nix::ifaddrs::getifaddrs().map(|all| all.map(|one| one.interface_name).collect()).unwrap_or_default();
    names.sort();
    names.dedup();
    names
}

/// Returns the number of the calling thread's network namespace.
pub(crate) fn namespace() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").map_or(0, |about| about.ino())
}
