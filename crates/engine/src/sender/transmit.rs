//! Transmission of segments: new data within the windows, lost segments first.

use super::gate::Gate;
use super::{Env, Sender, rate, window};
use crate::clock;
use crate::packet::{Data, flag, syn_bytes};
use crate::scoreboard::{Segment, state};
use crate::tap::Tap;
use mechanism::sock::{ca_event, ca_state, ecn};
use mechanism::{Control, PacketKind};
use model::units::Nanos;
use model::{LossDetection, Reduction};

/// Number of segments at the start of a connection that are not paced.
const UNPACED_SEGMENTS: u32 = 10;

impl Sender {
    /// Reports whether the application has written more, and the receiver has room for it.
    pub(super) fn has_new_data(&self) -> bool {
        self.new_segments() > 0
    }

    /// The number of unsent segments that the application has written and for which the receiver has room.
    #[inline]
    fn new_segments(&self) -> u32 {
        let room = (self.sk.snd_wnd / self.mss).saturating_sub(self.board.nxt - self.board.una);
        room.min(self.segments - self.board.nxt)
    }

    /// Room in the congestion window, in segments.
    fn quota(&self) -> u32 {
        let mut in_flight = self.sk.packets_in_flight();
        if !self.stack.limited_transmit && self.ca_state() <= ca_state::DISORDER {
            // SACKed segments do not make room for new ones before recovery starts.
            in_flight += self.sk.sacked_out;
        }
        self.sk.snd_cwnd.saturating_sub(in_flight)
    }

    /// `tcp_write_xmit`: sends as many new segments as the windows, the pacer and the host allow. Returns their number.
    pub(super) fn transmit_new<T: Tap>(&mut self, env: &mut Env<T>) -> u32 {
        if self.sk.packets_out == 0 {
            self.restart_after_idle(env);
        }
        let quota = if self.gate_holds(env) { 0 } else { self.quota() };
        let sent = if self.keeps_small_queue() {
            self.send_through_small_queue(env, quota)
        } else {
            self.send_new_segments(env, quota, |_, _| true)
        };
        if sent > 0 {
            self.note_sent_in_reduction(sent);
            self.schedule_loss_probe(false, env.now);
        }
        let limited = self.sk.packets_in_flight() >= self.sk.snd_cwnd;
        if sent > 0 || limited {
            self.validate_cwnd(env, limited);
        }
        sent
    }

    /// Sends up to `quota` new segments, while the pacer releases them and the host takes them. Returns their number.
    #[inline(always)]
    pub(super) fn send_new_segments<T: Tap>(
        &mut self,
        env: &mut Env<T>,
        quota: u32,
        host_takes_next: impl Fn(&mut Sender, &mut Env<T>) -> bool,
    ) -> u32 {
        let quota = quota.min(self.new_segments());
        let mut sent = 0;
        while sent < quota && !self.pacer_holds(env) && host_takes_next(self, env) {
            self.send_new_segment(env);
            sent += 1;
        }
        sent
    }

    /// Counts the segments that have just been sent while the window is being reduced.
    #[inline]
    fn note_sent_in_reduction(&mut self, sent: u32) {
        if !self.in_cwnd_reduction() {
            return;
        }
        self.sk.prr_out += sent;
        if self.stack.repair.reduction == Reduction::Halving {
            self.halving.sent(self.sk.packets_in_flight() - sent);
        }
    }

    /// The end of `tcp_write_xmit` after a probe.
    #[cold]
    pub(super) fn note_probe<T: Tap>(&mut self, env: &mut Env<T>) {
        self.note_sent_in_reduction(1);
        let limited = self.sk.packets_in_flight() >= self.sk.snd_cwnd;
        self.validate_cwnd(env, limited);
    }

    /// `tcp_cwnd_validate`.
    #[inline(always)]
    fn validate_cwnd<T: Tap>(&mut self, env: &mut Env<T>, limited: bool) {
        if !self.stack.cwnd_validation {
            // Every acknowledgement may grow the window, used or not.
            self.sk.is_cwnd_limited = 1;
            self.sk.max_packets_out = self.sk.snd_cwnd;
            return;
        }
        window::note_usage(&mut self.sk, limited);
        let idle_application = self.board.nxt == self.segments;
        if idle_application && self.ca_state() == ca_state::OPEN && !env.control.has_cong_control() {
            window::decay_unused(&mut self.sk, env.jiffies, self.stack.initial_window);
        }
    }

