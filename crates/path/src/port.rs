//! The ports of a network, in which packets wait and travel from one node to the next.

use crate::LinkOutput;
use crate::access::AccessPort;
use crate::channel::Transit;
use crate::delay_line::DelayLine;
use crate::egress::EgressPort;
use crate::fifo::FifoPort;
use crate::medium::MemberPort;
use crate::packet::{PacketId, Pool};
use crate::qdisc::AnyQdisc;
use crate::queued::{Gone, QueuedPort};
use measure::LinkSample;
use model::records;
use model::units::Nanos;

/// One direction of a link. `X` is a port of the driver's own, such as one whose queue is in the
/// kernel.
#[allow(clippy::large_enum_variant)] // most are of the largest kind
pub enum Port<X> {
    /// A drop-tail queue with its transmitter and channel.
    Fifo(FifoPort),
    /// A queue whose discipline decides at departure.
    Queued(Box<QueuedPort<AnyQdisc>>),
    /// A sender's own link.
    Access(AccessPort),
    /// A sender's own link that reports each packet that leaves the host.
    Egress(Box<EgressPort>),
    /// A pure delay.
    Delay(DelayLine),
    /// A member of a medium; the network contains the medium.
    Member(MemberPort),
    /// A port of the driver's own.
    External(X),
}

/// A port that the driver of a network provides.
pub trait ExternalPort {
    /// Returns when the port has its next event, as far as is known.
    fn next(&self) -> Nanos;
    /// Samples the queue now for the time series, as link number `link`.
    fn sample(&self, link: u32) -> LinkSample;
    /// Returns the transmitter and the channel, with the port's statistics.
    fn output(&self) -> &LinkOutput;
}

/// The calls of a network to a driver's port. `C` is the context that the driver passes to the
/// network's calls.
pub trait External<P, C>: ExternalPort {
    /// Offers a packet at `now`, and appends packets that are already lost or dropped to `gone`.
    fn offer(&mut self, now: Nanos, id: PacketId, packets: &mut Pool<P>, context: &mut C, gone: &mut Vec<Gone>);
    /// Carries out the event that `next` announced, and returns a packet that reached the far end.
    fn step(&mut self, now: Nanos, packets: &mut Pool<P>, context: &mut C, gone: &mut Vec<Gone>) -> Transit;
}

/// The type of a network without ports of the driver's own.
pub enum NoExternal {}

impl ExternalPort for NoExternal {
    fn next(&self) -> Nanos {
        match *self {}
    }
    fn sample(&self, _: u32) -> LinkSample {
        match *self {}
    }
    fn output(&self) -> &LinkOutput {
        match *self {}
    }
}

impl<P, C> External<P, C> for NoExternal {
    fn offer(&mut self, _: Nanos, _: PacketId, _: &mut Pool<P>, _: &mut C, _: &mut Vec<Gone>) {
        match *self {}
    }
    fn step(&mut self, _: Nanos, _: &mut Pool<P>, _: &mut C, _: &mut Vec<Gone>) -> Transit {
        match *self {}
    }
}

impl<X: ExternalPort> Port<X> {
    /// Samples the port at `now` for the time series, as link number `link`; none if the port
    /// counts nothing itself.
    pub fn sample(&mut self, now: Nanos, link: u32) -> Option<LinkSample> {
        match self {
            Port::Fifo(port) => Some(port.sample(now, link)),
            Port::Queued(port) => Some(port.sample(link)),
            Port::External(port) => Some(port.sample(link)),
            Port::Access(port) => Some(port.sample(now, link)),
            Port::Egress(port) => Some(port.sample(now, link)),
            Port::Delay(_) | Port::Member(_) => None,
        }
    }

    /// Returns the port's row of the results; none if it counts nothing itself.
    pub fn record(&self) -> Option<records::Link> {
        match self {
            Port::Access(port) => Some(port.record()),
            Port::Egress(port) => Some(port.record()),
            _ => self.output().map(LinkOutput::record),
        }
    }

    /// Returns the transmitter and the channel of a link's direction, with its statistics. An
    /// access link and a member of a medium have none.
    pub fn output(&self) -> Option<&LinkOutput> {
        match self {
            Port::Fifo(port) => Some(&port.output),
            Port::Queued(port) => Some(&port.output),
            Port::External(port) => Some(port.output()),
            Port::Egress(port) => Some(port.output()),
            Port::Access(_) | Port::Delay(_) | Port::Member(_) => None,
        }
    }
}
