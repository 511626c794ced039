//! The receiver's packets: acknowledgements, SACK blocks, echoes, windows.

use super::trace::{PROFILES, Packet, trace};
use etherparse::TcpOptionElement;
use std::time::Duration;

/// Checks the acknowledgements of a trace. Returns the most SACK blocks in one, and the number of those that report a
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
        let (_, packets) = trace("sack", &[("profile", profile), ("link.bottleneck.loss", "5%")]);
        assert_eq!(check_acknowledgements(&packets).0, room);
    }
}

#[test]
fn duplicates_are_reported() {
    // The path loses enough acknowledgements that timeouts send segments again that have arrived.
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
    // A textbook receiver offers its whole window from the start. Windows are rounded up to the scale.
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
        assert!(second.iter().filter(|packet| packet.is_ack()).count() > 10);
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
