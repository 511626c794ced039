//! The applications at the two ends: they open flows on time, write and read as fast as TCP lets them, and look at `TCP_INFO`.

use crate::clock::Clock;
use crate::controls::Control;
use crate::host::Pair;
use crate::sockets;
use crate::tcp_info::TcpInfo;
use crate::waiting::Waiting;
use measure::{FlowSample, Interval, ReceiverMeter};
use nix::sys::socket::{MsgFlags, recv, send};
use scenario::model::{FlowGroup, Scenario};
use scenario::units::Nanos;
use scenario::workload::Opening;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// How often the windows are noted.
const LOOK: Nanos = Nanos::from_millis(10);
/// How late an application may be.
const SLACK: Nanos = Nanos::from_micros(20);
/// What is written and read at a time.
const CHUNK: usize = 256 << 10;
/// Nothing in particular.
static ZEROES: [u8; CHUNK] = [0; CHUNK];

/// What an application does at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Open(usize),
    Stop(usize),
    Look,
    Sample,
}

/// Both ends of one flow.
pub struct Flow {
    listener: OwnedFd,
    sender: OwnedFd,
    receiver: Option<OwnedFd>,
    opened: bool,
    /// Bytes that are still to be written.
    left: u64,
    /// When the application stopped writing before its end.
    pub stopped_at: Option<Nanos>,
    /// The window from each of these times on.
    pub windows: Vec<(Nanos, u32)>,
    /// What the receiving application got.
    pub receiver_meter: ReceiverMeter,
    timeouts_before: u32,
    /// The last look at the sender.
    pub info: TcpInfo,
}

/// The applications of a run.
pub struct Apps<'a> {
    pairs: &'a [Pair],
    clock: Clock,
    waiting: Waiting,
    agenda: BinaryHeap<Reverse<(Nanos, Action)>>,
    warmup: Nanos,
    step: Option<Nanos>,
    /// Where read bytes would go.
    nowhere: Box<[u8]>,
    /// One per flow.
    pub flows: Vec<Flow>,
    /// The flows that had opened, at each step of the series.
    pub samples: Vec<Vec<FlowSample>>,
}

