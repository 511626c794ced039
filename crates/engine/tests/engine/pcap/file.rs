//! The trace file, which changes no run, is the same each time, and may be cut to the headers.

use super::trace::{LOSSY, file, library, run, scenario};
use model::Scenario;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use unbloat_engine::{Error, Options};

fn fingerprint(scenario: &Scenario, options: &Options) -> u64 {
    let fingerprinted = unbloat_engine::fingerprint(scenario, &library(), options, &mut |_| ControlFlow::Continue(()));
    fingerprinted.expect("a run").1
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

/// If the disk is full, a long run finds out on the way, and a short one when it closes the file.
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
