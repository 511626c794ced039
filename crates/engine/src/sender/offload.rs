//! Segmentation offload (GSO): TCP hands over several segments in one buffer. The host's queue sees it as one packet,
//! and the device splits it behind the queue (`tcp_tso_autosize`, `tcp_tso_should_defer` and the loop of
//! `tcp_write_xmit`).
//!
//! Retransmissions leave one by one; the kernel may join segments that it has in one buffer.

use super::{Env, Sender, send_buffer::SIZE_GOAL, window};
use crate::tap::Tap;
use mechanism::Control;
use mechanism::sock::ca_state;

/// The least segments of a buffer, unless the congestion control says otherwise (`net.ipv4.tcp_min_tso_segs`).
const LEAST_SEGMENTS: u32 = 2;
/// Paths with an RTT below a few times 2^9 us get larger buffers (`net.ipv4.tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;
/// The longest time since the last buffer left in which the next one is deferred, ns.
const RECENT_NS: u64 = 1_000_000;
/// Divisor of the window: a buffer is not deferred if this part of the window is free (`net.ipv4.tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u32 = 3;

/// `tcp_tso_autosize`: payload of a buffer, bytes. It is the payload that leaves in 2^-`shift` s, and more on short
/// paths.
fn autosize(pacing_rate: u64, shift: u8, min_rtt_us: u32) -> u64 {
    let on_short_path = SIZE_GOAL.checked_shr(min_rtt_us >> RTT_LOG).unwrap_or(0);
    (pacing_rate >> shift).saturating_add(on_short_path).min(SIZE_GOAL)
}

impl Sender {
    /// `tcp_write_xmit`: sends as many buffers as the windows, the pacer and the host allow. Returns the number of
    /// segments.
    pub(super) fn send_buffers<T: Tap>(&mut self, env: &mut Env<T>, quota: u32) -> u32 {
        let most = self.largest_buffer(env.control);
        self.share_heads(most);
        let mut sent = 0;
        while sent < quota && self.has_new_data() && !self.pacer_holds(env) && !self.defers(most, quota - sent) {
            let segments = self.sendable(quota - sent).min(most);
            if !self.host_takes_next(env, segments) {
                break;
            }
            for behind in (0..segments).rev() {
                self.is_followed = behind > 0;
                self.send_new_segment(env);
            }
            sent += segments;
        }
        sent
    }

    /// The number of new segments that the application has written and for which both windows have room.
    fn sendable(&self, quota: u32) -> u32 {
        let window = self.sk.snd_wnd / self.mss - (self.board.nxt - self.board.una);
        quota.min(window).min(self.segments - self.board.nxt)
    }

    /// `tcp_tso_segs`: the most segments of a buffer.
    fn largest_buffer(&mut self, control: &Control) -> u32 {
        let least = control.min_tso_segs(&mut self.sk).unwrap_or(LEAST_SEGMENTS);
        let socket = &self.sk.inet_conn.sk;
        let bytes = autosize(socket.sk_pacing_rate, socket.sk_pacing_shift, self.sk.min_rtt_us());
        ((bytes / self.mss as u64) as u32).max(least)
    }

    /// `tcp_tso_should_defer`: reports whether to wait for an acknowledgement that makes room for more segments in the
    /// buffer. The congestion window has room for `room` of them.
    fn defers(&mut self, most: u32, room: u32) -> bool {
        let sk = &self.sk;
        let since = self.last_handed_over().max(sk.tcp_wstamp_ns);
        if self.ca_state() >= ca_state::RECOVERY || sk.tcp_clock_cache > since + RECENT_NS {
            return false;
        }
        let window = sk.snd_wnd / self.mss - (self.board.nxt - self.board.una);
        let free = room.min(window);
        let third = (sk.snd_wnd / self.mss).min(sk.snd_cwnd) / WINDOW_DIVISOR;
        // A single segment is sent at once.
        let unsent = self.segments - self.board.nxt;
        if free >= most || free >= third || unsent == 1 || self.board.is_empty() {
            return false;
        }
        let oldest_us = self.board.get(self.board.una).sent_us;
        // Its acknowledgement will take more than half a round trip.
        if sk.tcp_mstamp.saturating_sub(oldest_us) < (sk.srtt_us >> 4).into() {
            return false;
        }
        if room < window && room <= unsent {
            window::note_usage(&mut self.sk, true);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 9 Mbit/s 1098 bytes leave in a millisecond, less than two segments. At 1 Gbit/s it is more than a buffer
    /// holds. With an RTT of 1 ms even a slow flow has a quarter of a buffer.
    #[test]
    fn a_buffer_holds_a_millisecond_and_more_on_short_paths() {
        let bytes = |mbps: u64, rtt_us| autosize(mbps * 125_000, 10, rtt_us);
        assert_eq!([bytes(9, 50_000), bytes(100, 50_000), bytes(1000, 50_000)], [1098, 12_207, SIZE_GOAL]);
        assert_eq!([bytes(9, 1100), autosize(u64::MAX, 10, 0)], [1098 + SIZE_GOAL / 4, SIZE_GOAL]);
    }
}
