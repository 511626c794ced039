//! The network between the hosts: the same ports as in the simulator, on the real clock.

use crate::emulator::kernel_port::KernelPort;
use crate::error::Error;
use crate::flows::monitor::FlowMonitor;
use crate::flows::plan::Plan;
use crate::host::End;
use crate::kernel_qdisc::kernel_draws;
use crate::kernel_qdisc::kernel_link::KernelLink;
use crate::packet::{self, PacketInfo, ports};
use crate::pcap::Pcap;
use crate::surroundings::Surroundings;
use crate::timing::clock::{Time, sent_by_a_fine_timer, sent_by_itself};
use crate::timing::waiting::Waiting;
use crate::uplink::HostQueue;
use crate::uplink::port::UplinkPort;
use kernel::tun;
use kernel::{SendBuffers, StampReader};
use measure::{Histogram, LinkInterfaces, LinkSample, SENDERS, SnapLength};
use model::Scenario;
use model::records;
use model::records::Options;
use model::units::Nanos;
use path::{Packet, Port, PortId, Topology};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A flow counts as paced once it has sent this many data packets between ticks, without an acknowledgement to cause
/// them.
const PACED_AFTER: u8 = 3;

/// A sample of the links at one step of the series, with the latest round-trip times.
#[derive(Debug)]
pub struct Sample {
    /// The time of the step.
    pub at: Nanos,
    /// The links, in the order of their records.
    pub links: Vec<LinkSample>,
    /// The latest round-trip time of each flow, us.
    pub rtt_us: Vec<Option<u64>>,
}

/// A packet that has come to a host.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The end at which the host is.
    pub to: End,
    /// The number of the host's pair.
    pub hosts: usize,
    /// The packet's length with its `virtio_net_hdr`, bytes.
    pub length: usize,
    /// The time at which the packet was due.
    pub due: Nanos,
}

/// The links, the packets on their way, and the monitors of the flows.
pub struct Network {
    plan: Plan,
    links: path::Network<PacketInfo, KernelPort>,
    /// Buffers, monitors and lateness, which the links use.
    pub around: Surroundings,
    /// The latest time at which a packet entered the links; it never goes back.
    clock: Nanos,
    /// Packets that have come to the hosts of each end and wait to be handed over, each with the time at which it was
    /// due.
    arrived: [VecDeque<(Nanos, PacketInfo)>; 2],
    /// The ports towards each end whose queues are in the kernel.
    kernel_ports: [Vec<PortId>; 2],
    /// For each pair of hosts, the reader of the times at which the near host's packets entered its queue.
    stamps: Vec<Option<StampReader>>,
    /// For each flow, how many data packets its pacer is known to have sent, up to [`PACED_AFTER`].
    paced: Vec<u8>,
    /// The readers of the hosts' send buffers, each with the number of the pair of hosts.
    send_buffers: Vec<(usize, SendBuffers)>,
    time: Time,
    step: Option<Nanos>,
    /// The number of steps that have been sampled.
    steps: u64,
    /// The channel that takes the links' sample of each step.
    samples: Sender<Sample>,
}

impl Network {
    /// Makes an empty network for the flows of a plan; `monitors` watch them.
    ///
    /// # Errors
    /// If the packet trace cannot be created, or the kernel does not support the queues that the scenario asks for.
    pub fn new(
        scenario: &Scenario,
        plan: Plan,
        monitors: Vec<FlowMonitor>,
        time: Time,
        options: &Options,
    ) -> Result<Network, Error> {
        let mtu = scenario.flows.iter().map(|group| group.largest_packet().0 as u32).max().unwrap_or(0);
        let counts = (0..scenario.flows.len()).map(|group| plan.flows_of(group)).collect::<Vec<_>>();
        let topology = Topology::new(scenario, &counts);
        let interfaces = match options.pcap_links {
            true => LinkInterfaces::new(topology.port_names()),
            false => LinkInterfaces::default(),
        };
        let links = topology.network_with(|link, purpose| KernelPort::of(scenario, link, purpose, time))?;
        if time == Time::Virtual {
            kernel_draws::follow(scenario.seed).map_err(Error::machine)?;
        }
        let mut kernel_ports = [vec![], vec![]];
        for (number, port) in links.ports() {
            if matches!(port, Port::External(_)) {
                kernel_ports[towards(number) as usize].push(number);
            }
        }
        let paced = vec![0; plan.flows.len()];
        let snap_length = SnapLength::new(options.pcap_headers_only);
        let pcap =
            options.pcap.as_deref().map(|path| Pcap::create(path, scenario, &interfaces, snap_length)).transpose();
        let mut around = Surroundings::new(mtu, monitors);
        around.pcap = pcap.map_err(Error::machine)?;
        around.interfaces = interfaces;
        Ok(Network {
            links,
            around,
            clock: Nanos::ZERO,
            arrived: Default::default(),
            kernel_ports,
            plan,
            stamps: vec![],
            paced,
            send_buffers: vec![],
            time,
            step: options.series,
            steps: 0,
            samples: channel().0,
        })
    }

