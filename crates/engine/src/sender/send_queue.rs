//! Data that a sender has to send, by the way its application writes it.

use super::pushes::Pushes;
use super::send_buffer::SendBuffer;
use apps::SlowWriter;
use model::WRITTEN_AT_ONCE;
use model::units::{Bytes, Nanos};

/// The way in which a sender's application writes.
pub enum SendQueue {
    /// The application keeps ahead of TCP, which always finds the next segment of the transfer.
    Ahead(Ahead),
    /// The application writes at a rate of its own, a segment at a time.
    AtRate(SlowWriter, Ahead),
    /// The application writes a transfer, or what a program asks for, while its send buffer has room.
    Buffered(Box<SendBuffer>),
}

impl SendQueue {
    /// The send buffer, if there is one.
    pub fn buffer(&self) -> Option<&SendBuffer> {
        match self {
            SendQueue::Buffered(buffer) => Some(buffer),
            SendQueue::Ahead(_) | SendQueue::AtRate(..) => None,
        }
    }

    /// The send buffer, if there is one.
    #[inline]
    pub fn buffer_mut(&mut self) -> Option<&mut SendBuffer> {
        match self {
            SendQueue::Buffered(buffer) => Some(buffer),
            SendQueue::Ahead(_) | SendQueue::AtRate(..) => None,
        }
    }

    /// The time at which the application next writes by its own clock.
    pub fn next_write(&self) -> Option<Nanos> {
        match self {
            SendQueue::AtRate(writer, _) => writer.next(),
            SendQueue::Ahead(_) | SendQueue::Buffered(_) => None,
        }
    }

    /// Reports whether the application writes nothing beyond the first `segments`.
    pub fn ends_at(&self, segments: u32) -> bool {
        match self {
            SendQueue::Ahead(_) => true,
            SendQueue::AtRate(writer, _) => writer.next().is_none(),
            SendQueue::Buffered(buffer) => buffer.closed && buffer.wanted == segments,
        }
    }

    /// Limits the application to the first `segments`. Returns true if they are in a send buffer, from which TCP still
    /// sends them.
    pub fn end_at(&mut self, segments: u32) -> bool {
        match self {
            SendQueue::Ahead(_) => false,
            SendQueue::AtRate(writer, _) => {
                writer.end();
                false
            }
            SendQueue::Buffered(buffer) => {
                (buffer.wanted, buffer.closed) = (segments, true);
                true
            }
        }
    }
}

/// The progress of an application that keeps ahead of TCP.
///
/// It works as the testbed's application: it writes several whole segments at a time until the kernel blocks it,
/// because too much is unsent (`TCP_NOTSENT_LOWAT`). It goes on when half of that is left.
pub struct Ahead {
    /// Unsent payload at which the application waits, bytes.
    most: u64,
    mss: u32,
    /// Number of segments that the application writes at a time.
    chunk: u32,
    /// One above the last segment that the application has written.
    written: u32,
    /// One above the last segment that TCP has to send before the application goes on.
    resumes_at: u32,
}

impl Ahead {
    /// An application that has written nothing, and that waits when `most` bytes are unsent.
    pub fn new(most: Bytes, mss: u32) -> Ahead {
        let chunk = (WRITTEN_AT_ONCE.0 as u32 / mss).max(1);
        Ahead { most: most.0, mss, chunk, written: 0, resumes_at: 0 }
    }

    /// Writes up to the segment `end`, the last of all. TCP has sent the segments below `sent`, and those below
    /// `leaving` leave meanwhile.
    #[cold]
    pub fn write(&mut self, pushes: &mut Pushes, sent: u32, leaving: u32, end: u32, max_window: u32) {
        // TCP may have sent more at once than `written` counts.
        let first = self.written.max(sent);
        self.written = first;
        let fills = leaving.saturating_add(self.most.div_ceil(self.mss as u64) as u32).min(end);
        // Linux pushes when more than half of the largest window was written since the last push (`forced_push`).
        let push_every = (max_window / 2 / self.mss).saturating_add(1);
        while self.written < fills {
            self.written = pushes.end().saturating_add(push_every).clamp(self.written + 1, fills);
            if pushes.written_since(self.written) >= push_every {
                pushes.push_last(self.written);
            }
        }
        let waits_in_a_chunk = !(self.written - first).is_multiple_of(self.chunk);
        if (self.written == end || waits_in_a_chunk) && pushes.written_since(self.written) > 0 {
            pushes.push_last(self.written);
        }
        pushes.find_next(sent);
        // Half of `most` is left when fewer than this many segments are unsent.
        let half = self.most.div_ceil(2 * self.mss as u64) as u32;
        self.resumes_at = if self.written == end { u32::MAX } else { self.written - half + 1 };
    }

    /// Reports whether the application writes again once TCP has sent the segments below `leaving`.
    #[inline]
    pub fn resumes_with(&self, leaving: u32) -> bool {
        leaving >= self.resumes_at
    }

    /// Lets the application write again, because it has got more to write.
    pub fn resume(&mut self) {
        self.resumes_at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    /// Lists the segments that carry PSH. TCP sends the first `window` while the application writes, and then one after
    /// the other.
    fn pushed(segments: u32, window: u32, max_window: u32) -> Vec<u32> {
        let (mut ahead, mut pushes) = (Ahead::new(Bytes(128 << 10), MSS), Pushes::new());
        ahead.write(&mut pushes, 0, window, segments, max_window);
        let mut pushed = vec![];
        for segment in 0..segments.min(300) {
            if pushes.sends(segment) {
                pushed.push(segment);
            }
            if segment >= window && ahead.resumes_with(segment + 1) {
                pushes.forget_below(segment - window);
                ahead.write(&mut pushes, segment + 1, segment + 1, segments, max_window);
            }
        }
        pushed
    }

    /// Captures of the testbed's application on Linux 6.1 show the same. Ten segments leave at once, so the application
    /// writes 101 until 128 KiB are unsent, 9 chunks of 11 and 2. It writes again when 45 segments are unsent, less
    /// than half of 128 KiB.
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
        let mut pushes = Pushes::new();
        Ahead::new(Bytes(128 << 10), MSS).write(&mut pushes, 0, 10, 1000, 21_720);
        assert!((0..20).filter(|segment| pushes.sends(*segment)).eq([7, 15]));
        assert!((0..20).filter(|segment| pushes.sends_again(*segment)).eq([7, 15]));
    }
}
