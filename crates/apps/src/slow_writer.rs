//! An application that writes at a rate of its own, such as a sensor's, a segment at a time.

use scenario::units::{Bytes, Nanos, Rate};

/// What finds so many segments unsent is not written, but lost: a sensor's send buffer holds a few.
const MOST_UNSENT: u32 = 4;

/// When it writes.
#[derive(Clone, Copy, Debug)]
pub struct SlowWriter {
    interval: Nanos,
    next: Nanos,
    /// Segments that it will still write.
    left: u32,
}

impl SlowWriter {
    /// One that writes so many segments at a rate of payload, the first at `start`.
    pub fn new(rate: Rate, mss: u32, segments: u32, start: Nanos) -> SlowWriter {
        SlowWriter { interval: rate.time_to_send(Bytes(mss.into())), next: start, left: segments }
    }

    /// When it writes next.
    pub fn next(&self) -> Option<Nanos> {
        (self.left > 0).then_some(self.next)
    }

    /// It writes nothing more.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// How many segments it writes until `now`, where so many wait to be sent.
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

    /// 64 bytes at 1024 bit/s are two a second.
    #[test]
    fn it_keeps_its_rate_and_loses_what_has_no_room() {
        let at = Nanos::from_millis;
        let mut writer = SlowWriter::new(Rate(1024), 64, 10, at(0));
        assert_eq!((writer.write(at(0), 0), writer.next()), (1, Some(at(500))));
        assert_eq!(writer.write(at(499), 0), 0);
        assert_eq!((writer.write(at(2500), 0), writer.next()), (4, Some(at(3000))));
        assert_eq!(writer.write(at(3000), 4), 0);
        assert_eq!(writer.write(at(3500), 7), 0);
        assert_eq!(writer.write(at(60_000), 1), 3);
        assert_eq!((writer.write(at(60_500), 2), writer.next()), (1, Some(at(61_000))));
        writer.end();
        assert_eq!((writer.write(at(90_000), 0), writer.next()), (0, None));
    }
}
