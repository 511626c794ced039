//! The network between the hosts, in real time: packets go from TUN device to TUN device through the same links as in the simulator.

use crate::clock::Clock;
use crate::host::Host;
use crate::parcel::{Parcel, Pool};
use crate::pcap::Pcap;
use crate::soundness;
use crate::waiting::Waiting;
use crate::wire::Wire;
use crate::{Options, tun};
use measure::{Histogram, LinkSample};
use path::{AccessLink, Fate, Link, Packet, Pipe};
use scenario::model::Scenario;
use scenario::units::Nanos;
use std::io;

/// A quiet emulator looks this often whether it is to stop.
const LOOK_UP: Nanos = Nanos::from_millis(20);

/// The two hosts of a flow.
#[derive(Debug)]
pub struct Pair {
    /// Sends the data.
    pub sender: Host,
    /// Acknowledges it.
    pub receiver: Host,
}

/// What waits to happen next.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// A packet is at the end of a sender's access link.
    Access(usize),
    /// A packet is at the receivers' end of the bottleneck.
    Forward,
    /// A packet is at the senders' end of the way back.
    Reverse,
    /// A packet is at the sender's end of an access link.
    AccessBack(usize),
}

/// A link at one step of the series, and the round-trip times seen last.
#[derive(Debug)]
pub struct Glimpse {
    /// When.
    pub at: Nanos,
    /// Forward and reverse.
    pub links: [LinkSample; 2],
    /// By flow, us.
    pub rtt_us: Vec<Option<u32>>,
}

/// Links, packets on their way, and what is seen of the flows.
pub struct Emulator<'a> {
    pairs: &'a [Pair],
    clock: Clock,
    pool: Pool,
    /// The bottleneck.
    pub forward: Link<Parcel>,
    /// The way back.
    pub reverse: Link<Parcel>,
    access: Vec<AccessLink<Parcel>>,
    back: Vec<(Nanos, Pipe<Parcel>)>,
    /// By flow; none where nothing is measured.
    pub wires: Vec<Wire>,
    /// How much later than it should a packet was handed to its host.
    pub lateness: Histogram,
    warmup: Nanos,
    /// What it may wait too long to do more at once.
    slack: Nanos,
    /// The time up to which each link has been told of packets: it must not go back.
    told: [Nanos; 2],
    pcap: Option<Pcap>,
    step: Option<Nanos>,
    /// The inside of the run at equal steps.
    pub glimpses: Vec<Glimpse>,
}