    /// Returns the receiver of the links' sample of each step from now on.
    pub fn samples(&mut self) -> Receiver<Sample> {
        let (sender, receiver) = channel();
        self.samples = sender;
        receiver
    }

    /// Allocates a buffer to read a packet into.
    pub fn buffer(&self) -> Box<[u8]> {
        self.around.buffers.buffer()
    }

    /// Takes a packet of `length` bytes that a host has sent by itself, no later than `now`. In virtual time it works
    /// out when the packet left.
    ///
    /// # Errors
    /// The errors of [`enter`](Self::enter).
    pub fn enter_unasked(
        &mut self,
        from: End,
        now: Nanos,
        hosts: usize,
        length: usize,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<()> {
        let is_virtual = self.time == Time::Virtual;
        let flow = is_virtual.then(|| self.flow_of(hosts, from, &buffer[..length])).flatten();
        let at =
            flow.map_or(now, |(flow, is_data)| self.left_at(now, flow, is_data, &buffer[..length]).max(self.clock));
        self.enter(from, at, hosts, length, buffer)
    }

    /// Works out when a packet left its host that was seen at `now`, in virtual time, if nothing that arrived caused
    /// it.
    fn left_at(&mut self, now: Nanos, flow: usize, is_data: bool, packet: &[u8]) -> Nanos {
        let planned = &self.plan.flows[flow];
        let by_default = sent_by_itself(now, planned.arrival.at);
        let Some(segment) = info_of(packet, flow, is_data).and_then(|info| info.segment) else {
            return by_default;
        };
        let by_fine_timer = sent_by_a_fine_timer(now);
        if !is_data {
            // An acknowledgement with SACK is a compressed one (tcp_compressed_ack_kick); those that ticks send rarely
            // have SACK.
            return if segment.sack.is_some() { by_fine_timer } else { by_default };
        }
        let is_bulk = planned.settings.app.is_none() && planned.settings.write_rate.is_none();
        if segment.payload == 0 || !is_bulk {
            return by_default;
        }
        // Between ticks only the pacer sends a bulk flow's data (tcp_pace_kick). Once it has done so, it sends nearly
        // all data that no acknowledgement triggers.
        let paced = &mut self.paced[flow];
        if *paced >= PACED_AFTER {
            return by_fine_timer;
        }
        *paced += (by_default == by_fine_timer) as u8;
        by_default
    }

    /// Takes a packet of `length` bytes that a host has sent out of `buffer`, whose contents are then arbitrary. A
    /// packet that is not between two hosts, or belongs to no flow of these hosts, is thrown away.
    #[inline]
    pub fn enter(
        &mut self,
        from: End,
        now: Nanos,
        hosts: usize,
        length: usize,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<()> {
        let Some((flow, is_data)) = self.flow_of(hosts, from, &buffer[..length]) else { return Ok(()) };
        self.around.buffers.check(length)?;
        let Some(mut info) = info_of(&buffer[..length], flow, is_data) else { return Ok(()) };
        // Without monitors the hosts are those of a user's programs, all of whose connections are one flow.
        if self.around.monitors.is_empty() {
            info.connection = packet::connection(&buffer[tun::HEADER..length]);
        }
        // First, so that a trace of the links stays in the order of time.
        self.catch_up(now);
        if is_data {
            self.trace(now, &buffer[tun::HEADER..length], info.flow)?;
            self.note_send_buffers();
            // TCP's round trip begins before the queue of its host.
            let stamps = self.stamps.get(hosts).copied().flatten().filter(|_| from == End::Sender);
            let sent_at = stamps.map_or(now, |stamps| stamps.came(now, &buffer[..length]));
            if let Some(monitor) = self.around.monitors.get_mut(flow) {
                info.counts = match (&info.segment, info.stamp) {
                    (Some(segment), _) => monitor.leaves(sent_at, segment),
                    (None, Some(_)) => monitor.datagram_leaves(sent_at),
                    (None, None) => false,
                };
            }
        }
        info.slot = self.around.buffers.put(buffer);
        self.links.send(self.clock, info.route(), info, &mut self.around);
        self.around.check()
    }

    /// Returns the flow of a packet that a host sends, and whether it comes from the flow's sender.
    #[inline]
    fn flow_of(&self, hosts: usize, from: End, packet: &[u8]) -> Option<(usize, bool)> {
        let flow = self.plan.hosts[hosts].flow_of(|| ports(packet.get(tun::HEADER..)?))?;
        Some((flow, from == self.plan.flows[flow].from()))
    }

    /// Moves the links forward to `now`. In virtual time they stop at a packet that has come to a host. Its answer
    /// enters the network at the time of that packet, so the links must not go past it.
    fn catch_up(&mut self, now: Nanos) {
        self.around.catching_up_at = Some(now);
        while !self.waits_for_an_answer() {
            let at = self.links.next();
            if at > now {
                self.clock = self.clock.max(now);
                break;
            }
            self.clock = self.clock.max(at);
            if let Some(id) = self.links.step(self.clock, &mut self.around) {
                let info = *self.links.packets.remove(id);
                let from = self.plan.flows[info.flow as usize].from();
                let end = if info.is_data { from.opposite() } else { from };
                self.arrived[end as usize].push_back((at, info));
            }
        }
        self.around.catching_up_at = None;
    }

    fn waits_for_an_answer(&self) -> bool {
        self.time == Time::Virtual && self.arrived.iter().any(|packets| !packets.is_empty())
    }

    /// Returns the end whose packets the thread of `end` hands over next: in virtual time, the end whose packet is due
    /// first.
    fn arrived_at(&self, end: End) -> End {
        let first = |end: End| self.arrived[end as usize].front().map_or(Nanos::NEVER, |(due, _)| *due);
        let other = end.opposite();
        if self.time == Time::Virtual && first(other) < first(end) { other } else { end }
    }

    /// Makes `waiting` watch the exits of the kernel's qdiscs towards this end, under `number`.
    pub fn watch(&self, to: End, waiting: &Waiting, number: usize) -> io::Result<()> {
        let mut links = self.kernel_ports[to as usize].iter().filter_map(|port| self.kernel_link(*port));
        links.try_for_each(|link| link.exits().try_for_each(|exit| waiting.watch(exit, number)))
    }

    fn kernel_link(&self, port: PortId) -> Option<&KernelLink> {
        match self.links.port(port) {
            Port::External(port) => port.link(),
            _ => None,
        }
    }

    /// Takes the packets that the kernel's qdiscs towards this end have released. The contents of `buffer` are
    /// arbitrary before and after.
    pub fn collect(&mut self, to: End, now: Nanos, buffer: &mut Box<[u8]>) -> io::Result<()> {
        self.catch_up(now);
        let Network { links, around, kernel_ports, clock, .. } = self;
        for port in &kernel_ports[to as usize] {
            links.with_external(*port, *clock, around, |port, packets, around, gone| match port {
                KernelPort::Link(link) => link.collect(now, packets, around, gone, buffer),
                KernelPort::Uplink(_) => Ok(()),
            })?;
        }
        around.check()
    }

    /// Connects the port of a link to the queue of a host's device; the host is the near one of pair `hosts`.
    pub fn stand_behind(&mut self, hosts: usize, link: usize, queue: HostQueue, send_buffers: SendBuffers) {
        self.send_buffers.push((hosts, send_buffers));
        self.stamps.resize(self.plan.hosts.len(), None);
        self.stamps[hosts] = Some(queue.reader);
        self.with_uplink(path::forward(link), |uplink| uplink.stand_behind(queue));
    }

    /// Records what the kernel has reported about send buffers since the last call.
    fn note_send_buffers(&mut self) {
        for (hosts, send_buffers) in &self.send_buffers {
            for seen in send_buffers.take() {
                let flow = self.plan.hosts[*hosts].flow_of(|| Some(seen.ports));
                let monitor = flow.and_then(|flow| self.around.monitors.get_mut(flow));
                if let Some(meter) = monitor.and_then(|monitor| monitor.send_buffer.as_mut()) {
                    meter.note(seen.at, seen.queued.into(), seen.sndbuf.into(), seen.windows);
                }
            }
        }
    }

    /// Records the drops of the hosts' queues at the end of the run.
    pub fn finish(&mut self) -> io::Result<()> {
        self.note_send_buffers();
        let all = self.kernel_ports[End::Receiver as usize].clone();
        all.into_iter().filter_map(|port| self.with_uplink(port, UplinkPort::finish)).collect()
    }

    fn with_uplink<R>(&mut self, port: PortId, act: impl FnOnce(&mut UplinkPort) -> R) -> Option<R> {
        let Network { links, around, clock, .. } = self;
        links.with_external(port, *clock, around, |port, _, _, _| match port {
            KernelPort::Uplink(uplink) => Some(act(uplink)),
            KernelPort::Link(_) => None,
        })
    }

    /// Returns the number of packets that the kernel's queues released, but that were lost before they were taken.
    pub fn missed(&self) -> io::Result<u64> {
        let links = self.kernel_ports.iter().flatten().filter_map(|port| self.kernel_link(*port));
        links.map(KernelLink::missed).sum()
    }

    /// Returns when the next known packet is due for the hosts of this end; `Nanos::NEVER` if there is none.
    pub fn next(&self, end: End) -> Nanos {
        let arrived = self.arrived[self.arrived_at(end) as usize].front().map_or(Nanos::NEVER, |(due, _)| *due);
        let other_way = if end == End::Receiver { path::reverse(0) } else { path::forward(0) };
        arrived.min(self.links.next_without(other_way))
    }

    /// Puts the next packet that is due at this end, in virtual time at either end, into `buffer`; none if no packet is
    /// due.
    pub fn due(&mut self, to: End, now: Nanos, buffer: &mut Box<[u8]>) -> io::Result<Option<Delivery>> {
        self.catch_up(now);
        self.around.check()?;
        let to = self.arrived_at(to);
        let Some((due, info)) = self.arrived[to as usize].pop_front() else { return Ok(None) };
        self.around.lateness.record(now.since(due));
        let now = if self.time == Time::Virtual { due } else { now };
        let flow = info.flow as usize;
        let length = self.around.buffers.take(&info, buffer);
        if !info.is_data {
            self.trace(now, &buffer[tun::HEADER..length], info.flow)?;
        }
        if let Some(monitor) = self.around.monitors.get_mut(flow) {
            match (&info.segment, info.stamp) {
                (Some(segment), _) if info.is_data => monitor.arrives(now, segment, info.bytes()),
                (Some(segment), _) => monitor.returns(now, segment),
                (None, Some(_)) if info.is_data => monitor.receiver.arrived(now, info.bytes()),
                (None, Some(sent_at)) if !self.plan.flows[flow].is_call() => monitor.answer_returns(now, sent_at),
                // A datagram from the other end of a call does not answer one.
                (None, _) => {}
            }
        }
        Ok(Some(Delivery { to, hosts: self.plan.flows[flow].hosts, length, due }))
    }

    fn trace(&mut self, now: Nanos, packet: &[u8], flow: u32) -> io::Result<()> {
        self.around.pcap.as_mut().map_or(Ok(()), |pcap| pcap.write(now, SENDERS, packet, flow))
    }

    /// Returns the time of the next step of the series.
    pub fn next_sample(&self) -> Nanos {
        self.step.map_or(Nanos::NEVER, |step| Nanos(step.0 * (self.steps + 1)))
    }

    /// Samples the links if a step of the series is over.
    pub fn sample(&mut self, now: Nanos) -> io::Result<()> {
        while self.next_sample() <= now {
            self.catch_up(now);
            let links = self.links.samples(self.clock);
            let rtt_us = self.around.monitors.iter().map(|monitor| monitor.sender.latest_rtt_us).collect();
            // The receiver of the samples may be gone.
            let _ = self.samples.send(Sample { at: self.next_sample(), links, rtt_us });
            self.steps += 1;
        }
        self.around.check()
    }

    /// Returns the records of the links.
    pub fn records(&self) -> Vec<records::Link> {
        self.links.records()
    }

    /// Returns the records of the nodes of meshes.
    pub fn node_records(&self) -> Vec<records::Node> {
        self.links.node_records()
    }

    /// Returns the distribution of the queueing delays of each link, with the number of the link's record.
    pub fn queue_delays(&self) -> impl Iterator<Item = (u32, &Histogram)> {
        self.links.queue_delays()
    }

    /// Writes the rest of the packet trace and closes it.
    pub fn close(&mut self) -> io::Result<()> {
        self.around.pcap.take().map_or(Ok(()), Pcap::close)
    }
}

/// Returns the descriptor of a packet that a host has sent, which has a `virtio_net_hdr` in front.
fn info_of(sent: &[u8], flow: usize, is_data: bool) -> Option<PacketInfo> {
    PacketInfo::read(sent.get(tun::HEADER..)?, flow as u32, is_data)
}

/// Returns the end that a port leads to.
fn towards(port: PortId) -> End {
    if path::is_reverse(port) { End::Sender } else { End::Receiver }
}

#[cfg(test)]
mod tests;
