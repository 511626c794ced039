//! Reads any bytes as a packet that a host sends: none may crash, and a marked packet must still have a right checksum.
#![no_main]

#[path = "../../crates/testbed/src/ip.rs"]
#[allow(dead_code, reason = "the testbed uses the rest")]
mod ip;
#[path = "../../crates/testbed/src/packet.rs"]
#[allow(dead_code, reason = "the testbed uses the rest")]
mod packet;

use ip::{Version, mark_ce};
use libfuzzer_sys::fuzz_target;
use packet::{PacketInfo, ports};
use path::{Ecn, Packet};

/// Returns the sum over an IPv4 header as a receiver computes it (RFC 1071): all ones if the checksum is right.
fn sum(header: &[u8]) -> u32 {
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16)
}

fuzz_target!(|sent: &[u8]| {
    ports(sent);
    let Some(info) = PacketInfo::read(sent, 0, true) else { return };
    assert_eq!(info.length(), sent.len());
    if let Some(segment) = info.segment {
        assert!(segment.payload as usize + 20 <= sent.len(), "{segment:?} in {} bytes", sent.len());
    }
    let header = ip::Header::read(sent).expect("it has a descriptor");
    let mut marked = sent.to_vec();
    mark_ce(&mut marked);
    let after = PacketInfo::read(&marked, 0, true).expect("a mark changes nothing else");
    assert_eq!((after.ecn(), after.tos(), after.segment), (Ecn::Ce, info.tos(), info.segment));
    if header.version == Version::V4 {
        let [before, after] = [sent, &marked].map(|packet| sum(&packet[..header.length]));
        assert_eq!(before == 0xffff, after == 0xffff, "the checksum was right, or is now");
    }
});
