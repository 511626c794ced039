//! The sending end of a connection, as Linux's TCP does it. One file, one concern:
//!
//! * `ack`: effects of an acknowledgement, in the kernel's order of work
//! * `recovery`: the states Open, Disorder, CWR, Recovery, Loss, and the ways between them
//! * `rack`: which segments are lost
//! * `timer`, `timers`: retransmission timeout, tail loss probe, reordering timer
//! * `transmit`: the choice and time of segments to send
//! * `offload`: buffers of several segments
//! * `small_queue`, `small_queues`: the limit on packets in the sender's own host, and their band
//! * `send_queue`: data to send, by the way the application writes it
//! * `application`: the application's writes; `pushes`: the segments that it pushes
//! * `send_buffer`: room for the application's writes on a host, or as a program
//! * `gate`: the wait before each window
//! * `rate`: delivery-rate samples
//! * `rtt`, `window`: estimators and window arithmetic
//! * `invariants`: conditions between any two events, for debug builds

mod ack;
mod application;
mod gate;
#[cfg(debug_assertions)]
mod invariants;
#[cfg(test)]
mod kept_members;
mod offload;
mod pushes;
mod rack;
mod rate;
mod recovery;
mod rtt;
mod send_buffer;
mod send_queue;
mod small_queue;
mod small_queues;
mod timer;
mod timers;
mod transmit;
mod window;

use crate::clock;
use crate::initial_sequence::InitialSequence;
use crate::invalid_rate::InvalidRate;
use crate::monitor::Monitor;
use crate::packet::{BASE_HEADER, Band, Data, Packet, TIMESTAMP_OPTION};
use crate::scoreboard::Scoreboard;
use crate::tap::{PacketEvent, Tap};
use apps::SlowWriter;
use gate::Gate;
use measure::SenderMeter;
use mechanism::Control;
use mechanism::sock::{RateSample, TcpSock, ca_state, ecn};
use model::stream;
use model::units::{Bytes, Nanos};
use model::workload::FlowArrival;
use model::{FlowGroup, Reduction, TcpProfile};
use path::Network;
use pushes::Pushes;
use rand::Rng;
use send_queue::{Ahead, SendQueue};
use small_queue::SmallQueue;
use std::ops::Range;
use timer::Timer;

/// The parts of a simulation that a sender may use while it handles one event.
pub struct Env<'a, T> {
    pub now: Nanos,
    /// `tcp_jiffies32` at `now`, cached because it takes a division and is read several times an event.
    pub jiffies: u32,
    pub control: &'a Control,
    pub network: &'a mut Network<Packet>,
    pub monitor: &'a mut Monitor<T>,
}

impl<T: Tap> Env<'_, T> {
    /// Sends a packet from TCP to the host's network. Returns false if the tap loses it at once.
    #[inline(always)]
    pub fn send(&mut self, data: Data) -> bool {
        self.monitor.tap.data(self.now, PacketEvent::Sent, &data);
        if self.monitor.tap.loses(self.now, &data) {
            self.monitor.tap.data(self.now, PacketEvent::Lost, &data);
            return false;
        }
        self.network.send(self.now, data.route(), Packet::Data(data), self.monitor);
        true
    }
}

/// The phase of a connection's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The connection has not started.
    Closed,
    SynSent,
    Established,
    /// Everything that the sender will ever send has been acknowledged.
    Finished,
}

/// First value of `reordering`, and the duplicate threshold (`tcp_reordering`), segments.
pub const DUPLICATE_THRESHOLD: u32 = 3;
/// Window that the sending end offers to the other end, which sends no data, bytes.
pub const OWN_WINDOW: u32 = u16::MAX as u32;
/// Random time that an idle host needs to wake up before it reads its clock, us. Without it the RTTs of a steady path
/// would be equal to the nanosecond. A congestion control that checks whether they grow would then always find that
/// they do not.
const WAKING_US: Range<u64> = 0..4;
/// Time after which an idle host falls asleep. It is longer than the wake-up, so that the clock never goes backwards.
const FALLS_ASLEEP: Nanos = Nanos::from_micros(8);
/// A transfer without end: more segments than any run sends.
const ENDLESS: u32 = u32::MAX;

