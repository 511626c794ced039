//! Effects of an acknowledgement, in the order in which the kernel's `tcp_ack` works.

use super::recovery::Rexmit;
use super::{AckContext, Env, Phase, Sender, ack_flag as flag, rate, rtt, window};
use crate::clock::{after, before};
use crate::packet::{Ack, PAWS_WINDOW, age, flag as packet_flag, is_replay, route};
use crate::scoreboard::state;
use crate::tap::Tap;
use mechanism::Control;
use mechanism::sock::{AckSample, ack_event, ca_state, ecn};
use model::units::Nanos;
use model::{LossDetection, Reduction};

/// Findings from the segments that an acknowledgement removes from the window.
#[derive(Default)]
struct Acked {
    count: u32,
    /// Transmission times of the first and the last segment that was never sent twice and not SACKed, us.
    first_us: Option<u64>,
    last_us: u64,
    /// The lowest segment that was acknowledged in full and never sent twice.
    lowest_original: Option<u32>,
}

impl Sender {
    /// Handles an acknowledgement that arrives at `env.now`.
    pub fn on_ack<T: Tap>(&mut self, env: &mut Env<T>, ack: &Ack) {
        self.set_clock(env.now);
        self.read_timestamps(ack);
        if ack.flags & packet_flag::SYN != 0 {
            return self.on_syn_ack(env, ack);
        }
        if self.phase != Phase::Established {
            return;
        }
        let updates_window = self.updates_window(ack);
        let age = if self.stack.timestamps { age(self.sk.rx_opt.ts_recent, ack.tsval) } else { 0 };
        if age > PAWS_WINDOW && !self.is_disordered(ack, updates_window, age) {
            return self.answer_unacceptable(env);
        }
        if age < 0 {
            self.sk.rx_opt.ts_recent = ack.tsval;
        }
        if ack.next < self.board.una {
            return self.on_older_ack(env, ack);
        }
        let is_predicted = is_plain(ack) && ack.window == self.sk.snd_wnd && age <= 0;
        if updates_window {
            self.sk.snd_wnd = ack.window;
            self.sk.max_window = self.sk.max_window.max(ack.window);
        }
        self.sk.rcv_tstamp = env.jiffies;
        let updates = if updates_window { flag::WIN_UPDATE } else { 0 };
        let probes = self.process(env, ack, updates | if is_predicted { 0 } else { flag::SLOWPATH });
        if self.board.una == self.segments && self.send_queue.ends_at(self.segments) {
            self.meter.complete(env.now, self.start);
            return self.finish();
        }
        if self.push_pending(env) == 0 && probes {
            self.schedule_loss_probe(true, env.now);
        }
    }

    /// `tcp_data_snd_check`: sends new segments, and returns their number.
    #[inline]
    fn push_pending<T: Tap>(&mut self, env: &mut Env<T>) -> u32 {
        let sent = self.transmit_new(env);
        if self.sk.packets_out == 0 {
            self.arm_persist_timer(env.now);
        }
        self.let_application_write(env, self.board.nxt);
        sent
    }

    /// `tcp_may_update_window`, for an acknowledgement that carries no data.
    #[inline]
    fn updates_window(&self, ack: &Ack) -> bool {
        ack.next > self.board.una || ack.window > self.sk.snd_wnd || ack.window == 0
    }

    /// `tcp_disordered_ack`: reports whether the acknowledgement is a duplicate that others have overtaken, and no
    /// older than a timeout.
    #[cold]
    fn is_disordered(&self, ack: &Ack, updates_window: bool, age: i32) -> bool {
        let is_duplicate = ack.next == self.board.una && !updates_window;
        is_duplicate && is_replay(age, self.sk.inet_conn.icsk_rto, self.stack.tcp_usec_ts)
    }

    /// Answers an unacceptable packet with the sender's state, and drops it. Such a packet is an acknowledgement that
    /// others have overtaken (RFC 7323, section 5.3; `tcp_validate_incoming`), or a repeated SYN-ACK.
    #[cold]
    fn answer_unacceptable<T: Tap>(&mut self, env: &mut Env<T>) {
        if self.invalid_rate.allows(env.now) {
            self.emit_duplicate_ack(env);
        }
    }

