//! Each link as an interface of the file.

use super::trace::run;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use unbloat_engine::Options;

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

/// A packet of a trace: its interface, its time, and its bytes.
type Seen = (String, Duration, Vec<u8>);

/// The names of the interfaces, and each packet with the name of its own.
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

/// Each link's far end shows the packets that passed it, in order, with the headers that they had at their host.
#[test]
fn every_link_is_an_interface_where_packets_are_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("links.pcapng");
    let experiment = scenario::load_text(LINKS, "links.toml", Path::new(""), &[]).expect("a scenario");
    let scenario = &experiment.points[0].scenario;
    let options = Options { pcap: Some(path.clone()), pcap_links: true, ..Default::default() };
    let outcome = run(scenario, &options).expect("a run");
    let (names, packets) = read_interfaces(&path);
    let links = ["home.reverse", "home", "core.reverse", "core", "flows.0.access"];
    assert_eq!(names, [&["senders"], &links[..]].concat());
    assert!(packets.is_sorted_by_key(|(_, at, _)| *at), "in the order of time");
    let at = |name: &str, from_sender: bool| {
        let seen = packets.iter().filter(|(other, _, bytes)| other == name && (bytes[15] == 1) == from_sender);
        seen.map(|(_, at, bytes)| (*at, bytes.clone())).collect::<Vec<_>>()
    };
    // Packets behind a link were before it, earlier and in the same order. Some were dropped or lost between.
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

/// A trace without links is the same as before, and a trace with links contains its packets at the senders.
#[test]
fn the_senders_see_the_same_with_links_and_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let experiment = scenario::load_text(LINKS, "links.toml", Path::new(""), &[]).expect("a scenario");
    let senders = [false, true].map(|pcap_links| {
        let path = folder.path().join(format!("{pcap_links}.pcapng"));
        let options = Options { pcap: Some(path.clone()), pcap_links, ..Default::default() };
        run(&experiment.points[0].scenario, &options).expect("a run");
        let (names, packets) = read_interfaces(&path);
        assert_eq!(names.len(), if pcap_links { 6 } else { 1 });
        let seen = packets.into_iter().filter(|(name, ..)| name == "senders");
        // A receiver numbers its packets as they leave, if a link there is watched.
        let plain = |mut bytes: Vec<u8>| {
            if bytes[15] == 2 {
                bytes[4..6].fill(0);
                bytes[10..12].fill(0);
            }
            bytes
        };
        seen.map(|(_, at, bytes)| (at, plain(bytes))).collect::<Vec<_>>()
    });
    assert_eq!(senders[0], senders[1]);
}
