//! The slow path: media, and ports that may drop packets at any time, not just the one that arrives
//! or leaves.

use super::{Network, NetworkEvent, Observer};
use crate::channel::{PortId, Transit};
use crate::egress;
use crate::event_queue::EventSource;
use crate::medium::{self, MemberPort};
use crate::packet::{Packet, PacketId, Pool};
use crate::port::{External, Port};
use crate::queued::Gone;
use model::units::Nanos;

/// The outcome of an event on the slow path.
enum Output {
    /// This packet has left a port.
    Taken(PortId, Transit),
    /// A packet at the far end of a port continues in its medium.
    Onward(PortId, PacketId),
    /// A packet has left its host, and [`Observer::departed`] was called.
    Departed,
}

impl<P: Packet, X> Network<P, X> {
    /// Carries out an event of a port that `carry_out` does not handle itself.
    #[inline(never)]
    pub(super) fn step_slow<C: Observer<P>>(
        &mut self,
        now: Nanos,
        source: EventSource,
        context: &mut C,
    ) -> Option<NetworkEvent>
    where
        X: External<P, C>,
    {
        let mut gone = std::mem::take(&mut self.gone);
        let Network { ports, media, packets, routes, .. } = self;
        let mut departs = |port: PortId, id: PacketId, packets: &Pool<P>| {
            let packet = packets.get(id);
            if routes.begins_at(packet, port) {
                context.departed(now, packet);
            }
        };
        let first_medium = ports.len();
        let (output, next) = match ports.get_mut(source as usize) {
            Some(Port::Queued(queued)) => {
                let taken = queued.step(packets);
                gone.append(&mut queued.gone);
                (Output::Taken(source, taken), queued.next())
            }
            Some(Port::Egress(port)) => {
                let output = match port.step(now, packets) {
                    egress::Step::Arrived(taken) => Output::Taken(source, taken),
                    egress::Step::Left(id) => {
                        departs(source, id, packets);
                        Output::Departed
                    }
                    egress::Step::Dropped(mut dropped) => {
                        dropped.iter().for_each(|Gone { id, .. }| departs(source, *id, packets));
                        gone.append(&mut dropped);
                        Output::Departed
                    }
                    egress::Step::Nothing => Output::Taken(source, Transit::Nothing),
                };
                (output, port.next())
            }
            Some(Port::External(port)) => {
                let taken = port.step(now, packets, context, &mut gone);
                (Output::Taken(source, taken), port.next())
            }
            None => {
                let medium = &mut media[source as usize - first_medium];
                let output = match medium.step(now, packets, &mut gone) {
                    medium::Step::Arrived(port, taken) => Output::Taken(port, taken),
                    medium::Step::Onward(port, id) => Output::Onward(port, id),
                    medium::Step::Departed(port, id) => {
                        departs(port, id, packets);
                        Output::Departed
                    }
                    medium::Step::Nothing => Output::Taken(0, Transit::Nothing),
                };
                (output, medium.next())
            }
            Some(Port::Fifo(_) | Port::Access(_) | Port::Delay(_) | Port::Member(_)) => {
                unreachable!("BUG: `carry_out` knows some, and the medium has the events of its members")
            }
        };
        self.events.set(source, next);
        self.release_gone(now, gone, context);
        match output {
            Output::Taken(port, taken) => self.pass_on(now, port, taken, context),
            Output::Onward(port, id) => {
                self.forward_within(now, port, id, context);
                None
            }
            Output::Departed => Some(NetworkEvent::Departed(now)),
        }
    }

    /// Forwards a packet within its medium, at the end of a member's hop.
    fn forward_within<C: Observer<P>>(&mut self, now: Nanos, port: PortId, id: PacketId, context: &mut C) {
        if C::WATCHES_PORTS {
            context.passed(now, port, self.packets.get(id));
        }
        let Port::Member(MemberPort { medium: number, .. }) = self.ports[port as usize] else { return };
        let mut gone = std::mem::take(&mut self.gone);
        let medium = &mut self.media[number as usize];
        medium.forward(now, id, &self.packets, &mut gone);
        self.events.set(self.ports.len() as EventSource + number, medium.next());
        self.release_gone(now, gone, context);
    }

    /// Offers a packet to a port that `offer` does not handle itself.
    #[inline(never)]
    pub(super) fn offer_slow<C: Observer<P>>(&mut self, now: Nanos, port: PortId, id: PacketId, context: &mut C)
    where
        X: External<P, C>,
    {
        let mut gone = std::mem::take(&mut self.gone);
        let Network { ports, media, packets, .. } = self;
        let first_medium = ports.len() as EventSource;
        let (source, next) = match &mut ports[port as usize] {
            Port::Queued(queued) => {
                queued.offer(now, id, packets);
                gone.append(&mut queued.gone);
                (port, queued.next())
            }
            Port::Egress(egress) => {
                egress.offer(now, id, packets);
                (port, egress.next())
            }
            Port::External(external) => {
                external.offer(now, id, packets, context, &mut gone);
                (port, external.next())
            }
            // The member's events are those of its medium.
            Port::Member(MemberPort { medium: number, member }) => {
                let medium = &mut media[*number as usize];
                medium.offer(now, *member, id, packets, &mut gone);
                (first_medium + *number, medium.next())
            }
            Port::Fifo(_) | Port::Access(_) | Port::Delay(_) => unreachable!("BUG: `offer` knows them"),
        };
        self.events.set(source, next);
        self.release_gone(now, gone, context);
    }
}