    /// The end of `tcp_ack` for an acknowledgement below `snd_una`, from within a tick of the newest. It uses the SACK
    /// blocks, unless the acknowledgement is too old by far (RFC 5961, section 5.2).
    #[cold]
    fn on_older_ack<T: Tap>(&mut self, env: &mut Env<T>, ack: &Ack) {
        let window = (self.sk.max_window as u64).min(self.sk.bytes_acked) as u32;
        if self.sk.snd_una.wrapping_sub(self.seq(ack.next)) > window {
            return self.answer_unacceptable(env);
        }
        if ack.block_count > 0 {
            let prior_una = self.board.una;
            let mut g = AckContext { flags: flag::SLOWPATH, ..Default::default() };
            g.rate.prior_in_flight = self.sk.packets_in_flight();
            self.read_sack_blocks(ack, &mut g);
            let rexmit = self.run_state_machine(env, prior_una, &mut g);
            self.meter.cwnd(env.now, self.sk.snd_cwnd);
            self.recover(env, rexmit);
        }
        self.push_pending(env);
    }

    /// Writes the timestamps option to the socket, as `tcp_parse_options` does.
    #[inline]
    fn read_timestamps(&mut self, ack: &Ack) {
        if self.stack.timestamps {
            let options = &mut self.sk.rx_opt;
            (options.saw_tstamp, options.rcv_tsval, options.rcv_tsecr) = (1, ack.tsval, ack.tsecr);
        }
    }

    fn on_syn_ack<T: Tap>(&mut self, env: &mut Env<T>, ack: &Ack) {
        if self.phase == Phase::Established {
            // `tcp_send_challenge_ack` (RFC 5961, section 4.2)
            return self.answer_unacceptable(env);
        }
        if self.phase != Phase::SynSent {
            return;
        }
        self.sk.rx_opt.ts_recent = self.sk.rx_opt.rcv_tsval;
        self.echoes_tell = rtt::sample(self.sk.tcp_mstamp - self.sk.first_tx_mstamp).is_some();
        if let Some(rtt_us) = self.handshake_rtt_us(ack.tsecr) {
            rtt::estimate(&mut self.sk, rtt_us);
            rtt::set_timeout(&mut self.sk);
            rtt::update_minimum(&mut self.sk.rtt_min, env.jiffies, rtt_us);
        }
        // `tcp_try_undo_spurious_syn`: the first SYN was answered after all.
        let first_answered = self.stack.timestamps && ack.tsecr == self.ticks(self.sk.first_tx_mstamp);
        // `tcp_init_transfer`: two lost SYNs show that the path is congested, one does not.
        let congested = self.sk.total_retrans > 1 && !first_answered;
        if self.sk.ecn_flags & ecn::OK != 0 && ack.flags & packet_flag::ECE == 0 {
            self.sk.ecn_flags &= !ecn::OK;
        }
        self.establish(env, ack.window, if congested { 1 } else { self.stack.initial_window });
    }

    /// The round-trip time of the handshake, us. If the SYN was sent twice, only a timestamp shows which one was
    /// answered (Karn).
    fn handshake_rtt_us(&self, tsecr: u32) -> Option<u32> {
        if self.sk.total_retrans == 0 {
            return rtt::sample(self.sk.tcp_mstamp - self.sk.first_tx_mstamp);
        }
        self.stack.timestamps.then(|| self.rtt_by_timestamp(tsecr)).flatten()
    }

    /// `tcp_rtt_tsopt_us`: time since the segment left whose timestamp is echoed, us. Timestamps in microseconds wrap
    /// in 71 minutes. They give no sample if the handshake took too long for one.
    fn rtt_by_timestamp(&self, echo: u32) -> Option<u32> {
        let ticks = u64::from(self.timestamp().wrapping_sub(echo));
        if !self.stack.tcp_usec_ts {
            return rtt::sample(ticks.max(1) * 1000);
        }
        rtt::sample(ticks).filter(|_| self.echoes_tell)
    }

