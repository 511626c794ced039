//! The sizes of the frames that carry an IP packet: 6LoWPAN header compression (RFC 6282) and fragmentation (RFC 4944).
//!
//! This program's packets have IPv4 headers; in a mesh, compressed IPv6 headers replace them. TCP headers are not
//! compressed, because RFC 6282 compresses only UDP's.

/// The largest frame with MAC header and checksum, bytes (aMaxPHYPacketSize).
pub const LARGEST_FRAME: u32 = 127;
/// The bytes that MAC adds to a frame: frame control, sequence number, one PAN identifier, two short addresses,
/// checksum (IEEE 802.15.4-2006, 7.2.2.2).
pub const MAC_OVERHEAD: u32 = 2 + 1 + 2 + 2 + 2 + 2;
/// Length of the IPv4 header of this program's packets, bytes.
const IPV4_HEADER: u32 = 20;
/// Length of the IPv6 header that replaces it, bytes.
const IPV6_HEADER: u32 = 40;
/// Length of the compressed IPv6 header, bytes (RFC 6282, section 3.1). It has dispatch and flags, the context of the
/// mesh's prefix, next header and hop limit. The node's address has 16 bits, and the address of the host outside is in
/// full.
pub const COMPRESSED_HEADER: u32 = 2 + 1 + 1 + 1 + 2 + 16;
/// The bytes that a border router adds to a packet down to announce a rate to nodes. They are the switch to page 1 (RFC
/// 8025), an elective routing header, which other nodes skip (RFC 8138, section 4.1), and a number.
pub const ANNOUNCEMENT: u32 = 1 + 2 + 3;
/// Length of the header of a first fragment, bytes: type, size of the datagram, tag (RFC 4944, section 5.3).
const FIRST_FRAGMENT: u32 = 4;
/// Length of the header of a further fragment, bytes, which also has its offset.
const NEXT_FRAGMENT: u32 = 5;
/// The unit of a fragment's offset, bytes.
const FRAGMENT_UNIT: u32 = 8;

/// The payload of a first fragment, bytes: in the uncompressed datagram it must end at a multiple of eight.
const IN_FIRST: u32 = {
    let room = LARGEST_FRAME - MAC_OVERHEAD - FIRST_FRAGMENT - COMPRESSED_HEADER;
    room / FRAGMENT_UNIT * FRAGMENT_UNIT
};
/// The payload of each further fragment, bytes.
const IN_NEXT: u32 = (LARGEST_FRAME - MAC_OVERHEAD - NEXT_FRAGMENT) / FRAGMENT_UNIT * FRAGMENT_UNIT;
const _: () = assert!(IPV6_HEADER.is_multiple_of(FRAGMENT_UNIT));

/// Returns the payload of an IP packet, bytes.
fn payload(packet: u32) -> u32 {
    packet.saturating_sub(IPV4_HEADER)
}

/// Returns the number of frames that carry an IP packet of `packet` bytes.
pub fn count(packet: u32) -> u32 {
    let payload = payload(packet);
    if MAC_OVERHEAD + COMPRESSED_HEADER + payload <= LARGEST_FRAME {
        return 1;
    }
    1 + (payload - IN_FIRST).div_ceil(IN_NEXT)
}

/// Returns the length of frame `number` of a packet, with MAC header and checksum.
pub fn bytes(packet: u32, number: u32) -> u32 {
    let payload = payload(packet);
    match (count(packet), number) {
        (1, _) => MAC_OVERHEAD + COMPRESSED_HEADER + payload,
        (_, 0) => MAC_OVERHEAD + FIRST_FRAGMENT + COMPRESSED_HEADER + IN_FIRST,
        (_, number) => {
            let before = IN_FIRST + (number - 1) * IN_NEXT;
            MAC_OVERHEAD + NEXT_FRAGMENT + (payload - before).min(IN_NEXT)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(packet: u32) -> Vec<u32> {
        (0..count(packet)).map(|number| bytes(packet, number)).collect()
    }

    /// 20 bytes of TCP and 64 of payload make a frame of 11 + 23 + 84 bytes. One byte more than fits makes two
    /// fragments, of which the first ends at byte 40 + 88 of the datagram.
    #[test]
    fn a_packet_is_as_many_frames_as_it_takes() {
        assert_eq!(all(20 + 20), [11 + 23 + 20]);
        assert_eq!(all(20 + 84), [118]);
        assert_eq!(all(20 + 93), [127]);
        assert_eq!(all(20 + 94), [11 + 4 + 23 + 88, 11 + 5 + 6]);
        assert_eq!(all(20 + 88 + 104), [126, 120]);
        assert_eq!(all(20 + 88 + 105), [126, 120, 11 + 5 + 1]);
    }

    #[test]
    fn fragments_carry_all_of_it_and_none_is_too_large() {
        for packet in 40..3000 {
            let frames = all(packet);
            assert!(frames.iter().all(|bytes| *bytes <= LARGEST_FRAME), "{packet}: {frames:?}");
            let overhead = match frames.len() as u32 {
                1 => MAC_OVERHEAD,
                count => count * MAC_OVERHEAD + FIRST_FRAGMENT + (count - 1) * NEXT_FRAGMENT,
            };
            assert_eq!(frames.iter().sum::<u32>() - overhead, COMPRESSED_HEADER + packet - IPV4_HEADER, "{packet}");
        }
    }
}
