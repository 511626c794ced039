//! IP headers of either version.
//!
//! Nodes of a mesh and their receivers talk IPv6, as 6LoWPAN carries it; other hosts talk IPv4. Lengths are counted as
//! if every packet had an IPv4 header, as a scenario has them (`packet`) and the simulator: an IPv6 header is
//! [`Version::longer_by`] longer.

use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice};
use model::{FlowGroup, Scenario};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest header that is longer than IPv4's, by so much.
pub const LONGEST_ADDITION: u32 = 20;
/// No IPv6 link carries less (RFC 8200, section 5).
const LEAST_IPV6_MTU: u32 = 1280;

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// RFC 791.
    V4,
    /// RFC 8200.
    V6,
}

impl Version {
    /// That of the hosts of a group. Datagrams of a mesh are IPv4's, and all where a queue is the kernel's, whose
    /// device takes no other.
    pub fn of_group(scenario: &Scenario, group: &FlowGroup) -> Version {
        let has_datagrams = group.datagrams().is_some();
        let is_ipv6 = group.origin.is_some() && !has_datagrams && scenario.only_in_the_kernel().is_none();
        if is_ipv6 { Version::V6 } else { Version::V4 }
    }

    /// That of an address.
    pub fn of(address: &IpAddr) -> Version {
        if address.is_ipv6() { Version::V6 } else { Version::V4 }
    }

    /// By how much its header is longer than IPv4's.
    pub fn longer_by(self) -> u32 {
        match self {
            Version::V4 => 0,
            Version::V6 => LONGEST_ADDITION,
        }
    }

    /// The MTU of an interface for packets of up to so many bytes with an IPv4 header.
    pub fn interface_mtu(self, packet: u32) -> u32 {
        match self {
            Version::V4 => packet,
            Version::V6 => (packet + self.longer_by()).max(LEAST_IPV6_MTU),
        }
    }

    /// The address of the near (0) or far (1) host of a pair.
    pub fn address(self, side: u32, pair: u32) -> IpAddr {
        match self {
            Version::V4 => Ipv4Addr::from(0x0a00_0001 + (side << 23) + pair).into(),
            // Unique local addresses (RFC 4193).
            Version::V6 => {
                Ipv6Addr::from((0xfd00_u128 << 112) + (u128::from(side) << 64) + u128::from(pair) + 1).into()
            }
        }
    }
}

/// A header, as far as the emulator looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its version.
    pub version: Version,
    /// Its length, bytes.
    pub length: usize,
    /// What it is before.
    pub protocol: IpNumber,
    /// Type of service or traffic class, whose two lowest bits are ECN's.
    pub tos: u8,
    /// Behind it there is a part of a datagram only.
    pub is_fragment: bool,
}

impl Header {
    /// That of a packet between two hosts; none if it is no such packet. Of IPv6 none with extension headers, which no
    /// socket of ours asks for, and none to many, such as the kernel's own reports of groups.
    pub fn read(packet: &[u8]) -> Option<Header> {
        match packet.first()? >> 4 {
            4 => {
                let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
                Some(Header {
                    version: Version::V4,
                    length: ip.slice().len(),
                    protocol: ip.protocol(),
                    tos: packet[1],
                    is_fragment: ip.is_fragmenting_payload(),
                })
            }
            6 => {
                let ip = Ipv6HeaderSlice::from_slice(packet).ok()?;
                let protocol = ip.next_header();
                let is_ours =
                    matches!(protocol, IpNumber::TCP | IpNumber::UDP) && !ip.destination_addr().is_multicast();
                is_ours.then(|| Header {
                    version: Version::V6,
                    length: ip.slice().len(),
                    protocol,
                    tos: ip.traffic_class(),
                    is_fragment: false,
                })
            }
            _ => None,
        }
    }
}

/// Sets both ECN bits of a packet, unless they are, and mends the checksum of a header that has one (RFC 1624,
/// equation 3).
pub fn mark_ce(packet: &mut [u8]) {
    if packet[0] >> 4 == 6 {
        // The traffic class begins in the middle of the first byte (RFC 8200, section 3).
        packet[1] |= 3 << 4;
        return;
    }
    if packet[1] & 3 == 3 {
        return;
    }
    let word = |p: &[u8], at: usize| u16::from_be_bytes([p[at], p[at + 1]]);
    let before = word(packet, 0);
    packet[1] |= 3;
    let after = word(packet, 0);
    let sum = !word(packet, 10) as u32 + !before as u32 + after as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
