//! The interface that each kind of medium implements.

use super::member::MemberId;
use super::members::Members;
use crate::packet::{Packet, PacketId, Pool};
use model::units::Nanos;

/// Decides who may transmit. A medium learns of packets that join the queues, takes them out again,
/// and puts those that will arrive into their channels.
pub(crate) trait AccessControl {
    /// Queues a packet at `member` at `now`.
    fn offer<P: Packet>(
        &mut self,
        now: Nanos,
        member: MemberId,
        id: PacketId,
        members: &mut Members,
        packets: &Pool<P>,
    ) {
        members.enqueue(now, member, id, packets);
        self.arrived(now, member, members);
    }
    /// Reports whether a packet at the far end of a member continues through another member of the
    /// same medium.
    fn goes_on(&self, _id: PacketId) -> bool {
        false
    }
    /// Reacts to a packet that the queue of `member` took or dropped at `now`.
    fn arrived(&mut self, now: Nanos, member: MemberId, members: &Members);
    /// Returns when the medium has its next event; `Nanos::NEVER` while nobody has anything to
    /// transmit.
    fn next(&self) -> Nanos;
    /// Carries out the event that `next` announced.
    fn step<P: Packet>(&mut self, now: Nanos, members: &mut Members, packets: &mut Pool<P>);
}
