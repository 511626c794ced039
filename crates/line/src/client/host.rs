//! This computer's own queue on the way to the far end.

use kernel::netlink::Netlink;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use std::net::IpAddr;

/// The device that leads to the far end.
pub(super) struct Device {
    pub(super) name: String,
    index: u32,
    netlink: Option<Netlink>,
}

impl Device {
    /// Finds the device that has an address.
    pub(super) fn with_address(address: IpAddr) -> Option<Self> {
        let all = getifaddrs().ok()?;
        let name = all.into_iter().find_map(|found| {
            let storage = found.address?;
            let v4 = storage.as_sockaddr_in().map(|own| IpAddr::V4(own.ip()));
            let v6 = storage.as_sockaddr_in6().map(|own| IpAddr::V6(own.ip()));
            (v4.or(v6) == Some(address.to_canonical())).then_some(found.interface_name)
        })?;
        let index = if_nametoindex(name.as_str()).ok()?;
        Some(Self { name, index, netlink: Netlink::open().ok() })
    }

    /// Returns the bytes that wait in the device's queue disciplines; `None` if it has none.
    pub(super) fn backlog(&self) -> Option<u64> {
        let counts = self.netlink.as_ref()?.queue_counts(self.index).ok()?;
        Some(u64::from(counts.bytes))
    }
}
