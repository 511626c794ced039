//! When the receiver acknowledges: at once, with the second segment, after a delay, or several duplicates at a time.
//! As Linux does it (`__tcp_ack_snd_check` and what feeds it); the `stack` of a flow switches parts of it off.

use super::window::{LEAST_MSS, ReceiveWindow, Room};
use crate::clock::{self, micros_to_jiffies};
use mechanism::sock::HZ;
use scenario::model::TcpProfile;
use scenario::units::Nanos;

/// `TCP_MAX_QUICKACKS`: segments acknowledged at once after the start or a surprise.
pub const MAX_QUICKACKS: u8 = 16;
/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`, jiffies.
const ATO_MIN: u32 = HZ as u32 / 25;
/// `TCP_DELACK_MAX`, jiffies.
const DELACK_MAX: u32 = HZ as u32 / 5;
/// `TCP_TIMEOUT_INIT`, until the handshake has shown the round-trip time, jiffies.
const TIMEOUT_INIT: u32 = HZ as u32;
/// Duplicates acknowledged at once, so that the sender finds the loss (`TCP_FASTRETRANS_THRESH`).
const PROMPT_DUPLICATES: u8 = 3;
/// At most so many duplicates wait for one acknowledgement (`tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// They wait at most so long (`tcp_comp_sack_delay_ns`), or this share of the round-trip time.
const COMPRESSION_DELAY: Nanos = Nanos::from_millis(1);
const COMPRESSION_SHARE: u64 = 20;
/// The timer may ring so much later (`tcp_comp_sack_slack_ns`). On a host that nothing else wakes it does.
const COMPRESSION_SLACK: Nanos = Nanos::from_micros(100);

/// The receiver's delayed-acknowledgement state (`icsk_ack` and the compressed acknowledgements of `tcp_sock`).
pub struct DelayedAck {
    enabled: bool,
    sack_compression: bool,
    /// What a segment carries, as the receiver estimates it (`rcv_mss`).
    mss: u32,
    /// None where the window that the stack offers is constant.
    window: Option<ReceiveWindow>,
    /// A segment came that its sender pushed (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// Segments still to be acknowledged at once.
    quick: u8,
    /// How long an acknowledgement is held back, jiffies; zero before the first data.
    ato: u32,
    /// When the last segment in order came, jiffies.
    last_in_order: u32,
    /// When an acknowledgement held back for a second segment is due.
    delayed_until: Nanos,
    /// How long it is held back, jiffies.
    delayed_by: u32,
    /// When the timer for it rings: it is not stopped when an acknowledgement leaves (`inet_csk_clear_xmit_timer`).
    timer_rings: Nanos,
    /// When the SYN was answered.
    syn_answered: Nanos,
    /// Of the handshake; the only one that a host which sends no data measures for itself. Zero before.
    round_trip: Nanos,
    /// The retransmission timeout that follows from it, and how long an acknowledgement is held back at most, jiffies.
    timeout: u32,
    longest_delay: u32,
    /// `tcp_delack_max`: a jiffy less than the least timeout of the sender, jiffies.
    delack_max: u32,
    /// Duplicates acknowledged at once since `duplicates_of` was the next segment in order.
    duplicates: u8,
    duplicates_of: u32,
    /// Duplicates that wait for one acknowledgement, and when it is due.
    compressed: u32,
    compressed_until: Nanos,
    /// When the last of them came.
    compressed_at: Nanos,
}

impl DelayedAck {
    /// For a receiver of segments that carry `mss` bytes.
    pub fn new(stack: &TcpProfile, window: Option<ReceiveWindow>, mss: u32) -> DelayedAck {
        let delack_max = DELACK_MAX.min(micros_to_jiffies(stack.rto_min.as_micros()).max(2) - 1);
        DelayedAck {
            mss: mss.max(LEAST_MSS),
            window,
            pushed: false,
            enabled: stack.delayed_ack,
            sack_compression: stack.sack && stack.sack_compression,
            quick: 0,
            ato: 0,
            last_in_order: 0,
            delayed_until: Nanos::NEVER,
            delayed_by: 0,
            timer_rings: Nanos::ZERO,
            syn_answered: Nanos::ZERO,
            round_trip: Nanos::ZERO,
            timeout: TIMEOUT_INIT,
            longest_delay: ATO_MIN.min(delack_max),
            delack_max,
            duplicates: 0,
            duplicates_of: 0,
            compressed: 0,
            compressed_until: Nanos::NEVER,
            compressed_at: Nanos::ZERO,
        }
    }

