//! From an IP packet to the frames that carry it: 6LoWPAN header compression (RFC 6282) and fragmentation (RFC 4944)
//! as sizes.
//!
//! This program's packets have IPv4 headers; in a mesh they travel with compressed IPv6 headers in their place. TCP's
//! header is not compressed: there is no way to (RFC 6282 compresses UDP's).

/// The largest frame, MAC header and checksum included (aMaxPHYPacketSize).
pub const LARGEST_FRAME: u32 = 127;
/// Frame control, sequence number, one PAN identifier, two short addresses, checksum (IEEE 802.15.4-2006, 7.2.2.2).
pub const MAC_OVERHEAD: u32 = 2 + 1 + 2 + 2 + 2 + 2;
/// The IPv4 header of this program's packets.
const IPV4_HEADER: u32 = 20;
/// The IPv6 header that stands for it.
const IPV6_HEADER: u32 = 40;
/// The same compressed (RFC 6282, section 3.1): dispatch and flags, the context of the mesh's prefix, next header, hop
/// limit, the node's address by its 16 bits, that of the host outside in full.
pub const COMPRESSED_HEADER: u32 = 2 + 1 + 1 + 1 + 2 + 16;
/// What a border router adds to a packet down to tell nodes a rate: the switch to page 1 (RFC 8025), an elective
/// routing header, which who does not know it skips (RFC 8138, section 4.1), and a number.
pub const ANNOUNCEMENT: u32 = 1 + 2 + 3;
/// In front of a first fragment: type, size of the datagram, tag (RFC 4944, section 5.3).
const FIRST_FRAGMENT: u32 = 4;
/// In front of another, with its offset.
const NEXT_FRAGMENT: u32 = 5;
/// Fragments begin at multiples of this.
const FRAGMENT_UNIT: u32 = 8;

/// What of a datagram the first fragment carries behind the header, if one frame does not hold all: so much that it
/// ends, uncompressed, at a multiple of eight.
const IN_FIRST: u32 = {
    let room = LARGEST_FRAME - MAC_OVERHEAD - FIRST_FRAGMENT - COMPRESSED_HEADER;
    room / FRAGMENT_UNIT * FRAGMENT_UNIT
};
/// What each further one carries.
const IN_NEXT: u32 = (LARGEST_FRAME - MAC_OVERHEAD - NEXT_FRAGMENT) / FRAGMENT_UNIT * FRAGMENT_UNIT;
const _: () = assert!(IPV6_HEADER.is_multiple_of(FRAGMENT_UNIT));

/// Payload of the IP packet.
fn payload(packet: u32) -> u32 {
    packet.saturating_sub(IPV4_HEADER)
}

/// How many frames carry an IP packet of so many bytes.
pub fn count(packet: u32) -> u32 {
    let payload = payload(packet);
    if MAC_OVERHEAD + COMPRESSED_HEADER + payload <= LARGEST_FRAME {
        return 1;
    }
    1 + (payload - IN_FIRST).div_ceil(IN_NEXT)
}

/// The bytes of one of them, MAC header and checksum included.
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

    /// 20 bytes of TCP and 64 of payload: 11 + 23 + 84. One more than fits makes two fragments, of which the first
    /// ends at byte 40 + 88 of the datagram.
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