/// The sending end of one connection.
pub struct Sender {
    pub sk: TcpSock,
    board: Scoreboard,
    stack: TcpProfile,
    tos: u8,
    /// The band of the host's queue for the packet that leaves next.
    band: Option<Band>,
    /// Another segment of the same buffer follows that packet.
    is_followed: bool,
    flow: u32,
    phase: Phase,
    /// Payload of a full segment, bytes.
    mss: u32,
    /// Length of IP header, TCP header and options of a data segment, bytes.
    header: u32,
    /// Sequence number of the first data byte; the SYN is one before it.
    first_seq: u32,
    /// Sequence number of the first data byte of the other end.
    peer_first_seq: u32,
    /// Segments that TCP finds to send, from the first on. An application that keeps ahead counts with all that it will
    /// write, or `ENDLESS`; any other with the segments that it has written.
    segments: u32,
    /// Payload of the last of these segments, bytes.
    last_payload: u32,
    send_queue: SendQueue,
    pushes: Pushes,
    /// The gate of a sender that waits before each window if the congestion control asks for that.
    gate: Option<Gate>,
    /// The host is a node of a mesh, which may know the rates of others.
    is_in_mesh: bool,
    /// The sender's packets in its host, if the host reports to it when one has left.
    small_queue: Option<SmallQueue>,
    start: Nanos,
    stop: Option<Nanos>,
    /// The time at which the application next writes or stops by its own clock.
    application_at: Option<Nanos>,
    timer: Timer,
    /// The time at which the pacer releases the next segment; `Nanos::NEVER` if none waits for it.
    pace_at: Nanos,
    /// One retransmission may leave although the window is full (RFC 6675 step 4.3, RFC 6582 step 4).
    free_retransmission: bool,
    /// The state of rate halving, in a stack that has it.
    halving: window::RateHalving,
    /// A partial acknowledgement came in this recovery.
    partially_acked: bool,
    /// The handshake was short enough for timestamps in microseconds to measure RTTs.
    echoes_tell: bool,
    /// Without RACK: every segment below this one has at least three SACKed segments above it (RFC 6675, IsLost).
    lost_below: u32,
    /// SACKed segments from `lost_below` on.
    sacked_above: u32,
    /// Without RACK: one above the highest segment that this recovery has sent again (RFC 6675, HighRxt).
    high_rxt: u32,
    /// The recovery has sent its rescue retransmission, which `high_rxt` does not count (RescueRxt).
    rescued: bool,
    waking: path::Rng,
    /// Delay of the clock's readings since the host woke up, us.
    late_us: u64,
    last_awake: Nanos,
    /// The reading of the sender's clock, in ticks of its timestamps.
    ticks_now: u32,
    invalid_rate: InvalidRate,
    pub meter: SenderMeter,
}

impl Sender {
    /// The sender of flow `flow` of a group, in a run with this seed. The application writes `ahead` more than TCP has
    /// sent.
    pub fn new(
        seed: u64,
        flow: u32,
        arrival: &FlowArrival,
        group: &FlowGroup,
        needs_ecn: bool,
        ahead: Bytes,
        meter: SenderMeter,
    ) -> Sender {
        let stack = TcpProfile { ecn: group.stack.ecn || needs_ecn, ..group.stack };
        let header = BASE_HEADER + if stack.timestamps { TIMESTAMP_OPTION } else { 0 };
        let mss = group.mss().0 as u32;
        let (segments, last_payload) = match arrival.size {
            None => (ENDLESS, mss),
            Some(size) => {
                let segments = u32::try_from(size.0.div_ceil(mss as u64)).expect("no scenario has a larger size");
                (segments, ((size.0 - 1) % mss as u64 + 1) as u32)
            }
        };
        let ahead = Ahead::new(ahead, mss);
        let (send_queue, segments, last_payload) = match group.write_rate {
            None => (SendQueue::Ahead(ahead), segments, last_payload),
            Some(rate) => {
                let writer = SlowWriter::new(rate, mss, arrival.size, arrival.at);
                (SendQueue::AtRate(writer, ahead), 0, mss)
            }
        };
        let isn = InitialSequence::draw(seed, flow);
        let mut sender = Sender {
            sk: TcpSock::default(),
            board: Scoreboard::new(),
            stack,
            tos: group.tos,
            band: None,
            is_followed: false,
            flow,
            phase: Phase::Closed,
            mss,
            header,
            first_seq: isn.sender.wrapping_add(1),
            peer_first_seq: isn.receiver.wrapping_add(1),
            segments,
            last_payload,
            send_queue,
            pushes: Pushes::new(),
            gate: stack.gate.then(Gate::default),
            is_in_mesh: group.origin.is_some() && !group.reverse,
            small_queue: group.access.small_queues.then(|| SmallQueue::new(true, None)),
            start: arrival.at,
            stop: group.stop,
            application_at: None,
            timer: Timer::none(),
            pace_at: Nanos::NEVER,
            free_retransmission: false,
            halving: window::RateHalving::default(),
            partially_acked: false,
            echoes_tell: false,
            lost_below: 0,
            sacked_above: 0,
            high_rxt: 0,
            rescued: false,
            waking: path::rng(seed, stream::WAKING + flow as u64),
            late_us: 0,
            last_awake: Nanos::ZERO,
            ticks_now: 0,
            invalid_rate: InvalidRate::default(),
            meter,
        };
        sender.fill_socket(&stack);
        sender.application_at = sender.next_act();
        sender
    }

