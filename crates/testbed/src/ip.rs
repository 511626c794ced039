//! IP headers of either version.
//!
//! Nodes of a mesh and their receivers use IPv6, as 6LoWPAN carries it; other hosts use IPv4. Lengths count every
//! packet as if it had an IPv4 header, as the key `packet` and the simulator do. An IPv6 header is
//! [`Version::longer_by`] bytes longer.

use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice};
use model::{FlowGroup, Scenario};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How many bytes the longest IP header exceeds an IPv4 header.
pub const LONGEST_ADDITION: u32 = 20;
/// The smallest MTU of an IPv6 link, bytes (RFC 8200, section 5).
const LEAST_IPV6_MTU: u32 = 1280;

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

impl Version {
    /// Returns the version that the hosts of a group use: IPv6 for connections of a mesh, otherwise IPv4. Where a queue
    /// is the kernel's, all hosts use IPv4, because its device takes nothing else.
    pub fn of_group(scenario: &Scenario, group: &FlowGroup) -> Version {
        let has_datagrams = group.datagrams().is_some();
        let is_ipv6 = group.origin.is_some() && !has_datagrams && scenario.only_in_the_kernel().is_none();
        if is_ipv6 { Version::V6 } else { Version::V4 }
    }

    /// Returns the version of an address.
    pub fn of(address: &IpAddr) -> Version {
        if address.is_ipv6() { Version::V6 } else { Version::V4 }
    }

    /// How many bytes the header of this version is longer than an IPv4 header.
    pub fn longer_by(self) -> u32 {
        match self {
            Version::V4 => 0,
            Version::V6 => LONGEST_ADDITION,
        }
    }

    /// Returns the MTU of an interface whose packets are up to `packet` bytes long, counted with an IPv4 header.
    pub fn interface_mtu(self, packet: u32) -> u32 {
        match self {
            Version::V4 => packet,
            Version::V6 => (packet + self.longer_by()).max(LEAST_IPV6_MTU),
        }
    }

    /// Returns the address of the near (`side` 0) or far (`side` 1) host of a pair.
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

/// The fields of an IP header that the emulator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of IP.
    pub version: Version,
    /// The header's length, bytes.
    pub length: usize,
    /// The protocol of the payload.
    pub protocol: IpNumber,
    /// The type of service or traffic class, whose two lowest bits are the ECN field.
    pub tos: u8,
    /// Whether the packet is a fragment of a datagram.
    pub is_fragment: bool,
}

impl Header {
    /// Reads the header of a packet between two hosts; none if the packet is something else. IPv6 packets with
    /// extension headers and to multicast groups give none: our sockets send neither, and the kernel sends the latter
    /// by itself.
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

/// Marks a packet with "congestion experienced" and updates the checksum of an IPv4 header (RFC 1624, equation 3).
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
