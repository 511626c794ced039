//! What Linux's socket buffers take.

/// Memory that Linux charges a socket for a packet of `bytes` that a network card's driver has put into a buffer of its
/// own (`skb->truesize`): the buffer is a power of two and has room for headers before the packet and `struct
/// skb_shared_info` behind it; `struct sk_buff` comes on top.
pub fn truesize(bytes: u64) -> u64 {
    const HEADROOM_AND_SHARED_INFO: u64 = 384;
    const SK_BUFF: u64 = 256;
    (bytes + HEADROOM_AND_SHARED_INFO).next_power_of_two() + SK_BUFF
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of 1500 bytes take 2304, as `ss -m` shows.
    #[test]
    fn a_packet_takes_a_power_of_two_and_its_description() {
        assert_eq!([52, 100, 127, 1500, 9000, 65_535].map(truesize), [768, 768, 768, 2304, 16_640, 131_328]);
    }
}