    fn fill_socket(&mut self, stack: &TcpProfile) {
        let sk = &mut self.sk;
        sk.mss_cache = self.mss;
        sk.advmss = self.mss as u16;
        sk.tcp_header_len = (self.header - 20) as u16;
        sk.reordering = DUPLICATE_THRESHOLD;
        sk.rack.reo_wnd_steps = 1;
        sk.snd_una = self.first_seq.wrapping_sub(1);
        sk.write_seq = self.first_seq;
        sk.snd_nxt = self.first_seq;
        sk.inet_conn.icsk_rto = rtt::TIMEOUT_INIT;
        sk.inet_conn.icsk_rto_min = clock::micros_to_jiffies(stack.rto_min.as_micros());
        sk.rx_opt.sack_ok = stack.sack as u8;
        sk.rx_opt.tstamp_ok = stack.timestamps as u8;
        sk.tcp_usec_ts = stack.tcp_usec_ts as u8;
        sk.rx_opt.wscale_ok = stack.window_scaling as u8;
        sk.ecn_flags = if stack.ecn { ecn::OK } else { 0 };
        sk.inet_conn.sk.sk_pacing_status = stack.pacing as u32;
        sk.sim.rate_halving = u32::from(stack.repair.reduction == Reduction::Halving);
    }

    /// Sequence number of the first byte of a segment.
    #[inline]
    fn seq(&self, segment: u32) -> u32 {
        let seq = self.first_seq.wrapping_add(segment.wrapping_mul(self.mss));
        if segment == self.segments { seq.wrapping_sub(self.mss - self.last_payload) } else { seq }
    }

    /// IP length of a segment, bytes.
    #[inline]
    fn segment_bytes(&self, segment: u32) -> u32 {
        self.header + if segment + 1 == self.segments { self.last_payload } else { self.mss }
    }

    /// The time at which the sender next has to wake up.
    pub fn deadline(&self) -> Nanos {
        self.deadline_with_timer(self.timer.at())
    }

    /// A time before which the sender need not wake up; cheaper than [`deadline`](Sender::deadline).
    #[inline]
    pub fn earliest_deadline(&self) -> Nanos {
        self.deadline_with_timer(self.timer.not_before())
    }

    #[inline]
    fn deadline_with_timer(&self, timer: Nanos) -> Nanos {
        let due = timer.min(self.pace_at);
        match (self.phase, self.application_at) {
            (Phase::Closed, _) => self.start,
            (Phase::Established, Some(at)) => due.min(at),
            _ => due,
        }
    }

    #[inline]
    fn set_clock(&mut self, now: Nanos) {
        self.sk.tcp_clock_cache = clock::ktime(now).0;
        if now - self.last_awake >= FALLS_ASLEEP {
            self.late_us = self.waking.random_range(WAKING_US);
        }
        self.last_awake = now;
        self.sk.tcp_mstamp = clock::micros(now) + self.late_us;
        self.ticks_now = self.ticks(self.sk.tcp_mstamp);
    }

    /// The timestamp of a segment that leaves now. As in Linux (`tcp_skb_timestamp_ts`) it comes from the same reading
    /// of the clock as the sender's times. So no echo can look older than the segment that it echoes.
    #[inline]
    fn timestamp(&self) -> u32 {
        self.ticks_now
    }