    fn restart_after_idle<T: Tap>(&mut self, env: &mut Env<T>) {
        let now = env.jiffies;
        let idle = now.wrapping_sub(self.sk.lsndtime);
        if self.stack.cwnd_validation && !env.control.has_cong_control() && idle > self.sk.inet_conn.icsk_rto {
            env.control.cwnd_event(&mut self.sk, ca_event::CWND_RESTART);
            window::restart_after_idle(&mut self.sk, idle, now, self.stack.initial_window);
        }
    }

    /// Sends the next segment for the first time; the host has taken it.
    #[inline(always)]
    pub(super) fn send_new_segment<T: Tap>(&mut self, env: &mut Env<T>) {
        self.note_start(env.control);
        let number = self.board.nxt;
        let record = rate::on_sent(&mut self.sk);
        self.board.push(record);
        self.sk.packets_out += 1;
        let payload = self.segment_bytes(number) - self.header;
        self.sk.snd_nxt = self.sk.snd_nxt.wrapping_add(payload);
        self.sk.write_seq = self.sk.snd_nxt;
        let mut flags = 0;
        if self.sk.ecn_flags & ecn::OK != 0 {
            flags = flag::ECT;
            if self.sk.ecn_flags & ecn::QUEUE_CWR != 0 {
                self.sk.ecn_flags &= !ecn::QUEUE_CWR;
                flags |= flag::CWR;
            }
        }
        self.emit(env, number, flags);
        if self.sk.packets_out == 1 {
            self.arm_retransmit(env.now);
        }
    }

    /// `tcp_event_data_sent`, which `__tcp_transmit_skb` calls for each packet with data before it counts as sent.
    #[inline]
    fn note_start(&mut self, control: &Control) {
        if self.sk.packets_in_flight() == 0 {
            control.cwnd_event(&mut self.sk, ca_event::TX_START);
        }
    }

    /// `tcp_xmit_retransmit_queue`: sends lost segments, lowest first, as the window allows.
    pub(super) fn retransmit_lost<T: Tap>(&mut self, env: &mut Env<T>) {
        let (mut rearm, mut held) = (false, false);
        while let Some(segment) = self.board.next_to_resend() {
            let room = self.sk.packets_in_flight() < self.sk.snd_cwnd;
            if !room && !self.free_retransmission {
                break;
            }
            // This does not hold if rules (3) and (4) of NextSeg have sent segments again that are not known to be
            // lost.
            let all_sent = self.sk.retrans_out >= self.sk.lost_out && !self.follows_rfc_6675();
            if all_sent || self.pacer_holds(env) {
                break;
            }
            held = self.small_queue_holds(segment) || !self.resend(env, segment);
            if held {
                break;
            }
            self.free_retransmission = false;
            self.high_rxt = self.high_rxt.max(segment + 1);
            self.note_sent_in_reduction(1);
            rearm |= segment == self.board.una && !self.waits_for_reordering() && !self.leaves_timer_running();
        }
        self.free_retransmission &= held;
        if rearm {
            self.arm_retransmit(env.now);
        }
    }

    /// Reports whether RFC 6675, not RACK, chooses the retransmissions of this recovery.
    pub(super) fn follows_rfc_6675(&self) -> bool {
        self.stack.sack
            && self.stack.repair.loss_detection == LossDetection::Rfc6675
            && self.ca_state() == ca_state::RECOVERY
    }

    /// Sends segments while the window has room (RFC 6675, NextSeg). First come (1) lost segments, then (2) new data,
    /// then (3) segments below a SACKed one that are not known to be lost. Once in a recovery comes (4) the end of the
    /// outstanding data, which shows the loss of a tail.
    pub(super) fn send_next_segments<T: Tap>(&mut self, env: &mut Env<T>) {
        self.retransmit_lost(env);
        self.transmit_new(env);
        while !self.has_new_data()
            && self.sk.packets_in_flight() < self.sk.snd_cwnd
            && !self.pacer_holds(env)
            && !self.small_queue_holds(self.board.una)
        {
            let from = self.high_rxt.max(self.lost_below);
            let suspected = self.board.undelivered_in(from, self.board.highest_sacked);
            let Some(segment) = suspected.or_else(|| self.rescue()) else { break };
            if !self.resend(env, segment) {
                break;
            }
            if suspected.is_some() {
                self.high_rxt = segment + 1;
            }
            self.note_sent_in_reduction(1);
        }
    }