impl<'a> Emulator<'a> {
    /// An empty network between `pairs`; `wires` watch them.
    ///
    /// # Errors
    /// If the packet trace cannot be created.
    pub fn new(
        scenario: &Scenario,
        pairs: &'a [Pair],
        wires: Vec<Wire>,
        options: &Options,
        clock: Clock,
    ) -> io::Result<Emulator<'a>> {
        let groups = scenario.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
        let largest = scenario.flows.iter().map(|group| group.packet.0 as u32).max();
        Ok(Emulator {
            pairs,
            clock,
            pool: Pool::new(largest.unwrap_or(0)),
            forward: Link::forward(scenario),
            reverse: Link::reverse(scenario),
            access: groups.clone().map(|group| AccessLink::new(&group.access)).collect(),
            back: groups.map(|group| (group.access.delay, Pipe::default())).collect(),
            wires,
            lateness: Histogram::default(),
            warmup: scenario.warmup,
            slack: Nanos(soundness::tolerated(scenario).0 / 8),
            told: [Nanos::ZERO; 2],
            pcap: options.pcap.as_deref().map(Pcap::create).transpose()?,
            step: options.series,
            glimpses: vec![],
        })
    }

    /// Carries packets until `end`, or until `stopped` says so.
    ///
    /// # Errors
    /// When a device fails.
    pub fn run(&mut self, end: Nanos, stopped: impl Fn() -> bool) -> io::Result<()> {
        let mut waiting = Waiting::new(self.slack)?;
        for (flow, pair) in self.pairs.iter().enumerate() {
            waiting.watch(&pair.sender.tun, 2 * flow)?;
            waiting.watch(&pair.receiver.tun, 2 * flow + 1)?;
        }
        while !stopped() {
            let now = self.clock.now();
            if now >= end {
                break;
            }
            self.glimpse(now);
            self.pass_on_what_is_due(now)?;
            let next = self.next().0.min(end).min(self.next_glimpse()).min(now + LOOK_UP);
            for host in waiting.until(&self.clock, next)? {
                if host.is_multiple_of(2) {
                    self.take_from_sender(host / 2)?
                } else {
                    self.take_from_receiver(host / 2)?
                }
            }
        }
        self.pcap.take().map_or(Ok(()), Pcap::close)
    }

    /// The earliest thing that waits.
    fn next(&self) -> (Nanos, Stage) {
        let access = self.access.iter().enumerate().map(|(flow, link)| (link.next(), Stage::Access(flow)));
        let back = self.back.iter().enumerate().map(|(flow, (_, pipe))| (pipe.next(), Stage::AccessBack(flow)));
        let links = [(self.forward.next(), Stage::Forward), (self.reverse.next(), Stage::Reverse)];
        links.into_iter().chain(access).chain(back).min_by_key(|(at, _)| *at).expect("there are two links")
    }

    fn pass_on_what_is_due(&mut self, now: Nanos) -> io::Result<()> {
        loop {
            let (due, stage) = self.next();
            if due > now {
                return Ok(());
            }
            match stage {
                Stage::Access(flow) => {
                    if let Some(parcel) = self.access[flow].take() {
                        self.offer_forward(due, parcel);
                    }
                }
                Stage::Forward => {
                    if let Some(parcel) = self.forward.take() {
                        self.hand_to_receiver(due, parcel)?;
                    }
                }
                Stage::Reverse => {
                    if let Some(parcel) = self.reverse.take() {
                        let (delay, back) = &mut self.back[parcel.flow as usize];
                        back.push(due + *delay, parcel);
                    }
                }
                Stage::AccessBack(flow) => {
                    if let Some(parcel) = self.back[flow].1.take() {
                        self.hand_to_sender(due, parcel)?;
                    }
                }
            }
        }
    }

    fn take_from_sender(&mut self, flow: usize) -> io::Result<()> {
        let pairs = self.pairs;
        while let Some(parcel) = self.read(&pairs[flow].sender, flow)? {
            let now = self.clock.now();
            if let (Some(segment), Some(wire)) = (&parcel.segment, self.wires.get_mut(flow)) {
                wire.leaves(now, segment);
            }
            self.trace(now, &parcel)?;
            self.access[flow].send(now, parcel);
        }
        Ok(())
    }

    fn take_from_receiver(&mut self, flow: usize) -> io::Result<()> {
        let pairs = self.pairs;
        while let Some(parcel) = self.read(&pairs[flow].receiver, flow)? {
            let now = advance(&mut self.told[1], self.clock.now());
            if !matches!(self.reverse.offer(now, parcel), Fate::Arrives(_)) {
                self.lose(parcel);
            }
        }
        Ok(())
    }

    fn read(&mut self, host: &Host, flow: usize) -> io::Result<Option<Parcel>> {
        loop {
            let slot = self.pool.take();
            let length = host.tun.read(self.pool.buffer(slot))?;
            let parcel = length.and_then(|length| self.pool.parcel(slot, flow as u32, length));
            if parcel.is_none() {
                self.pool.give_back(slot);
            }
            if parcel.is_some() || length.is_none() {
                return Ok(parcel);
            }
        }
    }

    fn offer_forward(&mut self, due: Nanos, parcel: Parcel) {
        let at = advance(&mut self.told[0], due);
        if matches!(self.forward.offer(at, parcel), Fate::Arrives(_)) {
            return;
        }
        let is_data = parcel.segment.is_some_and(|segment| segment.payload > 0);
        if is_data
            && at >= self.warmup
            && let Some(wire) = self.wires.get_mut(parcel.flow as usize)
        {
            wire.lost += 1;
        }
        self.lose(parcel);
    }
    /// Dropped, or lost on the wire: the link forgets it by itself.
    fn lose(&mut self, parcel: Parcel) {
        self.pool.give_back(parcel.slot);
    }

    fn hand_to_receiver(&mut self, due: Nanos, parcel: Parcel) -> io::Result<()> {
        let now = self.clock.now();
        self.lateness.record(now.since(due));
        let flow = parcel.flow as usize;
        if parcel.segment.is_some_and(|segment| segment.payload > 0)
            && let Some(wire) = self.wires.get_mut(flow)
        {
            wire.receiver.arrived(now, parcel.bytes());
        }
        self.pairs[flow].receiver.tun.write(self.pool.wrapped(&parcel))?;
        self.pool.give_back(parcel.slot);
        self.take_from_receiver(flow)
    }

    fn hand_to_sender(&mut self, due: Nanos, parcel: Parcel) -> io::Result<()> {
        let now = self.clock.now();
        self.lateness.record(now.since(due));
        let flow = parcel.flow as usize;
        if let (Some(segment), Some(wire)) = (&parcel.segment, self.wires.get_mut(flow)) {
            wire.returns(now, segment);
        }
        self.trace(now, &parcel)?;
        self.pairs[flow].sender.tun.write(self.pool.wrapped(&parcel))?;
        self.pool.give_back(parcel.slot);
        self.take_from_sender(flow)
    }

    fn trace(&mut self, now: Nanos, parcel: &Parcel) -> io::Result<()> {
        match &mut self.pcap {
            Some(pcap) => pcap.write(now, &self.pool.wrapped(parcel)[tun::HEADER..]),
            None => Ok(()),
        }
    }

    fn next_glimpse(&self) -> Nanos {
        self.step.map_or(Nanos::NEVER, |step| Nanos(step.0 * (self.glimpses.len() as u64 + 1)))
    }

    /// Looks at the links if a step of the series is over.
    fn glimpse(&mut self, now: Nanos) {
        while self.next_glimpse() <= now {
            let links = [self.forward.sample(now, 0), self.reverse.sample(now, 1)];
            let rtt_us = self.wires.iter().map(|wire| wire.sender.latest_rtt_us).collect();
            self.glimpses.push(Glimpse { at: self.next_glimpse(), links, rtt_us });
        }
    }
}

/// The later of the two, which is also kept.
fn advance(kept: &mut Nanos, at: Nanos) -> Nanos {
    *kept = at.max(*kept);
    *kept
}
