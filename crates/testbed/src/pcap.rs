//! A packet trace that Wireshark opens: the real packets at the senders' interfaces, and at the far ends of links if
//! these are watched.
//!
//! Data packets stand at the time the emulator took them from their host, acknowledgements at the time it gave them
//! back; the run's start is the epoch. The kernel leaves the checksum of TCP to the network card, which the trace's
//! writer stands for.

use crate::kernel;
use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice};
use measure::{LinkInterfaces, Origin, PacketFile, SnapLength};
use scenario::model::Scenario;
use scenario::units::Nanos;
use std::io;
use std::path::Path;

/// Written at a time: more would hold up the packets behind.
const CHUNK: usize = 1 << 16;
/// Where the checksum stands in a TCP header.
const TCP_CHECKSUM: usize = 16;

/// Writes packets to a pcapng file.
pub struct Pcap {
    file: PacketFile,
    snap_length: SnapLength,
    packet: Vec<u8>,
}

impl Pcap {
    /// Creates the file of packets at the senders and at these links.
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

    /// Writes an IPv4 packet that passes an interface at `now`.
    pub fn write(&mut self, now: Nanos, interface: u32, packet: &[u8]) -> io::Result<()> {
        if !self.snap_length.has_all_of(packet) {
            // Nobody can check a checksum over what is not there.
            return self.file.write(now, interface, packet);
        }
        self.packet.clear();
        self.packet.extend_from_slice(packet);
        finish_checksum(&mut self.packet);
        self.file.write(now, interface, &self.packet)
    }

    /// Writes what is still buffered.
    pub fn close(self) -> io::Result<()> {
        self.file.close()
    }
}

/// Puts the checksum in that the kernel left to the network card.
fn finish_checksum(packet: &mut [u8]) {
    let Ok(ip) = Ipv4HeaderSlice::from_slice(packet) else { return };
    let start = ip.slice().len();
    let Ok(tcp) = TcpHeaderSlice::from_slice(&packet[start..]) else { return };
    let payload = &packet[start + tcp.slice().len()..];
    if let Ok(sum) = tcp.calc_checksum_ipv4(&ip, payload) {
        packet[start + TCP_CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn the_checksum_is_finished() {
        let mut right = vec![];
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 128, 0, 1], 64).tcp(4000, 5201, 77, 1000);
        builder.write(&mut right, b"payload").unwrap();
        let mut packet = right.clone();
        packet[20 + TCP_CHECKSUM] ^= 0x55;
        finish_checksum(&mut packet);
        assert_eq!(packet, right);
    }
}
