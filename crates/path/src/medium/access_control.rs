//! What a kind of media has to say.

use super::member::MemberId;
use super::members::Members;
use crate::packet::{Packet, PacketId, Pool};
use model::units::Nanos;

/// What decides who may transmit. It is told of packets that come to the queues, takes them out again, and gives those
/// that will arrive to their channels.
pub(crate) trait AccessControl {
    /// A packet is handed over to `member` at `now`.
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
    /// Has a packet at the far end of a member to pass another member of the same medium?
    fn goes_on(&self, _id: PacketId) -> bool {
        false
    }
    /// A packet has come to the queue of `member` at `now`, or was dropped by it.
    fn arrived(&mut self, now: Nanos, member: MemberId, members: &Members);
    /// When there is something to do; `Nanos::NEVER` while nobody has anything to transmit.
    fn next(&self) -> Nanos;
    /// Does what `next` announced.
    fn step<P: Packet>(&mut self, now: Nanos, members: &mut Members, packets: &mut Pool<P>);
}