    /// Finds the segment of rule (4): the highest that has not been SACKed, unless it is on its way again.
    fn rescue(&mut self) -> Option<u32> {
        if self.rescued {
            return None;
        }
        self.rescued = true;
        self.board.highest_undelivered().filter(|segment| self.board.get(*segment).state & state::RETRANS == 0)
    }

    /// `tcp_retransmit_skb`: sends a lost segment again and counts it as in flight. Returns false if it has not left
    /// the host, which counts for an undo nevertheless.
    pub(super) fn resend<T: Tap>(&mut self, env: &mut Env<T>, segment: u32) -> bool {
        let sent = self.send_again(env, segment);
        let s = self.board.get_mut(segment);
        if sent && s.state & state::RETRANS == 0 {
            s.state |= state::RETRANS;
            self.sk.retrans_out += 1;
        }
        if self.sk.retrans_stamp == 0 {
            self.sk.retrans_stamp = s.sent_us;
        }
        self.sk.undo_retrans = self.sk.undo_retrans.max(0) + 1;
        sent
    }

    /// `__tcp_retransmit_skb`: puts a segment on the wire again. Returns false if it has not left the host.
    pub(super) fn send_again<T: Tap>(&mut self, env: &mut Env<T>, segment: u32) -> bool {
        if self.is_still_in_host(segment) || !self.host_has_room(env, segment..segment + 1) {
            return false;
        }
        self.enters_host(segment..segment + 1);
        self.sk.total_retrans += 1;
        self.sk.bytes_retrans += (self.segment_bytes(segment) - self.header) as u64;
        self.note_start(env.control);
        let fresh = rate::on_sent(&mut self.sk);
        let s = self.board.get_mut(segment);
        let Segment { sent_us, first_tx_us, delivered_us, delivered, delivered_ce, .. } = fresh;
        (s.sent_us, s.first_tx_us, s.delivered_us) = (sent_us, first_tx_us, delivered_us);
        (s.delivered, s.delivered_ce) = (delivered, delivered_ce);
        s.state |= state::EVER_RETRANS;
        if s.state & state::SACKED == 0 {
            self.board.resent(segment);
        }
        let ect = self.sk.ecn_flags & ecn::OK != 0 && env.control.needs_ecn();
        self.emit(env, segment, flag::RETRANSMISSION | if ect { flag::ECT } else { 0 });
        true
    }

    /// Hands a segment to the network and updates its counters.
    #[inline(always)]
    fn emit<T: Tap>(&mut self, env: &mut Env<T>, segment: u32, mut flags: u8) {
        // The compiler knows here whether this is a retransmission, and not below.
        let again = flags & flag::RETRANSMISSION != 0;
        if if again { self.pushes.sends_again(segment) } else { self.pushes.sends(segment) } {
            flags |= flag::PSH;
        }
        let bytes = self.segment_bytes(segment);
        let counts = self.meter.sent(env.now, again);
        let (flow, tos, tsval) = (self.flow, self.tos, self.timestamp());
        let (band, is_followed) = (self.band, self.is_followed);
        let tsecr = self.sk.rx_opt.ts_recent;
        let data = Data { flow, segment, tsval, tsecr, bytes: bytes as u16, flags, counts, tos, band, is_followed };
        let sk = &mut self.sk;
        sk.segs_out = sk.segs_out.wrapping_add(1);
        sk.data_segs_out = sk.data_segs_out.wrapping_add(1);
        sk.bytes_sent += (bytes - self.header) as u64;
        sk.lsndtime = env.jiffies;
        if sk.inet_conn.sk.sk_pacing_status != 0 {
            self.charge_pacer(env.now, bytes - self.header);
        }
        if !env.send(data) {
            self.leaves_host(&data);
        }
    }