    /// `tcp_ack`, for an acknowledgement that is not below `snd_una`. Returns true if the caller has to schedule a loss
    /// probe, unless it sends new segments, which schedules another in its place.
    fn process<T: Tap>(&mut self, env: &mut Env<T>, ack: &Ack, flags: u32) -> bool {
        let prior_una = self.board.una;
        let prior_highest_sacked = self.board.highest_sacked;
        let (prior_delivered, prior_lost) = (self.sk.delivered, self.sk.lost);
        let mut g = AckContext { flags, ..Default::default() };
        g.rate.prior_in_flight = self.sk.packets_in_flight();
        g.rate.rtt_us = -1;
        if ack.next > prior_una {
            g.flags |= flag::SND_UNA_ADVANCED;
            self.sk.inet_conn.icsk_retransmits = 0;
        }
        self.read_header(ack, &mut g);
        if self.board.is_empty() {
            self.process_without_queue(env, prior_una, &mut g);
            return false;
        }
        let removed = self.clean_retransmission_queue(ack.next, &mut g);
        self.sample_rtt(env, &removed, prior_highest_sacked, &mut g);
        self.update_reordering_window(g.rate.prior_delivered);
        self.tell_of_ack(env.control, g.flags);
        if self.sk.tlp_high_seq != 0 {
            self.process_tlp_ack(env.control, g.flags);
        }
        let is_dubious = self.is_dubious(g.flags);
        let rexmit = if is_dubious { self.run_state_machine(env, prior_una, &mut g) } else { Rexmit::None };
        let mut probes = false;
        if g.flags & flag::SET_XMIT_TIMER != 0 {
            probes = !is_dubious && self.probes_losses();
            if probes {
                self.announce_loss_probe();
            } else {
                self.set_transmit_timer(env.now);
            }
        }
        g.newly_acked = self.sk.delivered.wrapping_sub(prior_delivered);
        let lost = self.sk.lost.wrapping_sub(prior_lost);
        g.rate.is_ack_delayed = (g.flags & flag::ACK_MAYBE_DELAYED != 0) as u8;
        let newly_acked = g.newly_acked;
        rate::complete(&mut self.sk, &mut g, newly_acked, lost);
        self.control_congestion(env, &g, lost);
        self.meter.cwnd(env.now, self.sk.snd_cwnd);
        self.recover(env, rexmit);
        self.partially_acked |= self.ca_state() == ca_state::RECOVERY && g.flags & flag::SND_UNA_ADVANCED != 0;
        probes
    }

    /// The end of `tcp_ack` if nothing was outstanding: a reduction may prove spurious, or a probe needless.
    #[cold]
    fn process_without_queue<T: Tap>(&mut self, env: &mut Env<T>, prior_una: u32, g: &mut AckContext) {
        self.tell_of_ack(env.control, g.flags);
        if g.flags & flag::DSACKING_ACK != 0 {
            self.run_state_machine(env, prior_una, g);
            self.meter.cwnd(env.now, self.sk.snd_cwnd);
        }
        if self.sk.tlp_high_seq != 0 {
            self.process_tlp_ack(env.control, g.flags);
        }
    }

    /// `tcp_xmit_recovery`: sends what the state machine asked for.
    fn recover<T: Tap>(&mut self, env: &mut Env<T>, rexmit: Rexmit) {
        match rexmit {
            Rexmit::None => {}
            Rexmit::Lost if self.follows_rfc_6675() => self.send_next_segments(env),
            Rexmit::Lost => self.retransmit_lost(env),
            Rexmit::New => {
                self.transmit_new(env);
                if !after(self.sk.snd_nxt, self.sk.high_seq) {
                    self.sk.frto = 0;
                    self.retransmit_lost(env);
                }
            }
        }
    }

    /// Reads the header of an acknowledgement: `snd_una`, ECN echo, SACK blocks.
    fn read_header(&mut self, ack: &Ack, g: &mut AckContext) {
        if g.flags & flag::SND_UNA_ADVANCED != 0 {
            let una = self.seq(ack.next);
            self.sk.bytes_acked += una.wrapping_sub(self.sk.snd_una) as u64;
            self.sk.snd_una = una;
        }
        if ack.flags & packet_flag::ECE != 0 && self.sk.ecn_flags & ecn::OK != 0 {
            g.flags |= flag::ECE;
        }
        if ack.block_count > 0 {
            self.read_sack_blocks(ack, g);
        }
    }

    /// `tcp_in_ack_event`: reports the acknowledgement to the congestion control. As in 6.12.117, the segments that it
    /// delivers count already.
    #[inline]
    fn tell_of_ack(&mut self, control: &Control, flags: u32) {
        if !control.has_in_ack_event() {
            return;
        }
        let slow = flags & flag::SLOWPATH != 0;
        let known = [
            (flags & flag::WIN_UPDATE != 0, ack_event::WIN_UPDATE),
            (slow, ack_event::SLOWPATH),
            (slow && flags & flag::ECE != 0, ack_event::ECE),
        ];
        let event = known.iter().filter(|(is_set, _)| *is_set).fold(0, |event, (_, bit)| event | bit);
        control.in_ack_event(&mut self.sk, event);
    }

