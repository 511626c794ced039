//! The network between the hosts: the same links as in the simulator, on the real clock.

use crate::direction::Direction;
use crate::error::Error;
use crate::host::End;
use crate::parcel::{Parcel, Pool, ports};
use crate::pcap::Pcap;
use crate::plan::Plan;
use crate::tun;
use crate::waiting::Waiting;
use crate::way::{Store, Way};
use crate::wire::Wire;
use crate::{Options, Time, kernel_draws};
use measure::{Histogram, LinkSample};
use path::Packet;
use scenario::model::Scenario;
use scenario::units::Nanos;
use std::io;

/// The links at one step of the series, and the round-trip times seen last.
#[derive(Debug)]
pub struct Glimpse {
    /// When.
    pub at: Nanos,
    /// Forward and reverse.
    pub links: [LinkSample; 2],
    /// By flow, us.
    pub rtt_us: Vec<Option<u32>>,
}

/// A packet that has come to a host.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The pair of hosts of which it is one.
    pub hosts: usize,
    /// Bytes, the `virtio_net_hdr` included.
    pub length: usize,
}

/// Links, packets on their way, and what is seen of the flows.
pub struct Network {
    plan: Plan,
    store: Store,
    /// To the receivers' side of the bottleneck, and back to the senders': by [`End`].
    pub directions: [Direction; 2],
    /// By flow; none where nothing is measured.
    pub wires: Vec<Wire>,
    /// How much later than it should a packet was handed to its host.
    pub lateness: Histogram,
    pcap: Option<Pcap>,
    step: Option<Nanos>,
    /// The inside of the run at equal steps.
    pub glimpses: Vec<Glimpse>,
}

impl Network {
    /// An empty network for the flows of a plan; `wires` watch them.
    ///
    /// # Errors
    /// If the packet trace cannot be created, or the kernel does not have the queues that the scenario asks for.
    pub fn new(scenario: &Scenario, plan: Plan, wires: Vec<Wire>, options: &Options) -> Result<Network, Error> {
        let largest = scenario.flows.iter().map(|group| group.packet.0 as u32).max();
        let (forward, reverse) = (Way::forward(scenario)?, Way::reverse(scenario)?);
        if options.time == Time::Virtual {
            kernel_draws::follow(scenario.seed).map_err(Error::machine)?;
        }
        Ok(Network {
            store: Store { pool: Pool::new(largest.unwrap_or(0)), gone: vec![] },
            directions: [
                Direction::new(scenario, &plan, forward, false),
                Direction::new(scenario, &plan, reverse, true),
            ],
            plan,
            wires,
            lateness: Histogram::default(),
            pcap: options.pcap.as_deref().map(Pcap::create).transpose().map_err(Error::machine)?,
            step: options.series,
            glimpses: vec![],
        })
    }

    /// A buffer to read a packet into.
    pub fn buffer(&self) -> Box<[u8]> {
        self.store.pool.buffer()
    }

