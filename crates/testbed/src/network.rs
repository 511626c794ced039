//! The network between the hosts: the same links as in the simulator, on the real clock.

use crate::error::Error;
use crate::host::End;
use crate::parcel::{Parcel, Pool};
use crate::pcap::Pcap;
use crate::tun;
use crate::waiting::Waiting;
use crate::way::{Store, Way};
use crate::wire::Wire;
use crate::{Options, Time, kernel_draws};
use measure::{Histogram, LinkSample};
use path::{AccessLink, Packet, Pipe};
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
    /// The flow whose host it is.
    pub flow: usize,
    /// Bytes, the `virtio_net_hdr` included.
    pub length: usize,
}

/// Links, packets on their way, and what is seen of the flows.
pub struct Network {
    store: Store,
    /// The bottleneck.
    pub forward: Way,
    /// The way back.
    pub reverse: Way,
    access: Vec<AccessLink<Parcel>>,
    back: Vec<(Nanos, Pipe<Parcel>)>,
    /// By flow; none where nothing is measured.
    pub wires: Vec<Wire>,
    /// How much later than it should a packet was handed to its host.
    pub lateness: Histogram,
    warmup: Nanos,
    /// The time up to which each link has been told of packets: it must not go back.
    told: [Nanos; 2],
    pcap: Option<Pcap>,
    step: Option<Nanos>,
    /// The inside of the run at equal steps.
    pub glimpses: Vec<Glimpse>,
}

impl Network {
    /// An empty network; `wires` watch the flows.
    ///
    /// # Errors
    /// If the packet trace cannot be created, or the kernel does not have the queues that the scenario asks for.
    pub fn new(scenario: &Scenario, wires: Vec<Wire>, options: &Options) -> Result<Network, Error> {
        let groups = scenario.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
        let largest = scenario.flows.iter().map(|group| group.packet.0 as u32).max();
        let (forward, reverse) = (Way::forward(scenario)?, Way::reverse(scenario)?);
        if options.time == Time::Virtual {
            kernel_draws::follow(scenario.seed).map_err(Error::machine)?;
        }
        Ok(Network {
            store: Store { pool: Pool::new(largest.unwrap_or(0)), gone: vec![] },
            forward,
            reverse,
            access: groups.clone().map(|group| AccessLink::new(&group.access)).collect(),
            back: groups.map(|group| (group.access.delay, Pipe::default())).collect(),
            wires,
            lateness: Histogram::default(),
            warmup: scenario.warmup,
            told: [Nanos::ZERO; 2],
            pcap: options.pcap.as_deref().map(Pcap::create).transpose().map_err(Error::machine)?,
            step: options.series,
            glimpses: vec![],
        })
    }

    /// A buffer to read a packet into.
    pub fn buffer(&self) -> Box<[u8]> {
        self.store.pool.buffer()
    }