    /// `tcp_sacktag_write_queue`.
    fn read_sack_blocks(&mut self, ack: &Ack, g: &mut AckContext) {
        let blocks = ack.blocks();
        let first = blocks[0];
        // RFC 2883: the first block reports a duplicate if it lies below the acknowledgement or inside the second
        // block.
        let inside = blocks.get(1).is_some_and(|b| first.start >= b.start && first.end <= b.end);
        let duplicate = first.start < ack.next || inside;
        if duplicate {
            self.on_dsack(first.start, first.end, g);
        }
        let ece = g.flags & flag::ECE != 0;
        // The order is that of the segments, not of the blocks' age. Otherwise one acknowledgement that reports several
        // blocks would look like reordering.
        let mut ascending = ack.blocks;
        let ascending = &mut ascending[duplicate as usize..blocks.len()];
        ascending.sort_unstable_by_key(|block| block.start);
        for block in ascending {
            let mut from = block.start.max(ack.next).max(self.board.una);
            while let Some(segment) = self.board.undelivered_in(from, block.end) {
                self.on_sacked(segment, ece, g);
                from = segment + 1;
            }
        }
        if let Some(low) = g.reordered
            && (self.ca_state() != ca_state::LOSS || self.sk.undo_marker != 0)
        {
            self.note_reordering(low);
        }
    }

    /// `tcp_dsack_seen`, with the steps of `tcp_check_dsack` and `tcp_sacktag_one` that follow: segments arrived twice.
    #[cold]
    fn on_dsack(&mut self, start: u32, end: u32, g: &mut AckContext) {
        let duplicates = end - start;
        if duplicates == 1 && self.sk.tlp_high_seq != 0 && self.seq(end) == self.sk.tlp_high_seq {
            g.flags |= flag::DSACK_TLP;
        }
        self.sk.dsack_dups += duplicates;
        // More duplicates than retransmissions: the network made them.
        if self.sk.dsack_dups > self.sk.total_retrans {
            return;
        }
        // RACK widens its window for reordering only: a timer sends probes, not RACK.
        if self.sk.reord_seen != 0 && g.flags & flag::DSACK_TLP == 0 {
            self.sk.rack.dsack_seen = 1;
        }
        g.flags |= flag::DSACKING_ACK;
        self.count_delivered(duplicates, g.flags & flag::ECE != 0);
        for segment in start..end {
            self.on_duplicate(segment, g);
        }
    }

    /// Notes a retransmission that was not needed. If it is outstanding and SACKed, the scoreboard shows that, and it
    /// was reordering, too.
    fn on_duplicate(&mut self, segment: u32, g: &mut AckContext) {
        if (self.board.una..self.board.nxt).contains(&segment) {
            let bits = self.board.get(segment).state;
            if bits & (state::RETRANS | state::EVER_RETRANS) == 0 {
                return;
            }
            if bits & state::SACKED != 0 {
                g.reordered = Some(g.reordered.map_or(segment, |low| low.min(segment)));
            }
            // The second transmission arrived last, so it is no longer in flight (`tcp_sacktag_one`).
            if bits & (state::SACKED | state::RETRANS) == state::SACKED | state::RETRANS {
                self.board.get_mut(segment).state &= !state::RETRANS;
                self.sk.retrans_out -= 1;
            }
        }
        if self.sk.undo_marker != 0 && self.sk.undo_retrans > 0 && after(self.seq(segment + 1), self.sk.undo_marker) {
            self.sk.undo_retrans -= 1;
        }
    }

