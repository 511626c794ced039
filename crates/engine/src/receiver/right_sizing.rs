//! Dynamic right-sizing: the buffer follows the bytes that the application reads in a round trip, and never shrinks. It
//! follows Linux 6.12 (`tcp_rcv_space_adjust`) after Feng, Fisk, Gardner, Weigle, "Dynamic Right-Sizing in FTP", 2002.

use super::rtt::ReceiverRtt;
use super::window::ReceiveWindow;
use model::units::Nanos;

/// `TCP_INIT_CWND`: the first window of a sender, segments.
const FIRST_FLIGHT: u32 = 10;
/// Segments added to the needed window, for small variations.
const CUSHION: u64 = 16;

/// The state of one connection's auto-tuned buffer.
pub struct RightSizing {
    mss: u32,
    /// The largest size of the buffer (`tcp_rmem[2]`), bytes.
    max: u32,
    pub rtt: ReceiverRtt,
    /// The most bytes read in one round trip up to now (`rcvq_space.space`).
    space: u32,
    /// The start of the present round trip, and the bytes read since.
    since: Nanos,
    copied: u32,
}

impl RightSizing {
    /// The state of a buffer that may grow to `max` bytes of memory.
    pub fn new(mss: u32, max: u32) -> RightSizing {
        RightSizing { mss, max, rtt: ReceiverRtt::default(), space: 0, since: Nanos::ZERO, copied: 0 }
    }

    /// Starts the first round trip when the connection is established (`tcp_init_buffer_space`).
    pub fn begin(&mut self, now: Nanos, window: &ReceiveWindow) {
        self.since = now;
        self.space = window.may_offer().min(window.offered()).min(FIRST_FLIGHT * self.mss);
    }

    /// Notes that the application has read `bytes`, segment by segment, and `left` others unread. If a round trip is
    /// over, it ends with the first segment. Data behind that does not count as read in this round trip.
    pub fn read(&mut self, now: Nanos, bytes: u64, left: u64, window: &mut ReceiveWindow) {
        let rtt_us = self.rtt.us();
        if rtt_us == 0 || (now - self.since).as_micros() < rtt_us as u64 {
            self.copied = self.copied.saturating_add(bytes as u32);
            return;
        }
        let first = bytes.min(self.mss as u64);
        let behind = bytes - first;
        let copied = (self.copied as u64 + first).saturating_sub(behind + left) as u32;
        if copied > self.space {
            let needed = needed_window(copied, self.space, self.mss);
            window.grow(window.memory_for(needed).min(self.max as u64));
            self.space = copied;
        }
        (self.since, self.copied) = (now, behind as u32);
    }
}

/// The window for a sender of which `copied` bytes came in the last round trip and at most `space` in one before. It is
/// twice `copied`, so that losses can be repaired. Twice the share by which `copied` grew comes on top, because this
/// window applies to the round trip after next.
fn needed_window(copied: u32, space: u32, mss: u32) -> u64 {
    let window = 2 * copied as u64 + CUSHION * mss as u64;
    window + 2 * (window * (copied - space) as u64 / space as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::window::Announced;
    use model::skb::ReceiveBuffer;

    const MSS: u32 = 1448;

    fn established() -> (RightSizing, ReceiveWindow) {
        let buffer = ReceiveBuffer { memory: 131_072, tcp_rmem_max: Some(6 << 20) };
        let mut window = ReceiveWindow::new(buffer, Announced { mss: MSS, packet: 1500 }, MSS, true);
        let mut sizing = RightSizing::new(MSS, 6 << 20);
        sizing.begin(Nanos::ZERO, &window);
        window.measure_overhead();
        (sizing, window)
    }

    #[test]
    fn a_window_for_twice_as_much_as_before_is_six_times_what_came() {
        assert_eq!(needed_window(100_000, 50_000, MSS), 669_504);
        // With as much as before, the needed window is 223 168.
        assert_eq!(needed_window(100_000, 100_000, MSS), 223_168);
    }

    /// The receiver offers 160/256 of the memory.
    #[test]
    fn the_buffer_grows_with_what_is_read_in_a_round_trip() {
        let (mut sizing, mut window) = established();
        sizing.rtt.echoed(10_000);
        let mut read = |ms, bytes| {
            sizing.read(Nanos::from_millis(ms), bytes, 0, &mut window);
            window.memory()
        };
        assert_eq!(read(5, 18_552), 131_072, "within the round trip");
        // 20 000 after 14 480: 63 168 and 2 * 24 080 of growth.
        assert_eq!(read(10, 1448), (63_168 + 2 * 24_080) * 256 / 160);
        assert_eq!([read(15, 18_552), read(20, 1448)], [178_124; 2], "as much as before");
        assert_eq!([read(25, 13_552), read(30, 1448)], [178_124; 2], "less");
        assert_eq!([read(35, 4_000_000), read(40, 1448)], [178_124, 6 << 20], "no more than tcp_rmem's last");
    }

    /// Nine of 20 segments still wait after the application has read the first of the last ten, whether it reads the
    /// others or not (`tcp_rcv_space_adjust`).
    #[test]
    fn what_waits_behind_the_first_segment_was_not_read_in_this_round_trip() {
        for (bytes, left) in [(10 * 1448, 0), (1448, 9 * 1448)] {
            let (mut sizing, mut window) = established();
            sizing.rtt.echoed(10_000);
            sizing.read(Nanos::from_millis(5), 10 * 1448, 0, &mut window);
            sizing.read(Nanos::from_millis(10), bytes, left, &mut window);
            assert_eq!((sizing.space, sizing.copied as u64), (14_480, bytes - 1448));
        }
    }

    #[test]
    fn without_a_round_trip_time_nothing_grows() {
        let (mut sizing, mut window) = established();
        sizing.read(Nanos::from_secs(1), 1_000_000, 0, &mut window);
        assert_eq!(window.memory(), 131_072);
    }
}
