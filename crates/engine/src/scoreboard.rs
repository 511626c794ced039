//! The sender's knowledge of each segment between snd_una and snd_nxt.
//!
//! One ring has three views. The first, by number, is the ring itself. The second, by state, consists of two sets:
//! undelivered segments, and lost ones that wait to be sent again. The third, by the time of the last transmission, is
//! a linked list through the ring, as RACK needs it. Every step costs the same for any size of the window.

use crate::segment_set::SegmentSet;

/// States of a segment, as bits. A segment without a bit was sent once and is in flight.
pub mod state {
    /// The segment is selectively acknowledged.
    pub const SACKED: u8 = 1;
    /// The sender holds the segment for lost.
    pub const LOST: u8 = 2;
    /// The segment was sent again, and that transmission is in flight.
    pub const RETRANS: u8 = 4;
    /// The segment was sent again at some time.
    pub const EVER_RETRANS: u8 = 8;
    /// The flow was application-limited when the segment was sent.
    pub const APP_LIMITED: u8 = 16;
    /// Delivery of the segment has already given a rate sample.
    pub const RATE_TAKEN: u8 = 32;
    /// RACK gave up the segment, and ignores it until it is sent again.
    pub const GIVEN_UP_BY_RACK: u8 = 64;
}

/// The number that means "no segment" in a list.
const NONE: u32 = u32::MAX;
const FIRST_CAPACITY: u32 = 16;

/// One segment's transmission, as of the last time it was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// The time at which it was sent, us.
    pub sent_us: u64,
    /// `tcp_sock.first_tx_mstamp` at that time, us.
    pub first_tx_us: u64,
    /// `tcp_sock.delivered_mstamp` at that time, us.
    pub delivered_us: u64,
    /// `tcp_sock.delivered` at that time.
    pub delivered: u32,
    /// `tcp_sock.delivered_ce` at that time.
    pub delivered_ce: u32,
    pub(crate) earlier: u32,
    pub(crate) later: u32,
    pub state: u8,
    pub(crate) listed: bool,
}

/// The segments `una..nxt`.
pub struct Scoreboard {
    ring: Vec<Segment>,
    mask: u32,
    pub una: u32,
    pub nxt: u32,
    /// One above the highest selectively acknowledged segment; `una` if there is none.
    pub highest_sacked: u32,
    /// From this segment on none has a tag (`TCP_SKB_CB(skb)->sacked` is zero): each was sent once and is in flight.
    untagged_from: u32,
    /// All but the selectively acknowledged segments. Numbers outside the window count as members too, so that a
    /// segment sent once and acknowledged in order never changes the set.
    undelivered: SegmentSet,
    /// Lost segments whose retransmission is not in flight.
    to_resend: SegmentSet,
    /// The two ends of the list of segments in flight by time of transmission.
    oldest: u32,
    newest: u32,
}

impl Scoreboard {
    pub fn new() -> Scoreboard {
        Scoreboard {
            ring: vec![Segment::default(); FIRST_CAPACITY as usize],
            mask: FIRST_CAPACITY - 1,
            una: 0,
            nxt: 0,
            highest_sacked: 0,
            untagged_from: 0,
            undelivered: SegmentSet::full(FIRST_CAPACITY),
            to_resend: SegmentSet::new(FIRST_CAPACITY),
            oldest: NONE,
            newest: NONE,
        }
    }

    #[inline]
    pub fn get(&self, segment: u32) -> &Segment {
        &self.ring[(segment & self.mask) as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, segment: u32) -> &mut Segment {
        &mut self.ring[(segment & self.mask) as usize]
    }

    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// Appends the segment `nxt`, just sent.
    #[inline]
    pub fn push(&mut self, segment: Segment) {
        if self.nxt - self.una > self.mask {
            self.grow();
        }
        let number = self.nxt;
        *self.get_mut(number) = segment;
        self.nxt += 1;
        self.list_as_newest(number);
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.mask + 1) * 2;
        let mut ring = vec![Segment::default(); capacity as usize];
        let mut undelivered = SegmentSet::full(capacity);
        for number in self.una..self.nxt {
            let segment = *self.get(number);
            ring[(number & (capacity - 1)) as usize] = segment;
            if segment.state & state::SACKED != 0 {
                undelivered.remove(number);
            }
        }
        self.undelivered = undelivered;
        self.to_resend = self.to_resend.grown(capacity, self.una, self.nxt);
        self.ring = ring;
        self.mask = capacity - 1;
    }

    /// Removes the segment `una`, cumulatively acknowledged, and returns its record.
    #[inline]
    pub fn pop(&mut self) -> Segment {
        let number = self.una;
        self.unlist(number);
        self.undelivered.insert(number);
        self.to_resend.remove(number);
        self.una += 1;
        self.highest_sacked = self.highest_sacked.max(self.una);
        *self.get(number)
    }

    /// Reports whether every segment was sent once and is in flight. An acknowledgement then removes them as one.
    #[inline]
    pub fn is_untagged(&self) -> bool {
        self.una >= self.untagged_from
    }

