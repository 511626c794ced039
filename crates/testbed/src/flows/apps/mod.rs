//! The applications at the two ends. They open flows on time, write and read as fast as TCP allows or as slowly as the
//! scenario says, and sample `TCP_INFO`.
//!
//! * `programs`: applications that decide themselves when they write or send
//! * `reading`: applications that receive

mod programs;
mod reading;

use crate::controls::GroupControl;
use crate::flows::datagrams::DatagramSockets;
use crate::flows::plan::{Plan, Planned};
use crate::flows::refill::{PAUSE, Refill};
use crate::flows::sockets;
use crate::host::Pair;
use crate::timing::clock::Clock;
use crate::timing::lateness::Steps;
use crate::timing::waiting::Waiting;
use apps::{Programs, SlowWriter};
use kernel::tcp_info::TcpInfo;
use measure::{FlowSample, Interval, ReceiverMeter};
use mechanism::sock::{INFINITE_SSTHRESH, is_ssthresh};
use model::records::AppStats;
use model::series::FlowRow;
use model::units::{Bytes, Nanos};
use model::{Scenario, WRITTEN_AT_ONCE};
use nix::sys::socket::{MsgFlags, send};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};

/// How often each sender's `TCP_INFO` is read.
const TCP_INFO_STEP: Nanos = Nanos::from_millis(10);
/// How long a finished flow of an arrival process keeps its sockets, so that packets still on their way find them.
const LINGER: Nanos = Nanos::from_secs(1);
/// How late an application may wake up.
const SLACK: Nanos = Nanos::from_micros(20);
/// Bytes that are written or read at a time.
const CHUNK: usize = 256 << 10;
/// A reading application is woken when the data of this time has come. On a fast link a wake-up for each packet would
/// take the time of several packets.
const READS_EVERY: Nanos = Nanos::from_millis(1);
/// [`READS_EVERY`] in virtual time: up to 100 Mbit/s each segment is read as it comes, as in the simulator.
const READS_OFTEN: Nanos = Nanos::from_micros(100);
/// The flag for more data that follows immediately; nix has no name for it.
const MORE: MsgFlags = MsgFlags::from_bits_retain(libc::MSG_MORE);
/// The bytes that the applications send.
static ZEROES: [u8; CHUNK] = [0; CHUNK];

/// An action of an application that the event queue holds, with the number of its flow or program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AppEvent {
    Open(usize),
    Stop(usize),
    Close(usize),
    Refill(usize),
    Program(u32),
    WriteSlowly(usize),
    Read(usize),
    ReadTcpInfo,
    Sample,
}

/// The sockets, application state and measurements of one flow.
pub struct Flow {
    sender: Option<OwnedFd>,
    receiver: Option<OwnedFd>,
    /// The sockets of a flow of datagrams, which has no connection.
    datagrams: Option<DatagramSockets>,
    /// The times of datagrams that the sending host had no room for.
    pub refused: Vec<Nanos>,
    /// The round-trip times that the flow's program has measured, each after the time of its measurement.
    pub round_trips: Vec<(Nanos, Nanos)>,
    /// Whether the application waits for room in the send buffer.
    waits_for_room: bool,
    /// Whether the application pauses between two pieces that it writes.
    pauses: bool,
    /// Whether the application has opened the flow.
    pub opened: bool,
    /// When a flow of an arrival process was seen to be finished.
    ended: Option<Nanos>,
    /// Bytes that are not written yet.
    left: u64,
    /// The writer of a flow with a `write_rate`.
    slow_writer: Option<SlowWriter>,
    /// Bytes that are written at a time in virtual time, as in the simulator: they decide which segments have PSH.
    whole_segments: usize,
    /// The pieces that are written when TCP can take more, in virtual time.
    refill: Refill,
    /// When the application stopped before it had written everything.
    pub stopped_at: Option<Nanos>,
    /// The congestion window, in packets, after the time from which it holds.
    pub windows: Vec<(Nanos, u32)>,
    /// The meter of the data that the receiving application got.
    pub receiver_meter: ReceiverMeter,
    /// Retransmission timeouts since the warm-up.
    pub timeouts: u64,
    /// The first value of the slow-start threshold that cannot be one ([`is_ssthresh`]).
    pub stray_ssthresh: Option<u32>,
    /// The latest `TCP_INFO` of the sender.
    pub info: TcpInfo,
}

