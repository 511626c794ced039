//! Descriptors of packets in the emulator, with the fields that the path and the meters read. `tools/fuzz packet`
//! parses arbitrary bytes with this file and `ip.rs`.

use crate::ip::{Header, Version};
use etherparse::{IpNumber, TcpHeaderSlice, TcpOptionElement};
use model::units::Nanos;
use path::{Ecn, Packet};

/// The descriptor of a packet in a buffer of the pool.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    /// The number of the packet's buffer; [`PacketInfo::NO_BUFFER`] while the kernel has its bytes.
    pub slot: u32,
    /// The number of the packet's flow.
    pub flow: u32,
    /// A number of the packet's connection, where programs of the user open several in one flow; otherwise 0.
    pub connection: u32,
    /// Whether the packet comes from the flow's sender.
    pub is_data: bool,
    /// The packet's length, counted with an IPv4 header, bytes.
    bytes: u32,
    version: Version,
    tos: u8,
    marked: bool,
    /// Whether the sender's meter counts the packet, so that its loss counts too.
    pub counts: bool,
    /// The fields of the TCP header; none for other protocols.
    pub segment: Option<Segment>,
    /// The time that a datagram carries: when it was sent, or when the datagram that it answers was sent.
    pub stamp: Option<Nanos>,
}

impl Packet for PacketInfo {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        match self.tos & 3 {
            _ if self.marked => Ecn::Ce,
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    fn mark_ce(&mut self) {
        self.marked = true;
    }
    fn tos(&self) -> u8 {
        self.tos & !3
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn connection(&self) -> u32 {
        self.connection
    }
    fn is_from_sender(&self) -> bool {
        self.is_data
    }
}

/// The fields of a TCP header that the meters read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Payload, bytes.
    pub payload: u32,
    /// Whether the segment has SYN.
    pub syn: bool,
    /// The first SACK block, which contains the latest segment that arrived (RFC 2018, section 4).
    pub sack: Option<(u32, u32)>,
}

impl Segment {
    fn of(tcp: &[u8]) -> Option<Segment> {
        let header = TcpHeaderSlice::from_slice(tcp).ok()?;
        let sack = header.options_iterator().flatten().find_map(|option| match option {
            TcpOptionElement::SelectiveAcknowledgement(first, _) => Some(first),
            _ => None,
        });
        Some(Segment {
            seq: header.sequence_number(),
            ack: header.acknowledgment_number(),
            payload: (tcp.len() - header.slice().len()) as u32,
            syn: header.syn(),
            sack,
        })
    }
}

impl PacketInfo {
    /// The slot of a packet without a buffer.
    pub const NO_BUFFER: u32 = u32::MAX;

    /// Reads the descriptor of a packet that a host of `flow` sent; it has no buffer yet. Returns none if the packet is
    /// not between two hosts.
    pub fn read(packet: &[u8], flow: u32, is_data: bool) -> Option<PacketInfo> {
        let ip = Header::read(packet)?;
        let inside = &packet[ip.length..];
        let is = |protocol| ip.protocol == protocol && !ip.is_fragment;
        let is_datagram = is(IpNumber::UDP) || is(IpNumber::ICMP);
        Some(PacketInfo {
            slot: PacketInfo::NO_BUFFER,
            flow,
            connection: 0,
            is_data,
            bytes: packet.len() as u32 - ip.version.longer_by(),
            version: ip.version,
            tos: ip.tos,
            marked: false,
            counts: false,
            segment: if is(IpNumber::TCP) { Segment::of(inside) } else { None },
            stamp: inside.get(DATAGRAM_HEADER..).filter(|_| is_datagram).and_then(stamp),
        })
    }

    /// Returns the number of the packet's route (`path::Topology`).
    pub fn route(&self) -> u32 {
        2 * self.flow + !self.is_data as u32
    }

    /// Returns the packet's length with its own IP header, bytes.
    pub fn length(&self) -> usize {
        (self.bytes + self.version.longer_by()) as usize
    }