    /// Removes the untagged segments below `next`, of which there is at least one. Returns the records of the first and
    /// the last.
    #[inline]
    pub fn pop_untagged(&mut self, next: u32) -> (Segment, Segment) {
        let (first, last) = (*self.get(self.una), *self.get(next - 1));
        self.una = next;
        self.highest_sacked = self.highest_sacked.max(next);
        // The list holds them in their order.
        self.oldest = last.later;
        match last.later {
            NONE => self.newest = NONE,
            later => self.get_mut(later).earlier = NONE,
        }
        (first, last)
    }

    fn tagged(&mut self, number: u32) {
        self.untagged_from = self.untagged_from.max(number + 1);
    }

    /// The lowest segment of `from..to` that has not been delivered.
    #[inline]
    pub fn undelivered_in(&self, from: u32, to: u32) -> Option<u32> {
        self.undelivered.first_in(from.max(self.una), to.min(self.nxt))
    }

    /// Notes a selective acknowledgement.
    #[inline]
    pub fn mark_sacked(&mut self, number: u32) {
        self.tagged(number);
        self.get_mut(number).state |= state::SACKED;
        self.undelivered.remove(number);
        self.to_resend.remove(number);
        self.unlist(number);
        self.highest_sacked = self.highest_sacked.max(number + 1);
    }

    /// Notes a loss: the segment waits to be sent again.
    #[inline]
    pub fn mark_lost(&mut self, number: u32) {
        self.tagged(number);
        let s = self.get_mut(number);
        s.state = (s.state | state::LOST) & !state::RETRANS;
        self.to_resend.insert(number);
        self.unlist(number);
    }

    /// Notes that RACK holds the segment for lost. As in Linux (`tcp_rack_detect_loss`) it then leaves RACK's list for
    /// good: only another transmission brings it back, an undo does not.
    pub fn give_up(&mut self, number: u32) {
        self.get_mut(number).state |= state::GIVEN_UP_BY_RACK;
    }

    /// Takes back every loss (`tcp_undo_cwnd_reduction`): segments that waited to be sent again are in flight after
    /// all. Segments that a timeout had given up return to the list at the time of their transmission.
    pub fn unmark_all_lost(&mut self) {
        let mut in_flight = vec![];
        for number in self.una..self.nxt {
            let s = self.get_mut(number);
            s.state &= !state::LOST;
            s.listed = false;
            if s.state & (state::SACKED | state::GIVEN_UP_BY_RACK) == 0 {
                in_flight.push((s.sent_us, number));
            }
            self.to_resend.remove(number);
        }
        in_flight.sort_unstable();
        (self.oldest, self.newest) = (NONE, NONE);
        for (_, number) in in_flight {
            self.list_as_newest(number);
        }
    }

    /// Forgets all losses and their retransmissions.
    pub fn forget_repairs(&mut self) {
        self.unmark_all_lost();
        for number in self.una..self.nxt {
            self.get_mut(number).state &= !state::RETRANS;
        }
    }

    /// Notes the loss of a segment that has been sent again on suspicion. That transmission stays in flight.
    pub fn mark_lost_after_resending(&mut self, number: u32) {
        self.get_mut(number).state |= state::LOST;
    }

    /// The highest segment that has not been delivered.
    pub fn highest_undelivered(&self) -> Option<u32> {
        (self.una..self.nxt).rev().find(|number| self.get(*number).state & state::SACKED == 0)
    }

    /// The lowest segment that waits to be sent again.
    #[inline]
    pub fn next_to_resend(&self) -> Option<u32> {
        self.to_resend.first_in(self.una, self.nxt)
    }

    /// Notes a new transmission of a segment: it becomes the newest of those in flight.
    #[inline]
    pub fn resent(&mut self, number: u32) {
        self.tagged(number);
        self.get_mut(number).state &= !state::GIVEN_UP_BY_RACK;
        self.to_resend.remove(number);
        self.unlist(number);
        self.list_as_newest(number);
    }

    /// Reports whether a segment is lost and has not been sent again.
    pub fn waits_to_be_resent(&self, number: u32) -> bool {
        self.get(number).state & (state::LOST | state::RETRANS) == state::LOST
    }

    /// Notes that the latest transmission of a lost segment was a probe. The segment waits to be sent again as before,
    /// and RACK passes over it until then (`tcp_send_loss_probe` leaves `TCPCB_SACKED_RETRANS` as it is).
    pub fn still_waits(&mut self, number: u32) {
        self.to_resend.insert(number);
        self.unlist(number);
    }