    /// Sends the SYN. Only the first one asks for ECN, because the path may drop SYNs that ask (RFC 3168, section
    /// 6.1.1.1; `tcp_ecn_clear_syn`).
    pub(super) fn emit_syn<T: Tap>(&mut self, env: &mut Env<T>) {
        let asks_for_ecn = self.stack.ecn && self.sk.total_retrans == 0;
        let negotiate = if asks_for_ecn { flag::ECE | flag::CWR } else { 0 };
        self.emit_without_data(env, 0, syn_bytes(&self.stack), flag::SYN | negotiate);
    }

    /// Sends the probe of a closed window (`tcp_xmit_probe_skb`).
    pub(super) fn emit_probe<T: Tap>(&mut self, env: &mut Env<T>) {
        self.emit_without_data(env, self.board.una, self.header, flag::BARE | flag::RETRANSMISSION);
    }

    /// `tcp_send_ack`: sends the third packet of the handshake, or the answer to an unacceptable packet.
    pub(super) fn emit_duplicate_ack<T: Tap>(&mut self, env: &mut Env<T>) {
        self.emit_without_data(env, self.board.nxt, self.header, flag::BARE);
    }

    fn emit_without_data<T: Tap>(&mut self, env: &mut Env<T>, segment: u32, bytes: u32, flags: u8) {
        let tsval = self.ticks(clock::micros(env.now));
        let ect = self.sk.ecn_flags & ecn::OK != 0 && env.control.needs_ecn();
        let flags = flags | if ect { flag::ECT } else { 0 };
        self.choose_band(env.now, PacketKind::TcpControl);
        let (flow, tos, band, is_followed) = (self.flow, self.tos, self.band, false);
        let tsecr = self.sk.rx_opt.ts_recent;
        let bytes = bytes as u16;
        let data = Data { flow, segment, tsval, tsecr, bytes, flags, counts: false, tos, band, is_followed };
        self.handshake_enters_host(&data);
        if !env.send(data) {
            self.leaves_host(&data);
        }
    }

    /// `tcp_pacing_check`: reports whether the next segment has to wait. If so, the sender wakes up when it may leave.
    pub(super) fn pacer_holds<T: Tap>(&mut self, env: &mut Env<T>) -> bool {
        let due = Nanos(self.sk.tcp_wstamp_ns);
        if self.sk.inet_conn.sk.sk_pacing_status == 0 || due <= clock::ktime(env.now) {
            return false;
        }
        self.pace_at = due - clock::BOOT;
        true
    }

    /// `tcp_update_skb_after_send`: sets the time at which the next segment may leave. The pacing rate counts payload.
    fn charge_pacer(&mut self, now: Nanos, payload: u32) {
        let due = self.sk.tcp_wstamp_ns;
        let rate = self.sk.inet_conn.sk.sk_pacing_rate;
        // A retransmission that did not ask the pacer still defers the next segment.
        let departure = due.max(clock::ktime(now).0);
        self.sk.tcp_wstamp_ns = departure;
        let unpaced = self.gate.is_some() || self.sk.data_segs_out < UNPACED_SEGMENTS;
        if rate == 0 || rate == u64::MAX || unpaced {
            return;
        }
        let length = payload as u64 * 1_000_000_000 / rate;
        // A sender that woke late may catch up half a segment.
        self.sk.tcp_wstamp_ns += length - (length / 2).min(departure - due);
    }

    /// Updates the gate after an acknowledgement, if there is one.
    pub(super) fn close_gate(&mut self, now: Nanos) {
        if let Some(gate) = &mut self.gate {
            let wait = Nanos::from_micros(self.sk.sim.period_us.into());
            *gate = gate.acknowledged(self.board.una, self.board.nxt, wait, now);
        }
    }

    /// Reports whether the next new segment has to wait for the gate. If the gate opens by itself, the sender wakes up
    /// then.
    pub(super) fn gate_holds<T>(&mut self, env: &Env<T>) -> bool {
        match self.gate {
            None | Some(Gate::Open) => return false,
            Some(Gate::Closed(_)) => return true,
            Some(Gate::Waiting(until)) if until > env.now => self.pace_at = until,
            Some(Gate::Waiting(_)) => self.gate = Some(Gate::Open),
        }
        self.gate != Some(Gate::Open)
    }
}
