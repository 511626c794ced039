//! The three packets that open a connection, and its options.

use super::trace::trace;
use etherparse::TcpOptionElement;
use std::time::Duration;

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
fn the_handshake_shows_the_switches() {
    use TcpOptionElement::*;
    let all = |echo| vec![MaximumSegmentSize(1460), SelectiveAcknowledgementPermitted, echo, Noop, WindowScale(3)];
    let (_, packets) = trace("switches", &[("duration", "1s")]);
    assert_eq!(packets[0].options(), all(Timestamp(1_000_000, 0)));
    assert!(packets[0].tcp.syn && !packets[0].tcp.ack);
    assert_eq!(packets[1].options(), all(Timestamp(1_000_020, 1_000_000)));
    assert!(packets[1].tcp.syn && packets[1].tcp.ack);
    // The sender's end sees the answer a round trip later: 20 ms and 60 bytes at 10 Mbit/s, each way.
    assert_eq!((packets[0].at, packets[1].at), (Duration::ZERO, Duration::from_micros(40_096)));
    assert_eq!((packets[1].seq(), packets[1].ack()), (0, 1));

    let bare = r#"{ base = "newreno", window_scaling = false }"#;
    let (_, packets) = trace("switches", &[("duration", "1s"), ("profile", bare)]);
    let established = packets.iter().filter(|packet| !packet.tcp.syn);
    assert!(established.clone().count() > 50 && established.clone().all(|packet| packet.options().is_empty()));
}

/// A guest's packets show the same in each direction: `tcp_options_write` puts SACK-permitted where timestamps have
/// their padding.
#[test]
fn a_syn_has_room_for_its_options_and_no_more() {
    use TcpOptionElement::*;
    let names = |options: Vec<TcpOptionElement>| -> String {
        let name = |option| match option {
            MaximumSegmentSize(1460) => 'm',
            SelectiveAcknowledgementPermitted => 's',
            Timestamp(..) => 't',
            WindowScale(_) => 'w',
            Noop => '.',
            _ => '?',
        };
        options.into_iter().map(name).collect()
    };
    for (timestamps, sack, window_scaling, bytes, expected) in [
        (true, true, true, 60, "mst.w"),
        (true, true, false, 56, "mst"),
        (true, false, true, 60, "m..t.w"),
        (true, false, false, 56, "m..t"),
        (false, true, true, 52, "m..s.w"),
        (false, true, false, 48, "m..s"),
        (false, false, true, 48, "m.w"),
        (false, false, false, 44, "m"),
    ] {
        let profile = format!("{{ timestamps = {timestamps}, sack = {sack}, window_scaling = {window_scaling} }}");
        let (_, packets) = trace("options", &[("duration", "1s"), ("profile", &profile)]);
        for packet in packets.iter().filter(|packet| packet.tcp.syn) {
            assert_eq!((packet.bytes.len(), names(packet.options()).as_str()), (bytes, expected), "{profile}");
        }
        for packet in packets.iter().filter(|packet| packet.is_ack()) {
            let blocks = packet.sack_blocks().len();
            let sacks = if blocks > 0 { 4 + 8 * blocks } else { 0 };
            assert_eq!(packet.bytes.len(), 40 + if timestamps { 12 } else { 0 } + sacks, "{profile}");
        }
    }
}
