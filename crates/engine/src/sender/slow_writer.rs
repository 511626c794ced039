//! An application that writes at a rate of its own, such as a sensor's, a segment at a time.

use super::{Env, Sender};
use crate::tap::Tap;
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

    /// How many segments it writes until `now`, if there is room for so many.
    fn write(&mut self, now: Nanos, room: u32) -> u32 {
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

impl Sender {
    /// Writes what is due. True if that is something.
    pub(super) fn write_slowly<T: Tap>(&mut self, env: &mut Env<T>) -> bool {
        let Some(writer) = &mut self.slow_writer else { return false };
        let unsent = self.segments - self.board.nxt;
        let written = writer.write(env.now, MOST_UNSENT.saturating_sub(unsent));
        self.application_at = self.next_act();
        if written > 0 {
            self.note_pause(unsent);
            self.segments += written;
            self.writing.goes_on();
            self.let_application_write(env, self.board.nxt);
        }
        written > 0
    }

    /// `tcp_rate_check_app_limited`: what is in flight says nothing of what the path could carry, if TCP had nothing
    /// to send while its window had room.
    fn note_pause(&mut self, unsent: u32) {
        let sk = &mut self.sk;
        let in_flight = sk.packets_in_flight();
        if unsent == 0 && in_flight < sk.snd_cwnd && sk.lost_out <= sk.retrans_out {
            sk.app_limited = (sk.delivered + in_flight).max(1);
        }
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
        assert_eq!((writer.write(at(0), 4), writer.next()), (1, Some(at(500))));
        assert_eq!(writer.write(at(499), 4), 0);
        assert_eq!((writer.write(at(2500), 4), writer.next()), (4, Some(at(3000))));
        assert_eq!(writer.write(at(3000), 0), 0);
        assert_eq!((writer.write(at(60_000), 100), writer.next()), (5, None));
    }
}
