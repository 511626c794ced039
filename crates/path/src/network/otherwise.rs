//! What is seldom: media, and ports of kinds that may drop other packets than the one that comes or leaves.

use super::{Network, Observer, port_of};
use crate::channel::{PortId, Transit};
use crate::egress::Step;
use crate::fifo::Offered;
use crate::medium::{self, MemberPort};
use crate::packet::{Packet, PacketId, Pool};
use crate::port::{External, Port};
use crate::queued::Gone;
use scenario::units::Nanos;

impl<P: Packet, X> Network<P, X> {
    /// `step` for a medium, by its source in the event queue. Gives the packet at the far end of one of its members.
    #[cold]
    #[inline(never)]
    pub(super) fn take_from_medium<C: Observer<P>>(
        &mut self,
        now: Nanos,
        source: u32,
        context: &mut C,
    ) -> (PortId, Transit)
    where
        X: External<P, C>,
    {
        let mut gone = std::mem::take(&mut self.gone);
        let medium = &mut self.media[source as usize - self.others.len()];
        let taken = match medium.step(now, &mut self.packets, &mut gone) {
            medium::Step::Arrived(port, transit) => (port, transit),
            medium::Step::Departed(port, id) => {
                let packet = self.packets.get(id);
                if self.routes.begins_at(packet, port) {
                    context.departed(now, packet);
                }
                (0, Transit::DEPARTURES)
            }
            medium::Step::Nothing => (0, Transit::NOTHING),
        };
        self.events.set(source, medium.next());
        self.release_gone(now, gone, context);
        taken
    }

    /// A packet at the end of a member's hop goes on in its medium.
    pub(super) fn forward_within<C: Observer<P>>(&mut self, now: Nanos, port: PortId, id: PacketId, context: &mut C)
    where
        X: External<P, C>,
    {
        let Port::Member(MemberPort { medium, .. }) = *self.port(port) else { return };
        let mut gone = std::mem::take(&mut self.gone);
        let source = self.others.len() as u32 + medium;
        let medium = &mut self.media[medium as usize];
        medium.forward(now, id, &self.packets, &mut gone);
        self.events.set(source, medium.next());
        self.release_gone(now, gone, context);
    }

    /// `step` for a port that may drop other packets than the one it is about. Gives the packet at its far end, and its
    /// next event.
    #[inline(never)]
    pub(super) fn step_otherwise<C: Observer<P>>(
        &mut self,
        now: Nanos,
        port: PortId,
        context: &mut C,
    ) -> (Transit, Nanos)
    where
        X: External<P, C>,
    {
        let mut gone = std::mem::take(&mut self.gone);
        let Network { first_two, others, packets, routes, .. } = self;
        let mut departs = |id: PacketId, packets: &Pool<P>| {
            let packet = packets.get(id);
            if routes.begins_at(packet, port) {
                context.departed(now, packet);
            }
        };
        let stepped = match port_of(first_two, others, port) {
            Port::Queued(queued) => {
                let taken = queued.step(packets);
                gone.append(&mut queued.gone);
                (taken, queued.next())
            }
            Port::Egress(egress) => {
                let taken = match egress.step(now, packets) {
                    Step::Arrived(transit) => transit,
                    Step::Left(id) => {
                        departs(id, packets);
                        Transit::DEPARTURES
                    }
                    Step::Dropped(mut dropped) => {
                        dropped.iter().for_each(|Gone { id, .. }| departs(*id, packets));
                        gone.append(&mut dropped);
                        Transit::DEPARTURES
                    }
                    Step::Nothing => Transit::NOTHING,
                };
                (taken, egress.next())
            }
            Port::External(port) => (port.step(now, packets, context, &mut gone), port.next()),
            Port::Fifo(fifo) => (fifo.take(), fifo.next()),
            Port::Access(access) => (access.take(), access.next()),
            Port::Delay(line) => (line.take(), line.next()),
            Port::Member(_) => (Transit::NOTHING, Nanos::NEVER),
        };
        self.release_gone(now, gone, context);
        stepped
    }

    /// `offer` for such a port. Gives its next event; the packets that are gone are told of here.
    #[inline(never)]
    pub(super) fn offer_otherwise<C: Observer<P>>(
        &mut self,
        now: Nanos,
        port: PortId,
        transit: Transit,
        context: &mut C,
    ) -> Nanos
    where
        X: External<P, C>,
    {
        let mut gone = std::mem::take(&mut self.gone);
        let Network { first_two, others, media, events, packets, .. } = self;
        let first_medium = others.len() as u32;
        let next = match port_of(first_two, others, port) {
            Port::Queued(queued) => {
                queued.offer(now, transit, packets);
                gone.append(&mut queued.gone);
                queued.next()
            }
            Port::Egress(egress) => {
                egress.offer(now, transit, packets);
                egress.next()
            }
            Port::External(port) => {
                port.offer(now, transit, packets, context, &mut gone);
                port.next()
            }
            Port::Fifo(fifo) => {
                let bytes = packets.get(transit.id).bytes();
                if let Offered::Gone(reason) = fifo.offer(now, bytes, transit, packets) {
                    gone.push(Gone { id: transit.id, reason });
                }
                fifo.next()
            }
            Port::Access(access) => {
                access.send(now, packets.get(transit.id).bytes(), transit);
                access.next()
            }
            Port::Delay(line) => {
                line.send(now, transit);
                line.next()
            }
            // Its events are those of the medium.
            Port::Member(MemberPort { medium: number, member }) => {
                let medium = &mut media[*number as usize];
                medium.offer(now, *member, transit, packets, &mut gone);
                events.set(first_medium + *number, medium.next());
                Nanos::NEVER
            }
        };
        self.release_gone(now, gone, context);
        next
    }

    pub(super) fn release_gone<C: Observer<P>>(&mut self, now: Nanos, mut gone: Vec<Gone>, context: &mut C) {
        for Gone { id, reason } in gone.drain(..) {
            context.gone(now, reason, self.packets.remove(id));
        }
        // Its room serves again.
        self.gone = gone;
    }
}
