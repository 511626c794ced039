//! The application of a sender, which writes according to its `SendQueue`.

use super::send_buffer::{Held, SIZE_GOAL, SendBuffer};
use super::send_queue::SendQueue;
use super::small_queue::HEAD;
use super::{ENDLESS, Env, Phase, Sender};
use crate::tap::Tap;
use measure::SendBufferMeter;
use mechanism::Control;
use model::units::Nanos;
use model::{self, SendTuning};

/// `TCP_INIT_CWND`
const LEAST_WINDOW: u32 = 10;
/// Number of congestion windows for which a send buffer has room, unless the congestion control says otherwise.
const WINDOWS: u32 = 2;

impl Sender {
    /// Gives the sender a send buffer, into which its application writes.
    pub(super) fn write_through_buffer(&mut self, rules: model::SendBuffer, offloads: bool, meter: SendBufferMeter) {
        let (mss, wanted, last_payload) = (self.mss, self.segments, self.last_payload);
        let buffer = SendBuffer::new(rules, offloads, mss, wanted, last_payload, meter);
        self.send_queue = SendQueue::Buffered(Box::new(buffer));
        (self.segments, self.last_payload) = (0, self.mss);
    }

    /// Makes the sender serve an application that decides on its writes and their time. Without a host the sender has a
    /// send buffer as in Linux.
    pub fn serve_application(&mut self, meter: SendBufferMeter) {
        if self.send_queue.buffer().is_none() {
            self.write_through_buffer(model::SendBuffer::default(), true, meter);
        }
        let Some(buffer) = self.send_queue.buffer_mut() else { return };
        (buffer.wanted, buffer.closed) = (0, false);
    }

    /// Lets the application write `segments` more segments.
    pub fn application_writes<T: Tap>(&mut self, env: &mut Env<T>, segments: u32) {
        let Some(buffer) = self.send_queue.buffer_mut() else { return };
        buffer.wanted = buffer.wanted.saturating_add(segments).min(ENDLESS - 1);
        if self.phase == Phase::Established {
            self.set_clock(env.now);
            self.write_and_send(env);
        }
    }

    /// Reports whether a write that does not block would take a message. While the connection is not established, one
    /// message may wait.
    pub fn has_room_for_a_message(&self) -> bool {
        let Some(buffer) = self.send_queue.buffer() else { return false };
        let takes = || buffer.takes(self.held(), self.mss as u64, self.size_goal());
        buffer.wanted == self.segments && (self.phase != Phase::Established || takes())
    }

    /// Reports whether the application has written its last segment since the previous call.
    #[inline]
    pub fn application_has_written(&mut self) -> bool {
        self.send_queue.buffer_mut().is_some_and(|buffer| std::mem::take(&mut buffer.done))
    }

    /// Makes the sender one that never opens, because its flow does not use TCP.
    pub fn stay_closed(&mut self) {
        self.start = Nanos::NEVER;
    }

    /// Makes the buffer when the connection is established (`tcp_init_buffer_space`).
    pub(super) fn open_send_buffer(&mut self, control: &Control) {
        if self.send_queue.buffer().is_some() {
            self.expand_send_buffer(control);
            self.show_send_buffer();
        }
    }

    /// `tcp_sndbuf_expand`
    fn expand_send_buffer(&mut self, control: &Control) {
        let windows = control.sndbuf_expand(&mut self.sk).unwrap_or(WINDOWS);
        let least = LEAST_WINDOW.max(self.sk.reordering + 1);
        let Some(buffer) = self.send_queue.buffer_mut() else { return };
        match buffer.rules.tuning {
            SendTuning::Linux => buffer.grow_for(self.sk.snd_cwnd.max(least), windows),
            SendTuning::TwiceCwnd => buffer.grow_for(self.sk.snd_cwnd, WINDOWS),
        }
    }

    fn held(&self) -> Held {
        Held { sent: self.board.nxt - self.board.una, unsent: self.segments - self.board.nxt }
    }

