//! The schedule of the receiver's acknowledgements: at once, with the second segment, after a delay, or for several
//! duplicates at a time. It follows Linux (`__tcp_ack_snd_check` and its callers); the `stack` of a flow switches parts
//! of it off.

mod compressed;

use super::window::LEAST_MSS;
use crate::clock::{self, micros_to_jiffies};
use compressed::CompressedAcks;
use mechanism::sock::HZ;
use model::TcpProfile;
use model::units::Nanos;

/// `TCP_MAX_QUICKACKS`: segments acknowledged at once after the start or a surprise.
pub const MAX_QUICKACKS: u8 = 16;
/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`, jiffies.
const ATO_MIN: u32 = HZ as u32 / 25;
/// `TCP_DELACK_MAX`, jiffies.
const DELACK_MAX: u32 = HZ as u32 / 5;
/// `TCP_TIMEOUT_INIT`, until the handshake has shown the round-trip time, jiffies.
const TIMEOUT_INIT: u32 = HZ as u32;
/// `tcp_synack_retries`
const SYNACK_RETRIES: u32 = 5;

/// The receiver's delayed-acknowledgement state (`icsk_ack` and the compressed acknowledgements of `tcp_sock`).
pub struct DelayedAck {
    enabled: bool,
    /// The receiver's estimate of a segment's payload (`rcv_mss`), bytes.
    mss: u32,
    /// A segment has come that its sender pushed (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// Segments still to be acknowledged at once.
    quick: u8,
    /// Time for which an acknowledgement is held back, jiffies; zero before the first data.
    ato: u32,
    /// The arrival time of the last segment in order, jiffies.
    last_in_order: u32,
    /// The time at which an acknowledgement that waits for a second segment is due. Before the connection is
    /// established, the time at which the SYN is answered again.
    delayed_until: Nanos,
    /// Delay with which `delayed_until` was set, jiffies.
    delayed_by: u32,
    /// The time at which the timer of a second segment rings. It still rings if an acknowledgement has left
    /// (`inet_csk_clear_xmit_timer`).
    timer_rings: Nanos,
    /// The time at which the SYN was answered, and the number of answers that a timer has repeated.
    syn_answered: Nanos,
    syn_timeouts: u32,
    /// Round-trip time of the handshake, zero before its end. A host that sends no data measures no other.
    round_trip: Nanos,
    /// The retransmission timeout that follows from the round trip, and the longest delay of an acknowledgement,
    /// jiffies.
    timeout: u32,
    longest_delay: u32,
    /// `tcp_delack_max`: a jiffy less than the least timeout of the sender, jiffies.
    delack_max: u32,
    /// The duplicates that wait for one acknowledgement.
    compressed: CompressedAcks,
}

impl DelayedAck {
    /// The state for a receiver of segments that carry `mss` bytes.
    pub fn new(stack: &TcpProfile, mss: u32) -> DelayedAck {
        let delack_max = DELACK_MAX.min(micros_to_jiffies(stack.rto_min.as_micros()).max(2) - 1);
        DelayedAck {
            mss: mss.max(LEAST_MSS),
            pushed: false,
            enabled: stack.delayed_ack,
            quick: 0,
            ato: 0,
            last_in_order: 0,
            delayed_until: Nanos::NEVER,
            delayed_by: 0,
            timer_rings: Nanos::ZERO,
            syn_answered: Nanos::ZERO,
            syn_timeouts: 0,
            round_trip: Nanos::ZERO,
            timeout: TIMEOUT_INIT,
            longest_delay: ATO_MIN.min(delack_max),
            delack_max,
            compressed: CompressedAcks::new(stack.sack && stack.sack_compression),
        }
    }

    /// The time at which an acknowledgement that is held back is due; `Nanos::NEVER` without one.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.delayed_until.min(self.compressed.until)
    }

    /// Notes that an acknowledgement has waited too long for a second segment. The next may wait longer
    /// (`tcp_delack_timer_handler`).
    pub fn delay_expired(&mut self, now: Nanos) {
        if self.delayed_until <= now {
            self.ato = (self.ato * 2).min(self.timeout).min(DELACK_MAX);
        }
    }

    /// Notes that the SYN was answered, and sets the timer that repeats the answer until its sender reacts
    /// (`reqsk_timer_handler`).
    pub fn answered_syn(&mut self, now: Nanos) {
        self.syn_answered = now;
        let retries = self.syn_timeouts < SYNACK_RETRIES;
        self.delayed_until = if retries { clock::timer(now, TIMEOUT_INIT << self.syn_timeouts) } else { Nanos::NEVER };
    }

    /// Notes that the timer of the answer to the SYN has rung. The next waits twice as long.
    pub fn syn_timer_rang(&mut self) {
        self.syn_timeouts += 1;
    }

    /// Reports whether a packet has shown that its sender has the answer to the SYN.
    pub fn is_established(&self) -> bool {
        self.round_trip > Nanos::ZERO
    }

    /// Notes a packet. The first after the answer to the SYN shows the round-trip time.
    #[inline]
    pub fn heard(&mut self, now: Nanos) {
        if self.round_trip == Nanos::ZERO {
            self.establish(now);
        }
    }

    #[cold]
    fn establish(&mut self, now: Nanos) {
        self.round_trip = (now - self.syn_answered).max(Nanos(1));
        self.delayed_until = Nanos::NEVER;
        // `tcp_create_openreq_child`: a silence begins here, whether or not the first segment comes next.
        self.last_in_order = clock::jiffies(now);
        // RFC 6298, section 2.2, with Linux's floor.
        let timeout = self.round_trip + Nanos(2 * self.round_trip.0).max(Nanos::from_millis(200));
        self.timeout = micros_to_jiffies(timeout.as_micros());
        self.longest_delay = micros_to_jiffies(self.round_trip.as_micros()).max(ATO_MIN).min(self.delack_max);
    }

    /// The retransmission timeout of the receiving end, jiffies.
    pub fn timeout(&self) -> u32 {
        self.timeout
    }

    /// Notes a segment in order; the delay follows the spacing of the segments (`tcp_event_data_recv`). Returns true
    /// for the first segment and after a silence. The sender may then start over with a small window, so the next
    /// segments need quick acknowledgements.
    #[inline]
    pub fn in_order(&mut self, now: Nanos) -> bool {
        let now = clock::jiffies(now);
        let gap = now - self.last_in_order;
        self.last_in_order = now;
        if self.ato == 0 {
            self.ato = ATO_MIN;
            return true;
        }
        if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.timeout).min(DELACK_MAX);
        } else {
            return gap > self.timeout;
        }
        false
    }

    /// Notes a segment in order that is short or that its sender pushed. If the application has read all data, the
    /// receiver acknowledges it at once (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
    #[inline]
    pub fn pushed(&mut self) {
        self.pushed = true;
    }

    /// Reports whether a segment was pushed since the last acknowledgement.
    pub fn was_pushed(&self) -> bool {
        self.pushed
    }

    /// `tcp_enter_quickack_mode`: the sender may be in slow start after a timeout, or have a window of few segments.
    /// `offered` is the window offered last, bytes; without it no acknowledgement is quick.
    pub fn enter_quickack_mode(&mut self, most: u8, offered: Option<u32>) {
        self.ato = ATO_MIN;
        self.acknowledge_quickly(most, offered);
    }

    /// Ends quick acknowledgements (`__tcp_select_window`).
    pub fn leave_quickack_mode(&mut self) {
        self.quick = 0;
    }

    /// Makes the next acknowledgement quick, because the window has widened and the sender should know at once
    /// (`tcp_grow_window`).
    #[inline]
    pub fn window_widened(&mut self) {
        self.quick |= 1;
    }

    /// Notes that the next acknowledgement was not scheduled: it answers a rejected segment, or offers a window anew.
    /// Linux does not count it as a quick one (`tcp_dec_quickack_mode`), so this adds the one that `acknowledged` will
    /// subtract.
    pub fn next_is_not_scheduled(&mut self) {
        self.quick += (self.quick > 0) as u8;
    }

    /// `tcp_incr_quickack`: acknowledges the next segments at once, at most `most` and at most half of the window
    /// offered last.
    pub fn acknowledge_quickly(&mut self, most: u8, offered: Option<u32>) {
        if let Some(offered) = offered {
            let half = offered / (2 * self.mss);
            let by_window = if half == 0 { 2 } else { half };
            self.quick = self.quick.max(by_window.min(most as u32) as u8);
        }
    }

    /// `__tcp_ack_snd_check`: reports whether to acknowledge now. Otherwise it has set a timer.
    ///
    /// `next` is the next segment in order. `is_due` is true if two segments wait and the window has not shrunk. `held`
    /// is the number of segments that came out of order.
    #[inline(always)]
    pub fn acknowledges_now(&mut self, now: Nanos, next: u32, is_due: bool, held: u32) -> bool {
        if is_due || self.quick > 0 || !self.enabled {
            return true;
        }
        if held > 0 {
            return !self.compressed.takes(now, next, self.round_trip, self.timer_rings);
        }
        let ato = self.ato.min(self.longest_delay);
        if self.delayed_until < Nanos::NEVER {
            return self.is_about_to_ring(now, ato);
        }
        self.delayed_until = clock::timer(now, ato);
        self.delayed_by = ato;
        self.timer_rings = self.delayed_until;
        false
    }

    /// Reports whether to send a delayed acknowledgement now, because its timer rings within a quarter of the delay
    /// (`tcp_send_delayed_ack`). Otherwise the timer rings sooner if the delay has become shorter.
    #[inline]
    fn is_about_to_ring(&mut self, now: Nanos, ato: u32) -> bool {
        // Timers ring with a tick, at most one jiffy late. Most are further away, which this bound shows without the
        // tick's time.
        let latest = now + Nanos((ato + 4) as u64 * (clock::JIFFY / 4));
        if self.delayed_until <= latest && self.delayed_until <= clock::timer(now, ato / 4) {
            return true;
        }
        if ato < self.delayed_by {
            self.delayed_until = self.delayed_until.min(clock::timer(now, ato));
            self.timer_rings = self.delayed_until;
        }
        false
    }

    /// The timestamp of an acknowledgement that a timer sends. A compressed one shows the time of the packet before it
    /// (`tcp_compressed_ack_kick`), unless the timer was set for a second segment.
    pub fn timer_shows(&self, now: Nanos) -> Nanos {
        let is_second_segments = self.delayed_until <= now || self.timer_rings == now;
        if self.compresses() && !is_second_segments { self.compressed.last_came } else { now }
    }

    /// Reports whether duplicates wait for their acknowledgement.
    pub fn compresses(&self) -> bool {
        self.compressed.count > 0
    }

    /// `tcp_event_ack_sent`: notes that an acknowledgement leaves.
    #[inline]
    pub fn acknowledged(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = ATO_MIN; // `tcp_dec_quickack_mode`
            }
        }
        self.pushed = false;
        self.delayed_until = Nanos::NEVER;
        self.compressed.leave();
    }
}

#[cfg(test)]
mod tests;
