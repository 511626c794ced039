//! An application that writes at a rate of its own, such as a sensor, one segment at a time.

use model::units::{Bytes, Nanos, Rate};

/// Number of unsent segments from which on a write is lost: a sensor's send buffer has room for a
/// few.
const MOST_UNSENT: u32 = 4;

/// The schedule of an application that writes one segment at a time.
#[derive(Clone, Copy, Debug)]
pub struct SlowWriter {
    interval: Nanos,
    next: Nanos,
    /// Number of segments that it will still write.
    left: u32,
    /// Payload in bytes that the last segment lacks.
    lacks: u32,
}

impl SlowWriter {
    /// Creates a writer of segments with `mss` bytes at a rate of payload, the first at `start`. It
    /// writes `size`, or without end.
    pub fn new(rate: Rate, mss: u32, size: Option<Bytes>, start: Nanos) -> SlowWriter {
        let segments = size.map_or(u64::MAX, |size| size.0.div_ceil(mss.into()));
        let left = u32::try_from(segments).unwrap_or(u32::MAX);
        let lacks = size.map_or(0, |size| (segments * u64::from(mss) - size.0) as u32);
        SlowWriter { interval: rate.time_to_send(Bytes(mss.into())), next: start, left, lacks }
    }

    /// Returns the payload in bytes that the latest segment lacks.
    pub fn lacks(&self) -> u32 {
        if self.left == 0 { self.lacks } else { 0 }
    }

    /// Returns when it writes next; none after the last segment.
    pub fn next(&self) -> Option<Nanos> {
        (self.left > 0).then_some(self.next)
    }

    /// Ends the writing.
    pub fn end(&mut self) {
        self.lacks = self.lacks();
        self.left = 0;
    }

    /// Returns the number of segments that it writes until `now`, while `unsent` segments wait to
    /// be sent.
    pub fn write(&mut self, now: Nanos, unsent: u32) -> u32 {
        let room = MOST_UNSENT.saturating_sub(unsent);
        let mut written = 0;
        while self.left > 0 && self.next <= now {
            self.next += self.interval;
            if written < room {
                written += 1;
                self.left -= 1;
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 64 bytes at 1024 bit/s are two a second.
    #[test]
    fn it_keeps_its_rate_and_loses_what_has_no_room() {
        let at = Nanos::from_millis;
        let mut writer = SlowWriter::new(Rate(1024), 64, Some(Bytes(600)), at(0));
        assert_eq!((writer.write(at(0), 0), writer.next()), (1, Some(at(500))));
        assert_eq!(writer.write(at(499), 0), 0);
        assert_eq!((writer.write(at(2500), 0), writer.next()), (4, Some(at(3000))));
        assert_eq!(writer.write(at(3000), 4), 0);
        assert_eq!(writer.write(at(3500), 7), 0);
        assert_eq!(writer.write(at(60_000), 1), 3);
        let mut stopped = writer;
        assert_eq!((writer.write(at(60_500), 2), writer.next(), writer.lacks()), (1, Some(at(61_000)), 0));
        assert_eq!((writer.write(at(61_000), 2), writer.next(), writer.lacks()), (1, None, 40));
        stopped.end();
        assert_eq!((stopped.write(at(90_000), 0), stopped.next(), stopped.lacks()), (0, None, 0));
    }
}
