//! The send buffer of a sender on a host: how much its application has written that is not acknowledged, and how the
//! room for that follows the window (`sk_wmem_queued` and `sk_sndbuf`; `tcp_sndbuf_expand`, `tcp_new_space`,
//! `sk_stream_write_space` of the kernel).
//!
//! Memory is counted as the kernel does, in what buffers take and not in payload. On a host of today a buffer holds
//! what a network card takes at once; where the buffer grows to twice the window in packets, each packet has its own.

use super::small_queues::HEAD;
use super::{ENDLESS, Env, Phase, Sender};
use crate::tap::Tap;
use measure::SendBufferMeter;
use mechanism::Control;
use scenario::model::{self, SendTuning};
use scenario::units::Nanos;

/// What a buffer of TCP's holds at most, bytes (`sk_gso_max_size` without `MAX_TCP_HEADER`; `tcp_xmit_size_goal`).
pub(super) const SIZE_GOAL: u64 = 65_536 - 1 - 320;
/// `SKB_DATA_ALIGN(sizeof(struct skb_shared_info))`, and the same of `struct sk_buff`.
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;
const MAX_TCP_HEADER: u64 = 320;
/// `TCP_INIT_CWND`
const LEAST_WINDOW: u32 = 10;
/// Congestion windows that a send buffer has room for, unless the control says otherwise.
const WINDOWS: u32 = 2;

/// Segments in the buffer.
#[derive(Clone, Copy)]
struct Held {
    sent: u32,
    unsent: u32,
}

/// An application that writes, and what it has written.
pub struct SendBuffer {
    rules: model::SendBuffer,
    /// Memory of a full segment in the buffer.
    segment: u64,
    /// The same once it was sent: in a buffer with fewer others.
    sent_segment: u64,
    /// Sent segments share heads, too.
    offloads: bool,
    /// Memory for which room is made a segment.
    unit: u64,
    /// `sk_sndbuf`
    sndbuf: u64,
    /// Segments that the application has to write in all, as far as is known; `ENDLESS` = it never ends.
    wanted: u32,
    /// The application will want to write no more than that.
    closed: bool,
    /// Payload of the last segment of all.
    last_payload: u32,
    /// The application waits for room (`SOCK_NOSPACE`).
    waits: bool,
    /// It has just written the last of what it had to write.
    done: bool,
    /// Segments in the last of the buffers that were written, if none of them was sent.
    tail: u32,
    pub meter: SendBufferMeter,
}

impl SendBuffer {
    /// An empty one, for segments with `mss` bytes of payload, of which the application wants to write so many. It
    /// writes them into buffers of many segments, or each into its own.
    fn new(
        rules: model::SendBuffer,
        are_shared: bool,
        mss: u32,
        wanted: u32,
        last_payload: u32,
        meter: SendBufferMeter,
    ) -> SendBuffer {
        let mss = mss as u64;
        let own = HEAD + mss;
        let shared = mss + HEAD.div_ceil((SIZE_GOAL / mss).max(1));
        let (segment, unit) = match rules.tuning {
            SendTuning::TwiceCwnd => (own, own),
            SendTuning::Linux => {
                let unit = (mss + MAX_TCP_HEADER + SHARED_INFO).next_power_of_two() + SK_BUFF;
                (if are_shared { shared } else { own }, unit)
            }
        };
        SendBuffer {
            rules,
            segment,
            sent_segment: segment,
            offloads: are_shared && rules.tuning == SendTuning::Linux,
            unit,
            sndbuf: rules.default.0,
            wanted,
            closed: true,
            last_payload,
            waits: true,
            done: false,
            tail: 0,
            meter,
        }
    }

    /// `sk_wmem_queued` with so many segments, some of them unsent.
    fn queued(&self, Held { sent, unsent }: Held) -> u64 {
        sent as u64 * self.sent_segment + unsent as u64 * self.segment
    }

    /// `sk_stream_memory_free`, with `wake` 0, and 1 before a writer that waits goes on.
    fn has_room(&self, queued: u64, unsent: u64, wake: u32) -> bool {
        queued < self.sndbuf && self.rules.notsent_lowat.is_none_or(|lowat| unsent << wake < lowat.0)
    }

