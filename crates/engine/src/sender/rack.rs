//! Loss detection: by time (RACK, RFC 8985), by SACKed segments above (RFC 6675), or by duplicates (RFC 6582).

use super::{DUPLICATE_THRESHOLD, Sender};
use crate::clock::after;
use crate::scoreboard::state;
use crate::sender::rate::sent_after;
use mechanism::sock::ca_state;
use model::{LossDetection, Reduction};

/// Number of holes younger than the reordering window above which the newest delivery sets the timer, in place of a
/// walk.
const WALK: usize = 16;
/// `max_reordering`.
pub const MAX_REORDERING: u32 = 300;
/// `TCP_RACK_RECOVERY_THRESH`: number of recoveries for which a widened reordering window lasts.
pub const REORDERING_PERSISTS: u8 = 16;

impl Sender {
    /// `tcp_mark_skb_lost`, for a segment not SACKed.
    pub(super) fn mark_lost(&mut self, segment: u32) {
        let before = self.board.get(segment).state;
        if before & state::SACKED != 0 {
            return;
        }
        if before & state::LOST != 0 {
            if before & state::RETRANS == 0 {
                return;
            }
        } else {
            self.sk.lost_out += 1;
        }
        if before & state::RETRANS != 0 {
            self.sk.retrans_out -= 1;
        }
        self.sk.lost += 1;
        self.board.mark_lost(segment);
    }

    /// `tcp_skb_spurious_retrans`: reports whether the echoed timestamp is older than the last transmission, so that an
    /// earlier one was acknowledged (RFC 8985, section 6.2, step 2).
    #[inline]
    pub(super) fn is_spurious_retransmission(&self, state_bits: u8, sent_us: u64) -> bool {
        state_bits & (state::RETRANS | state::EVER_RETRANS) != 0 && self.echo_precedes(sent_us)
    }

    /// `tcp_rack_advance`: notes a delivered segment, and remembers the one sent last.
    #[inline]
    pub(super) fn rack_advance(&mut self, state_bits: u8, end_seq: u32, sent_us: u64) {
        let sk = &mut self.sk;
        let rtt_us = u32::try_from(sk.tcp_mstamp - sent_us).unwrap_or(u32::MAX);
        // Faster than the path: the original, not the retransmission, was acknowledged.
        if rtt_us < sk.min_rtt_us() && state_bits & state::EVER_RETRANS != 0 {
            return;
        }
        sk.rack.advanced = 1;
        sk.rack.rtt_us = rtt_us;
        if sent_after(sent_us, sk.rack.mstamp, end_seq, sk.rack.end_seq) {
            sk.rack.mstamp = sent_us;
            sk.rack.end_seq = end_seq;
        }
    }

    /// The settling time for reordered segments (RFC 8985, section 6.2, step 4), us.
    fn reordering_window_us(&self) -> u32 {
        let sk = &self.sk;
        if sk.reord_seen == 0 && (self.ca_state() >= ca_state::RECOVERY || sk.sacked_out >= sk.reordering) {
            return 0;
        }
        ((sk.min_rtt_us() >> 2).saturating_mul(sk.rack.reo_wnd_steps as u32)).min(sk.srtt_us >> 3)
    }

    /// Time until a segment counts as lost, us; zero or negative if it already does.
    fn rack_remaining_us(&self, sent_us: u64, reordering_window_us: u32) -> i64 {
        let sk = &self.sk;
        sk.rack.rtt_us as i64 + reordering_window_us as i64 - (sk.tcp_mstamp - sent_us) as i64
    }

    /// Marks segments that RACK holds for lost. Returns the time (us) until it may mark more, if any segment is in
    /// doubt.
    pub(super) fn rack_detect_loss(&mut self) -> Option<u64> {
        let window = self.reordering_window_us();
        let mut next = self.board.oldest_in_flight();
        let mut in_doubt = 0;
        let mut wait = None;
        while let Some(segment) = next {
            let sent_us = self.board.get(segment).sent_us;
            let end_seq = self.seq(segment + 1);
            if !sent_after(self.sk.rack.mstamp, sent_us, self.sk.rack.end_seq, end_seq) {
                break;
            }
            next = self.board.sent_after(segment);
            let remaining = self.rack_remaining_us(sent_us, window);
            if remaining <= 0 {
                self.mark_lost(segment);
                self.board.give_up(segment);
                continue;
            }
            wait = Some(remaining as u64);
            in_doubt += 1;
            if in_doubt == WALK {
                return Some(self.rack_remaining_us(self.sk.rack.mstamp, window).max(1) as u64);
            }
        }
        wait
    }

    /// `tcp_rack_update_reo_wnd`: widens the reordering window if a DSACK shows that it was too short.
    pub(super) fn update_reordering_window(&mut self, prior_delivered: u32) {
        let sk = &mut self.sk;
        if prior_delivered == 0 {
            return;
        }
        if after(sk.rack.last_delivered, prior_delivered) {
            sk.rack.dsack_seen = 0;
        }
        if sk.rack.dsack_seen != 0 {
            sk.rack.reo_wnd_steps = sk.rack.reo_wnd_steps.saturating_add(1);
            sk.rack.dsack_seen = 0;
            sk.rack.last_delivered = sk.delivered;
            sk.rack.reo_wnd_persist = REORDERING_PERSISTS;
        } else if sk.rack.reo_wnd_persist == 0 {
            sk.rack.reo_wnd_steps = 1;
        }
    }

