//! The ports of a network: where packets wait and travel from one node to the next.

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

/// One direction of a link. `X` is a port of the driver's own, such as one whose queue is in the kernel.
#[allow(clippy::large_enum_variant)] // most are of the largest kind
pub enum Port<X> {
    /// A drop-tail queue.
    Fifo(FifoPort),
    /// A discipline that decides at departure.
    Queued(Box<QueuedPort<AnyQdisc>>),
    /// A sender's own link.
    Access(AccessPort),
    /// The same, when the sender is told what has left its host.
    Egress(Box<EgressPort>),
    /// It only delays.
    Delay(DelayLine),
    /// A member of a medium, which the network keeps.
    Member(MemberPort),
    /// The driver's.
    External(X),
}

/// A port that the driver of a network brings along.
pub trait ExternalPort {
    /// When the port has something to do, as far as is known.
    fn next(&self) -> Nanos;
    /// This instant for the series, as link number `link`.
    fn sample(&self, link: u32) -> LinkSample;
    /// Transmitter and channel, with the port's statistics.
    fn output(&self) -> &LinkOutput;
}

/// What a network asks of it. `C` is the context that the driver passes to the network's calls.
pub trait External<P, C>: ExternalPort {
    /// Hands a packet over at `now`; those that are gone already are appended to `gone`.
    fn offer(&mut self, now: Nanos, id: PacketId, packets: &mut Pool<P>, context: &mut C, gone: &mut Vec<Gone>);
    /// Does what `next` announced; gives what is at the far end.
    fn step(&mut self, now: Nanos, packets: &mut Pool<P>, context: &mut C, gone: &mut Vec<Gone>) -> Transit;
}

/// No port of the driver's.
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
    /// This instant for the series, as link number `link`; none for a port that counts nothing itself.
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

    /// Its record; none for a port that counts nothing itself.
    pub fn record(&self) -> Option<records::Link> {
        match self {
            Port::Access(port) => Some(port.record()),
            Port::Egress(port) => Some(port.record()),
            _ => self.output().map(LinkOutput::record),
        }
    }

    /// Transmitter and channel of a link's direction, with its statistics; none for an access link, and on a medium.
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
