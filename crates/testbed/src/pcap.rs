//! A packet trace for Wireshark: the real packets at the senders' interfaces and, if asked for, at the far ends of
//! links.
//!
//! A data packet has the time at which the emulator took it from its host, an acknowledgement the time at which it gave
//! it back. The epoch is the start of the run. The kernel leaves the TCP checksum to the network card, so the writer of
//! the trace computes it.

use crate::ip::{Header, Version};
use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice};
use measure::{LinkInterfaces, Origin, PacketFile, SnapLength};
use model::Scenario;
use model::units::Nanos;
use std::io;
use std::path::Path;

/// Bytes that are written at a time: larger writes would delay the packets behind.
const CHUNK: usize = 1 << 16;
/// Offset of the checksum in a TCP header, bytes.
const TCP_CHECKSUM: usize = 16;

/// Writes packets to a pcapng file.
pub struct Pcap {
    file: PacketFile,
    snap_length: SnapLength,
    packet: Vec<u8>,
}

impl Pcap {
    /// Creates a trace of the packets at the senders and at `links`.
    pub fn create(
        path: &Path,
        scenario: &Scenario,
        links: &LinkInterfaces,
        snap_length: SnapLength,
    ) -> io::Result<Pcap> {
        let os = format!("Linux {}", kernel::release());
        let origin = Origin { scenario: &scenario.name, hardware: "hosts on an emulated link", os: &os };
        let file = PacketFile::create(path, &origin, links, snap_length, CHUNK)?;
        Ok(Pcap { file, snap_length, packet: vec![] })
    }

    /// Writes an IP packet of `flow` that passes `interface` at `now`.
    pub fn write(&mut self, now: Nanos, interface: u32, packet: &[u8], flow: u32) -> io::Result<()> {
        let opens = is_first_syn(packet).then_some(flow);
        if !self.snap_length.has_all_of(packet) {
            // A checksum over missing bytes cannot be checked.
            return self.file.write(now, interface, packet, opens);
        }
        self.packet.clear();
        self.packet.extend_from_slice(packet);
        finish_checksum(&mut self.packet);
        self.file.write(now, interface, &self.packet, opens)
    }

    /// Writes the buffered packets and closes the file.
    pub fn close(self) -> io::Result<()> {
        self.file.close()
    }
}

/// Whether a packet is the SYN that opens a connection.
fn is_first_syn(packet: &[u8]) -> bool {
    let tcp = Header::read(packet).filter(|ip| ip.protocol == IpNumber::TCP && !ip.is_fragment);
    let tcp = tcp.and_then(|ip| TcpHeaderSlice::from_slice(&packet[ip.length..]).ok());
    tcp.is_some_and(|tcp| tcp.syn() && !tcp.ack())
}

/// Computes the TCP checksum, which the kernel leaves to the network card.
fn finish_checksum(packet: &mut [u8]) {
    if let Some((start, sum)) = tcp_checksum(packet) {
        packet[start + TCP_CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Returns the offset of a packet's TCP header, and the checksum that belongs there.
fn tcp_checksum(packet: &[u8]) -> Option<(usize, u16)> {
    let ip = Header::read(packet)?;
    let tcp = TcpHeaderSlice::from_slice(&packet[ip.length..]).ok()?;
    let payload = &packet[ip.length + tcp.slice().len()..];
    let sum = match ip.version {
        Version::V4 => tcp.calc_checksum_ipv4(&Ipv4HeaderSlice::from_slice(packet).ok()?, payload),
        Version::V6 => tcp.calc_checksum_ipv6(&Ipv6HeaderSlice::from_slice(packet).ok()?, payload),
    };
    Some((ip.length, sum.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn the_checksum_is_finished() {
        let over_ipv4 = PacketBuilder::ipv4([10, 0, 0, 1], [10, 128, 0, 1], 64);
        let over_ipv6 = PacketBuilder::ipv6([1; 16], [2; 16], 64);
        for (builder, header) in [(over_ipv4, 20), (over_ipv6, 40)] {
            let mut right = vec![];
            builder.tcp(4000, 5201, 77, 1000).write(&mut right, b"payload").unwrap();
            let mut packet = right.clone();
            packet[header + TCP_CHECKSUM] ^= 0x55;
            finish_checksum(&mut packet);
            assert_eq!(packet, right);
        }
    }
}
