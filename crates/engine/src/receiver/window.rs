//! The window that the receiver offers: the room in its buffer, widened segment by segment, never taken back. It
//! follows Linux from version 6.6 on (`tcp_select_window` and its callers).

use crate::packet::{BASE_HEADER, window_scale};
use model::FlowGroup;
use model::skb::{ReceiveBuffer, truesize};

/// Bits of the scaling ratio, which counts memory in 256ths (`TCP_RMEM_TO_WIN_SCALE`). Before a segment has shown its
/// overhead, half of the memory is offered (`TCP_DEFAULT_SCALING_RATIO`).
const RATIO_BITS: u32 = 8;
const FIRST_RATIO: u64 = 1 << (RATIO_BITS - 1);
/// Assumed payload of a segment before one has come (`TCP_MSS_DEFAULT`, `tcp_initialize_rcv_mss`), bytes.
const FIRST_MSS: u32 = 536;
/// The least payload that a receiver assumes for a full segment (`TCP_MIN_MSS`), bytes.
pub const LEAST_MSS: u32 = 88;

/// The window that the receiver of one connection offers.
pub struct ReceiveWindow {
    mss: u32,
    /// Payload of a full segment, bytes: the receiver's estimate (`rcv_mss`), and the announced one less a segment's
    /// options (`advmss`).
    rcv_mss: u32,
    advmss: u32,
    /// Memory that a segment takes while it waits (`skb->truesize`), bytes.
    segment_memory: u64,
    /// Memory of the buffer (`sk_rcvbuf`), bytes, and whether that size is fixed.
    memory: u64,
    is_fixed: bool,
    /// The share of the memory that is offered, in 256ths.
    scaling_ratio: u64,
    /// The largest window that is offered (`window_clamp`), bytes.
    clamp: u32,
    /// The window that may be offered up to now (`rcv_ssthresh`), bytes.
    ssthresh: u32,
    /// The space left beside no segment and beside one, the most frequent cases, bytes.
    beside_few: [u32; 2],
    /// The window offered last (`rcv_wnd`), bytes.
    offered: u32,
    /// The position in the stream at which that window ends, bytes.
    right_edge: u64,
    /// Bits by which the window is shifted to the right in a packet, and the mask of the bits that this loses.
    scale: u8,
    lost_bits: u32,
}

/// Size of full segments in a receiver's SYN-ACK: their payload, and with headers their IP length, bytes.
#[derive(Clone, Copy, Debug)]
pub struct Announced {
    pub mss: u32,
    pub packet: u32,
}

impl From<&FlowGroup> for Announced {
    fn from(group: &FlowGroup) -> Announced {
        Announced { mss: group.mss().0 as u32, packet: group.packet.0 as u32 }
    }
}

/// The window that a receiver can offer.
#[derive(Clone, Copy)]
pub struct Room {
    /// The window, bytes.
    pub window: u32,
    /// The buffer has less room than half of the largest window.
    pub is_little: bool,
}

impl ReceiveWindow {
    /// The window of a receiver that announces `announced.mss` and gets segments that carry `mss` bytes. `scales` is
    /// true if the handshake agrees on window scaling.
    pub fn new(buffer: ReceiveBuffer, announced: Announced, mss: u32, scales: bool) -> ReceiveWindow {
        let space = buffer.first_window();
        let options = announced.packet - BASE_HEADER - announced.mss;
        let advmss = (announced.mss + options).max(LEAST_MSS) - options;
        let offered = buffer.first_offer(advmss);
        let scale = if scales { window_scale(buffer.scaled_window() as u64) } else { 0 };
        // One segment of a buffer is not offered at first (`tcp_init_buffer_space`).
        let clamp = space.min(largest(scale));
        let reserves = clamp > 2 * advmss && clamp + advmss > space;
        let clamp = if reserves { (space - advmss).max(2 * advmss) } else { clamp };
        let mut window = ReceiveWindow {
            mss,
            rcv_mss: mss.max(LEAST_MSS),
            advmss,
            is_fixed: buffer.tcp_rmem_max.is_none(),
            segment_memory: truesize((announced.packet - announced.mss + mss).into()),
            memory: buffer.memory as u64,
            scaling_ratio: FIRST_RATIO,
            clamp,
            ssthresh: offered.min(clamp),
            beside_few: [0; 2],
            offered,
            right_edge: offered as u64,
            scale,
            lost_bits: (1 << scale) - 1,
        };
        window.beside_few = [0, 1].map(|waiting| window.space_beside_many(waiting));
        window
    }

    /// The window offered last, at first the one of the SYN-ACK, bytes.
    pub fn offered(&self) -> u32 {
        self.offered
    }