    /// `tcp_sacktag_one`, for a segment that was not SACKed before.
    fn on_sacked(&mut self, segment: u32, ece: bool, g: &mut AckContext) {
        let known = *self.board.get(segment);
        let end_seq = self.seq(segment + 1);
        self.rack_advance(known.state, end_seq, known.sent_us);
        rate::on_delivered(&mut self.sk, &mut g.rate, &known, end_seq);
        let bits = known.state;
        if bits & (state::RETRANS | state::EVER_RETRANS) == 0 {
            if segment < self.board.highest_sacked {
                g.reordered = Some(g.reordered.map_or(segment, |low| low.min(segment)));
            }
            if !after(end_seq, self.sk.high_seq) {
                g.flags |= flag::ORIG_SACK_ACKED;
            }
            g.first_sacked_us.get_or_insert(known.sent_us);
            g.last_sacked_us = known.sent_us;
        }
        let mut cleared = 0;
        if bits & state::LOST != 0 {
            cleared = state::LOST | state::RETRANS;
            self.sk.lost_out -= 1;
            self.sk.retrans_out -= (bits & state::RETRANS != 0) as u32;
        }
        // If the loss was taken back, both transmissions were on their way, and one has arrived.
        self.board.mark_sacked(segment);
        self.board.get_mut(segment).state = (bits & !cleared) | state::SACKED | state::RATE_TAKEN;
        self.sacked_above += (segment >= self.lost_below) as u32;
        g.flags |= flag::DATA_SACKED;
        self.sk.sacked_out += 1;
        self.count_delivered(1, ece);
    }

    pub(super) fn count_delivered(&mut self, segments: u32, ece: bool) {
        self.sk.delivered = self.sk.delivered.wrapping_add(segments);
        if ece {
            self.sk.delivered_ce = self.sk.delivered_ce.wrapping_add(segments);
        }
    }

    /// `tcp_clean_rtx_queue`: removes the segments below `next`.
    #[inline]
    fn clean_retransmission_queue(&mut self, next: u32, g: &mut AckContext) -> Acked {
        if self.board.una >= next {
            return Acked::default();
        }
        let ece = g.flags & flag::ECE != 0;
        let removed =
            if self.board.is_untagged() { self.remove_untagged(next, ece, g) } else { self.remove_each(next, ece, g) };
        g.flags |= flag::DATA_ACKED;
        if !self.stack.sack {
            self.remove_duplicates(removed.count, ece);
            if g.flags & flag::RETRANS_DATA_ACKED != 0 {
                g.flags &= !flag::ORIG_SACK_ACKED;
            }
        }
        removed
    }

    /// Removes together all segments that were sent once and are in flight. They left in order, so the effect of
    /// `remove_head` for the last of them covers those before.
    #[inline]
    fn remove_untagged(&mut self, next: u32, ece: bool, g: &mut AckContext) -> Acked {
        let head = self.board.una;
        let count = next - head;
        let (first, last) = self.board.pop_untagged(next);
        let end_seq = self.sk.snd_una;
        self.sk.packets_out -= count;
        rate::on_delivered(&mut self.sk, &mut g.rate, &last, end_seq);
        if !after(self.seq(head + 1), self.sk.high_seq) {
            g.flags |= flag::ORIG_SACK_ACKED;
        }
        if self.stack.sack {
            self.count_delivered(count, ece);
            if self.stack.repair.loss_detection != LossDetection::Rfc6675 {
                self.rack_advance(last.state, end_seq, last.sent_us);
            }
        }
        self.lost_below = self.lost_below.max(next);
        Acked { count, first_us: Some(first.sent_us), last_us: last.sent_us, lowest_original: Some(head) }
    }

    fn remove_each(&mut self, next: u32, ece: bool, g: &mut AckContext) -> Acked {
        let mut removed = Acked::default();
        while self.board.una < next {
            self.remove_head(ece, &mut removed, g);
        }
        removed
    }

    #[inline]
    fn remove_head(&mut self, ece: bool, removed: &mut Acked, g: &mut AckContext) {
        let number = self.board.una;
        let known = self.board.pop();
        let end_seq = self.seq(number + 1);
        let bits = known.state;
        removed.count += 1;
        self.sk.packets_out -= 1;
        rate::on_delivered(&mut self.sk, &mut g.rate, &known, end_seq);
        if bits & state::RETRANS != 0 {
            self.sk.retrans_out -= 1;
        }
        if bits & state::EVER_RETRANS != 0 {
            g.flags |= flag::RETRANS_DATA_ACKED;
        } else if bits & state::SACKED == 0 {
            removed.first_us.get_or_insert(known.sent_us);
            removed.last_us = known.sent_us;
            removed.lowest_original.get_or_insert(number);
            if !after(end_seq, self.sk.high_seq) {
                g.flags |= flag::ORIG_SACK_ACKED;
            }
        }
        if bits & state::SACKED != 0 {
            self.sk.sacked_out -= 1;
        } else if self.stack.sack {
            self.count_delivered(1, ece);
            if self.stack.repair.loss_detection != LossDetection::Rfc6675
                && !self.is_spurious_retransmission(bits, known.sent_us)
            {
                self.rack_advance(bits, end_seq, known.sent_us);
            }
        }
        if bits & state::LOST != 0 {
            self.sk.lost_out -= 1;
        }
        self.forget_below(number, bits);
    }

