//! The network between the hosts: packets follow their routes from port to port, and time passes in the ports only.
//!
//! Whoever drives a network hands packets over with [`Network::send`], and asks [`Network::next`] for the time of the next event, which
//! [`Network::step`] carries out. A packet at the end of its route is given back.

use crate::agenda::Agenda;
use crate::channel::Transit;
use crate::output::{Fate, LinkOutput};
use crate::packet::{Packet, PacketId, Pool};
use crate::port::{External, ExternalPort, NoExternal, Port};
use crate::queued::Gone;
use measure::{Histogram, LinkSample};
use scenario::records;
use scenario::units::Nanos;

/// Number of a port. At equal times the lower number goes first.
pub type PortId = u32;

/// Behind the last port of a route.
const END: PortId = PortId::MAX;

/// The ports that a packet passes, by the number of its route.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// All routes, one behind the other, each with END behind it.
    hops: Vec<PortId>,
    /// Where each route begins.
    first: Vec<u32>,
}

impl Routes {
    /// Adds a route, whose number is the count of those before it.
    pub fn add(&mut self, ports: impl IntoIterator<Item = PortId>) {
        self.first.push(self.hops.len() as u32);
        self.hops.extend(ports);
        self.hops.push(END);
    }

}

/// Is told of the packets that will not arrive.
pub trait Observer<P> {
    /// A packet that came to a queue at `arrival` was dropped there, or will be lost behind it.
    fn gone(&mut self, now: Nanos, arrival: Nanos, fate: Fate, packet: &P);
}

/// Ports, routes, and the packets in them.
pub struct Network<P, X = NoExternal> {
    /// The packets.
    pub packets: Pool<P>,
    ports: Vec<Port<X>>,
    routes: Routes,
    /// The next events of the first two ports. Most events are theirs, the two directions of the first link, so that they are not in the agenda.
    first_two: [Nanos; 2],
    /// Those of all others, by the port's number.
    agenda: Agenda,
    /// The ports that count, in the order of their records.
    counting: Vec<PortId>,
    gone: Vec<Gone>,
}

impl<P: Packet, X> Network<P, X> {
    /// An empty network. `counting` are the ports that have records, in their order.
    pub fn new(ports: Vec<Port<X>>, routes: Routes, counting: Vec<PortId>) -> Network<P, X> {
        Network {
            packets: Pool::default(),
            agenda: Agenda::new(ports.len() as u32),
            ports,
            routes,
            first_two: [Nanos::NEVER; 2],
            counting,
            gone: vec![],
        }
    }

    /// The earliest event: when, and at which port; `Nanos::NEVER` if the network is empty.
    #[inline]
    pub fn next(&self) -> (Nanos, PortId) {
        let (at, port) = self.agenda.first();
        let [first, second] = self.first_two;
        if first <= second && first <= at {
            (first, 0)
        } else if second <= at {
            (second, 1)
        } else {
            (at, port)
        }
    }

    /// The ports in the order of their numbers.
    pub fn ports(&self) -> &[Port<X>] {
        &self.ports
    }

    /// A port, to look at it at an instant.
    pub fn port_mut(&mut self, port: PortId) -> &mut Port<X> {
        &mut self.ports[port as usize]
    }

    /// The records of all ports that count: link by link, forward before reverse, then the access links.
    pub fn records(&self) -> Vec<records::Link>
    where
        X: ExternalPort,
    {
        self.outputs().map(LinkOutput::record).collect()
    }

    /// The same ports at this instant, for the series.
    pub fn samples(&mut self, now: Nanos) -> Vec<LinkSample>
    where
        X: ExternalPort,
    {
        let Network { counting, ports, .. } = self;
        (0..).zip(counting).filter_map(|(link, port)| ports[*port as usize].sample(now, link)).collect()
    }

    /// The distributions of their queueing delays.
    pub fn queue_delays(&self) -> impl Iterator<Item = &Histogram>
    where
        X: ExternalPort,
    {
        self.outputs().map(|output| &output.stats.queue_delay)
    }

    fn outputs(&self) -> impl Iterator<Item = &LinkOutput>
    where
        X: ExternalPort,
    {
        self.counting.iter().filter_map(|port| self.ports[*port as usize].output())
    }

    #[inline]
    fn set_next(&mut self, port: PortId, at: Nanos) {
        match self.first_two.get_mut(port as usize) {
            Some(next) => *next = at,
            None => self.agenda.set(port, at),
        }
    }

