//! Sequence numbers of the data.

use super::trace::{PROFILES, Packet, SIZE, WINDOW, trace, trace_of};

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

/// Requests of 500 bytes and responses of 100, every 150 ms.
const MESSENGER: &str = r#"
    duration = "8s"
    [link.bottleneck]
    rate = "10mbit"
    delay = "20ms"
    queue = { limit = "1000p" }
    [link.bottleneck.reverse]
    queue = { limit = "1000p" }
    [[flows]]
    cc = "cubic"
    app = { kind = "messenger", every = "150ms", request = "500b", response = "100b" }
"#;

/// A message shorter than the MSS takes its own bytes of the sequence space and no more.
#[test]
fn messages_follow_each_other_byte_by_byte() {
    let (_, packets) = trace_of("messages", MESSENGER, &[]);
    for (flow, length) in [(0, 500), (1, 100)] {
        let data: Vec<&Packet> = packets.iter().filter(|packet| packet.is_data() && packet.flow() == flow).collect();
        assert!(data.len() > 50);
        for (number, packet) in (0..).zip(data) {
            assert_eq!((packet.seq(), packet.payload().len()), (1 + number * length, length as usize));
            let answer = packets.iter().find(|ack| ack.at > packet.at && ack.is_ack() && ack.flow() == flow);
            assert!(answer.is_none_or(|answer| answer.ack() == packet.end()), "{}", packet.end());
        }
    }
}
