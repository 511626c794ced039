//! The network between the hosts: packets follow their routes from port to port, and time passes
//! only in ports.
//!
//! The driver of a network passes packets to [`Network::send`]. It asks [`Network::next`] for the
//! time of the next event, which [`Network::step`] carries out. A packet at the end of its route
//! returns to the driver.

mod account;
mod observer;
mod routes;
mod slow_path;

use crate::channel::{PortId, Transit};
use crate::event_queue::{EventQueue, EventSource};
use crate::fifo::Offered;
use crate::medium::{Medium, MemberPort};
use crate::output::DropReason;
use crate::packet::{Ends, Packet, PacketId, Pool};
use crate::port::{External, NoExternal, Port};
use crate::queued::Gone;
use model::units::Nanos;
pub use observer::{NetworkEvent, Observer};
pub use routes::Routes;
pub(crate) use routes::{Hop, HopId};

/// Ports, routes, and the packets in them.
pub struct Network<P, X = NoExternal> {
    /// The packets in the network, by their numbers.
    pub packets: Pool<P>,
    /// The ports. Most events come from the first two, the directions of the first link.
    ports: Vec<Port<X>>,
    /// Media that some of the ports share.
    media: Vec<Medium>,
    /// The next event of each port, by its number, then those of the media.
    events: EventQueue<2>,
    routes: Routes,
    /// The ports that count, in the order of the results.
    counting: Vec<PortId>,
    gone: Vec<Gone>,
}

impl<P: Packet, X> Network<P, X> {
    /// Creates an empty network. `media` contains the media whose members are among the ports.
    /// `counting` lists the ports that appear in the results, in order.
    pub fn new(
        ports: Vec<Port<X>>,
        media: Vec<Medium>,
        routes: Routes,
        ends: Vec<Ends>,
        counting: Vec<PortId>,
    ) -> Network<P, X> {
        let first_medium = ports.len() as EventSource;
        let mut events = EventQueue::new(first_medium + media.len() as EventSource);
        // Some media have events before the first packet.
        (first_medium..).zip(&media).for_each(|(source, medium)| events.set(source, medium.next()));
        Network { packets: Pool::new(ends), ports, media, events, routes, counting, gone: vec![] }
    }

    /// Returns the time of the earliest event; `Nanos::NEVER` if the network is empty.
    #[inline(always)]
    pub fn next(&self) -> Nanos {
        self.events.first().0
    }

    /// Returns the time of the earliest event, disregarding `port` if it is one of the first two.
    pub fn next_without(&self, port: PortId) -> Nanos {
        self.events.first_without(port)
    }

