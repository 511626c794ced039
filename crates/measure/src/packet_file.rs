//! Packet traces for Wireshark, in the format pcapng. A file has an interface for the senders, and
//! optionally one for each link. Packets begin with their IP header.

use model::units::Nanos;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// Exponent of the time stamps' unit: nanoseconds.
const NANOSECONDS: u8 = 9;

/// Bytes of each packet in a file (`snaplen`): all, or the headers of IPv4 without options and of
/// TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapLength(usize);

impl SnapLength {
    /// Returns the length of the headers, or of whole packets.
    pub fn new(headers_only: bool) -> SnapLength {
        SnapLength(if headers_only { 20 + 60 } else { u16::MAX as usize })
    }

    /// Reports whether the file stores the whole packet.
    pub fn has_all_of(self, packet: &[u8]) -> bool {
        packet.len() <= self.0
    }
}

/// The origin of a file's packets, as the file describes it.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Description of the machine.
    pub hardware: &'a str,
    /// Description of the TCP that sent the packets.
    pub os: &'a str,
}

/// Writes packets to a pcapng file.
pub struct PacketFile {
    file: PcapNgWriter<BufWriter<File>>,
    snap_length: SnapLength,
}

/// Number of the interface that packets pass when they leave or reach their senders.
pub const SENDERS: u32 = 0;

/// Numbers of the interfaces that packets pass at the far end of a port, by the port's number.
#[derive(Clone, Debug, Default)]
pub struct LinkInterfaces {
    by_port: Vec<Option<u32>>,
    names: Vec<String>,
}

impl LinkInterfaces {
    /// Creates an interface for each port with a name.
    pub fn new<'a>(port_names: impl IntoIterator<Item = Option<&'a str>>) -> LinkInterfaces {
        let mut interfaces = LinkInterfaces::default();
        for name in port_names {
            interfaces.names.extend(name.map(str::to_string));
            interfaces.by_port.push(name.map(|_| SENDERS + interfaces.names.len() as u32));
        }
        interfaces
    }

    /// Reports whether no link has an interface.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the interface of a port; none if it has none.
    pub fn of_port(&self, port: u32) -> Option<u32> {
        *self.by_port.get(port as usize)?
    }
}

impl PacketFile {
    /// Creates the file of the packets at the senders' interfaces and at `links`. It writes
    /// `bytes_at_a_time` bytes at a time.
    pub fn create(
        path: &Path,
        origin: &Origin,
        links: &LinkInterfaces,
        snap_length: SnapLength,
        bytes_at_a_time: usize,
    ) -> io::Result<PacketFile> {
        let file = BufWriter::with_capacity(bytes_at_a_time, File::create(path)?);
        let mut file = PcapNgWriter::with_section_header(file, section(origin)).map_err(into_io)?;
        let senders = interface("senders", snap_length, format!("the senders' interfaces in \"{}\"", origin.scenario));
        file.write_pcapng_block(senders).map_err(into_io)?;
        for name in &links.names {
            let far_end = interface(name, snap_length, format!("the far end of {name}"));
            file.write_pcapng_block(far_end).map_err(into_io)?;
        }
        Ok(PacketFile { file, snap_length })
    }

    /// Writes a packet that passes an interface at `now`; `packet` is the whole packet. A SYN names
    /// the flow that it `opens` in a comment, since backends give a flow different addresses and
    /// ports.
    pub fn write(&mut self, now: Nanos, interface: u32, packet: &[u8], opens: Option<u32>) -> io::Result<()> {
        let comment = opens.map(|flow| EnhancedPacketOption::Comment(format!("flow {flow}").into()));
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(now.0),
            original_len: packet.len() as u32,
            data: packet[..packet.len().min(self.snap_length.0)].into(),
            options: comment.into_iter().collect(),
        };
        self.file.write_pcapng_block(block).map(|_| ()).map_err(into_io)
    }

    /// Writes all data that is still buffered.
    pub fn close(mut self) -> io::Result<()> {
        self.file.get_mut().flush()
    }
}

/// Returns the section header. Its byte order is fixed, so that one run gives one file on every
/// machine.
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

fn interface(name: &str, snap_length: SnapLength, description: String) -> InterfaceDescriptionBlock<'static> {
    InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: snap_length.0 as u32,
        options: vec![
            InterfaceDescriptionOption::IfName(name.to_string().into()),
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
