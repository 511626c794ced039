//! The send buffer of a sender on a host: the memory of unacknowledged data (`sk_wmem_queued`), and the room for it,
//! which follows the window (`sk_sndbuf`). The kernel's functions are `tcp_sndbuf_expand`, `tcp_new_space` and
//! `sk_stream_write_space`.
//!
//! As in the kernel, the buffer counts memory and not payload. On a present host a buffer holds as much as a network
//! card takes at once. If the send buffer grows to twice the window in packets, each packet has its own buffer.

use super::small_queue::HEAD;
use measure::SendBufferMeter;
use model::{self, SendTuning};

/// The most payload of a TCP buffer, bytes (`sk_gso_max_size` without `MAX_TCP_HEADER`; `tcp_xmit_size_goal`).
pub const SIZE_GOAL: u64 = 65_536 - 1 - 320;
/// `SKB_DATA_ALIGN(sizeof(struct skb_shared_info))`, and below that of `struct sk_buff`, bytes.
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;
const MAX_TCP_HEADER: u64 = 320;

/// The numbers of sent and unsent segments in the send buffer.
#[derive(Clone, Copy)]
pub struct Held {
    pub sent: u32,
    pub unsent: u32,
}

/// The send buffer, and the application that writes into it.
pub struct SendBuffer {
    pub rules: model::SendBuffer,
    /// Memory of an unsent full segment in the buffer, bytes.
    pub segment: u64,
    /// Memory of a full segment that was sent, which shares a buffer with fewer others, bytes.
    pub sent_segment: u64,
    /// Sent segments share buffer heads, too.
    pub offloads: bool,
    /// Memory for each segment when the send buffer grows, bytes.
    pub unit: u64,
    /// `sk_sndbuf`, bytes.
    pub sndbuf: u64,
    /// Segments that the application has to write in all, as known up to now; `ENDLESS` if it never ends.
    pub wanted: u32,
    /// The application will write no more than `wanted`.
    pub closed: bool,
    /// Payload of the last segment of all, bytes.
    pub last_payload: u32,
    /// The application waits for room (`SOCK_NOSPACE`).
    pub waits: bool,
    /// The application has just written its last segment.
    pub done: bool,
    /// Number of segments in the last buffer that was written, if none of them was sent.
    tail: u32,
    pub meter: SendBufferMeter,
}

impl SendBuffer {
    /// An empty send buffer for segments with `mss` bytes of payload, of which the application has to write `wanted`.
    /// It writes many segments into one buffer if `are_shared`, or each into its own.
    pub fn new(
        rules: model::SendBuffer,
        are_shared: bool,
        mss: u32,
        wanted: u32,
        last_payload: u32,
        meter: SendBufferMeter,
    ) -> SendBuffer {
        let mss = mss as u64;
        let own = HEAD + mss;
        let shared = mss + HEAD.div_ceil((SIZE_GOAL / mss).max(1));
        let (segment, unit) = match rules.tuning {
            SendTuning::TwiceCwnd => (own, own),
            SendTuning::Linux => {
                let unit = (mss + MAX_TCP_HEADER + SHARED_INFO).next_power_of_two() + SK_BUFF;
                (if are_shared { shared } else { own }, unit)
            }
        };
        SendBuffer {
            rules,
            segment,
            sent_segment: segment,
            offloads: are_shared && rules.tuning == SendTuning::Linux,
            unit,
            sndbuf: rules.default.0,
            wanted,
            closed: true,
            last_payload,
            waits: true,
            done: false,
            tail: 0,
            meter,
        }
    }

    /// `sk_wmem_queued` of a send buffer with these segments, bytes.
    pub fn queued(&self, Held { sent, unsent }: Held) -> u64 {
        sent as u64 * self.sent_segment + unsent as u64 * self.segment
    }

    /// `sk_stream_memory_free`, with `wake` 0, or 1 before a waiting writer goes on.
    pub fn has_room(&self, queued: u64, unsent: u64, wake: u32) -> bool {
        queued < self.sndbuf && self.rules.notsent_lowat.is_none_or(|lowat| unsent << wake < lowat.0)
    }

    /// Reports whether the application may write a segment. It needs room for each new buffer, not while the last one
    /// fills up to `goal` segments (`tcp_sendmsg_locked`). So the segments of one buffer may exceed the send buffer.
    pub fn takes(&self, held: Held, mss: u64, goal: u32) -> bool {
        let tail = self.tail.min(held.unsent);
        (tail > 0 && tail < goal) || self.has_room(self.queued(held), held.unsent as u64 * mss, 0)
    }