    /// The window that may be offered up to now, bytes.
    pub fn may_offer(&self) -> u32 {
        self.ssthresh
    }

    /// The bits by which windows are shifted in packets.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Memory of the buffer, bytes.
    #[cfg(test)]
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Measures at the first data how much of the memory is payload (`tcp_measure_rcv_mss`).
    #[cold]
    pub fn measure_overhead(&mut self) {
        if self.mss > FIRST_MSS.min(self.offered / 2).max(LEAST_MSS) {
            self.scaling_ratio = (((self.mss as u64) << RATIO_BITS) / self.segment_memory).max(1);
            self.make_room(self.memory);
        }
    }

    fn make_room(&mut self, memory: u64) {
        self.memory = memory;
        self.clamp = self.share_of(memory);
        self.beside_few = [0, 1].map(|waiting| self.space_beside_many(waiting));
    }

    /// Grows the buffer to `memory` bytes, unless it has more. The largest window grows with it.
    pub fn grow(&mut self, memory: u64) {
        if memory > self.memory {
            self.make_room(memory);
        }
    }

    /// The memory of a buffer that offers `window` bytes (`tcp_space_from_win`).
    pub fn memory_for(&self, window: u64) -> u64 {
        (window << RATIO_BITS) / self.scaling_ratio
    }

    /// Widens the window after a new segment, with which the buffer holds `waiting`. Returns false if the buffer has no
    /// room for that (`tcp_grow_window`).
    #[inline]
    pub fn widen(&mut self, waiting: u32) -> bool {
        let most = self.clamp.min(self.space_beside(waiting));
        let widens = self.ssthresh < most;
        if widens {
            self.ssthresh = most.min(self.ssthresh + 2 * self.rcv_mss);
        }
        widens
    }

    /// Reports whether `waiting` segments take more memory than a buffer of fixed size has. If so, the receiver offers
    /// no more than two segments for now (`tcp_prune_queue`, `tcp_clamp_window`).
    pub fn overflows(&mut self, waiting: u32) -> bool {
        let overflows = self.is_fixed && waiting as u64 * self.segment_memory > self.memory;
        if overflows {
            self.ssthresh = self.clamp.min(2 * self.advmss);
        }
        overflows
    }

    /// `tcp_select_window`: the window to offer above segment `next`, and whether there is little room. `held` others
    /// wait above it, and `unread` below, which came just now.
    #[inline]
    pub fn select(&mut self, next: u32, held: u32, unread: u32) -> Room {
        let Room { window: mut left, is_little } = self.room_beside(held + unread);
        if left < self.rcv_mss && unread == 1 {
            // The buffer has less than three segments. A window below a segment has no use for a sender of whole ones,
            // so the application reads before the window is offered.
            left = left.max(self.room_beside(held).window);
        }
        Room { window: self.offer(next, left), is_little }
    }

    /// Offers the `left` bytes above segment `next`, and never takes back an earlier offer.
    #[inline]
    fn offer(&mut self, next: u32, left: u32) -> u32 {
        let start = next as u64 * self.mss as u64;
        let current = self.right_edge.saturating_sub(start) as u32;
        self.offered = left.max(self.aligned(current));
        self.right_edge = start + self.offered as u64;
        // The offer may exceed the window that a packet can express; later segments are checked against the offer.
        self.offered.min(largest(self.scale))
    }

    /// `__tcp_select_window`: the window that can be offered while `waiting` segments wait, and whether there is little
    /// room.
    #[inline(always)]
    pub fn room_beside(&self, waiting: u32) -> Room {
        let space = self.space_beside(waiting);
        if space >= self.clamp / 2 {
            return Room { window: self.rounded(space.min(self.ssthresh)), is_little: false };
        }
        Room { window: self.little_room(space & !self.lost_bits), is_little: true }
    }

    #[cold]
    fn little_room(&self, space: u32) -> u32 {
        let is_too_little = space < self.beside_few[0] / 16 || space < self.rcv_mss.min(self.clamp);
        if is_too_little { 0 } else { self.rounded(space.min(self.ssthresh)) }
    }

    /// The rest of the window offered last above segment `next`, if it is at most half of the largest window. The
    /// receiver then reports to the sender a reading that doubles it (`tcp_cleanup_rbuf`).
    pub fn little_left(&self, next: u32) -> Option<u32> {
        let left = (self.right_edge - next as u64 * self.mss as u64) as u32;
        (left <= self.clamp / 2).then_some(left)
    }

    #[inline(always)]
    fn rounded(&self, space: u32) -> u32 {
        if self.scale == 0 { self.in_whole_segments(space) } else { self.aligned(space) }
    }

