//! How a handset comes to send: it requests, is granted resource blocks, and reports with each block what still waits.
//!
//! A subframe here is the one at whose start the handset has understood a grant and puts the block together; the block
//! is on the air some subframes later, as one of the downlink is after it was scheduled.

use super::carrier::Sent;
use model::radio::lte::{ANSWERED_AFTER, Harq, REQUEST_PERIOD};
use std::collections::VecDeque;

/// What a request is answered with, bytes: it does not say how much waits. Room for two TCP acknowledgements.
pub const FIRST_GRANT: u64 = 128;

/// A block with its report of what waits.
#[derive(Clone, Copy, Debug)]
struct Report {
    /// When a grant can take account of it.
    heeded_at: u64,
    /// Bytes that this block could carry.
    granted: u64,
    /// Bytes that waited behind it.
    left: u64,
}

/// What a base station knows of a handset, and what it gives it.
#[derive(Debug)]
pub struct Grants {
    /// In which subframe of the period the handset may request.
    offset: u64,
    /// When the answer to its request is there, if it has one under way.
    answered_at: Option<u64>,
    /// Bytes that are known to wait, those excluded that were granted since.
    known: u64,
    /// Of blocks that were put together, oldest first: those not heeded yet.
    reports: VecDeque<Report>,
}

impl Grants {
    /// Those of user number `user`: users have different opportunities to request.
    pub fn new(user: usize) -> Grants {
        Grants { offset: user as u64 % REQUEST_PERIOD, answered_at: None, known: 0, reports: VecDeque::new() }
    }

    /// Data comes to the empty queue of a handset, by the start of `subframe` (TS 36.321, section 5.4.5: a regular
    /// buffer status report, which needs a grant).
    pub fn request(&mut self, subframe: u64) {
        let wait = (self.offset + REQUEST_PERIOD - subframe % REQUEST_PERIOD) % REQUEST_PERIOD;
        self.answered_at.get_or_insert(subframe + wait + ANSWERED_AFTER);
    }

    /// The bytes that the base station wants to grant in a subframe.
    pub fn wanted(&mut self, subframe: u64) -> u64 {
        if let Some(heeded) = self.reports.iter().rposition(|report| report.heeded_at <= subframe) {
            let granted_since: u64 = self.reports.iter().skip(heeded + 1).map(|report| report.granted).sum();
            self.known = self.reports[heeded].left.saturating_sub(granted_since);
            self.reports.drain(..=heeded);
        }
        match self.answered_at {
            Some(at) if at <= subframe => self.known.max(FIRST_GRANT),
            _ => self.known,
        }
    }

    /// The handset has put a block together. With its report a request is settled. A report is as late as the block is:
    /// a block that is lost after all tries counts as one whose last try arrived, since the base station knows then
    /// that a report is missing.
    pub fn used(&mut self, subframe: u64, sent: &Sent) {
        let heeded_at = subframe + Harq::ROUND_TRIP * u64::from(sent.tries.count);
        let granted = sent.room.into();
        self.reports.push_back(Report { heeded_at, granted, left: sent.left });
        self.known = self.known.saturating_sub(granted);
        self.answered_at = None;
    }

    /// The first subframe from `subframe` on in which something may be granted; none while nothing waits.
    pub fn next(&self, subframe: u64) -> Option<u64> {
        if self.known > 0 {
            return Some(subframe);
        }
        let reported = self.reports.iter().filter(|report| report.left > 0).map(|report| report.heeded_at);
        reported.chain(self.answered_at).min().map(|at| at.max(subframe))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::radio::lte::Tries;
    use proptest::prelude::*;

    fn sent(room: u32, left: u64, count: u32) -> Sent {
        Sent { user: 0, room, left, tries: Tries { count, lost: false } }
    }

    /// A request waits for its opportunity; the grant is there five subframes after that.
    #[test]
    fn a_request_is_answered() {
        let mut grants = Grants::new(3);
        assert_eq!(grants.next(0), None);
        grants.request(4);
        assert_eq!((grants.next(4), grants.wanted(17)), (Some(18), 0));
        assert_eq!(grants.wanted(18), FIRST_GRANT);
        grants.used(18, &sent(130, 0, 1));
        assert_eq!((grants.next(19), grants.wanted(40)), (None, 0));
    }

    #[test]
    fn a_request_in_its_own_subframe_does_not_wait() {
        let mut grants = Grants::new(0);
        grants.request(20);
        assert_eq!(grants.next(0), Some(25));
        grants.request(21);
        assert_eq!(grants.next(0), Some(25));
    }

    /// 1500 bytes: the first block carries 130 of them, and eight subframes later the rest is granted, once.
    #[test]
    fn what_a_report_says_is_granted_once() {
        let mut grants = Grants::new(0);
        grants.request(0);
        assert_eq!(grants.wanted(5), FIRST_GRANT);
        grants.used(5, &sent(130, 1370, 1));
        assert_eq!((grants.next(6), grants.wanted(12)), (Some(13), 0));
        assert_eq!(grants.wanted(13), 1370);
        grants.used(13, &sent(1000, 370, 1));
        assert_eq!(grants.wanted(14), 370);
        grants.used(14, &sent(370, 0, 1));
        assert_eq!((grants.wanted(21), grants.wanted(22)), (0, 0));
    }

    /// A report is as late as its block, and one that comes behind a newer one says nothing.
    #[test]
    fn reports_come_with_their_blocks() {
        let mut grants = Grants::new(0);
        grants.used(0, &sent(100, 500, 3));
        grants.used(1, &sent(100, 400, 1));
        assert_eq!(grants.next(2), Some(9));
        assert_eq!((grants.wanted(8), grants.wanted(9)), (0, 400));
        grants.used(9, &sent(400, 0, 1));
        assert_eq!(grants.next(10), None);
        assert_eq!(grants.wanted(24), 0);
    }

    proptest! {
        /// Whatever comes to a handset when, and however often its blocks are tried, all of it is granted in the end.
        #[test]
        fn nothing_is_left_without_a_grant(
            arrivals in prop::collection::vec((0..40u64, 1..5000u64), 1..30),
            tries in prop::collection::vec(1..5u32, 1..20),
            most in 200..3000u64,
        ) {
            let mut grants = Grants::new(7);
            let mut tries = tries.iter().cycle();
            let mut arrivals = arrivals.iter().scan(0, |at, (gap, bytes)| {
                *at += gap;
                Some((*at, *bytes))
            }).peekable();
            let mut waiting = 0;
            for subframe in 0..20_000 {
                while let Some((_, bytes)) = arrivals.next_if(|(at, _)| *at == subframe) {
                    if waiting == 0 {
                        grants.request(subframe);
                    }
                    waiting += bytes;
                }
                prop_assert!(waiting == 0 || grants.next(subframe).is_some());
                let granted = grants.wanted(subframe).min(most);
                if granted > 0 {
                    waiting = waiting.saturating_sub(granted);
                    let count = *tries.next().expect("it repeats");
                    grants.used(subframe, &sent(granted as u32, waiting, count));
                }
            }
            prop_assert_eq!((waiting, grants.next(20_000)), (0, None));
        }
    }
}