    /// The second half of `tcp_clean_rtx_queue`: RTT sample, timer flag, `pkts_acked`.
    #[inline]
    fn sample_rtt<T: Tap>(&mut self, env: &mut Env<T>, removed: &Acked, prior_highest_sacked: u32, g: &mut AckContext) {
        let now_us = self.sk.tcp_mstamp;
        let mut sample_us = None;
        let mut latest_us = None;
        if let Some(first) = removed.first_us
            && g.flags & flag::RETRANS_DATA_ACKED == 0
        {
            sample_us = rtt::sample(now_us - first);
            latest_us = rtt::sample(now_us - removed.last_us);
            if removed.count == 1 && self.is_lone_runt(g) {
                g.flags |= flag::ACK_MAYBE_DELAYED;
            }
        }
        let sacked_us = g.first_sacked_us.and_then(|first| rtt::sample(now_us - first));
        if g.first_sacked_us.is_some() {
            latest_us = rtt::sample(now_us - g.last_sacked_us);
        }
        let updated = self.update_rtt(env, sample_us.or(sacked_us), latest_us, g);
        if removed.count > 0 {
            if !self.leaves_timer_running() {
                g.flags |= flag::SET_XMIT_TIMER;
            }
            if self.stack.sack
                && let Some(low) = removed.lowest_original
                && low < prior_highest_sacked
            {
                self.note_reordering(low);
            }
        } else if updated && !self.board.is_empty() {
            let head_us = now_us - self.board.get(self.board.una).sent_us;
            // This needs a SACKed segment that was sent before the head. Otherwise SACKs alone would defer the timeout
            // for ever.
            if sacked_us.is_some_and(|us| us as u64 > head_us) {
                g.flags |= flag::SET_XMIT_TIMER;
            }
        }
        if env.control.has_pkts_acked() {
            let newly = self.sk.delivered.wrapping_sub(g.rate.prior_delivered);
            let sample = AckSample {
                pkts_acked: removed.count,
                rtt_us: g.rate.rtt_us as i32,
                in_flight: self.mss.wrapping_mul(newly),
            };
            env.control.pkts_acked(&mut self.sk, &sample);
        }
    }

    /// Reports whether the one acknowledged segment is less than full and was alone for a round trip (the condition in
    /// `tcp_clean_rtx_queue`). The receiver may have waited for a second. Only the last segment of a transfer is short.
    #[inline]
    fn is_lone_runt(&self, g: &AckContext) -> bool {
        self.board.una == self.segments
            && self.last_payload < self.mss
            && g.rate.prior_delivered.wrapping_add(1) == self.sk.delivered
    }

    /// `tcp_ack_update_rtt`: `sample_us` feeds the timeout, `latest_us` the congestion control.
    #[inline]
    fn update_rtt<T: Tap>(
        &mut self,
        env: &Env<T>,
        sample_us: Option<u32>,
        latest_us: Option<u32>,
        g: &mut AckContext,
    ) -> bool {
        // Only retransmitted data was acknowledged: the timestamp identifies the transmission (RFC 7323, section 4).
        let by_timestamp = || {
            let echoed = self.stack.timestamps && self.sk.rx_opt.rcv_tsecr != 0 && g.flags & flag::DATA_ACKED != 0;
            echoed.then(|| self.rtt_by_timestamp(self.sk.rx_opt.rcv_tsecr)).flatten()
        };
        let Some(sample) = sample_us.or_else(by_timestamp) else {
            return false;
        };
        let latest = latest_us.unwrap_or(sample);
        g.rate.rtt_us = latest as i64;
        // `tcp_update_rtt_min`: from suspected delayed acknowledgements the filter would learn their delay when it
        // expires.
        if g.flags & flag::ACK_MAYBE_DELAYED == 0 || latest <= self.sk.min_rtt_us() {
            rtt::update_minimum(&mut self.sk.rtt_min, env.jiffies, latest);
        }
        rtt::estimate(&mut self.sk, sample);
        rtt::set_timeout(&mut self.sk);
        self.sk.inet_conn.icsk_backoff = 0;
        self.meter.rtt(env.now, latest.into());
        true
    }