    /// The space of the buffer beside `waiting` segments (`tcp_space`), bytes.
    #[inline]
    fn space_beside(&self, waiting: u32) -> u32 {
        self.beside_few.get(waiting as usize).copied().unwrap_or_else(|| self.space_beside_many(waiting))
    }

    #[inline]
    fn space_beside_many(&self, waiting: u32) -> u32 {
        self.share_of(self.memory.saturating_sub(waiting as u64 * self.segment_memory))
    }

    /// `tcp_win_from_space`
    #[inline]
    fn share_of(&self, memory: u64) -> u32 {
        ((memory * self.scaling_ratio) >> RATIO_BITS) as u32
    }

    /// Rounds a window that is not scaled to whole segments. It stays as it is while less than a segment has become
    /// free.
    #[inline(never)]
    fn in_whole_segments(&self, space: u32) -> u32 {
        let mss = self.rcv_mss.min(self.clamp);
        if self.offered + mss <= space || self.offered > space {
            space - space % mss
        } else if mss == self.clamp && space > self.offered + self.clamp / 2 {
            space
        } else {
            self.offered
        }
    }

    /// The smallest window that a packet can express and that is at least `window`.
    #[inline]
    fn aligned(&self, window: u32) -> u32 {
        (window + self.lost_bits) & !self.lost_bits
    }
}