    /// Whether a queue has marked the packet.
    pub fn is_marked(&self) -> bool {
        self.marked
    }
}

/// Length of the header of UDP, and of an ICMP echo, bytes.
pub const DATAGRAM_HEADER: usize = 8;
/// The place of the identifier in the header of an ICMP echo (RFC 792).
const ICMP_IDENTIFIER: std::ops::Range<usize> = 4..6;
/// The type of an ICMP echo request; [`ECHO_REPLY`] is that of its reply.
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// Reads the time with which the payload of a datagram begins.
pub fn stamp(payload: &[u8]) -> Option<Nanos> {
    payload.first_chunk().map(|bytes| Nanos(u64::from_be_bytes(*bytes)))
}

/// Returns the source and destination port of a packet; for an ICMP echo, its identifier twice.
pub fn ports(packet: &[u8]) -> Option<(u16, u16)> {
    let ip = Header::read(packet)?;
    let inside = packet.get(ip.length..).filter(|inside| inside.len() >= DATAGRAM_HEADER)?;
    match ip.protocol {
        IpNumber::TCP | IpNumber::UDP => {
            Some((u16::from_be_bytes([inside[0], inside[1]]), u16::from_be_bytes([inside[2], inside[3]])))
        }
        IpNumber::ICMP => echo_identifier(inside).map(|identifier| (identifier, identifier)),
        _ => None,
    }
}

/// Returns a number that both directions of a packet's connection have; 0 for packets without ports.
pub fn connection(packet: &[u8]) -> u32 {
    ports(packet).map_or(0, |(one, other)| u32::from(one.min(other)) << 16 | u32::from(one.max(other)))
}

/// Returns the identifier of an ICMP echo request or reply.
pub fn echo_identifier(icmp: &[u8]) -> Option<u16> {
    let identifier = icmp.get(ICMP_IDENTIFIER)?;
    let is_echo = matches!(icmp[0], ECHO_REQUEST | ECHO_REPLY);
    is_echo.then(|| u16::from_be_bytes([identifier[0], identifier[1]]))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use etherparse::{Ipv4HeaderSlice, PacketBuilder};
    use kernel::tun::HEADER;

    /// Builds a sent packet, with the `virtio_net_hdr` in front.
    pub(crate) fn sent(payload: usize, ecn: u8) -> Vec<u8> {
        let mut packet = vec![];
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 128, 0, 1], 64).tcp(4000, 5001, 77, 1000);
        builder.write(&mut packet, &vec![0; payload]).unwrap();
        packet[1] = ecn;
        let checksum = Ipv4HeaderSlice::from_slice(&packet).unwrap().to_header().calc_header_checksum();
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        [vec![0; HEADER], packet].concat()
    }

    #[test]
    fn a_descriptor_knows_its_segment() {
        let info = PacketInfo::read(&sent(100, 0)[HEADER..], 3, true).unwrap();
        assert_eq!((info.bytes(), info.flow, info.ecn()), (140, 3, Ecn::NotEct));
        let segment = info.segment.unwrap();
        assert_eq!((segment.seq, segment.payload, segment.syn, segment.sack), (77, 100, false, None));
        assert_eq!(ports(&sent(100, 0)[HEADER..]), Some((4000, 5001)));
        assert_eq!(connection(&sent(100, 0)[HEADER..]), 4000 << 16 | 5001);
    }

    /// Builds a sent packet over IPv6, whose length counts as if it were over IPv4.
    pub(crate) fn sent_over_ipv6(payload: usize, ecn: u8) -> Vec<u8> {
        let mut packet = vec![];
        let (from, to) = (Version::V6.address(0, 3), Version::V6.address(1, 3));
        let octets = |address| match address {
            std::net::IpAddr::V6(address) => address.octets(),
            std::net::IpAddr::V4(_) => panic!("it is of IPv6"),
        };
        let builder = PacketBuilder::ipv6(octets(from), octets(to), 64).tcp(4000, 5201, 77, 1000);
        builder.write(&mut packet, &vec![0; payload]).unwrap();
        packet[1] |= ecn << 4;
        [vec![0; HEADER], packet].concat()
    }

    /// A kernel sends reports about its multicast groups by itself, for example.
    #[test]
    fn what_goes_to_many_is_not_carried() {
        let mut bytes = sent_over_ipv6(10, 0);
        bytes[HEADER + 24] = 0xff;
        assert!(PacketInfo::read(&bytes[HEADER..], 0, true).is_none());
    }

    #[test]
    fn what_is_not_ip_has_no_descriptor() {
        assert!(PacketInfo::read(&[0xff; 70], 0, true).is_none());
        assert!(PacketInfo::read(&[0; 4], 0, true).is_none());
    }
}
