//! Uplink grants: a handset sends a request, gets resource blocks, and reports its backlog with
//! each block.
//!
//! A subframe here is the one at whose start the handset has decoded a grant and assembles the
//! block. The block is on the air some subframes later, as a block of the downlink is after its
//! scheduling.

use super::carrier::Sent;
use model::radio::lte::{ANSWERED_AFTER, Harq, REQUEST_PERIOD};
use std::collections::VecDeque;

/// Bytes that answer a request, which does not say how much waits. They have room for two TCP
/// acknowledgements.
pub const FIRST_GRANT: u64 = 128;

/// A block, with its report of the backlog.
#[derive(Clone, Copy, Debug)]
struct Report {
    /// The first subframe whose grants can use the report.
    usable_at: u64,
    /// Bytes that the block could carry.
    granted: u64,
    /// Bytes that waited behind the block.
    left: u64,
}

/// A base station's knowledge of a handset, and its grants.
#[derive(Debug)]
pub struct Grants {
    /// The subframe of each period in which the handset may send a request.
    offset: u64,
    /// The subframe in which the answer to a pending request arrives; none without a request.
    answered_at: Option<u64>,
    /// Bytes that the base station knows to wait, less those that it has granted since.
    known: u64,
    /// Reports of blocks that no grant has used yet, oldest first.
    reports: VecDeque<Report>,
}

impl Grants {
    /// Creates the state of user number `user`. Users have different opportunities for requests.
    pub fn new(user: usize) -> Grants {
        Grants { offset: user as u64 % REQUEST_PERIOD, answered_at: None, known: 0, reports: VecDeque::new() }
    }

    /// Requests a grant, because data joined the empty queue of a handset by the start of
    /// `subframe` (regular buffer status report, TS 36.321, section 5.4.5).
    pub fn request(&mut self, subframe: u64) {
        let wait = (self.offset + REQUEST_PERIOD - subframe % REQUEST_PERIOD) % REQUEST_PERIOD;
        self.answered_at.get_or_insert(subframe + wait + ANSWERED_AFTER);
    }

    /// Returns the bytes that the base station wants to grant in a subframe.
    pub fn wanted(&mut self, subframe: u64) -> u64 {
        if let Some(usable) = self.reports.iter().rposition(|report| report.usable_at <= subframe) {
            let granted_since: u64 = self.reports.iter().skip(usable + 1).map(|report| report.granted).sum();
            self.known = self.reports[usable].left.saturating_sub(granted_since);
            self.reports.drain(..=usable);
        }
        match self.answered_at {
            Some(at) if at <= subframe => self.known.max(FIRST_GRANT),
            _ => self.known,
        }
    }

    /// Notes that the handset has sent a block. Its report settles a pending request, and arrives
    /// as late as the block. If the block is lost after all tries, its report counts at the last
    /// try, since the base station then knows that one is missing.
    pub fn used(&mut self, subframe: u64, sent: &Sent) {
        let usable_at = subframe + Harq::ROUND_TRIP * u64::from(sent.tries.count);
        let granted = sent.room.into();
        self.reports.push_back(Report { usable_at, granted, left: sent.left });
        self.known = self.known.saturating_sub(granted);
        self.answered_at = None;
    }

    /// Returns the first subframe, from `subframe` on, that may carry a grant; none while nothing
    /// waits.
    pub fn next(&self, subframe: u64) -> Option<u64> {
        if self.known > 0 {
            return Some(subframe);
        }
        let reported = self.reports.iter().filter(|report| report.left > 0).map(|report| report.usable_at);
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

    /// A request waits for its opportunity; the grant arrives five subframes later.
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

    /// Of 1500 bytes the first block carries 130; eight subframes later the rest is granted, once.
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

    /// A report is as late as its block, and a report behind a newer one has no effect.
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
        /// Every byte is granted in the end, whenever data arrives and however often its blocks are
        /// tried.
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
