//! Setting of the sender's timer, and the actions when it rings.

use super::timer::{IcskTime, Timer};
use super::{Env, Phase, Sender, rtt};
use crate::clock::{self, micros_to_jiffies};
use crate::tap::Tap;
use mechanism::sock::{HZ, ca_state};
use model::units::Nanos;

/// Shortest timer, us (`TCP_TIMEOUT_MIN_US`).
const TIMEOUT_MIN_US: u64 = 2_000;
/// Number of repeated SYNs before the timeout begins to double (`tcp_syn_linear_timeouts`).
const SYN_LINEAR_TIMEOUTS: u32 = 4;
/// Number of doublings after which the least timeout exceeds the largest.
const MOST_DOUBLINGS: u8 = 16;

impl Sender {
    fn arm(&mut self, kind: IcskTime, jiffies: u32, now: Nanos) {
        self.timer = Timer::set(kind, jiffies.clamp(1, rtt::RTO_MAX), now);
        self.sk.inet_conn.icsk_pending = kind as u8;
    }

    /// `inet_csk_clear_xmit_timer`.
    pub(super) fn clear_timer(&mut self) {
        self.timer = Timer::none();
        self.sk.inet_conn.icsk_pending = 0;
    }

    pub(super) fn arm_retransmit(&mut self, now: Nanos) {
        self.arm_after_pacing(IcskTime::Retrans, self.sk.inet_conn.icsk_rto, now);
    }

    /// `tcp_reset_xmit_timer`: sets the timer, which runs from when the pacer releases the next segment.
    #[inline]
    fn arm_after_pacing(&mut self, kind: IcskTime, mut jiffies: u32, now: Nanos) {
        if self.sk.tcp_wstamp_ns > self.sk.tcp_clock_cache {
            jiffies += self.pacing_delay();
        }
        self.arm(kind, jiffies, now);
    }

    /// `tcp_pacing_delay`, jiffies.
    #[cold]
    fn pacing_delay(&self) -> u32 {
        let held_ns = self.sk.tcp_wstamp_ns - self.sk.tcp_clock_cache;
        (held_ns / (1_000_000_000 / HZ)).min(rtt::RTO_MAX as u64) as u32
    }

    /// Reports whether RACK waits for reordered segments.
    pub(super) fn waits_for_reordering(&self) -> bool {
        self.timer.is_set() && self.timer.kind == IcskTime::ReoTimeout
    }

    pub(super) fn arm_reordering_timer(&mut self, wait_us: u64, now: Nanos) {
        self.arm(IcskTime::ReoTimeout, micros_to_jiffies(wait_us + TIMEOUT_MIN_US), now);
    }

    /// `tcp_set_xmit_timer`: sets the timer after new data was acknowledged.
    pub(super) fn set_transmit_timer(&mut self, now: Nanos) {
        if !self.schedule_loss_probe(true, now) {
            self.rearm_retransmit(now);
        }
    }

    /// `tcp_rto_delta_us`: time until the timeout of the head segment, us; zero or negative if it is past.
    fn timeout_in_us(&self) -> i64 {
        let head_us = self.board.get(self.board.una).sent_us;
        let rto_us = self.sk.inet_conn.icsk_rto as u64 * (1_000_000 / HZ);
        (head_us + rto_us) as i64 - self.sk.tcp_mstamp as i64
    }

    /// `tcp_rearm_rto`: sets the retransmission timeout; the time for which a probe or the reordering timer waited
    /// counts.
    pub(super) fn rearm_retransmit(&mut self, now: Nanos) {
        if self.board.is_empty() {
            self.clear_timer();
            return;
        }
        if self.timer.is_set() && self.timer.kind != IcskTime::Retrans {
            let left = self.timeout_in_us().max(1) as u64;
            return self.arm_after_pacing(IcskTime::Retrans, micros_to_jiffies(left), now);
        }
        self.arm_retransmit(now);
    }

    /// Reports whether the sender probes for losses at the tail (TLP) in its present state.
    #[inline]
    pub(super) fn probes_losses(&self) -> bool {
        let open = matches!(self.ca_state(), ca_state::OPEN | ca_state::CWR);
        self.stack.tlp && self.stack.sack && self.sk.packets_out != 0 && open
    }

    /// Shows the congestion control that the timer is a loss probe, which is scheduled before the next event.
    #[inline]
    pub(super) fn announce_loss_probe(&mut self) {
        self.timer.kind = IcskTime::LossProbe;
        self.sk.inet_conn.icsk_pending = IcskTime::LossProbe as u8;
    }