    /// `tcp_identify_packet_loss`.
    pub(super) fn identify_loss(&mut self, flags: &mut u32, now: model::units::Nanos) {
        use super::ack_flag::{LOST_RETRANS, SET_XMIT_TIMER, SND_UNA_ADVANCED};
        if self.board.is_empty() {
            return;
        }
        if !self.stack.sack {
            self.newreno_mark_lost(*flags & SND_UNA_ADVANCED != 0);
            return;
        }
        let prior = self.sk.retrans_out;
        match self.stack.repair.loss_detection {
            LossDetection::Rfc6675 => {
                self.mark_lost_below_sacked();
                return;
            }
            LossDetection::Ns2 => {
                self.mark_lost_repairs();
                self.mark_lost_below_sacked();
            }
            LossDetection::Rack if self.sk.rack.advanced != 0 => {
                self.sk.rack.advanced = 0;
                if let Some(wait_us) = self.rack_detect_loss() {
                    self.arm_reordering_timer(wait_us, now);
                    *flags &= !SET_XMIT_TIMER;
                }
            }
            LossDetection::Rack => {}
        }
        if prior > self.sk.retrans_out {
            *flags |= LOST_RETRANS;
        }
    }

    /// Clears the scoreboard when a repair ends, as ns-2.35 does (`scoreboard1.cc`). Outstanding segments then count as
    /// in flight until later acknowledgements show again that they are lost. Returns whether this stack does so.
    pub(super) fn forget_losses(&mut self) -> bool {
        if self.stack.repair.loss_detection != LossDetection::Ns2 {
            return false;
        }
        self.board.forget_repairs();
        (self.sk.lost_out, self.sk.retrans_out) = (0, 0);
        (self.lost_below, self.sacked_above) = (self.board.una, self.sk.sacked_out);
        true
    }

    /// Marks a retransmission lost if a segment arrives that was sent after it.
    fn mark_lost_repairs(&mut self) {
        let mut next = self.board.oldest_in_flight();
        while let Some(segment) = next {
            let known = self.board.get(segment);
            let (sent_us, bits) = (known.sent_us, known.state);
            if !sent_after(self.sk.rack.mstamp, sent_us, self.sk.rack.end_seq, self.seq(segment + 1)) {
                break;
            }
            next = self.board.sent_after(segment);
            if bits & state::RETRANS != 0 {
                self.mark_lost(segment);
                self.board.give_up(segment);
            }
        }
    }

    /// Marks the head lost at the third duplicate and at every partial acknowledgement (RFC 6582), without SACK. RFC
    /// 6582 sends it even if the window is full; Linux leaves that to PRR (`tcp_newreno_mark_lost`).
    fn newreno_mark_lost(&mut self, advanced: bool) {
        let recovering = self.ca_state() == ca_state::RECOVERY;
        let third_duplicate = self.ca_state() < ca_state::RECOVERY && self.sk.sacked_out >= self.sk.reordering;
        let partial = recovering && advanced;
        if !third_duplicate && !partial {
            return;
        }
        let head = self.board.una;
        if self.board.get(head).state & state::LOST == 0 {
            self.mark_lost(head);
            self.free_retransmission = self.stack.repair.reduction == Reduction::AtOnce;
        }
    }

    /// RFC 6675, IsLost: marks segments with three SACKed segments above them. This test covers both of its conditions.
    /// Of three segments at most the last is short, so they hold more than two times the MSS. Fewer than three hold no
    /// more, and cannot make three SACKed ranges.
    ///
    /// The bound only moves up, so the loop visits every segment once. A segment that a timeout gave up and sent again
    /// before that is not given up twice. Segments that NextSeg's rules (3) and (4) sent again stay in flight.
    fn mark_lost_below_sacked(&mut self) {
        while self.sacked_above >= DUPLICATE_THRESHOLD {
            let segment = self.lost_below;
            let known = self.board.get(segment).state;
            if known & state::SACKED != 0 {
                if self.sacked_above == DUPLICATE_THRESHOLD {
                    break;
                }
                self.sacked_above -= 1;
            } else if known & state::LOST == 0 && known & state::RETRANS != 0 {
                self.sk.lost_out += 1;
                self.sk.lost += 1;
                self.board.mark_lost_after_resending(segment);
            } else if known & state::LOST == 0 {
                self.mark_lost(segment);
            }
            self.lost_below += 1;
        }
    }

    /// Updates the bound of `mark_lost_below_sacked` when the segment `una` leaves the window.
    #[inline]
    pub(super) fn forget_below(&mut self, segment: u32, state_bits: u8) {
        if self.lost_below <= segment {
            self.lost_below = segment + 1;
            self.sacked_above -= (state_bits & state::SACKED != 0) as u32;
        }
    }

    /// `tcp_check_sack_reordering`: notes the delivery of an old segment that was never sent again.
    pub(super) fn note_reordering(&mut self, low: u32) {
        let highest = self.board.highest_sacked;
        if low >= highest {
            return;
        }
        let distance = highest - low;
        if distance > self.sk.reordering {
            self.sk.reordering = distance.min(MAX_REORDERING);
        }
        self.sk.reord_seen += 1;
    }
}
