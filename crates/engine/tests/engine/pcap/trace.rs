//! A lossy scenario, its trace, and the packets in it.

use etherparse::{Ipv4Header, TcpHeader, TcpOptionElement};
use mechanism::Library;
use model::Scenario;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, Endianness};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unbloat_engine::{Error, Options, Outcome};

/// A scenario with loss and marks both ways, a flow without end and one of 300 001 bytes, whose last segment is short.
pub const LOSSY: &str = r#"
    duration = "8s"
    [link.bottleneck]
    rate  = "10mbit"
    delay = "20ms"
    loss  = "1.5%"
    queue = { kind = "droptail", limit = "60kb", ecn_threshold = "30kb" }
    [link.bottleneck.reverse]
    loss  = "1.5%"
    [[flows]]
    cc    = "cubic"
    [[flows]]
    cc    = "reno"
    size  = "300001b"
    start = "100ms"
    access = { delay = "5ms" }
    receive_window = "60000b"
"#;

pub const SIZE: u32 = 300_001;

pub const WINDOW: u32 = 60_000;

/// The profiles of the loss recoveries.
pub const PROFILES: [&str; 4] = [
    r#"{ base = "linux" }"#,
    r#"{ base = "sack", timestamps = false }"#,
    r#"{ base = "newreno" }"#,
    r#"{ base = "linux", ecn = true, window_scaling = false }"#,
];

/// One packet of a trace.
pub struct Packet {
    pub at: Duration,
    pub bytes: Vec<u8>,
    pub ip: Ipv4Header,
    pub tcp: TcpHeader,
    /// Initial sequence numbers of the data's sender and of its receiver.
    isn: (u32, u32),
}

impl Packet {
    fn parse(at: Duration, bytes: &[u8]) -> Packet {
        let (ip, rest) = Ipv4Header::from_slice(bytes).expect("an IPv4 header");
        let (tcp, _) = TcpHeader::from_slice(rest).expect("a TCP header");
        Packet { at, bytes: bytes.to_vec(), ip, tcp, isn: (0, 0) }
    }

    pub fn flow(&self) -> usize {
        u16::from_be_bytes([self.ip.source[1], self.ip.source[2]]) as usize
    }

    pub fn is_from_sender(&self) -> bool {
        self.ip.source[3] == 1
    }

    pub fn is_data(&self) -> bool {
        self.is_from_sender() && !self.payload().is_empty()
    }

    pub fn is_ack(&self) -> bool {
        !self.is_from_sender() && !self.tcp.syn
    }

    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.ip.header_len() + self.tcp.header_len()..]
    }

    // Relative to the initial sequence numbers, as Wireshark shows them.

    pub fn seq(&self) -> u32 {
        self.tcp.sequence_number.wrapping_sub(if self.is_from_sender() { self.isn.0 } else { self.isn.1 })
    }

    pub fn ack(&self) -> u32 {
        self.tcp.acknowledgment_number.wrapping_sub(if self.is_from_sender() { self.isn.1 } else { self.isn.0 })
    }

    pub fn end(&self) -> u32 {
        self.seq() + self.payload().len() as u32
    }

    pub fn options(&self) -> Vec<TcpOptionElement> {
        self.tcp.options_iterator().collect::<Result<_, _>>().expect("options are well-formed")
    }

    /// Value and echo of the timestamps option.
    pub fn timestamp(&self) -> Option<(u32, u32)> {
        self.options().into_iter().find_map(|option| match option {
            TcpOptionElement::Timestamp(value, echo) => Some((value, echo)),
            _ => None,
        })
    }

    pub fn sack_blocks(&self) -> Vec<(u32, u32)> {
        self.options()
            .into_iter()
            .find_map(|option| match option {
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    let blocks = std::iter::once(first).chain(rest.into_iter().flatten());
                    Some(
                        blocks
                            .map(|(start, end)| (start.wrapping_sub(self.isn.0), end.wrapping_sub(self.isn.0)))
                            .collect(),
                    )
                }
                _ => None,
            })
            .unwrap_or_default()
    }
}

pub fn scenario(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment =
        scenario::load_text(text, "test.toml", Path::new(""), &overrides).unwrap_or_else(|e| panic!("{e}"));
    experiment.points.into_iter().next().expect("one run").scenario
}

pub fn library() -> Library {
    Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"))
}

pub fn run(scenario: &Scenario, options: &Options) -> Result<Outcome, Error> {
    unbloat_engine::run(scenario, &library(), options, &mut |_| ControlFlow::Continue(()))
}

pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"))
}

/// Simulates the lossy scenario with a trace; `name` is the test's own.
pub fn trace(name: &str, overrides: &[(&str, &str)]) -> (Outcome, Vec<Packet>) {
    trace_of(name, LOSSY, overrides)
}

/// Simulates a scenario with a trace.
pub fn trace_of(name: &str, text: &str, overrides: &[(&str, &str)]) -> (Outcome, Vec<Packet>) {
    let path = file(name);
    let options = Options { pcap: Some(path.clone()), ..Default::default() };
    let outcome = run(&scenario(text, overrides), &options).expect("a run");
    (outcome, read(&path))
}

fn read(path: &Path) -> Vec<Packet> {
    let mut reader = PcapNgReader::new(File::open(path).expect("a trace")).expect("a section header");
    let mut packets = vec![];
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            assert_eq!(packet.original_len as usize, packet.data.len());
            packets.push(Packet::parse(packet.timestamp, &packet.data));
        }
    }
    let [interface] = reader.interfaces() else { panic!("one interface") };
    // The same bytes on every machine.
    assert_eq!(reader.section().endianness, Endianness::Little);
    assert_eq!(interface.linktype, DataLink::RAW);
    assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
    for i in 0..packets.len() {
        packets[i].isn = isn(&packets, packets[i].flow());
    }
    packets
}

/// The initial sequence numbers in the two SYNs of a flow; zero for a SYN that the trace does not have.
pub fn isn(packets: &[Packet], flow: usize) -> (u32, u32) {
    let of = |from_sender| {
        let syn = |p: &&Packet| p.flow() == flow && p.tcp.syn && p.is_from_sender() == from_sender;
        packets.iter().find(syn).map_or(0, |syn| syn.tcp.sequence_number)
    };
    (of(true), of(false))
}
