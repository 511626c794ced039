//! What a sender has to send, by how its application writes it.

use super::pushes::Pushes;
use super::send_buffer::SendBuffer;
use apps::SlowWriter;
use model::WRITTEN_AT_ONCE;
use model::units::{Bytes, Nanos};

/// How a sender's application writes.
pub enum SendQueue {
    /// It keeps ahead of what TCP sends, which always finds the next segment of the transfer.
    Ahead(Ahead),
    /// It writes at a rate of its own, a segment at a time.
    AtRate(SlowWriter, Ahead),
    /// It writes what a program asks for, or a transfer, as far as its send buffer has room.
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

    /// When the application writes next by its own clock.
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

    /// The application writes no more than these segments. True: they lie in a buffer, from which they are still sent.
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

/// How far an application is that keeps ahead of TCP.
///
/// It is that of the testbed: it writes whole segments, some at a time, until so much is unsent that the kernel has it
/// wait (`TCP_NOTSENT_LOWAT`), and goes on when half of that is left.
pub struct Ahead {
    /// It waits when so much is unsent, bytes.
    most: u64,
    mss: u32,
    /// Segments that it writes at a time.
    chunk: u32,
    /// It has written the segments below.
    written: u32,
    /// It goes on when TCP has sent the segments below.
    resumes_at: u32,
}

impl Ahead {
    /// An application that has written nothing; of `most` it has as much unsent at most.
    pub fn new(most: Bytes, mss: u32) -> Ahead {
        let chunk = (WRITTEN_AT_ONCE.0 as u32 / mss).max(1);
        Ahead { most: most.0, mss, chunk, written: 0, resumes_at: 0 }
    }

    /// Writes up to the segment `end`, the last of all. TCP has sent the segments below `sent`, and of those below
    /// `leaving` the others leave meanwhile.
    #[cold]
    pub fn write(&mut self, pushes: &mut Pushes, sent: u32, leaving: u32, end: u32, max_window: u32) {
        // TCP may have sent more at once than was thought to be written.
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
        // Half of `most` is left when less than these are unsent.
        let half = self.most.div_ceil(2 * self.mss as u64) as u32;
        self.resumes_at = if self.written == end { u32::MAX } else { self.written - half + 1 };
    }

    /// Reports whether the application writes again once TCP has sent the segments below `leaving`.
    #[inline]
    pub fn resumes_with(&self, leaving: u32) -> bool {
        leaving >= self.resumes_at
    }

    /// There is more to write than there was.
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
        let mut pushes = Pushes::new();
        Ahead::new(Bytes(128 << 10), MSS).write(&mut pushes, 0, 10, 1000, 21_720);
        assert!((0..20).filter(|segment| pushes.sends(*segment)).eq([7, 15]));
        assert!((0..20).filter(|segment| pushes.sends_again(*segment)).eq([7, 15]));
    }
}