/// The largest window that a packet can express (RFC 7323, section 2.2), bytes.
#[inline]
fn largest(scale: u8) -> u32 {
    (u16::MAX as u32) << scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::skb::receive_memory;
    use model::units::Bytes;

    const MSS: u32 = 1448;

    /// A buffer that offers `window` bytes in the end.
    fn fixed(window: u64, mss: u32, packet: u64) -> ReceiveBuffer {
        ReceiveBuffer { memory: receive_memory(Bytes(window), mss, Bytes(packet)), tcp_rmem_max: None }
    }

    fn window(bytes: u64, scales: bool) -> ReceiveWindow {
        ReceiveWindow::new(fixed(bytes, MSS, 1500), Announced { mss: MSS, packet: 1500 }, MSS, scales)
    }

    /// The windows offered above 0, 1, 2 ... segments, if the application reads each after its acknowledgement.
    fn offered(bytes: u64, scales: bool, segments: u32) -> Vec<u32> {
        let mut window = window(bytes, scales);
        window.measure_overhead();
        let offer = |next| {
            window.widen(1);
            window.select(next, 0, 1).window
        };
        (1..=segments).map(offer).collect()
    }

    /// A guest with Linux 6.12 shows the same (`tools/differential 1 --first 920 --kernel 6.12`). The buffer has 165
    /// 444 bytes of memory. Half of that holds 57 segments; each segment adds two, up to 160/256 of the memory that one
    /// segment leaves.
    #[test]
    fn half_of_the_memory_is_offered_at_first_and_then_the_share_of_payload() {
        assert_eq!(window(103_977, true).offered(), 57 * MSS);
        let after = offered(103_977, true, 9);
        assert_eq!(after[..3], [84_170, 87_066, 89_962]);
        assert_eq!(after[7..], [101_962, 101_962]);
    }

    /// A guest shows the same (number 531) with 34 202 bytes of memory.
    #[test]
    fn a_window_that_is_not_scaled_is_whole_segments() {
        assert_eq!(window(21_496, true).offered(), 11 * MSS);
        assert_eq!(offered(21_496, true, 4), [12 * MSS, 13 * MSS, 13 * MSS, 13 * MSS]);
    }

    /// The scale was agreed on when half of the memory was offered. The receiver offers even a window that no packet
    /// can express. While nothing more has become free, an acknowledgement shows as much as before.
    #[test]
    fn no_window_is_larger_than_its_scale_shows() {
        assert_eq!(offered(160_000, true, 60)[59], 65_535 << 1);
        assert_eq!(offered(160_000, false, 60)[59], 65_535);
        let mut window = window(160_000, false);
        assert_eq!((window.offered(), window.offer(0, 0), window.offer(10, 0)), (87 * MSS, 65_535, 65_535));
        assert_eq!(window.offer(60, 0), 27 * MSS);
    }

    #[test]
    fn segments_of_536_bytes_leave_the_share_at_half() {
        let mut small = ReceiveWindow::new(fixed(536_000, 536, 588), Announced { mss: 536, packet: 588 }, 536, true);
        assert_eq!(small.offered(), 536_000);
        small.measure_overhead();
        assert_eq!(small.share_of(1000), 500);
    }

    /// A guest shows the same with packets of 104 bytes without options. It offers half of 2304 bytes of memory, the
    /// least that a socket has. A segment takes 960 bytes of memory, and every segment counts for at least 88.
    #[test]
    fn small_segments_are_taken_for_88_bytes() {
        let mut window = ReceiveWindow::new(fixed(1152, 64, 104), Announced { mss: 64, packet: 104 }, 64, false);
        assert_eq!((window.offered(), window.may_offer()), (13 * 88, 1152 - 88));
        window.measure_overhead();
        let offer = |next| {
            window.widen(1);
            window.select(next, 0, 1).window
        };
        let shown: Vec<_> = (1..=10).map(offer).collect();
        assert_eq!(shown, [1080, 1016, 952, 888, 824, 760, 696, 632, 632, 632]);
    }

    /// A guest that holds five such segments above a hole shows the same.
    #[test]
    fn more_than_fits_makes_the_window_small() {
        let mut window = ReceiveWindow::new(fixed(1152, 64, 104), Announced { mss: 64, packet: 104 }, 64, false);
        assert!(!window.overflows(2));
        assert_eq!(window.may_offer(), 1064);
        assert!(window.overflows(3));
        assert_eq!((window.may_offer(), window.room_beside(0).window), (176, 176));
        let tuned = ReceiveBuffer { tcp_rmem_max: Some(6 << 20), ..fixed(1152, 64, 104) };
        assert!(
            !ReceiveWindow::new(tuned, Announced { mss: 64, packet: 104 }, 64, false).overflows(3),
            "it would grow"
        );
    }

    /// Each segment takes 2304 bytes of memory, of which 160/256 are offered: 1440 bytes.
    #[test]
    fn what_waits_leaves_less_to_offer() {
        let mut window = window(100_000, true);
        window.measure_overhead();
        (0..50).for_each(|_| _ = window.widen(1));
        let room = |waiting| window.room_beside(waiting).window;
        assert_eq!([room(11), room(21)], [room(1) - 14_400, room(1) - 28_800]);
        assert!(!window.room_beside(34).is_little);
        assert!(window.room_beside(35).is_little);
    }

    #[test]
    fn below_half_of_the_largest_window_little_is_left() {
        for (held, expected) in [(50, false), (51, true)] {
            let mut window = window(100 * MSS as u64, true);
            window.measure_overhead();
            window.widen(1);
            assert_eq!(window.select(0, held, 0).is_little, expected, "{held} wait");
        }
    }

    /// One unread segment leaves as much as was offered when one had come; three leave less. Three that fill a part of
    /// a hole leave as much if few wait above it.
    #[test]
    fn what_waits_to_be_read_shrinks_the_window() {
        for (segments, widened, (held, unread), waiting, shrinks) in [
            (60, 20, (0, 1), 1, false),
            (60, 20, (0, 1), 3, true),
            (100, 5, (5, 0), 6, false),
            (100, 5, (80, 0), 81, true),
        ] {
            let mut window = window(segments * MSS as u64, true);
            window.measure_overhead();
            (0..widened).for_each(|_| _ = window.widen(1));
            window.select(5, held, unread);
            assert_eq!(window.room_beside(waiting).window < window.offered(), shrinks, "{waiting} of {segments}");
        }
    }

    /// Linux 6.12 begins with its own `tcp_rmem`: 131 072 bytes, of which it offers 45 segments. After that it may
    /// offer one less, and 81 920 bytes once a segment has come. The scale is for 6 MiB.
    #[test]
    fn an_auto_tuned_buffer_begins_with_tcp_rmems_default() {
        let buffer = ReceiveBuffer { memory: 131_072, tcp_rmem_max: Some(6 << 20) };
        let mut window = ReceiveWindow::new(buffer, Announced { mss: MSS, packet: 1500 }, MSS, true);
        assert_eq!((window.offered(), window.may_offer(), window.scale()), (45 * MSS, 65_536 - MSS, 7));
        window.measure_overhead();
        (0..10).for_each(|_| _ = window.widen(1));
        assert_eq!(window.room_beside(0).window, 81_920 - 1440 + 128 - (81_920 - 1440) % 128);
        window.grow(window.memory_for(160_000));
        (0..100).for_each(|_| _ = window.widen(0));
        assert_eq!(window.room_beside(0).window, 160_000);
    }

    #[test]
    fn what_was_offered_is_not_taken_back() {
        let mut window = window(100_000, true);
        window.measure_overhead();
        (0..50).for_each(|_| _ = window.widen(1));
        let first = window.select(1, 0, 1).window;
        assert_eq!(window.offer(3, 0), (first - 2 * MSS).next_multiple_of(2));
    }
}