    /// The segment that was sent first of those in flight.
    #[inline]
    pub fn oldest_in_flight(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The segment in flight that was sent next after `number`.
    #[inline]
    pub fn sent_after(&self, number: u32) -> Option<u32> {
        let later = self.get(number).later;
        (later != NONE).then_some(later)
    }

    #[inline]
    fn list_as_newest(&mut self, number: u32) {
        let earlier = self.newest;
        let s = self.get_mut(number);
        s.earlier = earlier;
        s.later = NONE;
        s.listed = true;
        match earlier {
            NONE => self.oldest = number,
            _ => self.get_mut(earlier).later = number,
        }
        self.newest = number;
    }

    #[inline]
    fn unlist(&mut self, number: u32) {
        let Segment { earlier, later, listed, .. } = *self.get(number);
        if !listed {
            return;
        }
        match earlier {
            NONE => self.oldest = later,
            _ => self.get_mut(earlier).later = later,
        }
        match later {
            NONE => self.newest = earlier,
            _ => self.get_mut(later).earlier = earlier,
        }
        self.get_mut(number).listed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(count: u32) -> Scoreboard {
        let mut board = Scoreboard::new();
        for n in 0..count {
            board.push(Segment { sent_us: n as u64, ..Default::default() });
        }
        board
    }

    fn in_flight(board: &Scoreboard) -> Vec<u32> {
        std::iter::successors(board.oldest_in_flight(), |n| board.sent_after(*n)).collect()
    }

    #[test]
    fn a_resent_segment_is_the_newest() {
        let mut board = sent(4);
        board.mark_sacked(2);
        board.mark_lost(0);
        assert_eq!(in_flight(&board), [1, 3]);
        assert_eq!(board.next_to_resend(), Some(0));
        board.resent(0);
        assert_eq!(in_flight(&board), [1, 3, 0]);
        assert_eq!(board.next_to_resend(), None);
    }

    #[test]
    fn a_loss_that_is_taken_back_stands_where_it_was_sent() {
        let mut board = sent(6);
        board.mark_sacked(3);
        board.mark_lost(1);
        board.mark_lost(0);
        board.get_mut(0).sent_us = 9;
        board.get_mut(0).state |= state::RETRANS;
        board.resent(0);
        board.mark_lost(4);
        assert_eq!(in_flight(&board), [2, 5, 0]);
        board.unmark_all_lost();
        assert_eq!(in_flight(&board), [1, 2, 4, 5, 0]);
        assert_eq!(board.next_to_resend(), None);
    }

    #[test]
    fn what_rack_gave_up_is_not_looked_at_again_before_it_is_sent_again() {
        let mut board = sent(4);
        for number in [0, 1] {
            board.mark_lost(number);
            board.give_up(number);
        }
        board.unmark_all_lost();
        assert_eq!((in_flight(&board), board.next_to_resend()), (vec![2, 3], None));
        board.resent(1);
        assert_eq!(in_flight(&board), [2, 3, 1]);
        board.mark_lost(1);
        board.unmark_all_lost();
        assert_eq!(in_flight(&board), [1, 2, 3], "a timeout gave up the second transmission");
    }

    /// Scenario 292667 of tools/invariants: a probe of the tail goes out while the tail is given up.
    #[test]
    fn a_probe_of_a_lost_segment_is_not_its_retransmission() {
        let mut board = sent(4);
        board.mark_lost(3);
        assert!(board.waits_to_be_resent(3) && !board.waits_to_be_resent(2));
        board.get_mut(3).sent_us = 9;
        board.resent(3);
        board.still_waits(3);
        assert_eq!((in_flight(&board), board.next_to_resend()), (vec![0, 1, 2], Some(3)));
        board.get_mut(3).state |= state::RETRANS;
        board.resent(3);
        assert!(!board.waits_to_be_resent(3));
        assert_eq!((in_flight(&board), board.next_to_resend()), (vec![0, 1, 2, 3], None));
    }

    #[test]
    fn growing_keeps_every_view() {
        let mut board = sent(60);
        board.mark_sacked(7);
        board.mark_lost(3);
        for n in 60..1000 {
            board.push(Segment { sent_us: n, ..Default::default() });
        }
        assert_eq!(board.next_to_resend(), Some(3));
        assert_eq!(board.undelivered_in(7, 1000), Some(8));
        let expected: Vec<u32> = (0..1000).filter(|n| *n != 3 && *n != 7).collect();
        assert_eq!(in_flight(&board), expected);
    }

    #[test]
    fn untagged_segments_are_taken_as_one() {
        let mut board = sent(9);
        board.mark_sacked(2);
        assert!(!board.is_untagged());
        for _ in 0..3 {
            board.pop();
        }
        assert!(board.is_untagged());
        let (first, last) = board.pop_untagged(7);
        assert_eq!((first.sent_us, last.sent_us), (3, 6));
        assert_eq!((board.una, in_flight(&board), board.undelivered_in(0, 9)), (7, vec![7, 8], Some(7)));
        board.pop_untagged(9);
        assert_eq!((board.is_empty(), in_flight(&board)), (true, vec![]));
    }

    #[test]
    fn acknowledged_segments_leave_every_view() {
        let mut board = sent(3);
        board.mark_lost(0);
        assert_eq!(board.pop().sent_us, 0);
        assert_eq!((board.una, board.next_to_resend(), in_flight(&board)), (1, None, vec![1, 2]));
    }
}