    /// None where the window that the stack offers is constant.
    pub fn window(&mut self) -> Option<&mut ReceiveWindow> {
        self.window.as_mut()
    }

    /// When an acknowledgement that is held back is due; `Nanos::NEVER` if there is none.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.delayed_until.min(self.compressed_until)
    }

    /// An acknowledgement that was held back for a second segment has waited too long: the next may wait longer
    /// (`tcp_delack_timer_handler`).
    pub fn delay_expired(&mut self, now: Nanos) {
        if self.delayed_until <= now {
            self.ato = (self.ato * 2).min(self.timeout).min(DELACK_MAX);
        }
    }

    /// The SYN is answered.
    pub fn answered_syn(&mut self, now: Nanos) {
        self.syn_answered = now;
    }

    /// A packet has come that shows that its sender has the answer to the SYN.
    pub fn is_established(&self) -> bool {
        self.round_trip > Nanos::ZERO
    }

    /// A packet came: the first after the answer to the SYN shows the round-trip time.
    #[inline]
    pub fn heard(&mut self, now: Nanos) {
        if self.round_trip == Nanos::ZERO {
            self.establish(now);
        }
    }

    #[cold]
    fn establish(&mut self, now: Nanos) {
        self.round_trip = (now - self.syn_answered).max(Nanos(1));
        // `tcp_create_openreq_child`: a silence begins here, whether or not the first segment comes next.
        self.last_in_order = clock::jiffies(now);
        // RFC 6298, section 2.2, with Linux's floor.
        let timeout = self.round_trip + Nanos(2 * self.round_trip.0).max(Nanos::from_millis(200));
        self.timeout = micros_to_jiffies(timeout.as_micros());
        self.longest_delay = micros_to_jiffies(self.round_trip.as_micros()).max(ATO_MIN).min(self.delack_max);
        // The first segment shows this, before anything is made of it.
        self.window.iter_mut().for_each(ReceiveWindow::measure_overhead);
    }

    /// A segment came in order: the delay follows the spacing of the segments (`tcp_event_data_recv`).
    #[inline]
    pub fn in_order(&mut self, now: Nanos) {
        let now = clock::jiffies(now);
        let gap = now - self.last_in_order;
        self.last_in_order = now;
        if self.ato == 0 {
            self.ato = ATO_MIN;
            self.acknowledge_quickly(MAX_QUICKACKS);
        } else if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.timeout).min(DELACK_MAX);
        } else if gap > self.timeout {
            // The sender may start over with a small window.
            self.acknowledge_quickly(MAX_QUICKACKS);
        }
    }

    /// A new segment came, with which `waiting` are in the buffer that the application cannot read yet: if there is
    /// room to widen the window, the sender shall know at once (`tcp_grow_window`).
    #[inline]
    pub fn widen(&mut self, waiting: u32) {
        if let Some(window) = &mut self.window {
            self.quick |= window.widen(waiting) as u8;
        }
    }

    /// A new segment comes to so many that wait; if there is no room for them, no more is acknowledged quickly.
    pub fn comes_to(&mut self, waiting: u32) {
        if self.window.as_mut().is_some_and(|window| window.overflows(waiting)) {
            self.quick = 0;
        }
    }

    /// `tcp_select_window`: the window to offer above segment `next`, while `held` others wait above it and `unread`
    /// below, which came just now. None where the stack's window is constant.
    #[inline]
    pub fn select_window(&mut self, next: u32, held: u32, unread: u32) -> Option<u32> {
        let mut left = self.room_beside(held + unread)?;
        if left < self.mss && unread == 1 {
            // In a buffer of less than three segments. That is of no use to a sender that sends whole ones: the
            // application reads before the window is offered.
            left = left.max(self.room_beside(held)?);
        }
        Some(self.window.as_mut()?.offer(next, left))
    }

    /// What can be offered while so many segments wait; if that is little, no more is acknowledged quickly.
    #[inline]
    fn room_beside(&mut self, waiting: u32) -> Option<u32> {
        let Room { window, is_little } = self.window.as_ref()?.room_beside(waiting);
        if is_little {
            self.quick = 0;
        }
        Some(window)
    }

    /// The application has read what came, of which `waiting` segments are not yet acknowledged: is it to be
    /// acknowledged now (`tcp_cleanup_rbuf`)? It is with the second segment; if its sender pushed it and nothing more
    /// waits; and if it doubles a window that was small, so that the sender knows.
    pub fn reading_acknowledges(&mut self, next: u32, waiting: u32, held: u32) -> bool {
        waiting >= 2 || self.pushed && waiting > 0 && held == 0 || self.reading_reopens(next, held)
    }

    /// Does reading double what may come above segment `next`, after a window for the state before was offered?
    pub fn reading_reopens(&mut self, next: u32, held: u32) -> bool {
        let Some(left) = self.window.as_ref().and_then(|window| window.little_left(next)) else { return false };
        let now = self.room_beside(held).unwrap_or(0);
        now > 0 && now >= left.saturating_mul(2)
    }

    /// A segment in order that its sender pushed, or a short one: if the application has read all that came, it is
    /// acknowledged at once (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
    #[inline]
    pub fn pushed(&mut self) {
        self.pushed = self.window.is_some();
    }

    /// `tcp_enter_quickack_mode`: the sender may be in slow start after a timeout, or have a window of few segments.
    pub fn enter_quickack_mode(&mut self, most: u8) {
        self.ato = ATO_MIN;
        self.acknowledge_quickly(most);
    }

    /// The next acknowledgement was not scheduled: it answers a segment that was rejected, or offers a window anew. It
    /// is none of the quick ones (`tcp_dec_quickack_mode`), so the one that `acknowledged` will count is added here.
    pub fn next_is_not_scheduled(&mut self) {
        self.quick += (self.quick > 0) as u8;
    }

    /// `tcp_incr_quickack`: at most `most`, at most half of the window that was offered last.
    fn acknowledge_quickly(&mut self, most: u8) {
        if let Some(window) = &self.window {
            let half = window.offered() / (2 * self.mss);
            let by_window = if half == 0 { 2 } else { half };
            self.quick = self.quick.max(by_window.min(most as u32) as u8);
        }
    }

    /// `__tcp_ack_snd_check`: whether to acknowledge now. Otherwise a timer has been set.
    ///
    /// `next`: the next segment in order, `waiting`: segments in order not yet acknowledged, of which the application
    /// has not read `unread`; `held`: segments that came out of order.
    #[inline(always)]
    pub fn acknowledges_now(&mut self, now: Nanos, next: u32, waiting: u32, unread: u32, held: u32) -> bool {
        // What waits to be read takes of the window: if it shrinks, the application acknowledges when it reads.
        let is_due = waiting >= 2 && self.offers_no_less(held + unread);
        if is_due || self.quick > 0 || !self.enabled {
            return true;
        }
        if held > 0 {
            return !self.compress(now, next);
        }
        let ato = self.ato.min(self.longest_delay);
        if self.delayed_until < Nanos::NEVER {
            return self.is_about_to_ring(now, ato);
        }
        self.delayed_until = clock::timer(now, ato);
        self.delayed_by = ato;
        self.timer_rings = self.delayed_until;
        false
    }

    /// An acknowledgement is held back already: whether to send it now, because its timer rings within a quarter of the
    /// delay (`tcp_send_delayed_ack`). Otherwise it rings sooner if the delay has become shorter.
    #[inline]
    fn is_about_to_ring(&mut self, now: Nanos, ato: u32) -> bool {
        // Timers ring with a tick, at most one jiffy late: most are further off, which is seen without its time.
        let latest = now + Nanos((ato + 4) as u64 * (clock::JIFFY / 4));
        if self.delayed_until <= latest && self.delayed_until <= clock::timer(now, ato / 4) {
            return true;
        }
        if ato < self.delayed_by {
            self.delayed_until = self.delayed_until.min(clock::timer(now, ato));
            self.timer_rings = self.delayed_until;
        }
        false
    }

    /// Is as much offered beside so many segments as was offered last?
    fn offers_no_less(&mut self, waiting: u32) -> bool {
        let room = self.room_beside(waiting);
        self.window.as_ref().is_none_or(|window| room >= Some(window.offered()))
    }

    /// True if the acknowledgement of a duplicate can wait for more of its kind.
    fn compress(&mut self, now: Nanos, next: u32) -> bool {
        if !self.sack_compression || self.compressed >= MAX_COMPRESSED {
            return false;
        }
        if self.duplicates_of != next {
            self.duplicates_of = next;
            self.duplicates = 0;
        }
        if self.duplicates < PROMPT_DUPLICATES {
            self.duplicates += 1;
            return false;
        }
        self.compressed += 1;
        self.compressed_at = now;
        if self.compressed == 1 {
            let share = Nanos(self.round_trip.0 / COMPRESSION_SHARE);
            self.compressed_until = now + COMPRESSION_DELAY.min(share) + COMPRESSION_SLACK;
            if self.timer_rings > now {
                // What rings in vain for a second segment sends what is compressed (`tcp_delack_timer_handler`).
                self.compressed_until = self.compressed_until.min(self.timer_rings);
            }
        }
        true
    }

    /// The time that an acknowledgement shows which a timer sends: what was compressed has that of the packet before it
    /// (`tcp_compressed_ack_kick`), unless the timer is that of a second segment.
    pub fn timer_shows(&self, now: Nanos) -> Nanos {
        let is_second_segments = self.delayed_until <= now || self.timer_rings == now;
        if self.compressed == 0 || is_second_segments { now } else { self.compressed_at }
    }

    /// Duplicates wait for their acknowledgement.
    pub fn compresses(&self) -> bool {
        self.compressed > 0
    }

    /// An acknowledgement leaves: `tcp_event_ack_sent`.
    #[inline]
    pub fn acknowledged(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = ATO_MIN; // `tcp_dec_quickack_mode`
            }
        }
        self.pushed = false;
        self.delayed_until = Nanos::NEVER;
        self.compressed = 0;
        self.compressed_until = Nanos::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::skb::{ReceiveBuffer, receive_memory};
    use scenario::units::Bytes;

    const MSS: u32 = 1448;

    /// A window for which a buffer has so many times the memory of a segment.
    fn of_segments(segments: u32) -> ReceiveWindow {
        let memory = receive_memory(Bytes((segments * MSS) as u64), MSS, Bytes(1500));
        let buffer = ReceiveBuffer { memory, tcp_rmem_max: None };
        let mut window = ReceiveWindow::new(buffer, MSS, Bytes(1500), true);
        window.measure_overhead();
        window
    }

    fn linux(segments: u32) -> DelayedAck {
        DelayedAck::new(&TcpProfile::LINUX, Some(of_segments(segments)), MSS)
    }

    /// A receiver with no quick acknowledgements left, whose round trip took so long.
    fn settled(round_trip: Nanos) -> DelayedAck {
        let mut delayed = DelayedAck::new(&TcpProfile { quick_ack: false, ..TcpProfile::LINUX }, None, MSS);
        delayed.answered_syn(Nanos::ZERO);
        delayed.heard(round_trip);
        delayed.in_order(round_trip);
        delayed.acknowledged();
        delayed
    }

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    #[test]
    fn a_delay_that_expires_doubles_up_to_the_round_trip() {
        let mut delayed = settled(ms(70));
        let mut now = ms(1000);
        let mut waited = vec![];
        for _ in 0..3 {
            assert!(!delayed.acknowledges_now(now, 5, 1, 1, 0));
            waited.push(delayed.deadline() - now);
            now = delayed.deadline();
            delayed.delay_expired(now);
            delayed.acknowledged();
        }
        // From one tick, 4 ms, until the tick after 10 and 18 jiffies.
        assert_eq!(waited, [ms(44), ms(76), ms(76)]);
    }

    /// As in a guest (number 809), where the second segment would make the window smaller. The timer is set for 44 ms,
    /// the tenth jiffy and the tick after it; a quarter of the delay is three jiffies by then.
    #[test]
    fn an_acknowledgement_that_is_about_to_be_due_leaves_with_the_second_segment() {
        for (gap, expected) in [(0, false), (27, false), (28, true)] {
            let mut delayed = settled(ms(70));
            delayed.window = Some(of_segments(9));
            delayed.select_window(0, 0, 0);
            delayed.ato = 10;
            assert!(!delayed.acknowledges_now(ms(1000), 1, 1, 1, 0));
            delayed.ato = 13;
            assert_eq!(delayed.acknowledges_now(ms(1000 + gap), 2, 2, 5, 0), expected, "after {gap} ms");
        }
    }

    #[test]
    fn segments_close_together_bring_the_delay_back_to_40_ms() {
        let mut delayed = settled(ms(70));
        delayed.ato = 40;
        for n in 0..12 {
            delayed.in_order(ms(1000 + 20 * n));
        }
        assert_eq!(delayed.ato, ATO_MIN);
    }

    /// The timeout after a handshake of 70 ms is 270 ms, 68 jiffies; the handshake ends 2 ms after a tick.
    #[test]
    fn a_silence_longer_than_the_timeout_brings_quick_acknowledgements() {
        for (gap, expected) in [(273, 0), (274, 16)] {
            let mut delayed = settled(ms(70));
            delayed.window = Some(of_segments(100));
            delayed.in_order(ms(70 + gap));
            assert_eq!(delayed.quick, expected, "after {gap} ms");
        }
    }

    /// Of memory for 9 segments half is offered at first, which is 7 of them in whole ones.
    #[test]
    fn no_more_quick_acknowledgements_than_half_a_window() {
        for (segments, expected) in [(1, 2), (2, 2), (3, 1), (9, 3), (100, 16)] {
            let mut delayed = linux(segments);
            delayed.in_order(ms(70));
            assert_eq!(delayed.quick, expected, "memory for {segments}");
        }
    }

    #[test]
    fn quick_acknowledgements_are_half_of_what_was_offered_last() {
        for (held, expected) in [(0, 11), (10, 9)] {
            let mut delayed = linux(30);
            delayed.select_window(23, held, 0);
            delayed.enter_quickack_mode(MAX_QUICKACKS);
            assert_eq!(delayed.quick, expected, "{held} wait");
        }
    }

    /// After a duplicate: its answer, and then so many segments are acknowledged at once.
    #[test]
    fn the_answer_to_an_old_duplicate_is_none_of_the_quick_acknowledgements() {
        for (old, expected) in [(false, 15), (true, 16)] {
            let mut delayed = settled(ms(70));
            delayed.window = Some(of_segments(100));
            delayed.enter_quickack_mode(MAX_QUICKACKS);
            if old {
                delayed.next_is_not_scheduled();
            }
            delayed.acknowledged();
            let at_once = (0..50).take_while(|n| {
                let at_once = delayed.acknowledges_now(ms(500 + n), 1, 1, 1, 0);
                delayed.acknowledged();
                at_once
            });
            assert_eq!(at_once.count(), expected, "old: {old}");
        }
    }

    #[test]
    fn what_was_not_scheduled_leaves_the_delay_as_it_is() {
        let mut delayed = settled(ms(70));
        delayed.window = Some(of_segments(100));
        delayed.ato = 40;
        delayed.next_is_not_scheduled();
        delayed.acknowledged();
        assert_eq!((delayed.quick, delayed.ato), (0, 40));
    }

    #[test]
    fn while_the_window_widens_each_segment_is_acknowledged() {
        let mut delayed = linux(100);
        let mut at_once = |n| {
            delayed.widen(1);
            let at_once = delayed.acknowledges_now(ms(500), n, 1, 1, 0);
            delayed.acknowledged();
            at_once
        };
        assert_eq!((0..50).filter(|n| at_once(*n)).count(), 10);
    }

    #[test]
    fn quick_acknowledgements_end_below_half_of_what_is_offered() {
        for (held, expected) in [(50, 16), (51, 0)] {
            let mut delayed = linux(100);
            delayed.widen(1);
            delayed.enter_quickack_mode(MAX_QUICKACKS);
            delayed.select_window(0, held, 0);
            assert_eq!(delayed.quick, expected, "{held} wait");
        }
    }

    /// The application reads a second segment before its acknowledgement where that would offer less than the last one.
    #[test]
    fn a_window_does_not_shrink_for_what_is_about_to_be_read() {
        for (unread, at_once) in [(1, true), (3, false)] {
            let mut delayed = settled(ms(70));
            delayed.window = Some(of_segments(60));
            for _ in 0..20 {
                delayed.widen(1);
            }
            delayed.select_window(5, 0, 1);
            delayed.quick = 0;
            assert_eq!(delayed.acknowledges_now(ms(500), 7, 2, unread, 0), at_once, "{unread} not read");
            assert!(delayed.reading_acknowledges(7, 2, 0));
        }
    }

    /// Three segments in order fill a part of a hole. While the window stays as it is, their acknowledgement is no
    /// duplicate; if it shrinks, it is the first of three that leave at once.
    #[test]
    fn a_hole_filled_in_part_is_a_duplicate_where_the_window_shrinks() {
        for (held, prompt) in [(5, 3), (80, 2)] {
            let mut delayed = settled(ms(70));
            delayed.window = Some(of_segments(100));
            for _ in 0..5 {
                delayed.widen(1);
            }
            delayed.quick = 0;
            delayed.select_window(5, held, 0);
            assert!(delayed.acknowledges_now(ms(500), 8, 3, 3, held - 2));
            delayed.acknowledged();
            let duplicates = (0..9).filter(|_| delayed.acknowledges_now(ms(500), 8, 0, 0, held - 2));
            assert_eq!(duplicates.count(), prompt, "{held} wait");
        }
    }

    #[test]
    fn the_fourth_duplicate_waits_a_twentieth_of_the_round_trip() {
        for (round_trip, expected) in [(ms(70), 1100), (ms(10), 600)] {
            let mut delayed = settled(round_trip);
            for _ in 0..3 {
                assert!(delayed.acknowledges_now(ms(500), 5, 0, 0, 1));
                delayed.acknowledged();
            }
            assert!(!delayed.acknowledges_now(ms(500), 5, 0, 0, 1));
            assert_eq!(delayed.deadline(), ms(500) + Nanos::from_micros(expected));
            assert!(!delayed.acknowledges_now(ms(501), 5, 0, 0, 1));
            assert_eq!(delayed.deadline(), ms(500) + Nanos::from_micros(expected), "the first one's timer");
        }
    }

    /// A delayed acknowledgement was due 44 ms after the segment, but a second one came.
    #[test]
    fn the_timer_of_a_delayed_acknowledgement_sends_what_is_compressed() {
        for (later, expected) in [(42, 1100), (43, 1000), (44, 1100)] {
            let mut delayed = settled(ms(70));
            assert!(!delayed.acknowledges_now(ms(500), 5, 1, 1, 0));
            assert_eq!(delayed.deadline(), ms(544));
            assert!(delayed.acknowledges_now(ms(501), 6, 2, 1, 0));
            delayed.acknowledged();
            assert_eq!(delayed.deadline(), Nanos::NEVER);
            for _ in 0..3 {
                assert!(delayed.acknowledges_now(ms(502), 6, 0, 0, 1));
                delayed.acknowledged();
            }
            assert!(!delayed.acknowledges_now(ms(500 + later), 6, 0, 0, 1));
            assert_eq!(
                delayed.deadline(),
                ms(500 + later) + Nanos::from_micros(expected),
                "{later} ms after the segment"
            );
        }
    }

    /// As the timestamps of a guest have it (tuned number 9): the packet before was the last to read the clock, unless
    /// the timer of a second segment rings, here at 544 ms.
    #[test]
    fn what_is_compressed_shows_when_the_packet_before_it_came() {
        for (came, shown) in [(510, 510), (543, 544)] {
            let mut delayed = settled(ms(70));
            assert!(!delayed.acknowledges_now(ms(500), 5, 1, 1, 0));
            delayed.acknowledged();
            for _ in 0..3 {
                assert!(delayed.acknowledges_now(ms(502), 6, 0, 0, 1));
                delayed.acknowledged();
            }
            assert!(!delayed.acknowledges_now(ms(came), 6, 0, 0, 1));
            assert_eq!(delayed.timer_shows(delayed.deadline()), ms(shown));
            delayed.acknowledged();
            assert_eq!(delayed.timer_shows(ms(600)), ms(600), "nothing is compressed");
        }
    }

    #[test]
    fn a_new_hole_is_reported_at_once_again() {
        let mut delayed = settled(ms(70));
        let prompt = |delayed: &mut DelayedAck, next| {
            (0..9).filter(|_| delayed.acknowledges_now(ms(500), next, 0, 0, 1)).count()
        };
        assert_eq!((prompt(&mut delayed, 5), prompt(&mut delayed, 6)), (3, 3));
    }

    #[test]
    fn the_forty_fifth_duplicate_waits_no_longer() {
        let mut delayed = settled(ms(70));
        let now = |delayed: &mut DelayedAck| delayed.acknowledges_now(ms(500), 5, 0, 0, 1);
        let first_48: Vec<bool> = (0..48).map(|_| now(&mut delayed)).collect();
        assert_eq!(first_48.iter().filter(|at_once| **at_once).count(), 4);
        assert!(first_48[47]);
    }
}