    /// `tcp_schedule_loss_probe`: sets a probe after two RTTs, never later than the timeout.
    #[inline(always)]
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool, now: Nanos) -> bool {
        const INIT_US: u64 = rtt::TIMEOUT_INIT as u64 * (1_000_000 / HZ);
        if !self.probes_losses() {
            return false;
        }
        let mut timeout_us = INIT_US;
        if self.sk.srtt_us != 0 {
            // One segment may wait for a delayed acknowledgement.
            let margin_us = if self.sk.packets_out == 1 {
                self.sk.inet_conn.icsk_rto_min as u64 * (1_000_000 / HZ)
            } else {
                TIMEOUT_MIN_US
            };
            timeout_us = (self.sk.srtt_us >> 2) as u64 + margin_us;
        }
        let rto_us =
            if advancing { self.sk.inet_conn.icsk_rto as i64 * (1_000_000 / HZ as i64) } else { self.timeout_in_us() };
        if rto_us > 0 {
            timeout_us = timeout_us.min(rto_us as u64);
        }
        let timeout = micros_to_jiffies(timeout_us);
        self.arm_after_pacing(IcskTime::LossProbe, timeout, now);
        true
    }

    pub(super) fn timer_expired<T: Tap>(&mut self, env: &mut Env<T>) {
        if self.phase == Phase::SynSent {
            self.clear_timer();
            return self.send_syn(env);
        }
        match self.timer.kind {
            IcskTime::Retrans => {
                self.clear_timer();
                self.retransmission_timeout(env);
            }
            IcskTime::Probe0 => self.probe_closed_window(env),
            IcskTime::LossProbe => self.send_loss_probe(env),
            IcskTime::ReoTimeout => self.reordering_timeout(env),
        }
        self.meter.cwnd(env.now, self.sk.snd_cwnd);
    }

    /// `tcp_retransmit_timer`.
    fn retransmission_timeout<T: Tap>(&mut self, env: &mut Env<T>) {
        if self.board.is_empty() {
            return;
        }
        self.enter_loss(env.control, env.now);
        self.meter.timeout(env.now);
        self.sk.inet_conn.icsk_retransmits = self.sk.inet_conn.icsk_retransmits.saturating_add(1);
        self.resend(env, self.board.una);
        self.sk.inet_conn.icsk_backoff = self.sk.inet_conn.icsk_backoff.saturating_add(1);
        self.sk.inet_conn.icsk_rto = (self.sk.inet_conn.icsk_rto << 1).min(rtt::RTO_MAX);
        self.arm(IcskTime::Retrans, self.sk.inet_conn.icsk_rto, env.now);
    }

    /// Sets the probe of a closed window when nothing is outstanding. The sender asks a receiver without room for a
    /// segment now and then, because the packet that reopens the window may be lost (`tcp_check_probe_timer`,
    /// `tcp_ack_probe`).
    #[cold]
    pub(super) fn arm_persist_timer(&mut self, now: Nanos) {
        if self.snd_wnd_is_closed() {
            self.arm_window_probe(now);
        } else if self.timer.kind == IcskTime::Probe0 {
            self.sk.inet_conn.icsk_backoff = 0;
            self.clear_timer();
        }
    }

    fn snd_wnd_is_closed(&self) -> bool {
        self.board.is_empty() && self.board.nxt < self.segments && self.sk.snd_wnd < self.mss
    }

    /// `tcp_probe0_when`
    fn arm_window_probe(&mut self, now: Nanos) {
        let base = self.sk.inet_conn.icsk_rto.max(HZ as u32 / 5);
        let doubled = (base as u64) << self.sk.inet_conn.icsk_backoff.min(MOST_DOUBLINGS);
        self.arm_after_pacing(IcskTime::Probe0, doubled.min(rtt::RTO_MAX as u64) as u32, now);
    }

    /// `tcp_send_probe0`: sends an acknowledgement below the window, which the receiver answers.
    #[cold]
    fn probe_closed_window<T: Tap>(&mut self, env: &mut Env<T>) {
        self.clear_timer();
        if self.snd_wnd_is_closed() {
            self.emit_probe(env);
            self.sk.inet_conn.icsk_backoff = self.sk.inet_conn.icsk_backoff.saturating_add(1);
            self.arm_window_probe(env.now);
        }
    }

    /// `tcp_send_loss_probe`: sends a new segment, or the last one again; one probe for each tail.
    fn send_loss_probe<T: Tap>(&mut self, env: &mut Env<T>) {
        if self.sk.tlp_high_seq == 0 && !self.board.is_empty() && self.probe(env) {
            self.sk.tlp_high_seq = self.sk.snd_nxt;
            self.clear_timer();
        }
        self.rearm_retransmit(env.now);
    }

    /// Sends the probe. Returns false if the pacer or the host delays the new segment, or the old one has not left the
    /// host.
    fn probe<T: Tap>(&mut self, env: &mut Env<T>) -> bool {
        if !self.has_new_data() {
            let last = self.board.nxt - 1;
            let waits = self.board.waits_to_be_resent(last);
            let sent = self.send_again(env, last);
            if waits {
                self.board.still_waits(last);
            }
            self.sk.tlp_retrans = sent as u8;
            return sent;
        }
        self.sk.tlp_retrans = 0;
        if self.gate_holds(env) || self.pacer_holds(env) || !self.host_takes_next(env, 1) {
            return false;
        }
        self.send_new_segment(env);
        self.note_probe(env);
        true
    }

    /// `tcp_rack_reo_timeout`.
    fn reordering_timeout<T: Tap>(&mut self, env: &mut Env<T>) {
        let prior = self.sk.packets_in_flight();
        let wait = self.rack_detect_loss();
        if let Some(wait_us) = wait {
            self.arm_reordering_timer(wait_us, env.now);
        }
        if self.sk.packets_in_flight() != prior {
            if self.ca_state() != ca_state::RECOVERY {
                self.enter_recovery(env.control, false);
                if !env.control.has_cong_control() {
                    self.reduce_cwnd(1, 0, false);
                }
            }
            self.retransmit_lost(env);
        }
        if wait.is_none() && self.timer.kind != IcskTime::Retrans {
            self.rearm_retransmit(env.now);
        }
    }

    /// Sends the SYN, and sets the timer that repeats it until it is answered. The first timeouts are equal, those
    /// after them double (`tcp_retransmit_timer`).
    pub(super) fn send_syn<T: Tap>(&mut self, env: &mut Env<T>) {
        if self.sk.first_tx_mstamp == 0 {
            self.sk.first_tx_mstamp = clock::micros(env.now);
        } else {
            self.sk.total_retrans += 1;
            if self.sk.total_retrans > SYN_LINEAR_TIMEOUTS {
                self.sk.inet_conn.icsk_rto = (self.sk.inet_conn.icsk_rto << 1).min(rtt::RTO_MAX);
            }
        }
        self.emit_syn(env);
        self.arm_retransmit(env.now);
    }
}
