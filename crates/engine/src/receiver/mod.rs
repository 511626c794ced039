//! The receiving end: reassembly, and the contents of acknowledgements.
//!
//! * `out_of_order`: segments that came too early
//! * `delayed_ack`: the time of each acknowledgement
//! * `window`, `right_sizing`, `rtt`: the offered window, the buffer behind it, and the round trips that its size
//!   follows
//! * `offer`: how the window and acknowledgements affect each other
//! * `marks`: reaction of acknowledgements to ECN marks
//! * `application`: the time of its readings; `reading`: their consequences
//! * `shown_window`: the window of a packet, which a window controller may lower

mod application;
mod delayed_ack;
mod marks;
mod offer;
mod out_of_order;
mod reading;
mod right_sizing;
mod rtt;
mod shown_window;
mod window;

use crate::clock::TimestampClock;
use crate::initial_sequence::InitialSequence;
use crate::invalid_rate::InvalidRate;
use crate::packet::{
    Ack, BASE_HEADER, Band, Block, Data, MAX_SACK_BLOCKS, PAWS_WINDOW, TIMESTAMP_OPTION, ack_bytes, age, flag,
    is_replay, syn_bytes, window_scale,
};
use application::Application;
use delayed_ack::{DelayedAck, MAX_QUICKACKS};
use measure::ReceiverMeter;
use mechanism::sock::{TcpSock, ack_pending, ecn};
use mechanism::{Classifier, ClassifyFlow, ClassifyPacket, Control, PacketKind, WindowController};
use model::skb::ReceiveBuffer;
use model::units::{Bytes, Nanos};
use model::{FlowGroup, Host, TcpProfile};
use out_of_order::OutOfOrder;
use right_sizing::RightSizing;
use rtt::EchoedRtt;
use shown_window::ShownWindow;
use window::{LEAST_MSS, ReceiveWindow};

/// The largest window that a receiver can offer, without and with scaling (RFC 7323, section 2), bytes.
const UNSCALED_WINDOW: u32 = 65_535;
const SCALED_WINDOW: u32 = 65_535 << 14;
/// The least payload of a segment in order that widens the window (`tcp_event_data_recv`), bytes.
const LEAST_THAT_WIDENS: u32 = 128;

/// The receiving end of one connection.
pub struct Receiver {
    flow: u32,
    stack: TcpProfile,
    tos: u8,
    /// The band of the host's queue in which the classifier puts the acknowledgements.
    band: Option<Band>,
    mss: u32,
    /// IP length of a full segment, bytes.
    full: u16,
    /// Sequence number of the first data byte, if a congestion control has a socket that shows it.
    first_seq: u32,
    /// The window offered last, bytes.
    rcv_wnd: u32,
    /// The next segment in order.
    next: u32,
    /// The next segment in order as the last acknowledgement reported it.
    acked: u32,
    out_of_order: OutOfOrder,
    /// Segments in order that came with this event. An application that reads at once has not read them yet.
    unread: u32,
    /// The reader, the segments that wait for it, and the time of its next reading; only if the time of reading
    /// matters.
    application: Option<Box<Application>>,
    queued: u32,
    reads_at: Nanos,
    /// The application is a program, which acts on its data when its timer rings.
    has_program: bool,
    /// A duplicate to report in the next acknowledgement (RFC 2883).
    duplicate: Option<Block>,
    /// The timestamp to echo (RFC 7323, section 4).
    ts_recent: u32,
    clock: TimestampClock,
    delayed_ack: DelayedAck,
    /// The window that the stack offers; `None` if it is constant.
    window: Option<ReceiveWindow>,
    invalid_rate: InvalidRate,
    /// The receiver has got a SYN.
    has_syn: bool,
    /// A SYN has asked for ECN, which repeated SYNs do not (`inet_request_sock.ecn_ok`).
    ecn_agreed: bool,
    /// A segment with an ECN codepoint has come (`TCP_ECN_SEEN`).
    ecn_seen: bool,
    /// The next acknowledgement may not be delayed (`ICSK_ACK_NOW`).
    ack_now: bool,
    /// The flags of every acknowledgement: ECT if the congestion control needs ECN, ECE while a mark is echoed.
    ack_flags: u8,
    /// The socket of a congestion control that needs ECN, which decides at this end what to echo.
    socket: Option<Box<TcpSock>>,
    /// The window that acknowledgements announce, if the receiver has a window controller.
    shown: Option<Box<ShownWindow>>,
    echoed_rtt: EchoedRtt,
    /// The next segment may take the fast path (`pred_flags`).
    predicts: bool,
    pub meter: ReceiverMeter,
}

