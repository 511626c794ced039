//! The segments that an application pushes. The kernel sets PSH on the last segment before the application waits, and
//! on the last of all. It also does so wherever more than half of the largest window was written since (`forced_push`).
//! PSH matters to the receiver, which acknowledges a pushed segment at once.

use std::collections::VecDeque;

/// The record of pushed segments.
pub struct Pushes {
    /// The segment behind the one that was pushed last (`pushed_seq`).
    end: u32,
    /// The pushed segments, from some that are acknowledged on.
    pushed: VecDeque<u32>,
    /// The number of them that were sent, and the first that was not.
    sent: usize,
    next: u32,
}

impl Pushes {
    /// A record without a pushed segment.
    pub fn new() -> Pushes {
        Pushes { end: 0, pushed: VecDeque::new(), sent: 0, next: u32::MAX }
    }

    /// The segment behind the one that was pushed last.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// The number of segments written behind the one pushed last, if the segments below `written` are written.
    pub fn written_since(&self, written: u32) -> u32 {
        written - self.end
    }

    /// Pushes the last of the segments below `written`.
    pub fn push_last(&mut self, written: u32) {
        self.pushed.push_back(written - 1);
        self.end = written;
    }

    /// Finds the next pushed segment, after those below `sent` were sent.
    pub fn find_next(&mut self, sent: u32) {
        while self.pushed.get(self.sent).is_some_and(|segment| *segment < sent) {
            self.sent += 1;
        }
        self.next = self.pushed.get(self.sent).copied().unwrap_or(u32::MAX);
    }

    /// Reports whether a segment that is sent for the first time is pushed.
    #[inline]
    pub fn sends(&mut self, segment: u32) -> bool {
        let pushed = segment == self.next;
        if pushed {
            self.find_next(segment + 1);
        }
        pushed
    }

    /// Reports whether a segment that is sent again is pushed.
    pub fn sends_again(&self, segment: u32) -> bool {
        self.pushed.binary_search(&segment).is_ok()
    }

    /// Forgets the segments below `una`, which are acknowledged.
    pub fn forget_below(&mut self, una: u32) {
        while self.pushed.front().is_some_and(|segment| *segment < una) {
            self.pushed.pop_front();
            self.sent = self.sent.saturating_sub(1);
        }
    }
}