    /// Converts a time of the sender's own clock, us, to ticks of its timestamps.
    #[inline]
    fn ticks(&self, us: u64) -> u32 {
        (if self.stack.tcp_usec_ts { us } else { us / 1000 }) as u32
    }

    /// Carries out everything that is due at `env.now`.
    pub fn wake<T: Tap>(&mut self, env: &mut Env<T>) {
        self.set_clock(env.now);
        if self.phase == Phase::Closed && self.start <= env.now {
            return self.open(env);
        }
        if self.phase == Phase::Established && self.application_at.is_some_and(|at| at <= env.now) {
            return self.application_acts(env);
        }
        if self.timer.at() <= env.now {
            self.timer_expired(env);
        }
        if self.pace_at <= env.now {
            self.pace_at = Nanos::NEVER;
            self.resume(env);
        }
    }

    /// Sends segments that the pacer or the host had delayed. New data that leaves may wake the application
    /// (`tcp_event_new_data_sent`: `tcp_check_space`).
    fn resume<T: Tap>(&mut self, env: &mut Env<T>) {
        let sent = self.board.nxt;
        self.retransmit_lost(env);
        self.transmit_new(env);
        if self.board.nxt != sent {
            self.let_application_write(env, self.board.nxt);
        }
    }

    /// Sends the SYN.
    fn open<T: Tap>(&mut self, env: &mut Env<T>) {
        self.phase = Phase::SynSent;
        self.meter.connects();
        self.send_syn(env);
    }

    /// The time at which the application next writes or stops by its own clock.
    fn next_act(&self) -> Option<Nanos> {
        self.stop.into_iter().chain(self.send_queue.next_write()).min()
    }

    /// Carries out the application's writes and its stop when they are due.
    fn application_acts<T: Tap>(&mut self, env: &mut Env<T>) {
        if self.stop.is_some_and(|stop| stop <= env.now) {
            self.stop_writing(env.now);
        } else if self.write_at_rate(env) {
            self.transmit_new(env);
        }
    }

    /// Stops the application. TCP still delivers the segments in flight.
    fn stop_writing(&mut self, now: Nanos) {
        (self.stop, self.application_at) = (None, None);
        if !self.send_queue.end_at(self.segments) && self.board.nxt < self.segments {
            self.segments = self.board.nxt;
            self.last_payload = self.mss;
        }
        self.meter.stop(now);
        if self.board.is_empty() && self.board.nxt == self.segments {
            self.finish();
        }
    }

    /// Ends the sender, which sends nothing more.
    pub fn finish(&mut self) {
        self.phase = Phase::Finished;
        self.clear_timer();
        self.pace_at = Nanos::NEVER;
    }

    /// `tcp_finish_connect`: establishes the connection after the three-way handshake.
    fn establish<T: Tap>(&mut self, env: &mut Env<T>, window: u32, cwnd: u32) {
        self.meter.is_answered();
        let sk = &mut self.sk;
        self.phase = Phase::Established;
        sk.inet_conn.sk.sk_state = 1; // TCP_ESTABLISHED
        sk.snd_una = self.first_seq;
        (sk.rcv_nxt, sk.rcv_wup, sk.copied_seq) = (self.peer_first_seq, self.peer_first_seq, self.peer_first_seq);
        sk.snd_wl1 = self.peer_first_seq.wrapping_sub(1);
        sk.rcv_wnd = OWN_WINDOW;
        sk.snd_wnd = window;
        sk.max_window = window;
        sk.delivered = 1;
        sk.bytes_acked = 1; // The SYN, as `tcp_snd_una_update` counts it.
        sk.delivered_mstamp = sk.tcp_mstamp;
        sk.snd_cwnd = cwnd;
        sk.snd_cwnd_stamp = env.jiffies;
        sk.lsndtime = env.jiffies;
        sk.inet_conn.icsk_backoff = 0;
        sk.inet_conn.icsk_retransmits = 0;
        sk.retrans_stamp = 0;
        sk.total_retrans = 0;
        self.clear_timer();
        env.control.init(&mut self.sk);
        self.sk.inet_conn.icsk_ca_initialized = 1;
        self.update_pacing_rate(env.control);
        self.open_send_buffer(env.control);
        self.meter.cwnd(env.now, self.sk.snd_cwnd);
        self.emit_duplicate_ack(env);
        if self.stop.is_some_and(|stop| stop <= env.now) {
            return self.stop_writing(env.now);
        }
        self.write_at_rate(env);
        // The first segments leave while the application writes.
        let at_once = self.sk.snd_cwnd.min(self.sk.snd_wnd / self.mss).min(self.host_takes_at_once());
        self.let_application_write(env, at_once);
        self.transmit_new(env);
    }