    /// Lists all ports with their numbers.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, &Port<X>)> {
        (0..).zip(&self.ports)
    }

    /// Lets the driver work on its own port at `now`, which may change the time of that port's next
    /// event.
    ///
    /// # Panics
    /// Panics if the port is not the driver's.
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
        let Port::External(external) = &mut self.ports[port as usize] else { panic!("port {port} is ours") };
        let result = work(external, &mut self.packets, context, &mut gone);
        self.events.set(port, external.next());
        self.release_gone(now, gone, context);
        result
    }

    /// Returns a port.
    pub fn port(&self, port: PortId) -> &Port<X> {
        &self.ports[port as usize]
    }

    /// Sends a packet on a route at `now`, which never decreases between calls of `send` and
    /// `step`.
    #[inline(always)]
    pub fn send<C: Observer<P>>(&mut self, now: Nanos, route: u32, packet: P, context: &mut C)
    where
        X: External<P, C>,
    {
        let Hop { port, next } = self.routes.first(route);
        let bytes = packet.bytes();
        let id = self.packets.insert_before(next, packet);
        self.offer(now, port, id, bytes, context);
    }

    /// Reports whether the sender's own host has no room for a packet at `now`, so that it is not
    /// sent. Only an [`EgressPort`](crate::EgressPort) or a host in a cell at the beginning of the
    /// route ever does so.
    pub fn refuses(&mut self, now: Nanos, route: u32, packet: &P) -> bool {
        let port = self.routes.first(route).port;
        match &mut self.ports[port as usize] {
            Port::Egress(egress) => {
                let refused = egress.refuses(now, packet, &mut self.packets);
                self.events.set(port, egress.next());
                refused
            }
            Port::Member(MemberPort { medium, member }) => {
                self.media[*medium as usize].refuses(now, *member, packet, &self.packets)
            }
            _ => false,
        }
    }

    /// Returns the mean rate of the flows up a mesh in the last minute, as known to the host at the
    /// beginning of a route. The rate is in thousandths of a packet a second; 0 if the host is not
    /// a node of a mesh.
    pub fn mean_flow_rate(&mut self, now: Nanos, route: u32) -> u32 {
        match *self.port(self.routes.first(route).port) {
            Port::Member(MemberPort { medium, member }) => self.media[medium as usize].mean_flow_rate(now, member),
            _ => 0,
        }
    }

    /// Carries out the event that `next` announced, at `now` if that is later. Returns a packet
    /// that reached the end of its route; the caller removes it from `packets`.
    pub fn step<C: Observer<P>>(&mut self, now: Nanos, context: &mut C) -> Option<PacketId>
    where
        X: External<P, C>,
    {
        let (_, source) = self.events.first();
        match self.carry_out(now, source, context) {
            Some(NetworkEvent::Delivered(_, id)) => Some(id),
            Some(NetworkEvent::Departed(_)) | None => None,
        }
    }

    /// Carries out all events up to the first that the driver has to act on, if it happens by
    /// `until`. Movements inside the network cost the driver no turn of its loop.
    #[inline(always)]
    pub fn run_until<C: Observer<P>>(&mut self, until: Nanos, context: &mut C) -> Option<NetworkEvent>
    where
        X: External<P, C>,
    {
        loop {
            let (now, source) = self.events.first();
            if now > until {
                return None;
            }
            let event = self.carry_out(now, source, context);
            if event.is_some() {
                return event;
            }
        }
    }

    /// Carries out the event of `source`, which is the earliest.
    #[inline(always)]
    fn carry_out<C: Observer<P>>(&mut self, now: Nanos, source: EventSource, context: &mut C) -> Option<NetworkEvent>
    where
        X: External<P, C>,
    {
        // FIFO ports have their own test, because the compiler checks the first of several kinds
        // last.
        let (taken, next) = if let Some(Port::Fifo(fifo)) = self.ports.get_mut(source as usize) {
            (fifo.take(), fifo.next())
        } else {
            match self.ports.get_mut(source as usize) {
                Some(Port::Access(access)) => (access.take(), access.next()),
                Some(Port::Delay(line)) => (line.take(), line.next()),
                _ => return self.step_slow(now, source, context),
            }
        };
        self.events.put_first_off(source, next);
        self.pass_on(now, source, taken, context)
    }

    /// Passes on a packet that has left a port.
    #[inline(always)]
    fn pass_on<C: Observer<P>>(
        &mut self,
        now: Nanos,
        port: PortId,
        taken: Transit,
        context: &mut C,
    ) -> Option<NetworkEvent>
    where
        X: External<P, C>,
    {
        match taken {
            Transit::Packet(id) => {
                if C::WATCHES_PORTS {
                    context.passed(now, port, self.packets.get(id));
                }
                self.move_on(now, id, context)
            }
            Transit::Copy(id) => self.move_copy_on(now, port, id, context),
            Transit::Nothing => None,
        }
    }

    /// Moves a packet to its next hop, or delivers it at the end of its route.
    #[inline(always)]
    fn move_on<C: Observer<P>>(&mut self, now: Nanos, id: PacketId, context: &mut C) -> Option<NetworkEvent>
    where
        X: External<P, C>,
    {
        let Some((port, bytes)) = self.packets.advance(id, &self.routes) else {
            return Some(NetworkEvent::Delivered(now, id));
        };
        self.offer(now, port, id, bytes, context);
        None
    }

    /// Moves the copy of a packet on; the original stays in its channel.
    #[cold]
    #[inline(never)]
    fn move_copy_on<C: Observer<P>>(
        &mut self,
        now: Nanos,
        port: PortId,
        original: PacketId,
        context: &mut C,
    ) -> Option<NetworkEvent>
    where
        X: External<P, C>,
    {
        let packet = self.packets.get(original);
        if C::WATCHES_PORTS {
            context.passed(now, port, packet);
        }
        let copy = context.duplicated(now, packet);
        let id = self.packets.insert_before(self.packets.next_hop(original), copy);
        self.move_on(now, id, context)
    }

    /// Offers a packet to a port.
    #[inline(always)]
    fn offer<C: Observer<P>>(&mut self, now: Nanos, port: PortId, id: PacketId, bytes: u32, context: &mut C)
    where
        X: External<P, C>,
    {
        if let Port::Fifo(fifo) = &mut self.ports[port as usize] {
            let offered = fifo.offer(now, bytes, id, &mut self.packets);
            if offered != Offered::Behind {
                self.events.set(port, fifo.next());
                if let Offered::Gone(reason) = offered {
                    self.discard(now, reason, id, context);
                }
            }
            return;
        }
        match &mut self.ports[port as usize] {
            // A packet behind others does not change the next event.
            Port::Access(access) => {
                if access.send(now, bytes, id) {
                    self.events.set(port, access.next());
                }
            }
            Port::Delay(line) => {
                if line.send(now, Transit::Packet(id)) {
                    self.events.set(port, line.next());
                }
            }
            _ => self.offer_slow(now, port, id, context),
        }
    }

    #[cold]
    #[inline(never)]
    fn discard<C: Observer<P>>(&mut self, now: Nanos, reason: DropReason, id: PacketId, context: &mut C) {
        context.gone(now, reason, self.packets.remove(id));
    }

    fn release_gone<C: Observer<P>>(&mut self, now: Nanos, mut gone: Vec<Gone>, context: &mut C) {
        for Gone { id, reason } in gone.drain(..) {
            context.gone(now, reason, self.packets.remove(id));
        }
        // The buffer is used again.
        self.gone = gone;
    }
}