    /// `tcp_ack_is_dubious`: reports anything but mere progress in the Open state.
    fn is_dubious(&self, flags: u32) -> bool {
        flags & flag::NOT_DUP == 0
            || flags & (flag::DATA_SACKED | flag::ECE | flag::DSACKING_ACK) != 0
            || self.ca_state() != ca_state::OPEN
    }

    /// `tcp_cong_control`: sets the window after this acknowledgement.
    #[inline]
    fn control_congestion<T: Tap>(&mut self, env: &mut Env<T>, g: &AckContext, lost: u32) {
        let ack = self.sk.snd_una;
        if env.control.has_cong_control() {
            if self.is_in_mesh {
                self.sk.sim.mean_flow_rate = env.network.mean_flow_rate(env.now, route(self.flow));
            }
            env.control.cong_control(&mut self.sk, ack, g.flags as i32, &g.rate);
            // The kernel takes a window of zero for a fault of the congestion control (`tcp_snd_cwnd_set`); here it
            // would silence the flow for good.
            self.sk.snd_cwnd = self.sk.snd_cwnd.max(1);
            self.meter.waits(env.now, Nanos::from_micros(self.sk.sim.period_us.into()));
            self.close_gate(env.now);
            return;
        }
        if self.in_cwnd_reduction() {
            self.reduce_cwnd(g.newly_acked, lost, g.flags & flag::SND_UNA_ADVANCED != 0);
        } else if self.may_raise_cwnd(g.flags) {
            let acked = self.counted_for_growth(g.newly_acked);
            env.control.cong_avoid(&mut self.sk, ack, acked);
            self.sk.snd_cwnd_stamp = env.jiffies;
        }
        self.update_pacing_rate(env.control);
    }

    /// Takes one step of a reduction, at an acknowledgement that delivers `delivered` segments, reports `lost` ones,
    /// and has `advanced` `snd_una` or not.
    pub(super) fn reduce_cwnd(&mut self, delivered: u32, lost: u32, advanced: bool) {
        match self.stack.repair.reduction {
            Reduction::AtOnce => {}
            Reduction::Prr => {
                window::proportional_rate_reduction(&mut self.sk, delivered, lost, advanced);
            }
            Reduction::Halving => self.sk.snd_cwnd = self.halving.acknowledged(self.sk.packets_in_flight()),
        }
    }

    /// The segments of an acknowledgement that count for growth. After a timeout it is one (RFC 5681, section 3.1; RFC
    /// 3465, section 2.3), because the acknowledgement may cover much that had arrived before. Linux counts all of it.
    fn counted_for_growth(&self, newly_acked: u32) -> u32 {
        let textbook = self.stack.repair.reduction == Reduction::AtOnce;
        if textbook && self.ca_state() == ca_state::LOSS { newly_acked.min(1) } else { newly_acked }
    }

    fn may_raise_cwnd(&self, flags: u32) -> bool {
        let progress =
            if self.sk.reordering > super::DUPLICATE_THRESHOLD { flag::FORWARD_PROGRESS } else { flag::DATA_ACKED };
        flags & progress != 0
    }

    /// `tcp_process_tlp_ack`: finds out whether the probe repaired a loss.
    fn process_tlp_ack(&mut self, control: &mechanism::Control, flags: u32) {
        let ack = self.seq(self.board.una);
        if before(ack, self.sk.tlp_high_seq) {
            return;
        }
        let moved = flags & (flag::SND_UNA_ADVANCED | flag::DATA_ACKED | flag::DATA_SACKED) != 0;
        if self.sk.tlp_retrans == 0 || flags & flag::DSACK_TLP != 0 {
            self.sk.tlp_high_seq = 0;
        } else if after(ack, self.sk.tlp_high_seq) {
            self.begin_cwnd_reduction(control);
            self.set_ca_state(control, ca_state::CWR);
            self.end_cwnd_reduction(control);
            self.keep_open(control);
        } else if !moved {
            self.sk.tlp_high_seq = 0;
        }
    }
}

/// Reports whether the header of an acknowledgement contains nothing special (`tcp_rcv_established`: header
/// prediction).
#[inline]
fn is_plain(ack: &Ack) -> bool {
    ack.block_count == 0 && ack.flags & packet_flag::ECE == 0
}