    /// Takes a packet of `length` bytes that a host of `flow` has sent out of `buffer`, which then holds nothing in particular.
    /// What is no IPv4 packet is thrown away.
    #[inline]
    pub fn enter(
        &mut self,
        from: End,
        now: Nanos,
        flow: usize,
        length: usize,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<()> {
        let Some(mut parcel) = Parcel::read(&buffer[..length], flow as u32) else { return Ok(()) };
        if from == End::Sender {
            self.trace(now, &buffer[tun::HEADER..length])?;
            if let (Some(segment), Some(wire)) = (&parcel.segment, self.wires.get_mut(flow)) {
                wire.leaves(now, segment);
            }
        }
        parcel.slot = self.store.pool.put(buffer);
        match from {
            End::Sender => {
                self.access[flow].send(now, parcel);
                self.feed_the_kernel(now)
            }
            End::Receiver => {
                let at = advance(&mut self.told[1], now);
                self.reverse.offer(at, parcel, &mut self.store)?;
                self.store.gone.clear();
                Ok(())
            }
        }
    }

    /// Has `waiting` look out for what comes out of the kernel's parts of the way to this end, under the numbers from `first` on.
    pub fn watch(&self, to: End, waiting: &Waiting, first: usize) -> io::Result<()> {
        let exits = self.way(to).exits();
        exits.into_iter().enumerate().try_for_each(|(n, exit)| waiting.watch(exit, first + n))
    }

    /// Takes in what has come out there; `buffer` holds nothing in particular before and after.
    pub fn collect(&mut self, to: End, now: Nanos, buffer: &mut Box<[u8]>) -> io::Result<()> {
        let way = match to {
            End::Receiver => &mut self.forward,
            End::Sender => &mut self.reverse,
        };
        way.collect(now, &mut self.store, &mut self.lateness, buffer)?;
        match to {
            End::Receiver => self.count_gone(),
            End::Sender => self.store.gone.clear(),
        }
        Ok(())
    }

    fn way(&self, to: End) -> &Way {
        match to {
            End::Receiver => &self.forward,
            End::Sender => &self.reverse,
        }
    }

    /// Packets that the kernel's queues let go and nobody took in time.
    pub fn missed(&self) -> io::Result<u64> {
        Ok(self.forward.missed()? + self.reverse.missed()?)
    }

    /// When the next packet is due at the hosts of this end, as far as is known; `Nanos::NEVER` without one.
    pub fn next(&self, to: End) -> Nanos {
        match to {
            End::Receiver => {
                self.access.iter().map(AccessLink::next).min().unwrap_or(Nanos::NEVER).min(self.forward.next())
            }
            End::Sender => {
                let due = self.back.iter().map(|(_, pipe)| pipe.next()).min().unwrap_or(Nanos::NEVER);
                due.min(self.reverse.next()).min(self.next_for_the_kernel())
            }
        }
    }

    /// Puts the next packet that is due at this end into `buffer`; none if it is still on its way.
    pub fn due(&mut self, to: End, now: Nanos, buffer: &mut Box<[u8]>) -> io::Result<Option<Delivery>> {
        let arrived = match to {
            End::Receiver => self.at_receiver(now)?,
            End::Sender => self.at_sender(now)?,
        };
        let Some((due, parcel)) = arrived else { return Ok(None) };
        self.lateness.record(now.since(due));
        let flow = parcel.flow as usize;
        let length = self.store.pool.take(&parcel, buffer);
        if to == End::Sender {
            self.trace(now, &buffer[tun::HEADER..length])?;
        }
        if let (Some(segment), Some(wire)) = (&parcel.segment, self.wires.get_mut(flow)) {
            match to {
                End::Sender => wire.returns(now, segment),
                End::Receiver => wire.arrives(now, segment, parcel.bytes()),
            }
        }
        Ok(Some(Delivery { flow, length }))
    }

    /// Lets packets on to the bottleneck, in the order of their times, until one is at its far end.
    fn at_receiver(&mut self, now: Nanos) -> io::Result<Option<(Nanos, Parcel)>> {
        loop {
            let (flow, at) = earliest(self.access.iter().map(AccessLink::next));
            let due = self.forward.next();
            if due.min(at) > now {
                return Ok(None);
            }
            if at < due {
                if let Some(parcel) = self.access[flow].take() {
                    self.offer_forward(now, at, parcel)?;
                }
            } else if let Some(parcel) = self.forward.take(now, &mut self.store)? {
                return Ok(Some((due, parcel)));
            }
        }
    }

    fn at_sender(&mut self, now: Nanos) -> io::Result<Option<(Nanos, Parcel)>> {
        self.feed_the_kernel(now)?;
        loop {
            let (flow, at) = earliest(self.back.iter().map(|(_, pipe)| pipe.next()));
            let due = self.reverse.next();
            if due.min(at) > now {
                return Ok(None);
            }
            if due < at {
                if let Some(parcel) = self.reverse.take(now, &mut self.store)? {
                    let (delay, pipe) = &mut self.back[parcel.flow as usize];
                    pipe.push(due + *delay, parcel);
                }
            } else if let Some(parcel) = self.back[flow].1.take() {
                return Ok(Some((at, parcel)));
            }
        }
    }

    /// Lets packets on to the bottleneck that have reached it by `now`: the links are told of everything in the order of time.
    fn fill_bottleneck(&mut self, now: Nanos) -> io::Result<()> {
        loop {
            let (flow, at) = earliest(self.access.iter().map(AccessLink::next));
            if at > now {
                return Ok(());
            }
            if let Some(parcel) = self.access[flow].take() {
                self.offer_forward(now, at, parcel)?;
            }
        }
    }

    /// A link of ours is told later when a packet came; a queue of the kernel's has to get it then.
    fn feed_the_kernel(&mut self, now: Nanos) -> io::Result<()> {
        if self.forward.is_the_kernels() { self.fill_bottleneck(now) } else { Ok(()) }
    }

    fn next_for_the_kernel(&self) -> Nanos {
        let next = || self.access.iter().map(AccessLink::next).min();
        if self.forward.is_the_kernels() { next().unwrap_or(Nanos::NEVER) } else { Nanos::NEVER }
    }

    fn offer_forward(&mut self, now: Nanos, due: Nanos, parcel: Parcel) -> io::Result<()> {
        let at = advance(&mut self.told[0], due);
        if self.forward.is_the_kernels() {
            self.lateness.record(now.since(due));
        }
        self.forward.offer(at, parcel, &mut self.store)?;
        self.count_gone();
        Ok(())
    }

    /// Counts data that the bottleneck has dropped or lost.
    fn count_gone(&mut self) {
        for (arrival, parcel) in self.store.gone.drain(..) {
            let is_data = parcel.segment.is_some_and(|segment| segment.payload > 0);
            if is_data
                && arrival >= self.warmup
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
            self.fill_bottleneck(now)?;
            let at = advance(&mut self.told[0], now);
            let links = [self.forward.sample(at, 0), self.reverse.sample(now, 1)];
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

/// The place and the time of the earliest; at equal times the first.
fn earliest(times: impl Iterator<Item = Nanos>) -> (usize, Nanos) {
    times.enumerate().min_by_key(|(_, at)| *at).unwrap_or((0, Nanos::NEVER))
}

/// The later of the two, which is also kept.
fn advance(kept: &mut Nanos, at: Nanos) -> Nanos {
    *kept = at.max(*kept);
    *kept
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
        let mut network = Network::new(&experiment.cells[0].scenario, vec![], &options).unwrap();
        for n in 0..60 {
            let mut packet = sent(1460, 0).into_boxed_slice();
            let at = Nanos(n * 30_000); // the time of one packet at 400 Mbit/s
            network.enter(End::Sender, at, 0, packet.len(), &mut packet).unwrap();
        }
        network.glimpse(Nanos::from_millis(2)).unwrap();
        let usage = network.forward.usage();
        assert_eq!((usage.total_offered, usage.total_drops, usage.queue_delay.max_ms()), (60, 0, Some(0.0)));
    }
}
