//! The sender of an application that writes at a rate of its own.

use super::{Env, Sender};
use crate::tap::Tap;

impl Sender {
    /// Writes what is due. True if that is something.
    pub(super) fn write_slowly<T: Tap>(&mut self, env: &mut Env<T>) -> bool {
        let Some(writer) = &mut self.slow_writer else { return false };
        let unsent = self.segments - self.board.nxt;
        let (written, lacks) = (writer.write(env.now, unsent), writer.lacks());
        self.application_at = self.next_act();
        if written > 0 {
            self.note_pause(unsent);
            (self.segments, self.last_payload) = (self.segments + written, self.mss - lacks);
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
