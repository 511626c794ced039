//! A packet trace that Wireshark opens: the real packets at the senders' interfaces.
//!
//! Data packets stand at the time the emulator took them from their host, acknowledgements at the time it gave them back; the run's
//! start is the epoch. The kernel leaves the checksum of TCP to the network card, which the trace's writer stands for.

use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, PcapError};
use scenario::units::Nanos;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// The exponent of the time stamps' unit: nanoseconds.
const NANOSECONDS: u8 = 9;
/// Written at a time: more would hold up the packets behind.
const CHUNK: usize = 1 << 16;
/// Where the checksum stands in a TCP header.
const TCP_CHECKSUM: usize = 16;

/// Writes packets to a pcapng file.
pub struct Pcap {
    file: PcapNgWriter<BufWriter<File>>,
    packet: Vec<u8>,
}

impl Pcap {
    /// Creates the file.
    pub fn create(path: &Path) -> io::Result<Pcap> {
        let file = BufWriter::with_capacity(CHUNK, File::create(path)?);
        let mut file = PcapNgWriter::new(file).map_err(into_io)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::IPV4,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName("senders".into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        file.write_pcapng_block(interface).map_err(into_io)?;
        Ok(Pcap { file, packet: vec![] })
    }

    /// Writes an IPv4 packet that goes out or comes in at `now`.
    pub fn write(&mut self, now: Nanos, packet: &[u8]) -> io::Result<()> {
        self.packet.clear();
        self.packet.extend_from_slice(packet);
        finish_checksum(&mut self.packet);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(now.0),
            original_len: packet.len() as u32,
            data: self.packet.as_slice().into(),
            options: vec![],
        };
        self.file.write_pcapng_block(block).map_err(into_io)?;
        Ok(())
    }

    /// Writes what is still buffered.
    pub fn close(mut self) -> io::Result<()> {
        self.file.get_mut().flush()
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

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other.to_string()),
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
