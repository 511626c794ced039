//! The congestion window beside the congestion control: proportional rate reduction, validation, restart after idle.

use crate::clock::before;
use mechanism::sock::TcpSock;

/// Takes one step of PRR (RFC 6937 as Linux implements it), which sets how many segments may be in flight now.
///
/// `delivered`: newly acknowledged or SACKed; `lost`: newly marked lost; `advanced`: snd_una moved.
pub fn proportional_rate_reduction(sk: &mut TcpSock, delivered: u32, lost: u32, advanced: bool) {
    if delivered == 0 || sk.prior_cwnd == 0 {
        return;
    }
    let in_flight = sk.packets_in_flight();
    let delta = sk.snd_ssthresh as i64 - in_flight as i64;
    sk.prr_delivered += delivered;
    let mut may_send = if delta < 0 {
        let share = (sk.snd_ssthresh as u64 * sk.prr_delivered as u64).div_ceil(sk.prior_cwnd as u64);
        share as i64 - sk.prr_out as i64
    } else {
        let mut catch_up = (sk.prr_delivered as i64 - sk.prr_out as i64).max(delivered as i64);
        if advanced && lost == 0 {
            catch_up += 1;
        }
        catch_up.min(delta)
    };
    // The first retransmission of an episode always goes out.
    may_send = may_send.max(if sk.prr_out == 0 { 1 } else { 0 });
    sk.snd_cwnd = (in_flight as i64 + may_send) as u32;
}

/// Rate halving (Linux before 3.2): while TCP repairs a loss, it sends a segment for every second acknowledgement until
/// the window is down. It follows ns-2.35 (`tcp-linux.cc`: `next_pkts_in_flight_`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateHalving {
    /// The most segments in flight next.
    next: u32,
    /// The window at the end: ssthresh, or the congestion control's least one (`min_cwnd`).
    target: u32,
}

impl RateHalving {
    /// The most segments that leave at once when a repair ends (`tcp_max_burst`).
    const LARGEST_BURST: u32 = 3;

    /// The state at the start of a repair: the congestion control has set ssthresh, and the window is the old one.
    pub fn begin(sk: &TcpSock) -> RateHalving {
        let least = sk.sim.min_cwnd;
        RateHalving { next: sk.snd_cwnd, target: if least > 0 { least } else { sk.snd_ssthresh } }
    }

    /// The window at an acknowledgement that leaves `in_flight` segments in flight.
    pub fn acknowledged(&mut self, in_flight: u32) -> u32 {
        self.next = self.next.min(in_flight + 1);
        self.next.max(self.target)
    }

    /// Notes a transmission with `in_flight` segments in flight, after which the next acknowledgement releases nothing.
    pub fn sent(&mut self, in_flight: u32) {
        self.next = self.next.min(in_flight.max(1));
    }

    /// The window at the end of the repair.
    pub fn window_after(&self, sk: &TcpSock) -> u32 {
        if self.target >= sk.snd_ssthresh {
            return self.target;
        }
        sk.snd_ssthresh.min(sk.packets_out + Self::LARGEST_BURST)
    }
}

/// Remembers whether the window, and not the application, held the sender back (`tcp_cwnd_validate`, first half).
#[inline]
pub fn note_usage(sk: &mut TcpSock, limited_by_cwnd: bool) {
    let new_window = !before(sk.snd_una, sk.cwnd_usage_seq);
    let fuller = sk.is_cwnd_limited == 0 && sk.packets_out > sk.max_packets_out;
    if new_window || limited_by_cwnd || fuller {
        sk.is_cwnd_limited = limited_by_cwnd as u8;
        sk.max_packets_out = sk.packets_out;
        sk.cwnd_usage_seq = sk.snd_nxt;
    }
}

/// `tcp_is_cwnd_limited`: reports whether the window limits the sender.
pub fn is_cwnd_limited(sk: &TcpSock) -> bool {
    sk.is_cwnd_limited != 0 || (sk.in_slow_start() && sk.snd_cwnd < 2 * sk.max_packets_out)
}

/// Lets a window decay that the application does not use (`tcp_cwnd_validate`, second half).
pub fn decay_unused(sk: &mut TcpSock, now: u32, initial_window: u32) {
    if is_cwnd_limited(sk) {
        sk.snd_cwnd_used = 0;
        sk.snd_cwnd_stamp = now;
        return;
    }
    sk.snd_cwnd_used = sk.snd_cwnd_used.max(sk.packets_out);
    if (now.wrapping_sub(sk.snd_cwnd_stamp) as i32) < sk.inet_conn.icsk_rto as i32 {
        return;
    }
    let used = sk.snd_cwnd_used.max(initial_window);
    if used < sk.snd_cwnd {
        sk.snd_ssthresh = current_ssthresh(sk);
        sk.snd_cwnd = (sk.snd_cwnd + used) >> 1;
    }
    sk.snd_cwnd_used = 0;
    sk.snd_cwnd_stamp = now;
}