    /// The number of segments that are written into one buffer (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn size_goal(&self) -> u32 {
        let half_window = self.sk.max_window as u64 / 2;
        let bytes = if self.send_queue.buffer().is_some_and(|buffer| buffer.offloads) { SIZE_GOAL } else { 0 };
        (bytes.min(half_window) as u32 / self.mss).max(1)
    }

    /// Counts `segments` to a head when they are sent (`tcp_fragment` splits the buffers that were written).
    pub(super) fn share_heads(&mut self, segments: u32) {
        let mss = self.mss as u64;
        if let Some(buffer) = self.send_queue.buffer_mut().filter(|buffer| buffer.offloads) {
            buffer.sent_segment = mss + HEAD.div_ceil(segments.into());
        }
    }

    /// `tcp_check_space`: an application that waits for room writes on if there is some. Returns true if it has
    /// written.
    fn fill_send_buffer(&mut self, control: &Control) -> bool {
        let mut held = self.held();
        let in_flight = self.sk.packets_in_flight();
        let Some(buffer) = self.send_queue.buffer() else { return false };
        let always = buffer.rules.tuning == SendTuning::TwiceCwnd;
        // `tcp_should_expand_sndbuf`: a window that is full does not wait for the buffer.
        if always || (buffer.waits && in_flight < self.sk.snd_cwnd) {
            self.expand_send_buffer(control);
        }
        let (mss, goal) = (self.mss as u64, self.size_goal());
        let Some(buffer) = self.send_queue.buffer_mut() else { return false };
        let (first, mut written) = (self.segments, self.segments);
        if !buffer.waits || buffer.wakes(buffer.queued(held), held.unsent as u64 * mss) {
            while written < buffer.wanted && buffer.takes(held, mss, goal) {
                buffer.takes_in(held.unsent, goal);
                (written, held.unsent) = (written + 1, held.unsent + 1);
            }
            buffer.waits = written < buffer.wanted;
            buffer.done = written > first && !buffer.waits;
        }
        let is_last = buffer.closed && written == buffer.wanted && buffer.wanted != ENDLESS;
        let last_payload = if is_last { buffer.last_payload } else { self.mss };
        if written > first {
            self.note_application_limit(held.unsent - (written - first));
            (self.segments, self.last_payload) = (written, last_payload);
            // The last segment of each write is pushed.
            self.pushes.forget_below(self.board.una);
            self.pushes.push_last(written);
            self.pushes.find_next(self.board.nxt);
        }
        self.show_send_buffer();
        written > first
    }

    /// `tcp_rate_check_app_limited`, before a write: notes that TCP had sent everything that the application had
    /// written, and that nothing had delayed it.
    fn note_application_limit(&mut self, unsent: u32) {
        let in_flight = self.sk.packets_in_flight();
        let all_sent_again = self.sk.lost_out <= self.sk.retrans_out;
        if unsent == 0 && self.is_nothing_in_host() && in_flight < self.sk.snd_cwnd && all_sent_again {
            self.sk.app_limited = (self.sk.delivered.wrapping_add(in_flight)).max(1);
        }
    }

    /// Updates the socket's members that describe the send buffer.
    pub(super) fn show_send_buffer(&mut self) {
        let held = self.held();
        let written = self.seq(self.segments);
        let Some(buffer) = self.send_queue.buffer() else { return };
        self.sk.write_seq = written;
        self.sk.inet_conn.sk.sk_wmem_queued = buffer.queued(held) as i32;
        self.sk.inet_conn.sk.sk_sndbuf = buffer.sndbuf as i32;
    }

    /// Memory in the send buffer and memory that it may take, bytes; `None` unless the sender is on a host.
    pub fn send_buffer_memory(&self) -> Option<(u32, u32)> {
        self.small_queue.as_ref()?;
        let held = self.held();
        self.send_queue.buffer().map(|buffer| (buffer.queued(held) as u32, buffer.sndbuf as u32))
    }

    /// Payload in the send buffer, and the unsent part of it, bytes.
    pub(super) fn buffered_bytes(&self) -> (u32, u32) {
        let Held { sent, unsent } = self.held();
        ((sent + unsent) * self.mss, unsent * self.mss)
    }

    /// Lets the application write into the buffer while there is room, and TCP send the segments that it may.
    #[cold]
    #[inline(never)]
    pub(super) fn write_and_send<T: Tap>(&mut self, env: &mut Env<T>) {
        if self.phase == Phase::Established && self.fill_send_buffer(env.control) {
            self.transmit_new(env);
            self.show_send_buffer();
        }
    }

    /// Meters the fill of the send buffer, against its size and the window, when a packet leaves TCP.
    pub(super) fn note_send_buffer(&mut self, now: Nanos) {
        let held = self.held();
        let cwnd = self.sk.snd_cwnd;
        if let Some(buffer) = self.send_queue.buffer_mut() {
            let windows = (held.sent + held.unsent) as f64 / cwnd as f64;
            buffer.meter.note(now, buffer.queued(held), buffer.sndbuf, windows);
        }
    }

    /// The meter of the send buffer, if there is one.
    pub fn send_buffer_meter(&self) -> Option<&SendBufferMeter> {
        self.send_queue.buffer().map(|buffer| &buffer.meter)
    }

    /// Lets the application write on if it waited until the segments below `leaving` are sent. They are sent, or leave
    /// while it writes.
    #[inline]
    pub(super) fn let_application_write<T: Tap>(&mut self, env: &mut Env<T>, leaving: u32) {
        match &mut self.send_queue {
            SendQueue::Buffered(_) => self.write_and_send(env),
            SendQueue::Ahead(ahead) | SendQueue::AtRate(_, ahead) => {
                if ahead.resumes_with(leaving) {
                    self.pushes.forget_below(self.board.una);
                    let (sent, end) = (self.board.nxt, self.segments);
                    ahead.write(&mut self.pushes, sent, leaving, end, self.sk.max_window);
                }
            }
        }
    }

    /// Lets an application with a rate of its own write the segments that are due. Returns true if there were any.
    pub(super) fn write_at_rate<T: Tap>(&mut self, env: &mut Env<T>) -> bool {
        let SendQueue::AtRate(writer, ahead) = &mut self.send_queue else { return false };
        let unsent = self.segments - self.board.nxt;
        let (written, lacks) = (writer.write(env.now, unsent), writer.lacks());
        if written > 0 {
            ahead.resume();
            self.note_application_limit(unsent);
            (self.segments, self.last_payload) = (self.segments + written, self.mss - lacks);
            self.let_application_write(env, self.board.nxt);
        }
        self.application_at = self.next_act();
        written > 0
    }
}
