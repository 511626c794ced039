//! The states Open, Disorder, CWR, Recovery and Loss, and the transitions between them (`tcp_fastretrans_alert` and its
//! callees).

use super::window::RateHalving;
use super::{AckContext, DUPLICATE_THRESHOLD, Env, Sender, ack_flag as flag, rack, window};
use crate::clock::{self, after, before};
use crate::scoreboard::state;
use crate::tap::Tap;
use mechanism::Control;
use mechanism::sock::{INFINITE_SSTHRESH, ca_event, ca_state, ecn};
use model::units::Nanos;
use model::{LossDetection, Reduction};

/// Segments that may leave once the window is set: the kernel's `REXMIT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rexmit {
    /// New data as usual.
    None,
    /// Lost segments first.
    Lost,
    /// New data first: its acknowledgement shows whether the timeout was spurious.
    New,
}

impl Sender {
    /// Moves the state machine by one acknowledgement.
    pub(super) fn run_state_machine<T: Tap>(&mut self, env: &mut Env<T>, prior_una: u32, g: &mut AckContext) -> Rexmit {
        let duplicate = g.flags & (flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DSACKING_ACK) == 0;
        if g.flags & flag::ECE != 0 {
            self.sk.prior_ssthresh = 0;
        }
        if self.ca_state() == ca_state::OPEN {
            self.sk.retrans_stamp = 0;
        } else if !before(self.sk.snd_una, self.sk.high_seq) && self.leave_state(env) {
            return Rexmit::None;
        }
        match self.ca_state() {
            ca_state::RECOVERY => self.on_ack_in_recovery(env, prior_una, duplicate, g),
            ca_state::LOSS => self.on_ack_in_loss(env, duplicate, g),
            _ => self.on_ack_in_open(env, duplicate, g),
        }
    }

    /// Leaves the state when all segments that were outstanding at its start have been acknowledged. Returns true to
    /// stay in the state for now.
    fn leave_state<T: Tap>(&mut self, env: &mut Env<T>) -> bool {
        match self.ca_state() {
            // The CWR bit must reach the receiver: something above high_seq has to be acknowledged.
            ca_state::CWR if self.sk.snd_una != self.sk.high_seq => {
                self.end_cwnd_reduction(env.control);
                self.set_ca_state(env.control, ca_state::OPEN);
            }
            ca_state::RECOVERY => {
                if !self.stack.sack {
                    self.sk.sacked_out = 0;
                }
                if self.try_undo_recovery(env) {
                    return true;
                }
                let forgets = self.forget_losses();
                self.end_cwnd_reduction(env.control);
                return forgets;
            }
            _ => {}
        }
        false
    }

    fn on_ack_in_recovery<T: Tap>(
        &mut self,
        env: &mut Env<T>,
        prior_una: u32,
        duplicate: bool,
        g: &mut AckContext,
    ) -> Rexmit {
        let ece = g.flags & flag::ECE != 0;
        if g.flags & flag::SND_UNA_ADVANCED == 0 {
            self.add_duplicate(duplicate, ece);
        } else if self.try_undo_partial(env, prior_una) {
            return Rexmit::None;
        }
        if self.try_undo_dsack(env) {
            self.try_to_open(env.control, g.flags);
        }
        self.identify_loss(&mut g.flags, env.now);
        if self.ca_state() != ca_state::RECOVERY {
            if self.sk.lost_out == 0 {
                return Rexmit::None;
            }
            self.enter_recovery(env.control, ece);
        }
        Rexmit::Lost
    }

    fn on_ack_in_loss<T: Tap>(&mut self, env: &mut Env<T>, duplicate: bool, g: &mut AckContext) -> Rexmit {
        let next = self.process_loss(env, duplicate, g);
        self.identify_loss(&mut g.flags, env.now);
        if self.ca_state() != ca_state::OPEN && g.flags & flag::LOST_RETRANS == 0 {
            return next;
        }
        self.on_ack_in_open(env, false, g)
    }

    fn on_ack_in_open<T: Tap>(&mut self, env: &mut Env<T>, duplicate: bool, g: &mut AckContext) -> Rexmit {
        let ece = g.flags & flag::ECE != 0;
        if !self.stack.sack {
            if g.flags & flag::SND_UNA_ADVANCED != 0 {
                self.sk.sacked_out = 0;
            }
            self.add_duplicate(duplicate, ece);
        }
        if self.ca_state() <= ca_state::DISORDER {
            self.try_undo_dsack(env);
        }
        self.identify_loss(&mut g.flags, env.now);
        if self.sk.lost_out == 0 {
            self.try_to_open(env.control, g.flags);
            return Rexmit::None;
        }
        self.enter_recovery(env.control, ece);
        Rexmit::Lost
    }