impl<'a> Apps<'a> {
    /// Makes all sockets of `flows`, each with its group's number; `controls` are the groups'.
    pub fn new(
        scenario: &Scenario,
        flows: &[(usize, Opening)],
        pairs: &'a [Pair],
        controls: &[Control],
        step: Option<Nanos>,
        clock: Clock,
    ) -> io::Result<Apps<'a>> {
        let mut apps = Apps {
            pairs,
            clock,
            waiting: Waiting::new(clock.slack(SLACK))?,
            agenda: BinaryHeap::new(),
            warmup: scenario.warmup,
            step,
            nowhere: vec![0; CHUNK].into(),
            flows: vec![],
            samples: vec![],
        };
        for (group, opening) in flows {
            apps.add(scenario, &scenario.flows[*group], opening, &controls[*group])?;
        }
        apps.agenda.push(Reverse((LOOK, Action::Look)));
        if let Some(step) = step {
            apps.agenda.push(Reverse((step, Action::Sample)));
        }
        Ok(apps)
    }

    fn add(&mut self, scenario: &Scenario, group: &FlowGroup, opening: &Opening, control: &Control) -> io::Result<()> {
        let number = self.flows.len();
        let pair = &self.pairs[number];
        let flow = Flow {
            listener: sockets::listen(scenario, &pair.receiver, group, control.needs_ecn.then_some(&control.name))?,
            sender: sockets::prepare(&pair.sender, group, &control.name, sockets::written_ahead(scenario, group))?,
            receiver: None,
            opened: false,
            left: opening.size.map_or(u64::MAX, |size| size.0),
            stopped_at: None,
            windows: vec![],
            receiver_meter: ReceiverMeter::new(Interval::new(scenario, group.stop)),
            timeouts_before: 0,
            info: TcpInfo::default(),
        };
        self.agenda.push(Reverse((opening.at, Action::Open(number))));
        if let Some(stop) = group.stop {
            self.agenda.push(Reverse((stop, Action::Stop(number))));
        }
        self.waiting.watch(&flow.listener, 3 * number)?;
        self.flows.push(flow);
        Ok(())
    }

    /// Lives until `end`, or until `stopped` says so.
    ///
    /// # Errors
    /// When a connection fails.
    pub fn run(&mut self, end: Nanos, stopped: impl Fn() -> bool) -> io::Result<()> {
        while !stopped() {
            let now = self.clock.now();
            if now >= end {
                break;
            }
            self.act(now)?;
            let next = self.agenda.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
            let ready: Vec<usize> = self.waiting.until(&self.clock, next.min(end))?.collect();
            for number in ready {
                match number % 3 {
                    0 => self.accept(number / 3)?,
                    1 => self.write(number / 3)?,
                    _ => self.read(number / 3)?,
                }
            }
        }
        let now = self.clock.now();
        self.look(now)
    }

    fn act(&mut self, now: Nanos) -> io::Result<()> {
        while let Some(&Reverse((at, action))) = self.agenda.peek()
            && at <= now
        {
            self.agenda.pop();
            match action {
                Action::Open(flow) => self.open(flow)?,
                Action::Stop(flow) => self.stop(now, flow)?,
                Action::Look => {
                    self.look(now)?;
                    self.agenda.push(Reverse((at + LOOK, Action::Look)));
                }
                Action::Sample => {
                    self.sample()?;
                    let step = self.step.expect("samples are taken at a step only");
                    self.agenda.push(Reverse((at + step, Action::Sample)));
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        sockets::connect(&flow.sender, &self.pairs[number].receiver)?;
        flow.opened = true;
        self.waiting.watch_writing(&flow.sender, 3 * number + 1)
    }

    /// The application ends what it has begun to write, and writes no more.
    fn stop(&mut self, now: Nanos, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        flow.left = 0;
        flow.stopped_at = Some(now);
        self.waiting.forget(&flow.sender)
    }

    fn accept(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        let socket = sockets::accept(&flow.listener)?;
        self.waiting.forget(&flow.listener)?;
        self.waiting.watch(&socket, 3 * number + 2)?;
        flow.receiver = Some(socket);
        Ok(())
    }

    fn write(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        while flow.left > 0 {
            let chunk = &ZEROES[..CHUNK.min(flow.left.min(CHUNK as u64) as usize)];
            match send(flow.sender.as_raw_fd(), chunk, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
                Ok(written) => flow.left -= written as u64,
                Err(nix::Error::EAGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.waiting.forget(&flow.sender)
    }

    fn read(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        let Some(socket) = &flow.receiver else { return Ok(()) };
        loop {
            // MSG_TRUNC: the bytes are not copied.
            match recv(socket.as_raw_fd(), &mut self.nowhere, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC) {
                Ok(0) => return self.waiting.forget(socket),
                Ok(length) => flow.receiver_meter.delivered(self.clock.now(), length as u64),
                Err(nix::Error::EAGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn look(&mut self, now: Nanos) -> io::Result<()> {
        for flow in self.flows.iter_mut().filter(|flow| flow.opened) {
            flow.info = TcpInfo::of(&flow.sender)?;
            flow.windows.push((now, flow.info.snd_cwnd));
            if now < self.warmup {
                flow.timeouts_before = flow.info.total_rto as u32;
            }
        }
        Ok(())
    }

    fn sample(&mut self) -> io::Result<()> {
        let mut row = vec![];
        for (number, flow) in self.flows.iter().enumerate().filter(|(_, flow)| flow.opened) {
            let info = TcpInfo::of(&flow.sender)?;
            row.push(FlowSample {
                flow: number as u32,
                cwnd: info.snd_cwnd,
                ssthresh: (info.snd_ssthresh < mechanism::sock::INFINITE_SSTHRESH).then_some(info.snd_ssthresh),
                in_flight: info.in_flight(),
                rtt_us: None,
                srtt_ms: (info.rtt > 0).then_some(info.rtt as f64 / 1000.0),
                total_delivered: flow.receiver_meter.total_delivered,
                total_retransmitted: info.total_retrans as u64,
            });
        }
        self.samples.push(row);
        Ok(())
    }
}

impl Flow {
    /// Retransmission timeouts since the warm-up.
    pub fn timeouts(&self) -> u64 {
        (self.info.total_rto as u32 - self.timeouts_before) as u64
    }

    /// Shares of its busy time that it could not send: for its receiver's window, and for want of room in its own buffer.
    pub fn held_by_buffers(&self) -> (f64, f64) {
        let share = |time| time as f64 / self.info.busy_time.max(1) as f64;
        (share(self.info.rwnd_limited), share(self.info.sndbuf_limited))
    }
}