/// The acknowledgements that one segment triggers.
#[derive(Default)]
pub struct AckDecision {
    /// An acknowledgement that leaves first, for the state before the segment, or before the application reads.
    pub early: Option<Ack>,
    /// True if the state after `early` needs an acknowledgement, too.
    pub is_due: bool,
}

impl Receiver {
    /// The receiver of flow `flow` in a run with this seed. `control` is the flow's congestion control, if it needs
    /// ECN. `mss` is the payload of an arriving full segment: that of the group or less.
    pub fn new(
        seed: u64,
        flow: u32,
        group: &FlowGroup,
        buffer: ReceiveBuffer,
        control: Option<&Control>,
        mss: u32,
        meter: ReceiverMeter,
    ) -> Receiver {
        let stack = TcpProfile { ecn: group.stack.ecn || control.is_some(), ..group.stack };
        let largest = if stack.window_scaling { SCALED_WINDOW } else { UNSCALED_WINDOW };
        let moving = stack.quick_ack.then(|| ReceiveWindow::new(buffer, group.into(), mss, stack.window_scaling));
        // A textbook receiver offers its whole window from the start; without a window of its own that is the largest.
        let constant = group.receive_window.map_or(largest, |window| window.0.min(largest as u64) as u32);
        let offered = moving.as_ref().map_or(constant, ReceiveWindow::offered);
        let scale = if stack.window_scaling { window_scale(constant as u64) } else { 0 };
        let scale = moving.as_ref().map_or(scale, ReceiveWindow::scale);
        let shown = group.window_controller.as_ref().map(|_| Box::new(ShownWindow::new(mss, scale, stack.timestamps)));
        let sizing = buffer.tcp_rmem_max.map(|max| RightSizing::new(mss, max));
        let reads_at_once = sizing.is_none() && group.read_rate.is_none() && group.app.is_none();
        let application = (!reads_at_once).then(|| Box::new(Application::new(group.read_rate, mss, sizing)));
        let socket = control.map(|control| {
            let own = TcpSock { ecn_flags: ecn::OK, mss_cache: mss, snd_cwnd: 10, ..Default::default() };
            let mut sk = Box::new(own);
            let isn = InitialSequence::draw(seed, flow);
            (sk.snd_una, sk.snd_nxt) = (isn.receiver.wrapping_add(1), isn.receiver.wrapping_add(1));
            sk.write_seq = sk.snd_nxt;
            (sk.rcv_nxt, sk.rcv_wup) = (isn.sender.wrapping_add(1), isn.sender.wrapping_add(1));
            (sk.copied_seq, sk.rcv_wnd) = (sk.rcv_nxt, offered);
            control.init(&mut sk);
            sk
        });
        Receiver {
            flow,
            stack,
            tos: group.tos,
            band: None,
            mss,
            full: group.with_payload(Bytes(mss.into())).packet.0 as u16,
            first_seq: socket.as_ref().map_or(0, |sk| sk.rcv_nxt),
            rcv_wnd: offered,
            next: 0,
            acked: 0,
            out_of_order: OutOfOrder::new(),
            unread: 0,
            application,
            has_program: group.app.is_some(),
            queued: 0,
            reads_at: Nanos::NEVER,
            duplicate: None,
            ts_recent: 0,
            clock: TimestampClock::new(&group.clock, stack.tcp_usec_ts),
            delayed_ack: DelayedAck::new(&stack, mss),
            window: moving,
            invalid_rate: InvalidRate::default(),
            has_syn: false,
            ecn_agreed: false,
            ecn_seen: false,
            ack_now: false,
            ack_flags: if control.is_some() { flag::ECT } else { 0 },
            socket,
            shown,
            echoed_rtt: EchoedRtt::new(stack.tcp_usec_ts),
            predicts: false,
            meter,
        }
    }