    /// Notes a segment that is written behind `unsent` unsent ones.
    pub fn takes_in(&mut self, unsent: u32, goal: u32) {
        let tail = self.tail.min(unsent);
        self.tail = if tail < goal { tail + 1 } else { 1 };
    }

    /// `sk_stream_is_writeable`: reports whether a third of the room is free.
    pub fn wakes(&self, queued: u64, unsent: u64) -> bool {
        self.sndbuf.saturating_sub(queued) >= queued / 2 && self.has_room(queued, unsent, 1)
    }

    /// Grows the send buffer to `windows` windows of `segments` segments, up to its limit.
    pub fn grow_for(&mut self, segments: u32, windows: u32) {
        let room = windows as u64 * segments as u64 * self.unit;
        self.sndbuf = self.sndbuf.max(room.min(self.rules.max.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::ENDLESS;
    use measure::Interval;
    use model::units::{Bytes, Nanos};

    const WINDOWS: u32 = 2;

    fn buffer(tuning: SendTuning, max: u64) -> SendBuffer {
        let rules = model::SendBuffer { default: Bytes(16_384), max: Bytes(max), tuning, notsent_lowat: None };
        let interval = Interval { from: Nanos::ZERO, to: Nanos::NEVER };
        SendBuffer::new(rules, true, 1448, ENDLESS, 1448, SendBufferMeter::new(interval, Nanos::ZERO))
    }

    /// `ss -m` shows 87 040 bytes for a new connection.
    #[test]
    fn linux_makes_room_for_twice_the_window_in_whole_pages() {
        let mut linux = buffer(SendTuning::Linux, 4 << 20);
        for (cwnd, sndbuf) in [(10, 87_040), (40, 348_160), (20, 348_160), (1000, 4 << 20)] {
            linux.grow_for(cwnd, WINDOWS);
            assert_eq!(linux.sndbuf, sndbuf, "a window of {cwnd}");
        }
    }

    /// A window of 40 packets makes room for 80, unless 64 are the most.
    #[test]
    fn twice_the_window_is_counted_in_packets() {
        let packets = |max: u64| {
            let mut twice = buffer(SendTuning::TwiceCwnd, max);
            twice.grow_for(40, WINDOWS);
            twice.sndbuf / twice.segment
        };
        let packet = HEAD + 1448;
        assert_eq!((packets(1 << 30), packets(64 * packet)), (80, 64));
    }

    /// With buffers of four segments, the fourth buffer begins below the limit of 13 segments, and fills up.
    #[test]
    fn a_buffer_that_is_begun_is_filled() {
        let mut shared = buffer(SendTuning::Linux, 4 << 20);
        shared.sndbuf = 13 * shared.segment;
        let mut written = |sent: u32, unsent: u32, goal: u32| {
            let mut held = Held { sent, unsent };
            while shared.takes(held, 1448, goal) {
                shared.takes_in(held.unsent, goal);
                held.unsent += 1;
            }
            held.unsent
        };
        assert_eq!(written(0, 0, 4), 16);
        assert_eq!(written(14, 2, 4), 4, "of the last buffer two are left, and there is room for two beside them");
        assert_eq!((written(16, 0, 4), written(0, 0, 1)), (0, 13));
    }

    /// A waiting writer goes on when a third is free; with a limit on unsent data, when half of that is left.
    #[test]
    fn a_writer_waits_until_a_third_is_free() {
        let mut twice = buffer(SendTuning::TwiceCwnd, 1 << 30);
        twice.grow_for(30, 1);
        let at = |twice: &SendBuffer, sent| {
            let queued = twice.queued(Held { sent, unsent: 0 });
            (twice.has_room(queued, 0, 0), twice.wakes(queued, 0))
        };
        assert_eq!(
            [30, 29, 21, 20].map(|held| at(&twice, held)),
            [(false, false), (true, false), (true, false), (true, true)]
        );
        twice.rules.notsent_lowat = Some(Bytes(10_000));
        assert_eq!(
            [(4999, 0), (5000, 0), (9999, 0), (10_000, 0)].map(|(unsent, held)| twice.wakes(held, unsent)),
            [true, false, false, false]
        );
        assert!(twice.has_room(0, 9999, 0) && !twice.has_room(0, 10_000, 0));
    }
}
