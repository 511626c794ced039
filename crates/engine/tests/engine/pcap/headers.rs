//! IP and TCP headers, packet by packet.

use super::trace::{PROFILES, Packet, isn, trace};
use etherparse::IpEcn;

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
        }
        assert!(packets.is_sorted_by_key(|packet| packet.at));
        assert!(packets.iter().filter(|packet| packet.is_ack()).count() > 1000);
    }
}

/// The seed sets the initial sequence numbers of both ends of both flows, all of them different.
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
        assert!(seen.clone().count() > 10, "{source:?}");
        assert!(seen.enumerate().all(|(i, packet)| packet.ip.identification as usize == i));
    }
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

    let (_, packets) = trace("without ecn", &[]);
    assert!(packets.len() > 1000);
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
