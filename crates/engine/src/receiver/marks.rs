//! Reaction of acknowledgements to ECN marks (RFC 3168, or DCTCP's own echo if the congestion control asks for it).

use super::Receiver;
use crate::packet::{Ack, Data, flag};
use mechanism::Control;
use mechanism::sock::{ack_pending, ca_event, ecn};
use model::units::Nanos;

impl Receiver {
    /// Notes the codepoint and the flags of a segment. Linux drops a segment that has come before without a look at its
    /// mark (`tcp_data_queue`). Returns an acknowledgement for the state before the segment, if one is due.
    #[inline(never)]
    pub(super) fn note_ecn(&mut self, control: &Control, now: Nanos, data: &Data) -> Option<Ack> {
        if data.flags & flag::CWR != 0 {
            self.accept_cwr();
        }
        if data.segment < self.next {
            return None;
        }
        let next = if data.segment == self.next { self.next + 1 } else { self.next };
        self.check_ce(control, now, data, next)
    }

    fn set_echo(&mut self, echo: bool) {
        self.ack_flags = self.ack_flags & !flag::ECE | if echo { flag::ECE } else { 0 };
    }

    /// `tcp_ecn_accept_cwr`: the sender has reacted to the echo. Its window may be a single segment now, so the
    /// acknowledgement does not wait.
    fn accept_cwr(&mut self) {
        self.set_echo(false);
        self.ack_now = true;
        if let Some(sk) = &mut self.socket {
            sk.ecn_flags &= !ecn::DEMAND_CWR;
        }
    }

    /// `tcp_ecn_check_ce`, for a segment that makes `next` the next in order. Returns an acknowledgement for the state
    /// before the segment, if one is due.
    fn check_ce(&mut self, control: &Control, now: Nanos, data: &Data, next: u32) -> Option<Ack> {
        let marked = data.flags & flag::CE != 0;
        if data.flags & (flag::ECT | flag::CE) == 0 {
            // Not a new segment, if those before were capable: a retransmission, whose sender is in trouble.
            if self.ecn_seen {
                self.enter_quickack_mode(2);
            }
            return None;
        }
        self.ecn_seen = true;
        if self.socket.is_some() {
            return self.ask_control(control, marked, now, next);
        }
        if marked && self.ack_flags & flag::ECE == 0 {
            self.enter_quickack_mode(2);
            self.set_echo(true);
        }
        None
    }

    /// Lets the receiving half of the congestion control decide what to echo from now on. As in Linux, the socket's
    /// `rcv_nxt` already includes the segment.
    fn ask_control(&mut self, control: &Control, marked: bool, now: Nanos, next: u32) -> Option<Ack> {
        let mut sk = self.socket.take()?;
        sk.rcv_nxt = self.first_seq.wrapping_add(next.wrapping_mul(self.mss));
        sk.copied_seq = sk.rcv_nxt;
        let prior_echo = sk.ecn_flags & ecn::DEMAND_CWR != 0;
        control.cwnd_event(&mut sk, if marked { ca_event::ECN_IS_CE } else { ca_event::ECN_NO_CE });
        let early = std::mem::take(&mut sk.sim.send_ack_pending) != 0;
        let not_in_it = sk.rcv_nxt.wrapping_sub(sk.sim.send_ack_rcv_nxt).div_ceil(self.mss);
        let echo = sk.ecn_flags & ecn::DEMAND_CWR != 0;
        self.ack_now |= sk.inet_conn.icsk_ack.pending & ack_pending::NOW != 0;
        sk.inet_conn.icsk_ack.pending &= !ack_pending::NOW;
        self.socket = Some(sk);
        let answer = early.then(|| {
            // The acknowledgement held back reports the state before the change.
            self.set_echo(prior_echo);
            self.acked = next.saturating_sub(not_in_it);
            self.acknowledgement_of(self.acked, now)
        });
        self.set_echo(echo);
        answer
    }
}
