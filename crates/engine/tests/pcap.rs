//! Packet traces, read back with the crates' own parsers: what stands in the file is what was simulated.

use engine::{Error, Options, Outcome};
use etherparse::{IpEcn, Ipv4Header, TcpHeader, TcpOptionElement};
use mechanism::Library;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, Endianness};
use scenario::model::Scenario;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Loss and marks both ways, a flow without end and one of 300 001 bytes, whose last segment is short.
const LOSSY: &str = r#"
    duration = "8s"
    [link.bottleneck]
    rate  = "10mbit"
    delay = "20ms"
    loss  = "1%"
    queue = { kind = "droptail", limit = "60kb", ecn_threshold = "30kb" }
    [link.bottleneck.reverse]
    loss  = "1%"
    [[flows]]
    cc    = "cubic"
    [[flows]]
    cc    = "reno"
    size  = "300001b"
    start = "100ms"
    access = { delay = "5ms" }
    receive_window = "60000b"
"#;
const SIZE: u32 = 300_001;
const WINDOW: u32 = 60_000;

/// One packet of a trace.
struct Packet {
    at: Duration,
    bytes: Vec<u8>,
    ip: Ipv4Header,
    tcp: TcpHeader,
    /// Initial sequence numbers of the data's sender and of its receiver.
    isn: (u32, u32),
}

impl Packet {
    fn parse(at: Duration, bytes: &[u8]) -> Packet {
        let (ip, rest) = Ipv4Header::from_slice(bytes).expect("an IPv4 header");
        let (tcp, _) = TcpHeader::from_slice(rest).expect("a TCP header");
        Packet { at, bytes: bytes.to_vec(), ip, tcp, isn: (0, 0) }
    }

    fn flow(&self) -> usize {
        u16::from_be_bytes([self.ip.source[1], self.ip.source[2]]) as usize
    }

    fn is_from_sender(&self) -> bool {
        self.ip.source[3] == 1
    }

    fn is_data(&self) -> bool {
        self.is_from_sender() && !self.payload().is_empty()
    }

    fn is_ack(&self) -> bool {
        !self.is_from_sender() && !self.tcp.syn
    }

    fn payload(&self) -> &[u8] {
        &self.bytes[self.ip.header_len() + self.tcp.header_len()..]
    }

    // Relative to the initial sequence numbers, as Wireshark shows them.

    fn seq(&self) -> u32 {
        self.tcp.sequence_number.wrapping_sub(if self.is_from_sender() { self.isn.0 } else { self.isn.1 })
    }

    fn ack(&self) -> u32 {
        self.tcp.acknowledgment_number.wrapping_sub(if self.is_from_sender() { self.isn.1 } else { self.isn.0 })
    }

    fn end(&self) -> u32 {
        self.seq() + self.payload().len() as u32
    }

    fn options(&self) -> Vec<TcpOptionElement> {
        self.tcp.options_iterator().collect::<Result<_, _>>().expect("options are well-formed")
    }

    /// Value and echo.
    fn timestamp(&self) -> Option<(u32, u32)> {
        self.options().into_iter().find_map(|option| match option {
            TcpOptionElement::Timestamp(value, echo) => Some((value, echo)),
            _ => None,
        })
    }