    /// Takes a packet of `length` bytes that one of a pair of hosts has sent out of `buffer`, which then holds nothing in particular.
    /// What is no IPv4 packet, or of no flow where several share the hosts, is thrown away.
    #[inline]
    pub fn enter(
        &mut self,
        from: End,
        now: Nanos,
        hosts: usize,
        length: usize,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<()> {
        let direction = from.opposite() as usize;
        let Some(flow) = self.flow_of(hosts, direction, &buffer[..length]) else { return Ok(()) };
        let Some(mut parcel) = Parcel::read(&buffer[..length], flow as u32) else { return Ok(()) };
        if self.directions[direction].carries_data_of(flow) {
            self.trace(now, &buffer[tun::HEADER..length])?;
            if let (Some(segment), Some(wire)) = (&parcel.segment, self.wires.get_mut(flow)) {
                parcel.counts = wire.leaves(now, segment);
            }
        }
        parcel.slot = self.store.pool.put(buffer);
        self.directions[direction].enter(now, parcel, &mut self.store, &mut self.lateness)?;
        self.count_gone();
        Ok(())
    }

    /// The flow of a packet that a pair of hosts sends in this direction.
    #[inline]
    fn flow_of(&self, hosts: usize, direction: usize, packet: &[u8]) -> Option<usize> {
        let hosts = &self.plan.hosts[hosts];
        if hosts.shared_by.is_none() {
            return Some(hosts.first);
        }
        let (from, to) = ports(packet)?;
        // All of a group go the same way.
        hosts.flow_of(if self.directions[direction].carries_data_of(hosts.first) { from } else { to })
    }

    /// Has `waiting` look out for what comes out of the kernel's parts of the way to this end, under the numbers from `first` on.
    pub fn watch(&self, to: End, waiting: &Waiting, first: usize) -> io::Result<()> {
        let exits = self.directions[to as usize].way.exits();
        exits.into_iter().enumerate().try_for_each(|(n, exit)| waiting.watch(exit, first + n))
    }

    /// Takes in what has come out there; `buffer` holds nothing in particular before and after.
    pub fn collect(&mut self, to: End, now: Nanos, buffer: &mut Box<[u8]>) -> io::Result<()> {
        self.directions[to as usize].way.collect(now, &mut self.store, &mut self.lateness, buffer)?;
        self.count_gone();
        Ok(())
    }

    /// Packets that the kernel's queues let go and nobody took in time.
    pub fn missed(&self) -> io::Result<u64> {
        Ok(self.directions[0].way.missed()? + self.directions[1].way.missed()?)
    }

    /// When there is something to do for the hosts of this end, as far as is known; `Nanos::NEVER` if there is not.
    pub fn next(&self, end: End) -> Nanos {
        self.directions[end as usize].next().min(self.directions[end.opposite() as usize].next_for_the_kernel())
    }

    /// Puts the next packet that is due at this end into `buffer`; none if it is still on its way.
    pub fn due(&mut self, to: End, now: Nanos, buffer: &mut Box<[u8]>) -> io::Result<Option<Delivery>> {
        let Network { directions, store, lateness, .. } = self;
        directions[to.opposite() as usize].feed_the_kernel(now, store, lateness)?;
        let arrived = directions[to as usize].arrived(now, store, lateness)?;
        self.count_gone();
        let Some((due, parcel)) = arrived else { return Ok(None) };
        self.lateness.record(now.since(due));
        let flow = parcel.flow as usize;
        let length = self.store.pool.take(&parcel, buffer);
        let is_data = self.directions[to as usize].carries_data_of(flow);
        if !is_data {
            self.trace(now, &buffer[tun::HEADER..length])?;
        }
        if let (Some(segment), Some(wire)) = (&parcel.segment, self.wires.get_mut(flow)) {
            match is_data {
                false => wire.returns(now, segment),
                true => wire.arrives(now, segment, parcel.bytes()),
            }
        }
        Ok(Some(Delivery { hosts: self.plan.flows[flow].hosts, length }))
    }

    /// Counts data that was dropped or lost.
    fn count_gone(&mut self) {
        for parcel in self.store.gone.drain(..) {
            if parcel.counts
                && let Some(wire) = self.wires.get_mut(parcel.flow as usize)
            {
                wire.lost += 1;
            }
        }
    }

    fn trace(&mut self, now: Nanos, packet: &[u8]) -> io::Result<()> {
        self.pcap.as_mut().map_or(Ok(()), |pcap| pcap.write(now, packet))
    }

    /// When the links are to be looked at next for the series.
    pub fn next_glimpse(&self) -> Nanos {
        self.step.map_or(Nanos::NEVER, |step| Nanos(step.0 * (self.glimpses.len() as u64 + 1)))
    }

    /// Looks at the links if a step of the series is over.
    pub fn glimpse(&mut self, now: Nanos) -> io::Result<()> {
        while self.next_glimpse() <= now {
            let Network { directions: [forward, reverse], store, lateness, .. } = self;
            let links = [forward.sample(now, 0, store, lateness)?, reverse.sample(now, 1, store, lateness)?];
            self.count_gone();
            let rtt_us = self.wires.iter().map(|wire| wire.sender.latest_rtt_us).collect();
            self.glimpses.push(Glimpse { at: self.next_glimpse(), links, rtt_us });
        }
        Ok(())
    }

    /// Writes what is left of the packet trace.
    pub fn close(&mut self) -> io::Result<()> {
        self.pcap.take().map_or(Ok(()), Pcap::close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parcel::tests::sent;

    const SCENARIO: &str = r#"
duration = "1s"
[link.bottleneck]
rate = "400mbit"
delay = "60ms"
queue = { limit = "20p" }
[[flows]]
cc = "reno"
access = { rate = "1gbit" }
"#;

    /// A look at the links comes whenever its time has come, and packets may be on the access link then that are due at the bottleneck already.
    #[test]
    fn a_look_at_the_links_changes_nothing() {
        let experiment = scenario::load_text(SCENARIO, "test", "".as_ref(), &[]).unwrap();
        let options = Options { series: Some(Nanos::from_millis(2)), ..Options::default() };
        let scenario = &experiment.cells[0].scenario;
        let mut network = Network::new(scenario, Plan::new(scenario).unwrap(), vec![], &options).unwrap();
        for n in 0..60 {
            let mut packet = sent(1460, 0).into_boxed_slice();
            let at = Nanos(n * 30_000); // the time of one packet at 400 Mbit/s
            network.enter(End::Sender, at, 0, packet.len(), &mut packet).unwrap();
        }
        network.glimpse(Nanos::from_millis(2)).unwrap();
        let usage = network.directions[0].way.usage();
        assert_eq!((usage.total_offered, usage.total_drops, usage.queue_delay.max_ms()), (60, 0, Some(0.0)));
    }

    const WARM_UP: &str = r#"
duration = "1s"
warmup = "250ms"
[link.bottleneck]
rate = "1mbit"
delay = "5ms"
queue = { limit = "1p" }
[[flows]]
cc = "reno"
access = { delay = "100ms" }
"#;

    /// Packets that leave 50 ms before the warm-up's end come to a full queue 50 ms after it.
    #[test]
    fn what_was_sent_in_the_warm_up_is_not_lost_after_it() {
        let experiment = scenario::load_text(WARM_UP, "test", "".as_ref(), &[]).unwrap();
        let scenario = &experiment.cells[0].scenario;
        let interval = measure::Interval::new(scenario, None);
        let sender = measure::SenderMeter::new(interval, Nanos::ZERO);
        let wires = vec![Wire::new(sender, measure::ReceiverMeter::new(interval), None)];
        let mut network = Network::new(scenario, Plan::new(scenario).unwrap(), wires, &Options::default()).unwrap();
        let enter = |network: &mut Network, at: u64, mut packet: Vec<u8>| {
            packet.resize(network.buffer().len().max(packet.len()), 0);
            network.enter(End::Sender, Nanos::from_millis(at), 0, packet.len(), &mut packet.into()).unwrap();
        };
        let mut opening = sent(0, 0);
        opening[tun::HEADER + 27] -= 1; // the sequence number before that of the data
        opening[tun::HEADER + 33] = 2; // SYN
        enter(&mut network, 0, opening);
        for (at, lost) in [(200, 0), (300, 18)] {
            (0..20).for_each(|_| enter(&mut network, at, sent(1460, 0)));
            let mut buffer = network.buffer();
            while network.due(End::Receiver, Nanos::from_millis(at + 150), &mut buffer).unwrap().is_some() {}
            assert_eq!((network.wires[0].lost, network.directions[0].way.usage().total_drops % 18), (lost, 0));
        }
        assert_eq!(network.wires[0].sender.sent, 20);
    }
}
