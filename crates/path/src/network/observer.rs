//! The reports of a network to its driver.

use crate::channel::PortId;
use crate::output::DropReason;
use crate::packet::PacketId;
use model::units::Nanos;

/// An event on which a driver has to act, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A packet has reached the end of its route. The driver removes it from
    /// [`Network::packets`](super::Network::packets).
    Delivered(Nanos, PacketId),
    /// A packet has left its host, and [`Observer::departed`] was called.
    Departed(Nanos),
}

/// Gets reports of packets that will not arrive and, on request, of those that pass a port.
pub trait Observer<P> {
    /// Whether the network calls [`Observer::passed`]. If not, it does no work for that.
    const WATCHES_PORTS: bool = false;
    /// Reports a packet that a queue has dropped, or that a channel will lose.
    fn gone(&mut self, now: Nanos, reason: DropReason, packet: &P);
    /// Copies a packet that arrives twice at the far end of a channel, at the first arrival. The
    /// copy goes on from there.
    fn duplicated(&mut self, now: Nanos, packet: &P) -> P;
    /// Reports a packet that has left its sender's host, or that a queue in the host has dropped.
    /// It is called if the route begins at an [`EgressPort`](crate::EgressPort), or at a host in a
    /// cell.
    fn departed(&mut self, _now: Nanos, _packet: &P) {}
    /// Reports a packet at the far end of a port.
    fn passed(&mut self, _now: Nanos, _port: PortId, _packet: &P) {}
}
