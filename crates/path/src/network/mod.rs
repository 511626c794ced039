//! The network between the hosts: packets follow their routes from port to port, and time passes in the ports only.
//!
//! Whoever drives a network hands packets over with [`Network::send`], and asks [`Network::next`] for the time of the
//! next event, which [`Network::step`] carries out. A packet at the end of its route is given back.

mod account;
mod observer;
mod otherwise;
mod routes;

use crate::channel::{PortId, Transit};
use crate::event_queue::EventQueue;
use crate::fifo::Offered;
use crate::medium::{Medium, MemberPort};
use crate::output::DropReason;
use crate::packet::{Ends, Packet, PacketId, Pool};
use crate::port::{External, NoExternal, Port};
use crate::queued::Gone;
pub use observer::{Observer, Told};
use routes::NextHop;
pub use routes::Routes;
use scenario::units::Nanos;

/// The number of the first of the ports that the event queue chooses between.
const OTHERS: PortId = 2;

/// Ports, routes, and the packets in them.
///
/// Most events are those of the first two ports, the two directions of the first link. They have places of their own:
/// what is to be done at them is compiled for each, and their next events are compared with the winner of all others.
pub struct Network<P, X = NoExternal> {
    /// The packets.
    pub packets: Pool<P>,
    first_two: [Head<X>; 2],
    /// The ports from number 2 on.
    others: Vec<Port<X>>,
    /// What some of the ports share.
    media: Vec<Medium>,
    /// The next events of the others, by their place among them, and behind them those of the media.
    events: EventQueue,
    routes: Routes,
    /// The ports that count, in the order of their records.
    counting: Vec<PortId>,
    gone: Vec<Gone>,
}

/// A port with its next event.
struct Head<X> {
    port: Port<X>,
    next: Nanos,
}

impl<P: Packet, X> Network<P, X> {
    /// An empty network. `media` are what those of the ports share that are members of one; `counting` are the ports
    /// that have records, in their order.
    ///
    /// # Panics
    /// With less than two ports.
    pub fn new(
        ports: Vec<Port<X>>,
        media: Vec<Medium>,
        routes: Routes,
        ends: Vec<Ends>,
        counting: Vec<PortId>,
    ) -> Network<P, X> {
        let others = (ports.len() as u32).saturating_sub(OTHERS);
        let mut events = EventQueue::new(others + media.len() as u32);
        // Some have something to do before the first packet.
        (others..).zip(&media).for_each(|(source, medium)| events.set(source, medium.next()));
        let mut ports = ports.into_iter();
        let mut head = || Head { port: ports.next().expect("a link has two directions"), next: Nanos::NEVER };
        Network {
            packets: Pool::new(ends),
            first_two: [head(), head()],
            others: ports.collect(),
            media,
            events,
            routes,
            counting,
            gone: vec![],
        }
    }

    /// The time of the earliest event; `Nanos::NEVER` if the network is empty.
    #[inline(always)]
    pub fn next(&self) -> Nanos {
        self.next_of_first_two().min(self.events.first().0)
    }

    #[inline(always)]
    fn next_of_first_two(&self) -> Nanos {
        let [first, second] = &self.first_two;
        first.next.min(second.next)
    }

    /// The earliest event of `port`, one of the first two, and of those from number 2 on.
    pub fn next_towards(&self, port: PortId) -> Nanos {
        self.first_two[port as usize].next.min(self.events.first().0)
    }