    fn sack_blocks(&self) -> Vec<(u32, u32)> {
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

fn scenario(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment =
        scenario::load_text(text, "test.toml", Path::new(""), &overrides).unwrap_or_else(|e| panic!("{e}"));
    experiment.cells.into_iter().next().expect("one run").scenario
}

fn library() -> Library {
    Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"))
}

fn run(scenario: &Scenario, options: &Options) -> Result<Outcome, Error> {
    engine::run(scenario, &library(), options, &mut |_| ControlFlow::Continue(()))
}

fn fingerprint(scenario: &Scenario, options: &Options) -> u64 {
    let fingerprinted = engine::fingerprint(scenario, &library(), options, &mut |_| ControlFlow::Continue(()));
    fingerprinted.expect("a run").1
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"))
}

/// Simulates the lossy scenario with a trace; `name` is the test's own.
fn trace(name: &str, overrides: &[(&str, &str)]) -> (Outcome, Vec<Packet>) {
    let path = file(name);
    let options = Options { pcap: Some(path.clone()), ..Default::default() };
    let outcome = run(&scenario(LOSSY, overrides), &options).expect("a run");
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

/// What the two SYNs of a flow say; zero where the trace has none.
fn isn(packets: &[Packet], flow: usize) -> (u32, u32) {
    let of = |from_sender| {
        let syn = |p: &&Packet| p.flow() == flow && p.tcp.syn && p.is_from_sender() == from_sender;
        packets.iter().find(syn).map_or(0, |syn| syn.tcp.sequence_number)
    };
    (of(true), of(false))
}

/// What the loss recoveries differ in.
const PROFILES: [&str; 4] = [
    r#"{ base = "linux" }"#,
    r#"{ base = "sack", timestamps = false }"#,
    r#"{ base = "newreno" }"#,
    r#"{ base = "linux", ecn = true, window_scaling = false }"#,
];

#[test]
fn headers_are_sound() {
    for profile in PROFILES {
        let (_, packets) = trace("sound", &[("profile", profile)]);
        for packet in &packets {
            assert_eq!(packet.ip.header_checksum, packet.ip.calc_header_checksum());
            let checksum = packet.tcp.calc_checksum_ipv4(&packet.ip, packet.payload());
            assert_eq!(Ok(packet.tcp.checksum), checksum);
            assert_eq!(packet.ip.total_len as usize, packet.bytes.len());
            assert!(packet.payload().iter().all(|byte| *byte == 0));
            assert!(packet.is_from_sender() || packet.payload().is_empty());
            assert!(!packet.tcp.syn || packet.bytes.len() == 60);
        }
        assert!(packets.is_sorted_by_key(|packet| packet.at));
        assert!(packets.iter().filter(|packet| packet.is_ack()).count() > 1000);
    }
}

/// Both ends of both flows start where the seed says, and no two alike.
#[test]
fn initial_sequence_numbers_are_drawn_from_the_seed() {
    let starts = |seed: &str| {
        let (_, packets) = trace("initial", &[("duration", "1s"), ("seed", seed)]);
        [isn(&packets, 0), isn(&packets, 1)].into_iter().flat_map(|(a, b)| [a, b]).collect::<Vec<u32>>()
    };
    assert_eq!(starts("1"), starts("1"));
    let mut all: Vec<u32> = ["1", "2", "3", "4"].into_iter().flat_map(starts).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 16);
    assert!(all.iter().any(|isn| *isn > u32::MAX - (4 << 20)), "none of {all:?} is near the wrap");
}

#[test]
fn identifications_count_the_packets_of_each_host() {
    let (_, packets) = trace("identifications", &[]);
    for source in [[10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 1, 1], [10, 0, 1, 2]] {
        let seen = packets.iter().filter(|packet| packet.ip.source == source);
        assert!(seen.enumerate().all(|(i, packet)| packet.ip.identification as usize == i));
    }
}

#[test]
fn a_connection_opens_with_three_packets() {
    let (_, packets) = trace("handshake", &[]);
    for flow in 0..2 {
        let opening: Vec<_> = packets.iter().filter(|packet| packet.flow() == flow).take(4).collect();
        assert!(opening[..3].iter().all(|packet| packet.payload().is_empty()) && opening[3].is_data());
        let flags: Vec<_> =
            opening[..3].iter().map(|packet| (packet.is_from_sender(), packet.tcp.syn, packet.tcp.ack)).collect();
        assert_eq!(flags, [(true, true, false), (false, true, true), (true, false, true)]);
        assert_eq!((opening[2].seq(), opening[2].ack()), (1, 1));
    }
}

#[test]
fn sequence_numbers_are_continuous_and_retransmissions_those_of_the_record() {
    for profile in PROFILES {
        let (outcome, packets) = trace("sequence", &[("profile", profile)]);
        let mut next = [1, 1];
        let mut sent = [0, 0];
        let mut sent_again = [0, 0];
        for packet in packets.iter().filter(|packet| packet.is_data()) {
            let flow = packet.flow();
            sent[flow] += 1;
            if packet.seq() == next[flow] {
                next[flow] = packet.end();
            } else {
                assert!(packet.end() <= next[flow], "a hole before {}", packet.seq());
                sent_again[flow] += 1;
            }
        }
        let records = outcome.run.flows.iter();
        let recorded: Vec<_> = records.map(|flow| (flow.sent_packets, flow.retransmitted_packets)).collect();
        assert_eq!(recorded, [(sent[0], sent_again[0]), (sent[1], sent_again[1])]);
        assert_eq!(outcome.data_packets, sent[0] + sent[1]);
        assert!(sent_again.iter().all(|count| *count > 0));
        assert_eq!(next[1], 1 + SIZE);
    }
}

#[test]
fn the_last_segment_is_short_and_pushed() {
    let (_, packets) = trace("last", &[]);
    let is_last = |packet: &&Packet| packet.is_data() && (packet.flow(), packet.end()) == (1, 1 + SIZE);
    let last: Vec<_> = packets.iter().filter(is_last).collect();
    assert!(!last.is_empty());
    for packet in last {
        assert!(packet.tcp.psh);
        assert_eq!(packet.payload().len() as u32, SIZE % 1448);
    }
    let acknowledged =
        packets.iter().rfind(|packet| packet.is_ack() && packet.flow() == 1).expect("an acknowledgement");
    assert_eq!(acknowledged.ack(), 1 + SIZE);
}

/// Checks the acknowledgements of a trace; returns the most SACK blocks that stand in one, and how many report a
/// duplicate.
fn check_acknowledgements(packets: &[Packet]) -> (usize, usize) {
    let (mut next, mut una) = ([1, 1], [1, 1]);
    let (mut most, mut duplicates) = (0, 0);
    for packet in packets {
        let flow = packet.flow();
        if packet.is_data() {
            next[flow] = packet.end().max(next[flow]);
        } else if packet.is_ack() {
            let acknowledged = packet.ack();
            assert!(acknowledged <= next[flow] && acknowledged >= una[flow]);
            una[flow] = acknowledged;
            let blocks = packet.sack_blocks();
            assert!(blocks.iter().all(|block| block.0 < block.1 && block.1 <= next[flow]));
            most = most.max(blocks.len());
            // RFC 2883: the first block reports a duplicate if it lies below the acknowledgement or inside the second.
            let duplicate = blocks.first().is_some_and(|first| {
                first.1 <= acknowledged || blocks.get(1).is_some_and(|b| b.0 <= first.0 && first.1 <= b.1)
            });
            assert!(blocks[duplicate as usize..].iter().all(|block| block.0 > acknowledged));
            duplicates += duplicate as usize;
        }
    }
    (most, duplicates)
}

#[test]
fn acknowledgements_and_sack_blocks_lie_within_what_was_sent() {
    for (profile, room) in [(PROFILES[0], 3), (PROFILES[1], 4), (PROFILES[2], 0)] {
        let (_, packets) = trace("sack", &[("profile", profile)]);
        assert_eq!(check_acknowledgements(&packets).0, room);
    }
}

#[test]
fn duplicates_are_reported() {
    // So many acknowledgements are lost that timeouts send again what has arrived.
    let losses = [("link.bottleneck.loss", "20%"), ("link.bottleneck.reverse.loss", "40%"), ("duration", "100s")];
    let (_, packets) = trace("duplicates", &losses);
    assert!(check_acknowledgements(&packets).1 > 0);
}

#[test]
fn an_echo_is_the_value_seen_last() {
    let (_, packets) = trace("timestamps", &[]);
    let mut seen = [0, 0];
    for packet in &packets {
        let (value, echo) = packet.timestamp().expect("timestamps are on");
        if packet.is_from_sender() {
            assert_eq!(echo, seen[packet.flow()]);
            // The clock of the option ticks in milliseconds; the simulated hosts have been up for 1000 s, and read it
            // up to 3 us late.
            let late = packet.at + Duration::from_micros(3);
            assert!((packet.at.as_millis()..=late.as_millis()).contains(&(value as u128 - 1_000_000)));
        } else {
            assert!(value >= seen[packet.flow()] && echo as u128 <= 1_000_000 + packet.at.as_millis());
            seen[packet.flow()] = value;
        }
    }
}

#[test]
fn windows_are_those_that_the_receivers_offer() {
    // A textbook receiver offers all from the start. What the scale cannot express is rounded up.
    let cases = [
        ("60000b", 0, 60_000),
        ("100kb", 1, 100_000),
        ("100001b", 1, 100_002),
        ("1mb", 4, 1_000_000),
        ("1gib", 14, 65_535 << 14),
    ];
    for (window, scale, offered) in cases {
        let changes = [("flows.1.receive_window", window), ("flows.1.profile", "sack"), ("link.bottleneck.loss", "0%")];
        let (_, packets) = trace("window", &changes);
        let second: Vec<_> = packets.iter().filter(|packet| packet.flow() == 1).collect();
        let scales: Vec<_> = second.iter().flat_map(|packet| packet.options()).filter_map(scale_of).collect();
        assert_eq!(scales, [scale, scale], "SYN and SYN-ACK, with {window}");
        for packet in second.iter().filter(|packet| packet.is_ack()) {
            assert_eq!((packet.tcp.window_size as u32) << scale, offered);
        }
    }
}

fn scale_of(option: TcpOptionElement) -> Option<u8> {
    match option {
        TcpOptionElement::WindowScale(scale) => Some(scale),
        _ => None,
    }
}

#[test]
fn the_sender_stays_within_the_window() {
    let (_, packets) = trace("overrun", &[("link.bottleneck.loss", "0%")]);
    let (mut edge, mut highest) = (0, 0);
    for packet in packets.iter().filter(|packet| packet.flow() == 1) {
        if packet.is_data() {
            highest = packet.end().max(highest);
            assert!(highest <= edge);
        } else if !packet.is_from_sender() {
            edge = packet.ack() + packet.tcp.window_size as u32;
        }
    }
    assert!(edge - highest <= WINDOW);
}

#[test]
fn the_handshake_shows_the_switches() {
    use TcpOptionElement::*;
    let all = |echo| vec![MaximumSegmentSize(1460), SelectiveAcknowledgementPermitted, echo, Noop, WindowScale(3)];
    let (_, packets) = trace("handshake", &[("duration", "1s")]);
    assert_eq!(packets[0].options(), all(Timestamp(1_000_000, 0)));
    assert!(packets[0].tcp.syn && !packets[0].tcp.ack);
    assert_eq!(packets[1].options(), all(Timestamp(1_000_020, 1_000_000)));
    assert!(packets[1].tcp.syn && packets[1].tcp.ack);
    // The sender's end sees the answer a round trip later: 20 ms and 60 bytes at 10 Mbit/s, each way.
    assert_eq!((packets[0].at, packets[1].at), (Duration::ZERO, Duration::from_micros(40_096)));
    assert_eq!((packets[1].seq(), packets[1].ack()), (0, 1));

    let bare = r#"{ base = "newreno", window_scaling = false }"#;
    let (_, packets) = trace("handshake", &[("duration", "1s"), ("profile", bare)]);
    for packet in packets.iter().filter(|packet| packet.tcp.syn) {
        let announced: Vec<_> = packet.options().into_iter().filter(|option| *option != Noop).collect();
        assert_eq!(announced, [MaximumSegmentSize(1460)]);
    }
    assert!(packets.iter().filter(|packet| !packet.tcp.syn).all(|packet| packet.options().is_empty()));
}

#[test]
fn ecn_stands_in_both_headers() {
    let (_, packets) =
        trace("ecn", &[("profile", r#"{ base = "linux", ecn = true }"#), ("link.bottleneck.loss", "0%")]);
    let flags = |packet: &Packet| (packet.tcp.ece, packet.tcp.cwr);
    assert_eq!((flags(&packets[0]), flags(&packets[1])), ((true, true), (true, false)));
    assert_eq!(packets[0].ip.ecn, IpEcn::NotEct);
    let capable = packets.iter().filter(|packet| packet.ip.ecn == IpEcn::Ect0);
    assert!(capable.clone().count() > 1000 && capable.clone().all(Packet::is_data));
    assert!(packets.iter().any(|packet| packet.is_ack() && packet.tcp.ece));
    assert!(packets.iter().any(|packet| packet.is_data() && packet.tcp.cwr));

    let (_, packets) = trace("ecn", &[]);
    assert!(packets.iter().all(|packet| packet.ip.ecn == IpEcn::NotEct && !packet.tcp.ece && !packet.tcp.cwr));
}

#[test]
fn every_flow_has_an_address_of_its_own() {
    let (_, packets) = trace("addresses", &[("flows.0.count", "300"), ("duration", "500ms")]);
    let mut hosts: Vec<_> = packets.iter().map(|packet| packet.ip.source).collect();
    hosts.sort_unstable();
    hosts.dedup();
    assert_eq!(hosts.iter().filter(|host| host[3] == 1).count(), 301);
    assert!(hosts.contains(&[10, 1, 44, 1]));
}

#[test]
fn a_trace_changes_nothing_and_is_the_same_each_time() {
    let scenario = scenario(LOSSY, &[]);
    let plain = fingerprint(&scenario, &Options::default());
    let [first, second] = ["first", "second"].map(|name| {
        let path = file(name);
        assert_eq!(fingerprint(&scenario, &Options { pcap: Some(path.clone()), ..Default::default() }), plain);
        std::fs::read(path).expect("a trace")
    });
    assert!(first == second);
}

#[test]
fn a_trace_of_headers_is_the_beginning_of_each_packet() {
    let blocks = |headers_only: bool| {
        let path = file(if headers_only { "headers" } else { "whole" });
        let options = Options { pcap: Some(path.clone()), pcap_headers_only: headers_only, ..Default::default() };
        run(&scenario(LOSSY, &[]), &options).expect("a run");
        let mut reader = PcapNgReader::new(File::open(path).expect("a trace")).expect("a section header");
        let mut found = vec![];
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.expect("a block") {
                found.push((packet.timestamp, packet.original_len, packet.data.to_vec()));
            }
        }
        found
    };
    let (whole, headers) = (blocks(false), blocks(true));
    assert!(whole.len() > 1000 && whole.len() == headers.len());
    for ((at, length, packet), (at_too, length_too, beginning)) in whole.iter().zip(&headers) {
        assert_eq!((at, length, packet.len()), (at_too, length_too, *length as usize));
        assert_eq!(beginning, &packet[..packet.len().min(80)]);
    }
}

/// Where the disk is full, a long run finds out on the way, a short one when it closes the file.
#[test]
fn a_file_that_cannot_be_made_or_filled_is_an_error() {
    use io::ErrorKind::{NotFound, StorageFull};
    let (missing, full) = ("/no/such/folder/x.pcapng", "/dev/full");
    for (path, kind, duration) in [(missing, NotFound, "1s"), (full, StorageFull, "8s"), (full, StorageFull, "200ms")] {
        let options = Options { pcap: Some(path.into()), ..Default::default() };
        match run(&scenario(LOSSY, &[("duration", duration)]), &options) {
            Err(Error::Pcap(error)) => assert_eq!(error.kind(), kind),
            other => panic!("{path}: {other:?}"),
        }
    }
}

/// Two links in a row, an access link, losses and drops, marks on the way.
const LINKS: &str = r#"
    duration = "10s"
    [link.home]
    rate  = "10mbit"
    delay = "5ms"
    queue = { limit = "20p", ecn_threshold = "2p" }
    loss  = "1%"
    [link.core]
    rate  = "8mbit"
    delay = "10ms"
    queue = { kind = "fq_codel" }
    [[flows]]
    cc    = "cubic"
    ecn   = true
    access = { rate = "50mbit" }
"#;

/// A packet of a trace: its interface, when, and its bytes.
type Seen = (String, Duration, Vec<u8>);

/// The names of the interfaces, and each packet with that of its own.
fn read_interfaces(path: &Path) -> (Vec<String>, Vec<Seen>) {
    let mut reader = PcapNgReader::new(File::open(path).expect("a trace")).expect("a section header");
    let mut packets = vec![];
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            packets.push((packet.interface_id as usize, packet.timestamp, packet.data.to_vec()));
        }
    }
    let name = |option: &InterfaceDescriptionOption| match option {
        InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
        _ => None,
    };
    let interfaces = reader.interfaces().iter();
    let names: Vec<_> = interfaces.map(|i| i.options.iter().find_map(name).expect("a name")).collect();
    let packets = packets.into_iter().map(|(interface, at, bytes)| (names[interface].clone(), at, bytes));
    (names.clone(), packets.collect())
}

/// A packet without what a router may change in it: the ECN field and the header's checksum.
fn unmarked(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[1] = 0;
    bytes[10..12].fill(0);
    bytes
}

/// At its far end each link shows what passed it, in order, with the headers that it had at its host.
#[test]
fn every_link_is_an_interface_where_packets_are_seen() {
    let folder = std::env::temp_dir().join(format!("unbloat-pcap-links-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("links.pcapng");
    let experiment = scenario::load_text(LINKS, "links.toml", Path::new(""), &[]).expect("a scenario");
    let scenario = &experiment.cells[0].scenario;
    let options = Options { pcap: Some(path.clone()), pcap_links: true, ..Default::default() };
    let outcome = run(scenario, &options).expect("a run");
    let (names, packets) = read_interfaces(&path);
    std::fs::remove_dir_all(&folder).expect("ours");
    let links = ["home.reverse", "home", "core.reverse", "core", "flows.0.access"];
    assert_eq!(names, [&["senders"], &links[..]].concat());
    assert!(packets.is_sorted_by_key(|(_, at, _)| *at), "in the order of time");
    let at = |name: &str, from_sender: bool| {
        let seen = packets.iter().filter(|(other, _, bytes)| other == name && (bytes[15] == 1) == from_sender);
        seen.map(|(_, at, bytes)| (*at, bytes.clone())).collect::<Vec<_>>()
    };
    // What is seen behind a link was seen before it, earlier and in the same order; some was dropped or lost between.
    for hops in [["senders", "flows.0.access"], ["flows.0.access", "home"], ["home", "core"]] {
        let [before, behind] = hops.map(|name| at(name, true));
        assert!(behind.len() > 500, "{hops:?}: {} packets", behind.len());
        let mut before = before.iter();
        for (arrived, bytes) in &behind {
            let left = before.find(|(_, other)| unmarked(other) == unmarked(bytes)).expect("it came from there").0;
            assert!(left < *arrived);
        }
    }
    let acks = ["core.reverse", "home.reverse"].map(|name| at(name, false));
    let at_sender: Vec<_> = at("senders", false).into_iter().map(|(_, bytes)| bytes).collect();
    let last: Vec<_> = acks[1].iter().map(|(_, bytes)| bytes.clone()).collect();
    assert_eq!(at_sender, last, "an acknowledgement that has passed the last link is back");
    assert!(acks[0].len() >= acks[1].len() && acks[1].len() > 200);
    // Marks and losses are where they happen: no packet is marked before home, and the access link loses none.
    let is_marked = |(_, bytes): &&(Duration, Vec<u8>)| bytes[1] & 3 == 3;
    assert_eq!(at("flows.0.access", true).iter().filter(is_marked).count(), 0);
    assert!(at("home", true).iter().filter(is_marked).count() as u64 >= outcome.run.links[0].marks);
    assert!(outcome.run.links[0].marks > 0 && outcome.run.links[0].wire_losses > 0);
    let lost = outcome.run.links[0].wire_losses + outcome.run.links[0].drops;
    let under_way = at("flows.0.access", true).len() - at("home", true).len() - lost as usize;
    assert!(under_way <= 40, "{under_way} packets in the queue and on the wire at the end");
}

/// Whoever does not ask for links gets the file as it is without them; who does finds its packets at the senders.
#[test]
fn the_senders_see_the_same_with_links_and_without() {
    let folder = std::env::temp_dir().join(format!("unbloat-pcap-same-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let experiment = scenario::load_text(LINKS, "links.toml", Path::new(""), &[]).expect("a scenario");
    let senders = [false, true].map(|pcap_links| {
        let path = folder.join(format!("{pcap_links}.pcapng"));
        let options = Options { pcap: Some(path.clone()), pcap_links, ..Default::default() };
        run(&experiment.cells[0].scenario, &options).expect("a run");
        let (names, packets) = read_interfaces(&path);
        assert_eq!(names.len(), if pcap_links { 6 } else { 1 });
        let seen = packets.into_iter().filter(|(name, ..)| name == "senders");
        // A receiver counts its packets as they leave if somebody sees them there.
        let plain = |mut bytes: Vec<u8>| {
            if bytes[15] == 2 {
                bytes[4..6].fill(0);
                bytes[10..12].fill(0);
            }
            bytes
        };
        seen.map(|(_, at, bytes)| (at, plain(bytes))).collect::<Vec<_>>()
    });
    std::fs::remove_dir_all(&folder).expect("ours");
    assert_eq!(senders[0], senders[1]);
}