    /// `tcp_enter_recovery`.
    pub(super) fn enter_recovery(&mut self, control: &Control, ece: bool) {
        self.sk.prior_ssthresh = 0;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            if !ece {
                self.sk.prior_ssthresh = window::current_ssthresh(&self.sk);
            }
            self.begin_cwnd_reduction(control);
        }
        self.set_ca_state(control, ca_state::RECOVERY);
    }

    /// `tcp_init_cwnd_reduction`.
    pub(super) fn begin_cwnd_reduction(&mut self, control: &Control) {
        self.sk.high_seq = self.sk.snd_nxt;
        self.sk.tlp_high_seq = 0;
        self.sk.snd_cwnd_cnt = 0;
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.prr_delivered = 0;
        self.sk.prr_out = 0;
        self.partially_acked = false;
        self.high_rxt = self.board.una;
        self.rescued = false;
        self.sk.snd_ssthresh = control.ssthresh(&mut self.sk);
        self.queue_cwr();
        if control.has_cong_control() {
            return;
        }
        match self.stack.repair.reduction {
            Reduction::AtOnce => {
                self.sk.snd_cwnd = self.sk.snd_ssthresh;
                self.free_retransmission = true;
            }
            Reduction::Prr => {}
            Reduction::Halving => self.halving = RateHalving::begin(&self.sk),
        }
    }

    fn queue_cwr(&mut self) {
        if self.sk.ecn_flags & ecn::OK != 0 {
            self.sk.ecn_flags |= ecn::QUEUE_CWR;
        }
    }

    /// `tcp_end_cwnd_reduction`.
    pub(super) fn end_cwnd_reduction(&mut self, control: &Control) {
        if control.has_cong_control() {
            return;
        }
        let reduced = self.ca_state() == ca_state::CWR || self.sk.undo_marker != 0;
        if self.sk.snd_ssthresh < INFINITE_SSTHRESH && reduced {
            self.sk.snd_cwnd = match self.stack.repair.reduction {
                Reduction::Halving => self.halving.window_after(&self.sk),
                Reduction::AtOnce | Reduction::Prr => self.sk.snd_ssthresh,
            };
            self.sk.snd_cwnd_stamp = clock::jiffies_at(self.sk.tcp_mstamp);
        }
        control.cwnd_event(&mut self.sk, ca_event::COMPLETE_CWR);
    }

    /// `tcp_enter_cwr`: reduces the window for a mark, not for a loss.
    pub(super) fn enter_cwr(&mut self, control: &Control) {
        self.sk.prior_ssthresh = 0;
        if self.ca_state() < ca_state::CWR {
            self.sk.undo_marker = 0;
            self.begin_cwnd_reduction(control);
            self.set_ca_state(control, ca_state::CWR);
        }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, control: &Control, flags: u32) {
        if !self.any_retransmission_done() {
            self.sk.retrans_stamp = 0;
        }
        if flags & flag::ECE != 0 {
            self.enter_cwr(control);
        }
        if self.ca_state() != ca_state::CWR {
            self.keep_open(control);
        }
    }

    /// `tcp_try_keep_open`.
    pub(super) fn keep_open(&mut self, control: &Control) {
        let holes = self.sk.sacked_out + self.sk.lost_out > 0 || self.any_retransmission_done();
        let target = if holes { ca_state::DISORDER } else { ca_state::OPEN };
        if self.ca_state() != target {
            self.set_ca_state(control, target);
            self.sk.high_seq = self.sk.snd_nxt;
        }
    }

    /// `tcp_any_retrans_done`.
    fn any_retransmission_done(&self) -> bool {
        self.sk.retrans_out > 0
            || (!self.board.is_empty() && self.board.get(self.board.una).state & state::EVER_RETRANS != 0)
    }

    /// `tcp_enter_loss`: the retransmission timer expired.
    pub(super) fn enter_loss(&mut self, control: &Control, now: Nanos) {
        let first_of_episode = self.ca_state() < ca_state::RECOVERY;
        self.mark_all_lost();
        if self.ca_state() <= ca_state::DISORDER
            || !after(self.sk.high_seq, self.sk.snd_una)
            || (self.ca_state() == ca_state::LOSS && self.sk.inet_conn.icsk_retransmits == 0)
        {
            self.sk.prior_ssthresh = window::current_ssthresh(&self.sk);
            self.sk.prior_cwnd = self.sk.snd_cwnd;
            self.sk.snd_ssthresh = control.ssthresh(&mut self.sk);
            control.cwnd_event(&mut self.sk, ca_event::LOSS);
            self.init_undo();
        }
        self.sk.snd_cwnd = self.sk.packets_in_flight() + 1;
        self.sk.snd_cwnd_cnt = 0;
        self.sk.snd_cwnd_stamp = clock::jiffies(now);
        if self.ca_state() <= ca_state::DISORDER && self.sk.sacked_out >= DUPLICATE_THRESHOLD {
            self.sk.reordering = self.sk.reordering.min(DUPLICATE_THRESHOLD);
        }
        self.set_ca_state(control, ca_state::LOSS);
        self.sk.high_seq = self.sk.snd_nxt;
        self.sk.tlp_high_seq = 0;
        self.queue_cwr();
        self.sk.frto = (self.stack.frto && (first_of_episode || self.sk.inet_conn.icsk_retransmits > 0)) as u8;
    }

    /// `tcp_timeout_mark_lost`. With RACK, segments sent less than an RTT ago may still arrive.
    fn mark_all_lost(&mut self) {
        if !self.stack.sack {
            self.sk.sacked_out = 0;
        }
        let head = self.board.una;
        let rtt_us = self.sk.rack.rtt_us as u64;
        for segment in head..self.board.nxt {
            let recent = self.sk.tcp_mstamp - self.board.get(segment).sent_us < rtt_us;
            if segment == head || self.stack.repair.loss_detection != LossDetection::Rack || !recent {
                self.mark_lost(segment);
            }
        }
    }

    /// `tcp_process_loss`: finds out whether the timeout is spurious (F-RTO, RFC 5682).
    fn process_loss<T: Tap>(&mut self, env: &mut Env<T>, duplicate: bool, g: &mut AckContext) -> Rexmit {
        let advanced = g.flags & flag::SND_UNA_ADVANCED != 0;
        let recovered = !before(self.sk.snd_una, self.sk.high_seq);
        if advanced && self.try_undo_loss(env, false) {
            return Rexmit::None;
        }
        if self.sk.frto != 0 {
            // Step 3.b: data that was never sent again has been acknowledged.
            if g.flags & flag::ORIG_SACK_ACKED != 0 && self.try_undo_loss(env, true) {
                return Rexmit::None;
            }
            if after(self.sk.snd_nxt, self.sk.high_seq) {
                if g.flags & flag::DATA_SACKED != 0 || duplicate {
                    self.sk.frto = 0; // Step 3.a: the loss was real.
                }
            } else if advanced && !recovered {
                self.sk.high_seq = self.sk.snd_nxt;
                // Step 2.b: probe with new data, if there is any and the receiver has room.
                if self.has_new_data() {
                    return Rexmit::New;
                }
                self.sk.frto = 0;
            }
        }
        if recovered {
            self.try_undo_recovery(env);
            self.forget_losses();
            return Rexmit::None;
        }
        if !self.stack.sack {
            if after(self.sk.snd_nxt, self.sk.high_seq) && duplicate {
                self.add_duplicate(true, g.flags & flag::ECE != 0);
            } else if advanced {
                self.sk.sacked_out = 0;
            }
        }
        Rexmit::Lost
    }

    // Undo: a reduction that proves spurious is taken back.

    /// `tcp_init_undo`.
    fn init_undo(&mut self) {
        self.sk.undo_marker = self.sk.snd_una;
        let probes_out = (self.sk.tlp_high_seq != 0 && self.sk.tlp_retrans != 0) as u32;
        let retransmissions_out = (self.sk.retrans_out + probes_out) as i32;
        // Zero would mean that each of them has proved spurious.
        self.sk.undo_retrans = if retransmissions_out > 0 { retransmissions_out } else { -1 };
    }

    /// `tcp_tsopt_ecr_before`: reports whether the echoed timestamp is older than a transmission.
    #[inline]
    pub(super) fn echo_precedes(&self, sent_us: u64) -> bool {
        let echo = self.sk.rx_opt.rcv_tsecr;
        self.stack.timestamps && echo != 0 && before(echo, self.ticks(sent_us))
    }

    /// `tcp_packet_delayed`: reports whether a segment taken for lost was only late. Its echo is older than the first
    /// retransmission (Eifel, RFC 3522), or the pacer has delayed all retransmissions. Without SACK, `retrans_stamp` is
    /// also zero while the state persists at `high_seq`.
    fn was_delayed(&self) -> bool {
        match self.sk.retrans_stamp {
            0 => self.stack.sack || before(self.sk.snd_una, self.sk.high_seq),
            first_retransmission => self.echo_precedes(first_retransmission),
        }
    }

    /// `tcp_may_undo`.
    fn may_undo(&self) -> bool {
        self.stack.undo && self.sk.undo_marker != 0 && (self.sk.undo_retrans == 0 || self.was_delayed())
    }

    /// `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, control: &Control, now: Nanos, unmark: bool) {
        if unmark {
            self.board.unmark_all_lost();
            self.sk.lost_out = 0;
        }
        if self.sk.prior_ssthresh != 0 {
            self.sk.snd_cwnd = control.undo_cwnd(&mut self.sk);
            if self.sk.prior_ssthresh > self.sk.snd_ssthresh {
                self.sk.snd_ssthresh = self.sk.prior_ssthresh;
                self.sk.ecn_flags &= !ecn::QUEUE_CWR;
            }
        }
        self.sk.snd_cwnd_stamp = clock::jiffies(now);
        self.sk.undo_marker = 0;
        self.sk.rack.advanced = 1;
    }

    /// `tcp_try_undo_recovery`. Returns true if, without SACK, the state persists until something above `high_seq` is
    /// acknowledged (RFC 6582, section 4).
    fn try_undo_recovery<T: Tap>(&mut self, env: &mut Env<T>) -> bool {
        if self.may_undo() {
            self.undo_reduction(env.control, env.now, false);
        } else if self.sk.rack.reo_wnd_persist > 0 {
            self.sk.rack.reo_wnd_persist -= 1;
        }
        if self.sk.snd_una == self.sk.high_seq && !self.stack.sack {
            if !self.any_retransmission_done() {
                self.sk.retrans_stamp = 0;
            }
            return true;
        }
        self.set_ca_state(env.control, ca_state::OPEN);
        false
    }

    /// `tcp_try_undo_partial`. Returns true to send nothing until the retransmissions in flight are accounted for.
    fn try_undo_partial<T: Tap>(&mut self, env: &mut Env<T>, prior_una: u32) -> bool {
        if !self.stack.undo || self.sk.undo_marker == 0 || !self.was_delayed() {
            return false;
        }
        self.note_reordering(prior_una);
        if self.sk.retrans_out > 0 {
            return true;
        }
        if !self.any_retransmission_done() {
            self.sk.retrans_stamp = 0;
        }
        self.undo_reduction(env.control, env.now, true);
        self.keep_open(env.control);
        false
    }

    /// `tcp_try_undo_dsack`: undoes the reduction if every retransmission was a duplicate.
    fn try_undo_dsack<T: Tap>(&mut self, env: &mut Env<T>) -> bool {
        if !self.stack.undo || self.sk.undo_marker == 0 || self.sk.undo_retrans != 0 {
            return false;
        }
        self.sk.rack.reo_wnd_persist = (self.sk.rack.reo_wnd_persist + 1).min(rack::REORDERING_PERSISTS);
        self.undo_reduction(env.control, env.now, false);
        true
    }

    /// `tcp_try_undo_loss`.
    fn try_undo_loss<T: Tap>(&mut self, env: &mut Env<T>, by_frto: bool) -> bool {
        let proven = by_frto && self.stack.undo;
        if !proven && !self.may_undo() {
            return false;
        }
        self.undo_reduction(env.control, env.now, true);
        self.sk.inet_conn.icsk_retransmits = 0;
        if self.sk.snd_una == self.sk.high_seq && !self.stack.sack {
            return true;
        }
        if by_frto || self.stack.sack {
            self.set_ca_state(env.control, ca_state::OPEN);
        }
        true
    }

    // Without SACK, a duplicate acknowledgement says that some segment has left the network.

    /// `tcp_add_reno_sack`.
    fn add_duplicate(&mut self, duplicate: bool, ece: bool) {
        if self.stack.sack || !duplicate {
            return;
        }
        let prior = self.sk.sacked_out;
        self.sk.sacked_out += 1;
        self.limit_duplicates(0);
        if self.sk.sacked_out > prior {
            self.count_delivered(1, ece);
        }
    }

    /// The "impatient" variant of RFC 6582, section 4: only the first partial acknowledgement of a recovery restarts
    /// the timer. If many segments are lost, one round trip for each would take longer than a timeout and slow start.
    pub(super) fn leaves_timer_running(&self) -> bool {
        !self.stack.sack
            && self.stack.repair.reduction == Reduction::AtOnce
            && self.ca_state() == ca_state::RECOVERY
            && before(self.sk.snd_una, self.sk.high_seq)
            && self.partially_acked
    }

    /// `tcp_remove_reno_sacks`: one acknowledged segment was the hole, the others had been counted as duplicates.
    pub(super) fn remove_duplicates(&mut self, acked: u32, ece: bool) {
        self.count_delivered(acked.saturating_sub(self.sk.sacked_out).max(1), ece);
        self.sk.sacked_out = self.sk.sacked_out.saturating_sub(acked - 1);
        self.limit_duplicates(acked);
    }

    /// `tcp_check_reno_reordering`: limits the duplicates to the segments that can have caused them.
    fn limit_duplicates(&mut self, acked: u32) {
        let holes = self.sk.lost_out.max(1).min(self.sk.packets_out);
        if self.sk.sacked_out + holes > self.sk.packets_out {
            self.sk.sacked_out = self.sk.packets_out - holes;
            self.sk.reordering = (self.sk.packets_out + acked).min(rack::MAX_REORDERING);
            self.sk.reord_seen += 1;
        }
    }
}
