//! A file of packets that Wireshark opens: pcapng, with one interface, whose packets begin with their IP header.

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use scenario::units::Nanos;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// The exponent of the time stamps' unit: nanoseconds.
const NANOSECONDS: u8 = 9;

/// How much of each packet a file has, bytes (`snaplen`): all of it, or the headers of IPv4 without options and of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapLength(usize);

impl SnapLength {
    /// That of the headers, or of all.
    pub fn new(headers_only: bool) -> SnapLength {
        SnapLength(if headers_only { 20 + 60 } else { u16::MAX as usize })
    }

    /// Tells a packet of which all is kept.
    pub fn has_all_of(self, packet: &[u8]) -> bool {
        packet.len() <= self.0
    }
}

/// Where the packets of a file come from, as the file says it.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// What the machine is.
    pub hardware: &'a str,
    /// Whose TCP it is.
    pub os: &'a str,
}

/// Writes packets to a pcapng file.
pub struct PacketFile {
    file: PcapNgWriter<BufWriter<File>>,
    snap_length: SnapLength,
}

impl PacketFile {
    /// Creates the file of the packets at the senders' interfaces; so many bytes are written at a time.
    pub fn create(
        path: &Path,
        origin: &Origin,
        snap_length: SnapLength,
        bytes_at_a_time: usize,
    ) -> io::Result<PacketFile> {
        let file = BufWriter::with_capacity(bytes_at_a_time, File::create(path)?);
        let mut file = PcapNgWriter::with_section_header(file, section(origin)).map_err(into_io)?;
        file.write_pcapng_block(interface(origin.scenario, snap_length)).map_err(into_io)?;
        Ok(PacketFile { file, snap_length })
    }

    /// Writes a packet that passes at `now`, given whole.
    pub fn write(&mut self, now: Nanos, packet: &[u8]) -> io::Result<()> {
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(now.0),
            original_len: packet.len() as u32,
            data: packet[..packet.len().min(self.snap_length.0)].into(),
            options: vec![],
        };
        self.file.write_pcapng_block(block).map(|_| ()).map_err(into_io)
    }

    /// Writes what is still buffered.
    pub fn close(mut self) -> io::Result<()> {
        self.file.get_mut().flush()
    }
}

/// The byte order is fixed: the same run gives the same file on every machine.
fn section(origin: &Origin) -> SectionHeaderBlock<'static> {
    SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![
            SectionHeaderOption::Hardware(origin.hardware.to_string().into()),
            SectionHeaderOption::OS(origin.os.to_string().into()),
            SectionHeaderOption::UserApplication(concat!("unbloat ", env!("CARGO_PKG_VERSION")).into()),
        ],
        ..Default::default()
    }
}

fn interface(scenario: &str, snap_length: SnapLength) -> InterfaceDescriptionBlock<'static> {
    let description = format!("the senders' interfaces in \"{scenario}\"");
    InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: snap_length.0 as u32,
        options: vec![
            InterfaceDescriptionOption::IfName("senders".into()),
            InterfaceDescriptionOption::IfDescription(description.into()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    }
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