/// The applications of a run.
pub struct Apps<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    pairs: &'a [Pair],
    controls: &'a [GroupControl],
    /// The listening sockets, in the order of the plan.
    listeners: Vec<OwnedFd>,
    /// The programs, which decide when a flow writes or sends.
    programs: Programs,
    /// For each program, the time at which the event queue will wake it.
    wakes: Vec<Nanos>,
    clock: Clock,
    waiting: Waiting,
    events: BinaryHeap<Reverse<(Nanos, AppEvent)>>,
    step: Option<Nanos>,
    /// A buffer for received bytes, which nobody reads.
    nowhere: Box<[u8]>,
    /// One entry for each flow.
    pub flows: Vec<Flow>,
    /// The channel that takes a sample of the open flows at each step of the series. A missed step gets the sample
    /// before it.
    samples: Sender<Vec<FlowSample>>,
    /// The steps of the series, taken and missed.
    pub steps: Steps,
}

impl<'a> Apps<'a> {
    /// Makes the applications and sockets of a plan's flows; `controls` holds the mechanisms of each group. Flows that
    /// arrive at random may be many, so each gets its socket only when it opens.
    pub fn new(
        scenario: &'a Scenario,
        plan: &'a Plan,
        pairs: &'a [Pair],
        controls: &'a [GroupControl],
        step: Option<Nanos>,
        clock: Clock,
    ) -> io::Result<Apps<'a>> {
        let opens: Vec<Vec<_>> =
            scenario.flow_arrivals().iter().map(|group| group.iter().map(|flow| flow.at).collect()).collect();
        let programs = Programs::new(scenario, &opens);
        let mut apps = Apps {
            scenario,
            plan,
            pairs,
            controls,
            listeners: vec![],
            wakes: vec![Nanos::NEVER; programs.count() as usize],
            programs,
            clock,
            waiting: Waiting::new(clock.slack(SLACK))?,
            events: BinaryHeap::new(),
            step,
            nowhere: vec![0; CHUNK].into(),
            flows: vec![],
            samples: channel().0,
            steps: Steps::default(),
        };
        for number in 0..plan.listeners.len() {
            apps.listen(number)?;
        }
        for planned in &plan.flows {
            apps.add(planned)?;
        }
        (0..apps.programs.count()).for_each(|program| apps.plan_program(program));
        apps.events.push(Reverse((TCP_INFO_STEP, AppEvent::ReadTcpInfo)));
        if let Some(step) = step {
            apps.events.push(Reverse((step, AppEvent::Sample)));
        }
        Ok(apps)
    }

    fn listen(&mut self, number: usize) -> io::Result<()> {
        let listener = &self.plan.listeners[number];
        let control = &self.controls[listener.group];
        let needed = control.needs_ecn.then_some(&control.name);
        let every = if self.clock.is_real() { READS_EVERY } else { READS_OFTEN };
        let host = self.pairs[listener.hosts].host(listener.at());
        let socket = sockets::listen(self.scenario, host, listener, needed, every)?;
        self.waiting.watch(&socket, 3 * number)?;
        self.listeners.push(socket);
        Ok(())
    }

    fn add(&mut self, planned: &Planned) -> io::Result<()> {
        let number = self.flows.len();
        let group = &planned.settings;
        let at_once = sockets::whole_segments(group, WRITTEN_AT_ONCE);
        let datagrams = DatagramSockets::open(planned, &self.pairs[planned.hosts])?;
        if let Some(datagrams) = &datagrams {
            self.waiting.watch(&datagrams.receiver, 3 * number + 2)?;
            if planned.is_call() {
                self.waiting.watch(&datagrams.sender, 3 * number + 1)?;
            }
        }
        let has_connection = datagrams.is_none();
        let slow_writer = planned.slow_writer();
        self.flows.push(Flow {
            sender: if has_connection && group.arrivals.is_none() { Some(self.prepare(planned)?) } else { None },
            receiver: None,
            datagrams,
            refused: vec![],
            round_trips: vec![],
            waits_for_room: false,
            pauses: false,
            opened: false,
            ended: None,
            // Some programs decide later what they write.
            left: match planned.arrival.size {
                _ if group.app.is_some() || slow_writer.is_some() => 0,
                size => size.map_or(u64::MAX, |size| size.0),
            },
            slow_writer,
            whole_segments: at_once.0 as usize,
            refill: Refill::new(self.scenario.written_ahead(group), Bytes(sockets::payload(group)), at_once),
            stopped_at: None,
            windows: vec![],
            receiver_meter: ReceiverMeter::new(Interval::new(self.scenario, group.stop)),
            timeouts: 0,
            stray_ssthresh: None,
            info: TcpInfo::default(),
        });
        self.events.push(Reverse((planned.arrival.at, AppEvent::Open(number))));
        self.plan_slow_writer(number);
        if let Some(stop) = group.stop {
            self.events.push(Reverse((stop, AppEvent::Stop(number))));
        }
        Ok(())
    }

    /// Makes the sending socket of a flow.
    fn prepare(&self, planned: &Planned) -> io::Result<OwnedFd> {
        let host = self.pairs[planned.hosts].host(planned.from());
        sockets::prepare(self.scenario, host, planned, &self.controls[planned.group].name)
    }

    /// Returns the receiver of the flows' samples at each step from now on.
    pub fn samples(&mut self) -> Receiver<Vec<FlowSample>> {
        let (sender, receiver) = channel();
        self.samples = sender;
        receiver
    }

    /// Runs the applications until `end`, or until `stopped` returns true.
    ///
    /// # Errors
    /// If a connection fails.
    pub fn run(&mut self, end: Nanos, stopped: impl Fn() -> bool) -> io::Result<()> {
        while !stopped() {
            let now = self.clock.now();
            if now >= end {
                break;
            }
            self.act(now)?;
            let next = self.events.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
            let ready: Vec<usize> = self.waiting.until(&self.clock, next.min(end))?.collect();
            for number in ready {
                match number % 3 {
                    0 => self.accept(number / 3)?,
                    1 if self.flows[number / 3].datagrams.is_some() => self.read_what_came_back(number / 3)?,
                    1 => self.write(number / 3)?,
                    _ if self.reads_at_rate(number / 3) => self.read_at_rate(number / 3)?,
                    _ => self.read(number / 3)?,
                }
            }
        }
        let now = self.clock.now();
        self.read_tcp_info(now)
    }

    fn act(&mut self, now: Nanos) -> io::Result<()> {
        while let Some(&Reverse((at, action))) = self.events.peek()
            && at <= now
        {
            self.events.pop();
            match action {
                AppEvent::Open(flow) => self.open(flow)?,
                AppEvent::Stop(flow) => self.stop(now, flow)?,
                AppEvent::ReadTcpInfo => {
                    self.read_tcp_info(now)?;
                    let over = Steps::default().take(at, TCP_INFO_STEP, now, self.clock.now());
                    self.events.push(Reverse((at + Nanos(TCP_INFO_STEP.0 * over), AppEvent::ReadTcpInfo)));
                }
                AppEvent::Close(flow) => self.close(flow)?,
                AppEvent::WriteSlowly(flow) => self.write_slowly(now, flow)?,
                AppEvent::Refill(flow) if self.fills_send_buffer(flow) => {
                    self.flows[flow].pauses = false;
                    self.write_on(flow)?;
                }
                AppEvent::Refill(flow) => self.refill(flow)?,
                AppEvent::Program(program) => self.wake_program(now, program)?,
                AppEvent::Read(flow) => self.read_at_rate(flow)?,
                AppEvent::Sample => {
                    let step = self.step.expect("samples are taken at a step only");
                    let row = self.sample(at, step)?;
                    let over = self.steps.take(at, step, now, self.clock.now());
                    for row in std::iter::repeat_n(row, over as usize) {
                        // The receiver of the samples may be gone.
                        let _ = self.samples.send(row);
                    }
                    self.events.push(Reverse((at + Nanos(step.0 * over), AppEvent::Sample)));
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, number: usize) -> io::Result<()> {
        let planned = &self.plan.flows[number];
        self.flows[number].opened = true;
        if planned.datagrams().is_some() {
            return Ok(());
        }
        let sender = match self.flows[number].sender.take() {
            Some(sender) => sender,
            None => self.prepare(planned)?,
        };
        let listener = &self.plan.listeners[planned.listener];
        sockets::connect(&sender, self.pairs[planned.hosts].host(listener.at()), listener.port)?;
        self.waiting.watch_writing(&sender, 3 * number + 1)?;
        let flow = &mut self.flows[number];
        (flow.sender, flow.waits_for_room) = (Some(sender), true);
        Ok(())
    }

    /// Makes the application of a flow stop writing.
    fn stop(&mut self, now: Nanos, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        flow.left = 0;
        flow.refill.end();
        flow.slow_writer.iter_mut().for_each(SlowWriter::end);
        flow.stopped_at = Some(now);
        self.stop_writing(number)
    }

    /// Closes the sockets of a flow that has come to its end.
    fn close(&mut self, number: usize) -> io::Result<()> {
        self.read(number)?;
        let flow = &mut self.flows[number];
        for socket in [flow.sender.take(), flow.receiver.take()].into_iter().flatten() {
            self.waiting.unwatch(&socket)?;
            sockets::close_silently(&socket)?;
        }
        Ok(())
    }

    fn accept(&mut self, number: usize) -> io::Result<()> {
        let listener = &self.plan.listeners[number];
        let hosts = &self.plan.hosts[listener.hosts];
        while let Some((socket, port)) = sockets::accept(&self.listeners[number])? {
            let Some(flow) = hosts.flow_with(port) else { continue };
            self.waiting.watch(&socket, 3 * flow + 2)?;
            self.flows[flow].receiver = Some(socket);
        }
        if !hosts.is_shared {
            self.waiting.unwatch(&self.listeners[number])?;
        }
        Ok(())
    }

    /// Writes when TCP can take more.
    fn write(&mut self, number: usize) -> io::Result<()> {
        if self.fills_send_buffer(number) {
            return self.write_on(number);
        }
        let flow = &mut self.flows[number];
        let Some(sender) = &flow.sender else { return Ok(()) };
        if !self.clock.is_real() {
            if !flow.refill.is_done() {
                return self.write_piece(number);
            }
            // TCP has sent all that it may before it wakes the application. At the beginning it sends during the write.
            let unsent = TcpInfo::of(sender)?.notsent_bytes as u64;
            if unsent > 0 {
                flow.refill.begin(unsent, flow.left);
                return self.refill(number);
            }
        }
        let most = if self.clock.is_real() { CHUNK } else { flow.whole_segments };
        while flow.left > 0 {
            // A segment must not leave before the next chunk has filled it up.
            match send_some(sender, flow.left.min(most as u64) as usize, flow.left > most as u64) {
                Ok(written) => flow.left -= written as u64,
                Err(nix::Error::EAGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.stop_writing(number)
    }

    /// Writes the next piece, and plans the one after it.
    fn refill(&mut self, number: usize) -> io::Result<()> {
        self.write_piece(number)?;
        if !self.flows[number].refill.is_done() {
            self.events.push(Reverse((self.clock.now() + PAUSE, AppEvent::Refill(number))));
        }
        Ok(())
    }

    fn write_piece(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        let Some(sender) = &flow.sender else { return Ok(()) };
        let Some((bytes, more)) = flow.refill.next_piece() else { return Ok(()) };
        match send_some(sender, bytes, more) {
            Ok(written) => flow.left -= written as u64,
            Err(nix::Error::EAGAIN) => flow.refill.end(),
            Err(error) => return Err(error.into()),
        }
        if flow.left == 0 { self.stop_writing(number) } else { Ok(()) }
    }

    fn stop_writing(&mut self, number: usize) -> io::Result<()> {
        self.flows[number].sender.as_ref().map_or(Ok(()), |sender| self.waiting.unwatch(sender))
    }

    fn read_tcp_info(&mut self, now: Nanos) -> io::Result<()> {
        let lives = |flow: &Flow| flow.opened && flow.ended.is_none();
        for (number, flow) in self.flows.iter_mut().enumerate().filter(|(_, flow)| lives(flow)) {
            let Some(sender) = &flow.sender else { continue };
            let before = std::mem::replace(&mut flow.info, TcpInfo::of(sender)?);
            flow.timeouts += flow.info.timeouts_since(&before);
            let ssthresh = flow.info.snd_ssthresh;
            flow.stray_ssthresh = flow.stray_ssthresh.or((!is_ssthresh(ssthresh)).then_some(ssthresh));
            flow.windows.push((now, flow.info.snd_cwnd));
            if now < self.scenario.warmup {
                flow.timeouts = 0;
            }
            let is_of_many = self.plan.flows[number].settings.arrivals.is_some();
            if is_of_many && flow.left == 0 && flow.info.is_quiet() {
                flow.ended = Some(now);
                self.events.push(Reverse((now + LINGER, AppEvent::Close(number))));
            }
        }
        Ok(())
    }

    /// Returns the counts of the program whose first flow this is, if there is one.
    pub fn counted(&mut self, flow: u32) -> Option<AppStats> {
        self.programs.stats(flow)
    }

    /// Samples every flow that is open; a flow of an arrival process until its end.
    fn sample(&self, now: Nanos, step: Nanos) -> io::Result<Vec<FlowSample>> {
        let mut row = vec![];
        let lives = |flow: &Flow| flow.opened && flow.ended.is_none_or(|ended| ended + step > now);
        for (number, flow) in self.flows.iter().enumerate().filter(|(_, flow)| lives(flow)) {
            let info = flow.sender.as_ref().map_or(Ok(flow.info), TcpInfo::of)?;
            let buffered = flow.sender.as_ref().filter(|_| self.plan.flows[number].sends_from_host());
            let send_buffer = buffered.map(sockets::send_buffer).transpose()?;
            let of_flow = FlowRow {
                flow: number as u32,
                cwnd_packets: info.snd_cwnd,
                ssthresh_packets: (info.snd_ssthresh < INFINITE_SSTHRESH).then_some(info.snd_ssthresh),
                in_flight_packets: info.in_flight(),
                srtt_ms: (info.rtt > 0).then_some(info.rtt as f64 / 1000.0),
                retransmitted_packets: info.total_retrans as u64,
                wmem_queued_bytes: send_buffer.map(|(queued, _)| queued),
                sndbuf_bytes: send_buffer.map(|(_, sndbuf)| sndbuf),
                ..FlowRow::default()
            };
            row.push(FlowSample { row: of_flow, total_delivered: flow.receiver_meter.total_delivered });
        }
        Ok(row)
    }
}

impl Flow {
    /// Returns the shares of the busy time in which the receiver's window, and the room in the send buffer, limited the
    /// flow.
    pub fn held_by_buffers(&self) -> (f64, f64) {
        let share = |time| time as f64 / self.info.busy_time.max(1) as f64;
        (share(self.info.rwnd_limited), share(self.info.sndbuf_limited))
    }
}

/// Writes up to `bytes` bytes and returns how many TCP took. With `more`, further data follows immediately.
fn send_some(socket: &OwnedFd, bytes: usize, more: bool) -> nix::Result<usize> {
    let more = if more { MORE } else { MsgFlags::empty() };
    send(socket.as_raw_fd(), &ZEROES[..bytes], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL | more)
}