    /// A host sends a packet on a route at `now`, which never decreases from call to call of `send` and `step`.
    #[inline]
    pub fn send<C: Observer<P>>(&mut self, now: Nanos, route: u32, packet: P, context: &mut C)
    where
        X: External<P, C>,
    {
        let hop = self.routes.first[route as usize];
        let id = self.packets.insert(packet);
        self.offer(now, Transit { id, hop }, context);
    }

    /// Carries out the event that `next` announced. Gives the packet that is at the end of its route: the caller takes it out of `packets` and releases it.
    #[inline]
    pub fn step<C: Observer<P>>(&mut self, now: Nanos, port: PortId, context: &mut C) -> Option<PacketId>
    where
        X: External<P, C>,
    {
        let (taken, next) = match &mut self.ports[port as usize] {
            Port::Fifo(fifo) => (fifo.take(), fifo.next()),
            Port::Delay(line) => (line.take(), line.next()),
            Port::Queued(_) | Port::External(_) => self.step_otherwise(now, port, context),
        };
        self.set_next(port, next);
        let Transit { id, hop } = taken?;
        match self.routes.hops[hop as usize + 1] {
            END => Some(id),
            _ => {
                self.offer(now, Transit { id, hop: hop + 1 }, context);
                None
            }
        }
    }

    /// Hands a packet over to the port at which it is.
    #[inline]
    fn offer<C: Observer<P>>(&mut self, now: Nanos, transit: Transit, context: &mut C)
    where
        X: External<P, C>,
    {
        let port = self.routes.hops[transit.hop as usize];
        let (fate, next) = match &mut self.ports[port as usize] {
            Port::Fifo(fifo) => (fifo.offer(now, transit, &mut self.packets), fifo.next()),
            Port::Delay(line) => {
                line.send(now, transit);
                (Fate::Accepted, line.next())
            }
            Port::Queued(_) | Port::External(_) => self.offer_otherwise(now, port, transit, context),
        };
        self.set_next(port, next);
        if fate != Fate::Accepted {
            context.gone(now, now, fate, self.packets.get(transit.id));
            self.packets.release(transit.id);
        }
    }

    /// `step` for a port that may drop other packets than the one it is about. Gives the packet at its far end, and its next event.
    #[inline(never)]
    fn step_otherwise<C: Observer<P>>(
        &mut self,
        now: Nanos,
        port: PortId,
        context: &mut C,
    ) -> (Option<Transit>, Nanos)
    where
        X: External<P, C>,
    {
        let mut gone = std::mem::take(&mut self.gone);
        let stepped = match &mut self.ports[port as usize] {
            Port::Queued(queued) => {
                let taken = queued.step(&mut self.packets);
                gone.append(&mut queued.gone);
                (taken, queued.next())
            }
            Port::External(port) => (port.step(now, &mut self.packets, context, &mut gone), port.next()),
            Port::Fifo(_) | Port::Delay(_) => unreachable!("these step by themselves"),
        };
        self.release_gone(now, gone, context);
        stepped
    }

    /// `offer` for such a port.
    #[inline(never)]
    fn offer_otherwise<C: Observer<P>>(
        &mut self,
        now: Nanos,
        port: PortId,
        transit: Transit,
        context: &mut C,
    ) -> (Fate, Nanos)
    where
        X: External<P, C>,
    {
        let mut gone = std::mem::take(&mut self.gone);
        let next = match &mut self.ports[port as usize] {
            Port::Queued(queued) => {
                queued.offer(now, transit, &mut self.packets);
                gone.append(&mut queued.gone);
                queued.next()
            }
            Port::External(port) => {
                port.offer(now, transit, &mut self.packets, context, &mut gone);
                port.next()
            }
            Port::Fifo(_) | Port::Delay(_) => unreachable!("these take a packet by themselves"),
        };
        self.release_gone(now, gone, context);
        // Whatever became of it, it is told and released above.
        (Fate::Accepted, next)
    }

    fn release_gone<C: Observer<P>>(&mut self, now: Nanos, mut gone: Vec<Gone>, context: &mut C) {
        for Gone { id, arrival, fate } in gone.drain(..) {
            context.gone(now, arrival, fate, self.packets.get(id));
            self.packets.release(id);
        }
        // Its room serves again.
        self.gone = gone;
    }
}
