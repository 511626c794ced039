//! The application of a sender, which writes ahead of what TCP sends, and the segments that it pushes.
//!
//! It is that of the testbed: it writes whole segments, some at a time, until so much is unsent that the kernel has it
//! wait (`TCP_NOTSENT_LOWAT`), and goes on when half of that is left. The kernel sets PSH on the last segment before
//! such a wait, on the last of all, and wherever more than half of the largest window seen was written since
//! (`forced_push`). It matters to the receiver, which acknowledges a pushed segment at once.

use scenario::model::WRITTEN_AT_ONCE;
use scenario::units::Bytes;
use std::collections::VecDeque;

/// How far an application is.
pub struct Writing {
    /// It waits when so much is unsent, bytes.
    ahead: u64,
    mss: u32,
    /// Segments that it writes at a time.
    chunk: u32,
    /// It has written the segments below.
    written: u32,
    /// It goes on when TCP has sent the segments below.
    goes_on_at: u32,
    /// The segment behind the one that was pushed last (`pushed_seq`).
    pushed_to: u32,
    /// The pushed segments, from some that are acknowledged on.
    pushed: VecDeque<u32>,
    /// How many of them were sent, and the first that was not.
    pushed_sent: usize,
    next_pushed: u32,
}

impl Writing {
    /// An application that has written nothing; of `ahead` it has as much unsent at most.
    pub fn new(ahead: Bytes, mss: u32) -> Writing {
        Writing {
            ahead: ahead.0,
            mss,
            chunk: (WRITTEN_AT_ONCE.0 as u32 / mss).max(1),
            written: 0,
            goes_on_at: 0,
            pushed_to: 0,
            pushed: VecDeque::new(),
            pushed_sent: 0,
            next_pushed: u32::MAX,
        }
    }

    /// Writes up to the segment `end`, the last of all. TCP has sent the segments below `sent`, and of those below
    /// `leaving` the others leave meanwhile.
    #[cold]
    pub fn write(&mut self, sent: u32, leaving: u32, end: u32, max_window: u32) {
        // TCP may have sent more at once than was thought to be written.
        let first = self.written.max(sent);
        self.written = first;
        while self.written < end && self.unsent(leaving) < self.ahead {
            self.written += 1;
            if self.bytes(self.written - self.pushed_to) > max_window as u64 / 2 {
                self.push_last();
            }
        }
        let waits_in_a_chunk = !(self.written - first).is_multiple_of(self.chunk);
        if (self.written == end || waits_in_a_chunk) && self.pushed_to < self.written {
            self.push_last();
        }
        self.find_next_pushed(sent);
        // Half of `ahead` is left when less than these are unsent.
        let half = self.ahead.div_ceil(2 * self.mss as u64) as u32;
        self.goes_on_at = if self.written == end { u32::MAX } else { self.written - half + 1 };
    }

    /// Does it go on when TCP has sent the segments below `leaving`?
    #[inline]
    pub fn goes_on_with(&self, leaving: u32) -> bool {
        leaving >= self.goes_on_at
    }

    /// There is more to write than there was.
    pub fn goes_on(&mut self) {
        self.goes_on_at = 0;
    }

    fn push_last(&mut self) {
        self.pushed.push_back(self.written - 1);
        self.pushed_to = self.written;
    }

    fn unsent(&self, sent: u32) -> u64 {
        self.bytes(self.written.saturating_sub(sent))
    }

    fn bytes(&self, segments: u32) -> u64 {
        segments as u64 * self.mss as u64
    }

    fn find_next_pushed(&mut self, sent: u32) {
        while self.pushed.get(self.pushed_sent).is_some_and(|segment| *segment < sent) {
            self.pushed_sent += 1;
        }
        self.next_pushed = self.pushed.get(self.pushed_sent).copied().unwrap_or(u32::MAX);
    }

    /// The application has written the segments below `written`, into a send buffer that says when it may go on; those
    /// below `sent` were sent, and those below `una` are acknowledged. The last of what is written at a time is pushed.
    pub fn wrote_to(&mut self, written: u32, una: u32, sent: u32) {
        self.forget_below(una);
        self.written = written;
        self.push_last();
        self.find_next_pushed(sent);
    }

    /// A segment is sent for the first time: is it pushed?
    #[inline]
    pub fn sends(&mut self, segment: u32) -> bool {
        let pushed = segment == self.next_pushed;
        if pushed {
            self.find_next_pushed(segment + 1);
        }
        pushed
    }

    /// The same for one that is sent again.
    pub fn sends_again(&self, segment: u32) -> bool {
        self.pushed.binary_search(&segment).is_ok()
    }

    /// The segments below `una` are acknowledged.
    pub fn forget_below(&mut self, una: u32) {
        while self.pushed.front().is_some_and(|segment| *segment < una) {
            self.pushed.pop_front();
            self.pushed_sent = self.pushed_sent.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    /// The segments that are pushed of so many, TCP having sent the first `window` while they were written, and then
    /// one after the other.
    fn pushed(segments: u32, window: u32, max_window: u32) -> Vec<u32> {
        let mut writing = Writing::new(Bytes(128 << 10), MSS);
        writing.write(0, window, segments, max_window);
        let mut pushed = vec![];
        for segment in 0..segments.min(300) {
            if writing.sends(segment) {
                pushed.push(segment);
            }
            if segment >= window && segment + 1 >= writing.goes_on_at {
                writing.forget_below(segment - window);
                writing.write(segment + 1, segment + 1, segments, max_window);
            }
        }
        pushed
    }

    /// As captures of the testbed's application on Linux 6.1 show it: ten segments leave at once, so that 101 are
    /// written until 128 KiB are unsent, 9 chunks of 11 and 2; 45 segments are less than half of it.
    #[test]
    fn the_last_segment_before_the_application_waits_is_pushed() {
        assert_eq!(pushed(1000, 10, 1 << 30), [100, 146, 192, 238, 284]);
    }

    #[test]
    fn more_than_half_a_window_is_pushed() {
        // 10 860 bytes: with the eighth segment.
        assert_eq!(pushed(40, 10, 21_720), [7, 15, 23, 31, 39]);
    }

    #[test]
    fn the_last_segment_of_a_transfer_is_pushed_once() {
        assert_eq!(pushed(1, 10, 65_535), [0]);
        assert_eq!(pushed(23, 10, 65_535), [22]);
        assert_eq!(pushed(101, 10, 1 << 30), [100]);
    }

    #[test]
    fn a_pushed_segment_is_pushed_again() {
        let mut writing = Writing::new(Bytes(128 << 10), MSS);
        writing.write(0, 10, 1000, 21_720);
        assert!((0..20).filter(|segment| writing.sends(*segment)).eq([7, 15]));
        assert!((0..20).filter(|segment| writing.sends_again(*segment)).eq([7, 15]));
    }
}
