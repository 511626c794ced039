//! The memory that packets take in Linux's socket buffers.

use crate::units::Bytes;

/// Returns the memory that Linux charges a socket for a packet of `bytes` in a driver's buffer (`skb->truesize`).
///
/// The buffer's size is a power of two, with room for headers before the packet and `struct skb_shared_info` behind it.
/// Small packets have buffers of one size since Linux 6.3 (`skb_small_head_cache`). A packet that exceeds a page with
/// its headroom is in whole pages beside a small buffer, except the headers up to the checksum (`tun_alloc_skb`).
/// `struct sk_buff` is added.
pub fn truesize(bytes: u64) -> u64 {
    const HEADROOM: u64 = 64;
    const HEADROOM_AND_SHARED_INFO: u64 = HEADROOM + 320;
    const SMALL_HEAD: u64 = 704;
    const SK_BUFF: u64 = 256;
    const PAGE: u64 = 4096;
    const TO_THE_CHECKSUM: u64 = 38;
    if HEADROOM + bytes >= PAGE {
        return SMALL_HEAD + SK_BUFF + (bytes - TO_THE_CHECKSUM).next_multiple_of(PAGE);
    }
    let head = bytes + HEADROOM_AND_SHARED_INFO;
    if head <= SMALL_HEAD { SMALL_HEAD + SK_BUFF } else { head.next_power_of_two() + SK_BUFF }
}

/// Returns the receive buffer (`sk_rcvbuf`, bytes) that advertises `window` for segments with `payload` bytes in
/// packets of `packet` bytes. Linux 6.6 and later advertise the share of memory that is payload, in 256ths: half, until
/// a segment above 536 bytes shows it (`tcp_measure_rcv_mss`). The buffer has room for at least two segments, because a
/// smaller one would never advertise a whole segment.
pub fn receive_memory(window: Bytes, payload: u32, packet: Bytes) -> u32 {
    let payload = payload as u64;
    let memory_of_segment = if payload <= 536 { 2 * payload } else { truesize(packet.0) };
    // `setsockopt` doubles the requested size.
    let half = window.0.saturating_mul(memory_of_segment) / payload / 2;
    2 * half.clamp(memory_of_segment, i32::MAX as u64 / 2) as u32
}

/// The default of `net.core.rmem_max`, bytes: window scales allow for at least this much (`tcp_select_initial_window`).
const RMEM_MAX: u32 = 212_992;

/// The assumed payload of a segment before one has arrived, bytes.
const TCP_MSS_DEFAULT: u32 = 536;

/// A receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// The buffer's memory at the start, bytes (`sk_rcvbuf`).
    pub memory: u32,
    /// The largest memory of auto-tuning, bytes (`tcp_rmem[2]`); none for a fixed size (`SO_RCVBUF`).
    pub tcp_rmem_max: Option<u32>,
}

impl ReceiveBuffer {
    /// Returns the window before a segment has arrived, bytes: half of the memory (`TCP_DEFAULT_SCALING_RATIO`).
    pub fn first_window(&self) -> u32 {
        self.memory / 2
    }

    /// Returns the window that is advertised before a segment has arrived, bytes: whole segments of the announced size
    /// (`tcp_select_initial_window`).
    pub fn first_offer(&self, advmss: u32) -> u32 {
        let space = self.first_window();
        if space > advmss { space - space % advmss } else { space }
    }

    /// Returns the payload of a full segment for a receiver that announces segments of `mss` bytes. Senders limit
    /// segments to half of the largest window so far (`tcp_bound_to_half_wnd`); with a buffer of fixed size, that is
    /// the first window.
    pub fn segment(&self, mss: u32) -> u32 {
        let offer = self.first_offer(mss);
        let cutoff = if offer > TCP_MSS_DEFAULT { offer / 2 } else { offer };
        if self.tcp_rmem_max.is_some() { mss } else { mss.min(cutoff) }
    }

    /// Returns the window for which the window scale is chosen, bytes (`tcp_select_initial_window`).
    pub fn scaled_window(&self) -> u32 {
        let tuned = self.tcp_rmem_max.map_or(0, |max| max.max(RMEM_MAX));
        self.first_window().max(tuned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1500 bytes take 2304 bytes, as `ss -m` shows; the other sizes follow from a guest's windows.
    #[test]
    fn a_packet_takes_a_power_of_two_and_its_description() {
        assert_eq!([52, 104, 300, 320].map(truesize), [960; 4]);
        assert_eq!([321, 500, 1500, 3712, 4031].map(truesize), [1280, 1280, 2304, 4352, 8448]);
        assert_eq!([4032, 4134, 4135, 6000, 9000].map(truesize), [5056, 5056, 9152, 9152, 13_248]);
        assert_eq!([16_000, 65_535].map(truesize), [17_344, 66_496]);
    }

    #[test]
    fn a_receive_buffer_has_room_for_what_surrounds_the_payload() {
        let memory = |window, payload, packet| receive_memory(Bytes(window), payload, Bytes(packet));
        // 1448 bytes take 2304; for 536 bytes Linux does not measure it.
        assert_eq!([memory(103_977, 1448, 1500), memory(53_600, 536, 588)], [165_444, 107_200]);
        assert_eq!(memory(1448, 1448, 1500), 2 * 2304, "two segments at least");
        assert_eq!(memory(u64::MAX, 1448, 1500), i32::MAX as u32 - 1);
    }

    /// The expected segments are those of a guest's sender.
    #[test]
    fn a_segment_is_no_more_than_half_of_the_window() {
        let segment = |window, mss, packet| {
            let memory = receive_memory(Bytes(window), mss, Bytes(packet));
            let fixed = ReceiveBuffer { memory, tcp_rmem_max: None };
            let tuned = ReceiveBuffer { tcp_rmem_max: Some(6 << 20), ..fixed };
            assert_eq!(tuned.segment(mss), mss);
            fixed.segment(mss)
        };
        assert_eq!([2000, 3391, 3640, 3641].map(|window| segment(window, 1448, 1500)), [724, 724, 724, 1448]);
        assert_eq!(segment(536, 536, 588), 536);
    }
}
