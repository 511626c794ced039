//! What a network tells its driver.

use crate::channel::PortId;
use crate::output::DropReason;
use crate::packet::PacketId;
use model::units::Nanos;

/// What a driver has to act on, with the time of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A packet is at the end of its route: the driver removes it from [`Network::packets`](super::Network::packets).
    Delivered(Nanos, PacketId),
    /// [`Observer::departed`] was called.
    Departed(Nanos),
}

/// Is told of the packets that will not arrive, and of those that pass a port if it wants that.
pub trait Observer<P> {
    /// Whether [`Observer::passed`] is called. Where it is not, watching costs nothing.
    const WATCHES_PORTS: bool = false;
    /// A queue has dropped a packet, or the channel behind it will lose it.
    fn gone(&mut self, now: Nanos, reason: DropReason, packet: &P);
    /// The first of a packet's two arrivals at the far end of a channel: makes the copy that goes on from there.
    fn duplicated(&mut self, now: Nanos, packet: &P) -> P;
    /// A packet is out of its sender's host, or was dropped by a queue there: told where the port at the beginning of
    /// its route is an [`EgressPort`](crate::EgressPort), or a host's in a cell.
    fn departed(&mut self, _now: Nanos, _packet: &P) {}
    /// A packet is at the far end of a port.
    fn passed(&mut self, _now: Nanos, _port: PortId, _packet: &P) {}
}