    /// All ports with their numbers.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, &Port<X>)> {
        (0..).zip(self.first_two.iter().map(|head| &head.port).chain(&self.others))
    }

    /// Lets the driver work on a port of its own at `now`, which may change when that has its next event.
    ///
    /// # Panics
    /// If the port is one of ours.
    pub fn with_external<C: Observer<P>, R>(
        &mut self,
        port: PortId,
        now: Nanos,
        context: &mut C,
        work: impl FnOnce(&mut X, &mut Pool<P>, &mut C, &mut Vec<Gone>) -> R,
    ) -> R
    where
        X: External<P, C>,
    {
        let mut gone = std::mem::take(&mut self.gone);
        let Network { first_two, others, packets, .. } = self;
        let Port::External(external) = port_of(first_two, others, port) else { panic!("port {port} is ours") };
        let result = work(external, packets, context, &mut gone);
        let next = external.next();
        match self.first_two.get_mut(port as usize) {
            Some(head) => head.next = next,
            None => self.events.set(port - OTHERS, next),
        }
        self.release_gone(now, gone, context);
        result
    }

    /// A port.
    pub fn port(&self, port: PortId) -> &Port<X> {
        match port {
            0 | 1 => &self.first_two[port as usize].port,
            _ => &self.others[(port - OTHERS) as usize],
        }
    }

    /// A host sends a packet on a route at `now`, which never decreases from call to call of `send` and `step`.
    #[inline(always)]
    pub fn send<C: Observer<P>>(&mut self, now: Nanos, route: u32, packet: P, context: &mut C)
    where
        X: External<P, C>,
    {
        let hop = self.routes.first[route as usize];
        let bytes = packet.bytes();
        let id = self.packets.insert(packet);
        self.offer(now, hop, id, bytes, context);
    }

    /// Whether the sender's own host, at the beginning of a route, has no room for a packet at `now`, so that it is not
    /// sent. Only an [`EgressPort`](crate::EgressPort) tells, and a host in a cell.
    pub fn refuses(&mut self, now: Nanos, route: u32, packet: &P) -> bool {
        let number = self.routes.first[route as usize].port;
        let Network { first_two, others, media, packets, .. } = self;
        let (refused, next) = match port_of(first_two, others, number) {
            Port::Egress(egress) => (egress.refuses(now, packet, packets), egress.next()),
            Port::Member(MemberPort { medium, member }) => {
                return media[*medium as usize].refuses(now, *member, packet, packets);
            }
            _ => return false,
        };
        match self.first_two.get_mut(number as usize) {
            Some(head) => head.next = next,
            None => self.events.set(number - OTHERS, next),
        }
        refused
    }

    /// What the host at the beginning of a route knows of the flows that come up its mesh, if it is a node of one:
    /// their mean rate in the last minute, in thousandths of a packet a second; else 0.
    pub fn mean_flow_rate(&mut self, now: Nanos, route: u32) -> u32 {
        match *self.port(self.routes.first[route as usize].port) {
            Port::Member(MemberPort { medium, member }) => self.media[medium as usize].mean_flow_rate(now, member),
            _ => 0,
        }
    }

    /// Carries out the event that `next` announced, at `now` if that is later. Gives the packet that is at the end of
    /// its route: the caller removes it from `packets`.
    pub fn step<C: Observer<P>>(&mut self, now: Nanos, context: &mut C) -> Option<PacketId>
    where
        X: External<P, C>,
    {
        let (at, other) = self.events.first();
        let (port, transit) = if at < self.next_of_first_two() {
            self.take_other(now, OTHERS + other, context)
        } else {
            self.take_first_of_two(now, context)
        };
        match self.pass_on(now, port, transit, context) {
            Some(Told::Arrived(_, id)) => Some(id),
            Some(Told::Departed(_)) | None => None,
        }
    }

    /// Carries out all events up to the first that the driver has to be told of, if there is one by `until`: what
    /// packets do inside takes no turn of the driver's loop.
    #[inline(always)]
    pub fn run_until<C: Observer<P>>(&mut self, until: Nanos, context: &mut C) -> Option<Told>
    where
        X: External<P, C>,
    {
        loop {
            let of_first_two = self.next_of_first_two();
            let (of_others, other) = self.events.first();
            let now = of_first_two.min(of_others);
            if now > until {
                return None;
            }
            let (port, transit) = if of_others < of_first_two {
                self.take_other(now, OTHERS + other, context)
            } else {
                self.take_first_of_two(now, context)
            };
            let told = self.pass_on(now, port, transit, context);
            if told.is_some() {
                return told;
            }
        }
    }

    #[inline(always)]
    fn take_first_of_two<C: Observer<P>>(&mut self, now: Nanos, context: &mut C) -> (PortId, Transit)
    where
        X: External<P, C>,
    {
        if self.first_two[1].next < self.first_two[0].next {
            (1, self.take_first::<1, C>(now, context))
        } else {
            (0, self.take_first::<0, C>(now, context))
        }
    }

    /// What has come out of a port goes on.
    #[inline(always)]
    fn pass_on<C: Observer<P>>(&mut self, now: Nanos, port: PortId, transit: Transit, context: &mut C) -> Option<Told>
    where
        X: External<P, C>,
    {
        let Transit { id, next_hop } = transit;
        if C::WATCHES_PORTS && id != PacketId::NONE {
            context.passed(now, port, self.packets.get(id));
        }
        match self.routes.hops.get(next_hop as usize) {
            Some(hop) => {
                let (hop, bytes) = (*hop, self.packets.bytes(id));
                // Most hops behind the first lead to one of the others: to ask for these first costs less.
                if self.has_other(hop.port) {
                    self.offer_to_other(now, hop, id, bytes, context);
                } else {
                    self.offer_to_first_two(now, hop, id, bytes, context);
                }
                None
            }
            None if next_hop == Transit::END => Some(Told::Arrived(now, id)),
            None => self.pass_on_otherwise(now, port, transit, context),
        }
    }

    /// `pass_on` for what has neither a hop nor an end before it.
    #[cold]
    #[inline(never)]
    fn pass_on_otherwise<C: Observer<P>>(
        &mut self,
        now: Nanos,
        port: PortId,
        transit: Transit,
        context: &mut C,
    ) -> Option<Told>
    where
        X: External<P, C>,
    {
        match transit.of_copy() {
            Some(of) => self.forward_copy(now, of, context),
            None if transit == Transit::DEPARTURES => Some(Told::Departed(now)),
            None if transit.next_hop == Transit::ONWARD => {
                self.forward_within(now, port, transit.id, context);
                None
            }
            // It is lost, or nothing came out.
            None => None,
        }
    }

    /// A copy of a packet that stays in its channel goes on.
    fn forward_copy<C: Observer<P>>(&mut self, now: Nanos, of: Transit, context: &mut C) -> Option<Told>
    where
        X: External<P, C>,
    {
        let packet = context.duplicated(now, self.packets.get(of.id));
        let bytes = packet.bytes();
        let id = self.packets.insert(packet);
        if of.next_hop == Transit::END {
            return Some(Told::Arrived(now, id));
        }
        self.offer(now, self.routes.hops[of.next_hop as usize], id, bytes, context);
        None
    }

    #[inline(always)]
    fn take_first<const N: usize, C: Observer<P>>(&mut self, now: Nanos, context: &mut C) -> Transit
    where
        X: External<P, C>,
    {
        let head = &mut self.first_two[N];
        if let Port::Fifo(fifo) = &mut head.port {
            let taken = fifo.take();
            head.next = fifo.next();
            return taken;
        }
        let (taken, next) = self.step_otherwise(now, N as PortId, context);
        self.first_two[N].next = next;
        taken
    }

    #[inline(always)]
    fn take_other<C: Observer<P>>(&mut self, now: Nanos, port: PortId, context: &mut C) -> (PortId, Transit)
    where
        X: External<P, C>,
    {
        let other = port - OTHERS;
        if let Some(Port::Fifo(fifo)) = self.others.get_mut(other as usize) {
            let taken = fifo.take();
            self.events.put_first_off(fifo.next());
            return (port, taken);
        }
        let (taken, next) = match self.others.get_mut(other as usize) {
            Some(Port::Access(access)) => (access.take(), access.next()),
            Some(Port::Delay(line)) => (line.take(), line.next()),
            Some(_) => self.step_otherwise(now, port, context),
            None => return self.take_from_medium(now, other, context),
        };
        self.events.set(other, next);
        (port, taken)
    }

    /// Hands a packet over to a port.
    #[inline(always)]
    fn offer<C: Observer<P>>(&mut self, now: Nanos, hop: NextHop, id: PacketId, bytes: u32, context: &mut C)
    where
        X: External<P, C>,
    {
        if hop.port < OTHERS {
            self.offer_to_first_two(now, hop, id, bytes, context);
        } else {
            self.offer_to_other(now, hop, id, bytes, context);
        }
    }

    /// Is this the number of one of the others? Behind this check the compiler does without those of the indices.
    #[inline(always)]
    fn has_other(&self, port: PortId) -> bool {
        (port.wrapping_sub(OTHERS) as usize) < self.others.len()
    }

    #[inline(always)]
    fn offer_to_first_two<C: Observer<P>>(
        &mut self,
        now: Nanos,
        hop: NextHop,
        id: PacketId,
        bytes: u32,
        context: &mut C,
    ) where
        X: External<P, C>,
    {
        let transit = Transit { id, next_hop: hop.next };
        match hop.port {
            0 => self.offer_to_first::<0, C>(now, transit, bytes, context),
            _ => self.offer_to_first::<1, C>(now, transit, bytes, context),
        }
    }

    #[inline(always)]
    fn offer_to_first<const N: usize, C: Observer<P>>(
        &mut self,
        now: Nanos,
        transit: Transit,
        bytes: u32,
        context: &mut C,
    ) where
        X: External<P, C>,
    {
        let head = &mut self.first_two[N];
        if let Port::Fifo(fifo) = &mut head.port {
            let offered = fifo.offer(now, bytes, transit, &mut self.packets);
            if offered != Offered::Behind {
                head.next = fifo.next();
                self.discard_if_gone(now, offered, transit.id, context);
            }
        } else {
            self.first_two[N].next = self.offer_otherwise(now, N as PortId, transit, context);
        }
    }

    #[inline(always)]
    fn offer_to_other<C: Observer<P>>(&mut self, now: Nanos, hop: NextHop, id: PacketId, bytes: u32, context: &mut C)
    where
        X: External<P, C>,
    {
        let transit = Transit { id, next_hop: hop.next };
        let other = hop.port.wrapping_sub(OTHERS);
        if let Port::Fifo(fifo) = &mut self.others[other as usize] {
            let offered = fifo.offer(now, bytes, transit, &mut self.packets);
            if offered != Offered::Behind {
                self.events.set(other, fifo.next());
                self.discard_if_gone(now, offered, transit.id, context);
            }
            return;
        }
        let next = match &mut self.others[other as usize] {
            // Behind others it does not change what comes next.
            Port::Access(access) => match access.send(now, bytes, transit) {
                true => access.next(),
                false => return,
            },
            Port::Delay(line) => match line.send(now, transit) {
                true => line.next(),
                false => return,
            },
            _ => self.offer_otherwise(now, hop.port, transit, context),
        };
        self.events.set(other, next);
    }

    #[inline(always)]
    fn discard_if_gone<C: Observer<P>>(&mut self, now: Nanos, offered: Offered, id: PacketId, context: &mut C) {
        if let Offered::Gone(reason) = offered {
            self.discard(now, reason, id, context);
        }
    }

    #[cold]
    #[inline(never)]
    fn discard<C: Observer<P>>(&mut self, now: Nanos, reason: DropReason, id: PacketId, context: &mut C) {
        context.gone(now, reason, self.packets.remove(id));
    }
}

fn port_of<'a, X>(first_two: &'a mut [Head<X>; 2], others: &'a mut [Port<X>], port: PortId) -> &'a mut Port<X> {
    match port {
        0 | 1 => &mut first_two[port as usize].port,
        _ => &mut others[(port - OTHERS) as usize],
    }
}