    /// May a segment be written? Room is asked for before each new buffer, not while the last one fills up to `goal`
    /// segments (`tcp_sendmsg_locked`): what many segments share may exceed the send buffer by so many.
    fn takes(&self, held: Held, mss: u64, goal: u32) -> bool {
        let tail = self.tail.min(held.unsent);
        (tail > 0 && tail < goal) || self.has_room(self.queued(held), held.unsent as u64 * mss, 0)
    }

    /// A segment is written behind so many unsent ones.
    fn takes_in(&mut self, unsent: u32, goal: u32) {
        let tail = self.tail.min(unsent);
        self.tail = if tail < goal { tail + 1 } else { 1 };
    }

    /// `sk_stream_is_writeable`: a third of the room is free.
    fn wakes(&self, queued: u64, unsent: u64) -> bool {
        self.sndbuf.saturating_sub(queued) >= queued / 2 && self.has_room(queued, unsent, 1)
    }

    fn grow_for(&mut self, segments: u32, windows: u32) {
        let room = windows as u64 * segments as u64 * self.unit;
        self.sndbuf = self.sndbuf.max(room.min(self.rules.max.0));
    }
}

impl Sender {
    /// Gives the sender a send buffer, into which its application writes.
    pub(super) fn write_through_buffer(&mut self, rules: model::SendBuffer, offloads: bool, meter: SendBufferMeter) {
        let (mss, wanted, last_payload) = (self.mss, self.segments, self.last_payload);
        self.send_buffer = Some(Box::new(SendBuffer::new(rules, offloads, mss, wanted, last_payload, meter)));
        (self.segments, self.last_payload) = (0, self.mss);
    }

    /// The sender is written to by an application that says what and when; without a host it has a send buffer as Linux
    /// has it.
    pub fn serve_application(&mut self, meter: SendBufferMeter) {
        if self.send_buffer.is_none() {
            self.write_through_buffer(model::SendBuffer::default(), true, meter);
        }
        let Some(buffer) = &mut self.send_buffer else { return };
        (buffer.wanted, buffer.closed) = (0, false);
    }

    /// The application writes so many segments more.
    pub fn application_writes<T: Tap>(&mut self, env: &mut Env<T>, segments: u32) {
        let Some(buffer) = &mut self.send_buffer else { return };
        buffer.wanted = buffer.wanted.saturating_add(segments).min(ENDLESS - 1);
        if self.phase == Phase::Established {
            self.set_clock(env.now);
            self.write_and_send(env);
        }
    }

    /// Would a write that does not block take a message? While the connection is being made one may wait.
    pub fn has_room_for_a_message(&self) -> bool {
        let Some(buffer) = &self.send_buffer else { return false };
        let takes = || buffer.takes(self.held(), self.mss as u64, self.size_goal());
        buffer.wanted == self.segments && (self.phase != Phase::Established || takes())
    }

    /// Has its application, since this was asked last, written the last of what it had to write?
    #[inline]
    pub fn application_has_written(&mut self) -> bool {
        self.send_buffer.as_mut().is_some_and(|buffer| std::mem::take(&mut buffer.done))
    }

    /// It is no sender of TCP's: it never opens.
    pub fn stay_closed(&mut self) {
        self.start = Nanos::NEVER;
    }

    /// Has the application written all that it ever will?
    #[cold]
    pub(super) fn has_written_all(&self) -> bool {
        self.send_buffer.as_ref().is_none_or(|buffer| buffer.closed && self.segments == buffer.wanted)
            && self.slow_writer.is_none_or(|writer| writer.next().is_none())
    }

    /// The application will write no more than it has.
    pub(super) fn stop_writing_to_buffer(&mut self) -> bool {
        let Some(buffer) = &mut self.send_buffer else { return false };
        (buffer.wanted, buffer.closed) = (self.segments, true);
        true
    }

    /// The buffer is made when the connection is (`tcp_init_buffer_space`).
    pub(super) fn open_send_buffer(&mut self, control: &Control) {
        if self.send_buffer.is_some() {
            self.expand_send_buffer(control);
            self.show_send_buffer();
        }
    }