    fn ca_state(&self) -> u8 {
        self.sk.inet_conn.icsk_ca_state
    }

    fn set_ca_state(&mut self, control: &Control, state: u8) {
        if matches!(state, ca_state::CWR | ca_state::RECOVERY | ca_state::LOSS) {
            self.meter.finds_losses(Nanos(self.sk.tcp_clock_cache) - clock::BOOT);
        }
        control.set_state(&mut self.sk, state);
        self.sk.inet_conn.icsk_ca_state = state;
    }

    /// Reports whether PRR, not the congestion control, sets the window, as in CWR and Recovery.
    fn in_cwnd_reduction(&self) -> bool {
        matches!(self.ca_state(), ca_state::CWR | ca_state::RECOVERY)
    }

    /// `tcp_update_pacing_rate`: sets the pacing rate to twice the window an RTT in slow start, 1.2 times after.
    fn update_pacing_rate(&mut self, control: &Control) {
        let sk = &mut self.sk;
        if control.has_cong_control() || sk.srtt_us == 0 {
            return;
        }
        let percent = if sk.snd_cwnd < sk.snd_ssthresh / 2 { 200 } else { 120 };
        let window = sk.snd_cwnd.max(sk.packets_out) as u64 * sk.mss_cache as u64;
        // srtt_us holds eighths of a microsecond.
        let rate = window * (1_000_000 / 100 * 8) * percent / sk.srtt_us as u64;
        sk.inet_conn.sk.sk_pacing_rate = rate.min(sk.inet_conn.sk.sk_max_pacing_rate);
    }

    /// Frees the congestion control's storage for this socket.
    pub fn close(&mut self, control: &Control) {
        if self.sk.inet_conn.icsk_ca_initialized != 0 {
            control.release(&mut self.sk);
        }
    }

    /// Reports whether the sender has sent, or had anything on the way, at any time since `before`.
    pub fn has_lived_since(&self, before: Nanos) -> bool {
        self.phase != Phase::Finished || self.last_awake > before
    }

    /// The flow's number.
    pub fn number(&self) -> u32 {
        self.flow
    }
}

/// Findings from one acknowledgement, collected on the way through `ack`: the kernel's `tcp_sacktag_state`,
/// `rate_sample` and flags.
#[derive(Default)]
struct AckContext {
    flags: u32,
    rate: RateSample,
    /// Transmission times of the first and the last segment newly SACKed and never sent twice, us.
    first_sacked_us: Option<u64>,
    last_sacked_us: u64,
    /// The lowest segment that arrived out of order, if below the highest SACKed.
    reordered: Option<u32>,
    /// Number of segments newly acknowledged or SACKed.
    newly_acked: u32,
}

/// Flags of an acknowledgement (`FLAG_*` of the kernel's tcp_input.c, whose values a `cong_control` sees).
mod ack_flag {
    pub const WIN_UPDATE: u32 = 0x02;
    pub const DATA_ACKED: u32 = 0x04;
    pub const RETRANS_DATA_ACKED: u32 = 0x08;
    pub const DATA_SACKED: u32 = 0x20;
    pub const ECE: u32 = 0x40;
    pub const LOST_RETRANS: u32 = 0x80;
    pub const SLOWPATH: u32 = 0x100;
    pub const ORIG_SACK_ACKED: u32 = 0x200;
    pub const SND_UNA_ADVANCED: u32 = 0x400;
    pub const DSACKING_ACK: u32 = 0x800;
    pub const SET_XMIT_TIMER: u32 = 0x1000;
    pub const ACK_MAYBE_DELAYED: u32 = 0x10000;
    pub const DSACK_TLP: u32 = 0x20000;
    pub const NOT_DUP: u32 = WIN_UPDATE | DATA_ACKED;
    pub const FORWARD_PROGRESS: u32 = DATA_ACKED | DATA_SACKED;
}