    /// Sends the acknowledgements through the queue of a host, in the band that its classifier chooses. It asks once,
    /// because they are all alike: without payload, and from a socket whose send buffer is empty.
    pub fn attach_to_host(&mut self, host: &Host, classifier: Option<&Classifier>) {
        let Some(classifier) = classifier else { return };
        let sndbuf = host.send_buffer.default.0 as u32;
        let packet =
            ClassifyPacket { kind: PacketKind::TcpControl, tos: self.tos.into(), sndbuf, ..ClassifyPacket::default() };
        let band = classifier.band(Nanos::ZERO, &mut ClassifyFlow::default(), &packet);
        self.band = Some(Band::new(band.expect("only data are dropped")));
    }

    /// Lets the group's window controller lower the window of an acknowledgement before it leaves.
    #[inline]
    pub fn lower_window(&mut self, controller: Option<&WindowController>, now: Nanos, ack: &mut Ack) {
        if let (Some(shown), Some(controller)) = (&mut self.shown, controller) {
            shown.lower(controller, now, !self.out_of_order.is_empty(), ack);
        }
    }

    /// The time at which an acknowledgement that is held back is due, or the application reads; `Nanos::NEVER` if
    /// neither.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.delayed_ack.deadline().min(self.reads_at)
    }

    /// Does what a timer is due for, and returns the acknowledgement that follows.
    pub fn wake(&mut self, now: Nanos) -> Option<Ack> {
        if self.reads_at <= now && self.application_reads(now) {
            return Some(self.acknowledge(now));
        }
        if self.delayed_ack.deadline() > now {
            return None;
        }
        if !self.delayed_ack.is_established() {
            self.delayed_ack.syn_timer_rang();
            return Some(self.syn_ack(now));
        }
        self.delayed_ack.delay_expired(now);
        self.unread = 0;
        Some(self.acknowledge(self.delayed_ack.timer_shows(now)))
    }

    /// Takes a segment. The caller calls `acknowledge` next, if the decision says so.
    #[inline(always)]
    pub fn on_data(&mut self, control: &Control, now: Nanos, data: &Data) -> AckDecision {
        if self.is_predicted(data) {
            return AckDecision { early: None, is_due: self.on_predicted(now, data) };
        }
        let decision = self.on_any(control, now, data);
        self.check_fast_path();
        decision
    }

    /// Header prediction (`tcp_rcv_established`): reports whether the fast path can take a segment. It is full, the
    /// next in order and not older than the one before. Its header has nothing special, and nothing waits above it.
    /// Most segments are so.
    #[inline]
    fn is_predicted(&self, data: &Data) -> bool {
        let is_new = age(self.ts_recent, data.tsval) <= 0;
        self.predicts && data.segment == self.next && data.flags == 0 && data.bytes == self.full && is_new
    }

    /// The fast path: works as `on_any`, without the steps that a predicted segment does not need.
    #[inline]
    fn on_predicted(&mut self, now: Nanos, data: &Data) -> bool {
        self.meter.arrived_in_order(now, data.bytes as u32, self.mss as u64);
        if data.segment == self.acked {
            self.ts_recent = data.tsval;
        }
        self.duplicate = None;
        self.note_spacing(now);
        self.widen(1);
        self.next += 1;
        self.unread = 1;
        self.ack_now || self.acknowledges_now(now, 1, 0)
    }

    /// `tcp_fast_path_check`
    fn check_fast_path(&mut self) {
        let looks_closer =
            self.ecn_seen || self.shown.is_some() || self.application.is_some() || self.mss < LEAST_THAT_WIDENS;
        self.predicts = self.delayed_ack.is_established() && self.out_of_order.is_empty() && !looks_closer;
    }

    /// The slow path, for any segment.
    #[inline(never)]
    fn on_any(&mut self, control: &Control, now: Nanos, data: &Data) -> AckDecision {
        if data.is_handshake() {
            return self.on_handshake(now, data);
        }
        self.meter.arrived(now, data.bytes as u32);
        self.unread = 0;
        self.heard(now);
        let age = age(self.ts_recent, data.tsval);
        if (age > PAWS_WINDOW && self.stack.timestamps) || data.segment + 1 < self.acked {
            return self.reject(data);
        }
        if data.segment <= self.acked && age <= 0 {
            self.ts_recent = data.tsval;
        }
        self.duplicate = None;
        if data.segment == self.next {
            self.note_spacing(now);
        }
        if self.stack.timestamps && (self.shown.is_some() || self.application.is_some()) {
            self.measure_rtt(now, data);
        }
        let early = if self.stack.ecn { self.note_ecn(control, now, data) } else { None };
        let urgent = if data.segment == self.next {
            self.in_order(now, data)
        } else if data.segment < self.next {
            self.came_again(data);
            true
        } else {
            let flushed = self.out_of_order(now, data);
            if flushed.is_some() {
                // The kernel then takes this segment for acknowledged too: `tcp_send_ack` has cleared the schedule.
                return AckDecision { early: early.or(flushed), is_due: false };
            }
            false
        };
        let unread = self.unread + self.queued;
        let is_due = urgent || self.ack_now || self.acknowledges_now(now, unread, self.out_of_order.len());
        if self.reads_at <= now && !self.has_program && early.is_none() {
            return self.reads_behind(now, is_due);
        }
        if is_due && self.unread > 1 {
            if early.is_none() {
                return self.fill(now);
            }
            self.unread = 0;
        }
        AckDecision { early, is_due }
    }

    /// Acknowledges and drops a segment below the last acknowledgement, or one whose older timestamp shows that others
    /// have overtaken it (RFC 7323, section 5.3; `tcp_validate_incoming`).
    #[cold]
    fn reject(&mut self, data: &Data) -> AckDecision {
        if data.segment < self.next {
            self.came_again(data);
        }
        let none_is_scheduled = self.next == self.acked && !self.delayed_ack.compresses();
        if none_is_scheduled {
            self.delayed_ack.next_is_not_scheduled();
        }
        AckDecision { early: None, is_due: true }
    }

    /// Notes a segment below the next in order, which has come before.
    fn came_again(&mut self, data: &Data) {
        self.enter_quickack_mode(MAX_QUICKACKS);
        self.duplicate = Some(Block { start: data.segment, end: data.segment + 1 });
    }

    /// Acknowledges at once that a hole is filled in full or in part. Then the application reads all segments that
    /// waited for it, and may reopen a window that was small.
    #[cold]
    fn fill(&mut self, now: Nanos) -> AckDecision {
        let ack = self.acknowledge(now);
        self.unread = 0;
        let reopens = self.reading_reopens(self.out_of_order.len());
        if reopens {
            self.delayed_ack.next_is_not_scheduled();
        }
        AckDecision { early: Some(ack), is_due: reopens }
    }

    /// Handles a packet of the handshake. A repeated SYN leaves the timestamp of the first to be echoed
    /// (`tcp_check_req`), which shows its sender that its timeout was spurious.
    fn on_handshake(&mut self, now: Nanos, packet: &Data) -> AckDecision {
        if self.delayed_ack.is_established() {
            return AckDecision { early: None, is_due: self.acknowledges_late(now, packet) };
        }
        let is_syn = packet.flags & flag::SYN != 0;
        let is_repeated = is_syn && self.has_syn;
        if is_repeated && !self.invalid_rate.allows(now) {
            return AckDecision::default();
        }
        if !is_repeated && packet.segment == 0 {
            self.ts_recent = packet.tsval;
        }
        if is_syn {
            self.has_syn = true;
            self.ecn_agreed |= self.stack.ecn && packet.flags & flag::ECE != 0;
            return AckDecision { early: Some(self.syn_ack(now)), is_due: false };
        }
        self.heard(now);
        AckDecision::default()
    }

    /// Notes a packet which shows that its sender has the answer to the SYN.
    fn heard(&mut self, now: Nanos) {
        if self.delayed_ack.is_established() {
            return;
        }
        self.delayed_ack.heard(now);
        // The first segment shows the overhead, before the receiver handles it.
        self.window.iter_mut().for_each(ReceiveWindow::measure_overhead);
        // Answers during the handshake do not count for the connection (`tcp_request_sock.last_oow_ack_time`).
        self.invalid_rate = InvalidRate::default();
        self.begin_sizing(now);
    }

    /// Takes a packet without data on an established connection, and reports whether to answer it. A challenge answers
    /// a SYN (RFC 5961, section 4.2; `tcp_send_challenge_ack`). A duplicate acknowledgement answers one that is too old
    /// or below the window (`tcp_validate_incoming`). Any other packet releases an acknowledgement that a segment waits
    /// for, if that is due (`tcp_ack_snd_check`).
    #[cold]
    fn acknowledges_late(&mut self, now: Nanos, packet: &Data) -> bool {
        self.unread = 0;
        let age = age(self.ts_recent, packet.tsval);
        let is_next = packet.segment == self.next && !packet.is_probe();
        let is_too_old = age > PAWS_WINDOW
            && self.stack.timestamps
            && !(is_next && is_replay(age, self.delayed_ack.timeout(), self.stack.tcp_usec_ts));
        let is_below = packet.is_probe() || packet.segment < self.acked;
        if packet.flags & flag::SYN != 0 || is_too_old || is_below {
            return self.invalid_rate.allows(now);
        }
        if packet.segment <= self.acked && age <= 0 {
            self.ts_recent = packet.tsval;
        }
        let is_scheduled = self.next != self.acked || self.delayed_ack.compresses();
        is_scheduled && !is_next && self.acknowledges_now(now, self.queued, self.out_of_order.len())
    }

    fn syn_ack(&mut self, now: Nanos) -> Ack {
        // The first window is neither selected anew nor rounded to the scale (`tcp_select_initial_window`).
        let mut ack = self.packet(self.next, [Block::default(); MAX_SACK_BLOCKS], 0, now);
        if self.stack.quick_ack {
            // The window of a SYN-ACK is not scaled (RFC 7323, section 2.2).
            ack.window = ack.window.min(UNSCALED_WINDOW);
        }
        ack.bytes = syn_bytes(&self.stack) as u16;
        ack.flags = self.ack_flags & flag::ECT | flag::SYN | if self.ecn_agreed { flag::ECE } else { 0 };
        self.delayed_ack.answered_syn(now);
        ack
    }

    /// Takes the next segment, and those that waited for it. Returns true if the last hole is filled, which needs an
    /// acknowledgement at once (RFC 5681, section 4.2).
    fn in_order(&mut self, now: Nanos, data: &Data) -> bool {
        self.measure_window(now, data);
        if self.payload(data) >= LEAST_THAT_WIDENS as u64 {
            self.widen(self.out_of_order.len() + self.queued + 1);
        }
        if self.window.is_some() && (data.flags & flag::PSH != 0 || self.is_short(data)) {
            self.delayed_ack.pushed();
        }
        let had_holes = !self.out_of_order.is_empty();
        self.next += 1;
        if had_holes {
            self.next = self.out_of_order.advance(self.next);
        }
        self.unread = self.next - data.segment;
        let mut payload = self.payload(data) + (self.next - data.segment - 1) as u64 * self.mss as u64;
        let holes = !self.out_of_order.is_empty();
        if !holes {
            payload -= std::mem::take(&mut self.out_of_order.short_by);
        }
        if let Some(application) = &mut self.application {
            application.received(payload);
            self.queued += std::mem::take(&mut self.unread);
            self.reads_at = application.reads_at(now);
        } else {
            self.delivered(now, payload);
        }
        had_holes && !holes
    }

    /// Notes that the application has read `payload` bytes.
    fn delivered(&mut self, now: Nanos, payload: u64) {
        self.meter.delivered(now, payload);
        if let Some(shown) = &mut self.shown {
            shown.read(payload);
        }
    }

    /// Stores a segment that came too early, even for the second time. Returns an acknowledgement for the state before
    /// it if its SACK blocks would otherwise never be reported (`tcp_sack_new_ofo_skb`).
    fn out_of_order(&mut self, now: Nanos, data: &Data) -> Option<Ack> {
        let is_new = !self.out_of_order.holds(data.segment);
        if !is_new {
            self.duplicate = Some(Block { start: data.segment, end: data.segment + 1 });
        }
        let flush = self.delayed_ack.compresses() && self.out_of_order.strays(data.segment);
        let early = flush.then(|| {
            self.out_of_order.extend_in_place(data.segment);
            self.acknowledge(now)
        });
        if is_new {
            let waiting = self.out_of_order.len() + self.queued;
            self.comes_to(waiting);
            if self.stack.sack {
                // Without SACK the window stays, so that the acknowledgement is a duplicate (`tcp_data_queue_ofo`).
                self.widen(waiting);
            }
            self.out_of_order.add(data.segment, self.next);
            self.out_of_order.short_by += self.mss as u64 - self.payload(data);
        }
        self.out_of_order.report_first(data.segment);
        early
    }

    /// Reports whether a segment carries less than the receiver expects of a full one (`rcv_mss`).
    fn is_short(&self, data: &Data) -> bool {
        self.payload(data) < self.mss.max(LEAST_MSS) as u64
    }

    fn payload(&self, data: &Data) -> u64 {
        let options = if self.stack.timestamps { TIMESTAMP_OPTION } else { 0 };
        (data.bytes as u32 - BASE_HEADER - options) as u64
    }

    /// Reports whether to acknowledge now, while `unread` segments wait for the application and `held` above a hole.
    /// Otherwise the schedule has set a timer.
    #[inline(always)]
    fn acknowledges_now(&mut self, now: Nanos, unread: u32, held: u32) -> bool {
        let waiting = self.next - self.acked;
        // Unread segments take a part of the window. If it shrinks, the acknowledgement leaves when the application
        // reads.
        let is_due = waiting >= self.stack.ack_every && self.offers_no_less(held + unread);
        let mut at_once = self.delayed_ack.acknowledges_now(now, self.next, is_due, held);
        if !at_once {
            let has_read = std::mem::take(&mut self.unread) > 0;
            at_once = has_read && self.reading_acknowledges(waiting, held);
        }
        if let Some(sk) = &mut self.socket
            && !at_once
        {
            sk.inet_conn.icsk_ack.pending |= ack_pending::SCHED | ack_pending::TIMER;
        }
        at_once
    }

    /// Makes the acknowledgement of everything that has arrived.
    #[inline]
    pub fn acknowledge(&mut self, now: Nanos) -> Ack {
        let ack = self.acknowledgement_of(self.next, now);
        self.acked = self.next;
        self.ack_now = false;
        self.delayed_ack.acknowledged();
        if let Some(sk) = &mut self.socket {
            sk.inet_conn.icsk_ack.pending = 0;
            sk.rcv_wup = sk.rcv_nxt;
        }
        ack
    }

    #[inline]
    fn acknowledgement_of(&mut self, next: u32, now: Nanos) -> Ack {
        let mut blocks = [Block::default(); MAX_SACK_BLOCKS];
        let waiting = self.out_of_order.len() + self.queued;
        self.select_window(next, waiting);
        let nothing_to_report = self.duplicate.is_none() && self.out_of_order.block_count == 0;
        let count = if nothing_to_report || !self.stack.sack { 0 } else { self.report(&mut blocks) };
        self.packet(next, blocks, count, now)
    }

    #[inline(always)]
    fn packet(&self, next: u32, blocks: [Block; MAX_SACK_BLOCKS], count: usize, now: Nanos) -> Ack {
        Ack {
            flow: self.flow,
            next,
            tsval: self.clock.read(now),
            tsecr: if self.stack.timestamps { self.ts_recent } else { 0 },
            window: self.rcv_wnd,
            bytes: ack_bytes(self.stack.timestamps, count),
            flags: self.ack_flags,
            tos: self.tos,
            band: self.band,
            block_count: count as u8,
            blocks,
        }
    }

    /// Fills in the SACK blocks, and returns their number.
    fn report(&mut self, blocks: &mut [Block; MAX_SACK_BLOCKS]) -> usize {
        let most = MAX_SACK_BLOCKS - self.stack.timestamps as usize;
        let known = self.out_of_order.blocks[..self.out_of_order.block_count].iter().copied();
        let mut count = 0;
        for (slot, block) in blocks.iter_mut().zip(self.duplicate.take().into_iter().chain(known)).take(most) {
            *slot = block;
            count += 1;
        }
        count
    }

    /// Frees the congestion control's storage for this end's socket.
    pub fn close(&mut self, control: &Control) {
        if let Some(mut sk) = self.socket.take() {
            control.release(&mut sk);
        }
    }
}