    /// `tcp_sndbuf_expand`
    fn expand_send_buffer(&mut self, control: &Control) {
        let windows = control.sndbuf_expand(&mut self.sk).unwrap_or(WINDOWS);
        let least = LEAST_WINDOW.max(self.sk.reordering + 1);
        let Some(buffer) = &mut self.send_buffer else { return };
        match buffer.rules.tuning {
            SendTuning::Linux => buffer.grow_for(self.sk.snd_cwnd.max(least), windows),
            SendTuning::TwiceCwnd => buffer.grow_for(self.sk.snd_cwnd, WINDOWS),
        }
    }

    fn held(&self) -> Held {
        Held { sent: self.board.nxt - self.board.una, unsent: self.segments - self.board.nxt }
    }

    /// Segments that are written into one buffer (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn size_goal(&self) -> u32 {
        let half_window = self.sk.max_window as u64 / 2;
        let bytes = if self.send_buffer.as_ref().is_some_and(|buffer| buffer.offloads) { SIZE_GOAL } else { 0 };
        (bytes.min(half_window) as u32 / self.mss).max(1)
    }

    /// So many segments share a head when they are sent (`tcp_fragment` splits the buffers that were written).
    pub(super) fn share_heads(&mut self, segments: u32) {
        let mss = self.mss as u64;
        if let Some(buffer) = self.send_buffer.as_mut().filter(|buffer| buffer.offloads) {
            buffer.sent_segment = mss + HEAD.div_ceil(segments.into());
        }
    }

    /// `tcp_check_space`: an application that waits for room writes on if there is some. True if it has written.
    fn fill_send_buffer(&mut self, control: &Control) -> bool {
        let mut held = self.held();
        let in_flight = self.sk.packets_in_flight();
        let Some(buffer) = &self.send_buffer else { return false };
        let always = buffer.rules.tuning == SendTuning::TwiceCwnd;
        // `tcp_should_expand_sndbuf`: a window that is full does not wait for the buffer.
        if always || (buffer.waits && in_flight < self.sk.snd_cwnd) {
            self.expand_send_buffer(control);
        }
        let (mss, goal) = (self.mss as u64, self.size_goal());
        let Some(buffer) = &mut self.send_buffer else { return false };
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
            self.writing.wrote_to(written, self.board.una, self.board.nxt);
        }
        self.show_send_buffer();
        written > first
    }

    /// `tcp_rate_check_app_limited`, before a write: the application had sent all that it had, and nothing was held
    /// back.
    fn note_application_limit(&mut self, unsent: u32) {
        let in_flight = self.sk.packets_in_flight();
        let all_sent_again = self.sk.lost_out <= self.sk.retrans_out;
        if unsent == 0 && self.is_nothing_in_host() && in_flight < self.sk.snd_cwnd && all_sent_again {
            self.sk.app_limited = (self.sk.delivered.wrapping_add(in_flight)).max(1);
        }
    }

    /// The socket's members that tell of the buffer.
    pub(super) fn show_send_buffer(&mut self) {
        let held = self.held();
        let written = self.seq(self.segments);
        let Some(buffer) = &self.send_buffer else { return };
        self.sk.write_seq = written;
        self.sk.inet_conn.sk.sk_wmem_queued = buffer.queued(held) as i32;
        self.sk.inet_conn.sk.sk_sndbuf = buffer.sndbuf as i32;
    }

    /// Memory in the buffer and memory that it may take, bytes; none unless the sender is on a host.
    pub fn send_buffer_memory(&self) -> Option<(u32, u32)> {
        self.small_queue.as_ref()?;
        let held = self.held();
        self.send_buffer.as_ref().map(|buffer| (buffer.queued(held) as u32, buffer.sndbuf as u32))
    }

    /// Payload in the buffer, and of that what was not sent, bytes.
    pub(super) fn buffered_bytes(&self) -> (u32, u32) {
        let Held { sent, unsent } = self.held();
        ((sent + unsent) * self.mss, unsent * self.mss)
    }

    /// The application writes into the buffer as far as there is room, and TCP sends what it may.
    #[cold]
    #[inline(never)]
    pub(super) fn write_and_send<T: Tap>(&mut self, env: &mut Env<T>) {
        if self.phase == Phase::Established && self.fill_send_buffer(env.control) {
            self.transmit_new(env);
            self.show_send_buffer();
        }
    }

    /// What the buffer holds, against its size and the window, when a packet leaves TCP.
    pub(super) fn note_send_buffer(&mut self, now: Nanos) {
        let held = self.held();
        let cwnd = self.sk.snd_cwnd;
        if let Some(buffer) = &mut self.send_buffer {
            let windows = (held.sent + held.unsent) as f64 / cwnd as f64;
            buffer.meter.note(now, buffer.queued(held), buffer.sndbuf, windows);
        }
    }

    /// What was counted of the buffer, if there is one.
    pub fn send_buffer_meter(&self) -> Option<&SendBufferMeter> {
        self.send_buffer.as_ref().map(|buffer| &buffer.meter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Interval;
    use scenario::units::Bytes;

    fn buffer(tuning: SendTuning, max: u64) -> SendBuffer {
        let rules = model::SendBuffer { default: Bytes(16_384), max: Bytes(max), tuning, notsent_lowat: None };
        let interval = Interval { from: Nanos::ZERO, to: Nanos::NEVER };
        SendBuffer::new(rules, true, 1448, ENDLESS, 1448, SendBufferMeter::new(interval, Nanos::ZERO))
    }

    /// 87 040 bytes are what `ss -m` shows of a new connection.
    #[test]
    fn linux_makes_room_for_twice_the_window_in_whole_pages() {
        let mut linux = buffer(SendTuning::Linux, 4 << 20);
        for (cwnd, sndbuf) in [(10, 87_040), (40, 348_160), (20, 348_160), (1000, 4 << 20)] {
            linux.grow_for(cwnd, WINDOWS);
            assert_eq!(linux.sndbuf, sndbuf, "a window of {cwnd}");
        }
    }

    /// A window of 40 packets makes room for 80, unless 64 are the most.
    #[test]
    fn twice_the_window_is_counted_in_packets() {
        let packets = |max: u64| {
            let mut twice = buffer(SendTuning::TwiceCwnd, max);
            twice.grow_for(40, WINDOWS);
            twice.sndbuf / twice.segment
        };
        let packet = HEAD + 1448;
        assert_eq!((packets(1 << 30), packets(64 * packet)), (80, 64));
    }

    /// Buffers of four segments: the fourth buffer is begun below the limit of 13 segments, and is filled.
    #[test]
    fn a_buffer_that_is_begun_is_filled() {
        let mut shared = buffer(SendTuning::Linux, 4 << 20);
        shared.sndbuf = 13 * shared.segment;
        let mut written = |sent: u32, unsent: u32, goal: u32| {
            let mut held = Held { sent, unsent };
            while shared.takes(held, 1448, goal) {
                shared.takes_in(held.unsent, goal);
                held.unsent += 1;
            }
            held.unsent
        };
        assert_eq!(written(0, 0, 4), 16);
        assert_eq!(written(14, 2, 4), 4, "of the last buffer two are left, and there is room for two beside them");
        assert_eq!((written(16, 0, 4), written(0, 0, 1)), (0, 13));
    }

    /// A writer that waits goes on when a third is free; with a limit to what is unsent, when half of that is left.
    #[test]
    fn a_writer_waits_until_a_third_is_free() {
        let mut twice = buffer(SendTuning::TwiceCwnd, 1 << 30);
        twice.grow_for(30, 1);
        let at = |twice: &SendBuffer, sent| {
            let queued = twice.queued(Held { sent, unsent: 0 });
            (twice.has_room(queued, 0, 0), twice.wakes(queued, 0))
        };
        assert_eq!(
            [30, 29, 21, 20].map(|held| at(&twice, held)),
            [(false, false), (true, false), (true, false), (true, true)]
        );
        twice.rules.notsent_lowat = Some(Bytes(10_000));
        assert_eq!(
            [(4999, 0), (5000, 0), (9999, 0), (10_000, 0)].map(|(unsent, held)| twice.wakes(held, unsent)),
            [true, false, false, false]
        );
        assert!(twice.has_room(0, 9999, 0) && !twice.has_room(0, 10_000, 0));
    }
}
