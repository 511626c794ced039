//! Three packets open a connection, and settle its options.

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
    for packet in packets.iter().filter(|packet| packet.tcp.syn) {
        let announced: Vec<_> = packet.options().into_iter().filter(|option| *option != Noop).collect();
        assert_eq!(announced, [MaximumSegmentSize(1460)]);
    }
    assert!(packets.iter().filter(|packet| !packet.tcp.syn).all(|packet| packet.options().is_empty()));
}