/// Halves the window once for each timeout that passed idle beyond the first (`tcp_cwnd_restart`).
pub fn restart_after_idle(sk: &mut TcpSock, idle: u32, now: u32, initial_window: u32) {
    let floor = initial_window.min(sk.snd_cwnd);
    sk.snd_ssthresh = current_ssthresh(sk);
    let mut cwnd = sk.snd_cwnd;
    let mut rest = idle as i64 - sk.inet_conn.icsk_rto as i64;
    while rest > 0 && cwnd > floor {
        cwnd >>= 1;
        rest -= sk.inet_conn.icsk_rto as i64;
    }
    sk.snd_cwnd = cwnd.max(floor);
    sk.snd_cwnd_stamp = now;
    sk.snd_cwnd_used = 0;
}

/// `tcp_current_ssthresh`: the threshold, which counts the window that the path has lately carried, even without a
/// loss.
pub fn current_ssthresh(sk: &TcpSock) -> u32 {
    if matches!(sk.inet_conn.icsk_ca_state, mechanism::sock::ca_state::CWR | mechanism::sock::ca_state::RECOVERY) {
        return sk.snd_ssthresh;
    }
    sk.snd_ssthresh.max((sk.snd_cwnd >> 1) + (sk.snd_cwnd >> 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prr_sends_seven_for_ten_delivered() {
        // Prior 100, ssthresh 70, one delivered at a time.
        let mut sk = TcpSock { prior_cwnd: 100, snd_ssthresh: 70, packets_out: 100, ..Default::default() };
        let mut sent = vec![];
        for _ in 0..10 {
            sk.sacked_out += 1;
            proportional_rate_reduction(&mut sk, 1, 0, false);
            let now = sk.snd_cwnd - sk.packets_in_flight();
            sk.packets_out += now;
            sk.prr_out += now;
            sent.push(sk.prr_out);
        }
        assert_eq!(sent, [1, 2, 3, 3, 4, 5, 5, 6, 7, 7]);
    }

    #[test]
    fn prr_catches_up_below_ssthresh() {
        let mut sk = TcpSock { prior_cwnd: 100, snd_ssthresh: 70, packets_out: 50, ..Default::default() };
        (sk.prr_delivered, sk.prr_out) = (39, 35);
        proportional_rate_reduction(&mut sk, 1, 0, true);
        assert_eq!(sk.snd_cwnd, 56);
    }

    #[test]
    fn rate_halving_sends_for_every_second_acknowledgement() {
        let mut sk = TcpSock { snd_cwnd: 100, snd_ssthresh: 50, packets_out: 100, lost_out: 1, ..Default::default() };
        let mut halving = RateHalving::begin(&sk);
        let mut sent_at = vec![];
        for acknowledgement in 0..120 {
            sk.sacked_out += 1;
            let before = sk.packets_in_flight();
            let room = halving.acknowledged(before).saturating_sub(before);
            if room > 0 {
                sk.packets_out += room;
                halving.sent(before);
                sent_at.push((acknowledgement, room));
            }
        }
        // At first only lost segments leave.
        assert_eq!(sent_at[..4], [(0, 1), (2, 1), (4, 1), (6, 1)]);
        let alternate = sent_at[1..].iter().take_while(|(at, _)| at % 2 == 0).count();
        assert_eq!(alternate, 49, "from 98 in flight to 50");
        assert_eq!(sent_at.last(), Some(&(119, 1)));
        assert_eq!(sk.packets_in_flight(), 50);
        assert_eq!(halving.window_after(&sk), 50);
    }

    #[test]
    fn what_a_control_gives_as_the_least_is_left_in_small_steps() {
        let mut sk = TcpSock { snd_cwnd: 100, snd_ssthresh: 50, packets_out: 30, ..Default::default() };
        sk.sim.min_cwnd = 25;
        let halving = RateHalving::begin(&sk);
        assert_eq!(halving.window_after(&sk), 33);
        sk.packets_out = 60;
        assert_eq!(halving.window_after(&sk), 50);
    }

    #[test]
    fn idle_halves_the_window_once_a_timeout() {
        // Idle 3.1 RTO at cwnd 80, initial window 10: 80, 40, 20, 10; idle exactly 3 RTO: 20.
        for (idle, expected) in [(3100, 10), (3000, 20)] {
            let mut sk = TcpSock { snd_cwnd: 80, snd_ssthresh: 40, ..Default::default() };
            sk.inet_conn.icsk_rto = 1000;
            restart_after_idle(&mut sk, idle, 0, 10);
            assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (expected, 60));
        }
    }

    #[test]
    fn an_unused_window_decays_half_way() {
        let mut sk = TcpSock { snd_cwnd: 100, snd_ssthresh: 50, packets_out: 20, ..Default::default() };
        sk.inet_conn.icsk_rto = 300;
        decay_unused(&mut sk, 300, 10);
        assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (60, 75));
    }
}
