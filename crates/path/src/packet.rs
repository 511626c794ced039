//! Packets in the network: the interface that they implement, and the pool that contains them on
//! their way.

use crate::channel::PortId;
use crate::network::{Hop, HopId, Routes};
use crate::qdisc::{Ecn, Skb};
use model::units::Nanos;

/// The properties of a packet that the network uses.
pub trait Packet: Copy {
    /// Returns the IP length in bytes.
    fn bytes(&self) -> u32;
    /// Returns the two ECN bits of the IP header (RFC 3168, section 5).
    fn ecn(&self) -> Ecn;
    /// Sets the ECN bits to CE.
    fn mark_ce(&mut self);
    /// Returns the type of service, the ECN bits excluded.
    fn tos(&self) -> u8;
    /// Returns the band that a classifier on the sender's host chose; none without a classifier.
    fn band(&self) -> Option<u8> {
        None
    }
    /// Reports whether the sender's host sends another segment of the same buffer right behind this
    /// one.
    fn is_followed(&self) -> bool {
        false
    }
    /// Notes that the sender's host has passed the packet to its device.
    ///
    /// From then on `band` and `is_followed` have no meaning. A host that only forwards the packet
    /// knows neither the first host's bands nor its buffers, which no header carries.
    fn leave_host(&mut self) {}
    /// Returns the number of the connection, which both directions share.
    fn flow(&self) -> u32;
    /// Returns a number that tells several connections of one [`flow`](Self::flow) apart, in both directions the same;
    /// 0 where a flow is one connection.
    fn connection(&self) -> u32 {
        0
    }
    /// Reports whether the packet comes from the sender of its connection, not from the receiver.
    fn is_from_sender(&self) -> bool;
    /// Reports whether the packet carries data, unlike handshakes and acknowledgements; meshes
    /// count those that do.
    fn carries_data(&self) -> bool {
        true
    }
}

/// The place of a packet in a [`Pool`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketId(pub u32);

impl PacketId {
    /// No packet; it stands for one that the channel loses.
    pub(crate) const NONE: PacketId = PacketId(u32::MAX);
}

/// The hosts of a connection, by their numbers in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The host that sends data.
    pub sender: u32,
    /// The host that receives data.
    pub receiver: u32,
}

impl Ends {
    /// Returns the ends of a connection between a pair of hosts, where the near or the far one
    /// sends.
    pub fn of_pair(pair: u32, is_near_sender: bool) -> Ends {
        let (near, far) = (2 * pair, 2 * pair + 1);
        if is_near_sender { Ends { sender: near, receiver: far } } else { Ends { sender: far, receiver: near } }
    }
}

/// The packets in the network. Queues and channels contain only their numbers.
#[derive(Debug)]
pub struct Pool<P> {
    slots: Vec<Slot<P>>,
    /// The hosts of each connection; a connection beyond the list has two hosts of its own.
    ends: Vec<Ends>,
    /// The place that the next packet takes; [`PacketId::NONE`] if none is free.
    free: PacketId,
}

#[derive(Debug)]
struct Slot<P> {
    packet: P,
    /// IP length in bytes, which every port reads.
    bytes: u32,
    /// Place of the next hop, or of the next free place.
    ///
    /// While the place is in use, this is the [`HopId`] that the packet passes next. While it is
    /// free, this is the [`PacketId`] of the next free place. One number for both makes a place
    /// small.
    next: u32,
}

impl<P> Default for Pool<P> {
    fn default() -> Pool<P> {
        Pool::new(vec![])
    }
}

impl<P> Pool<P> {
    /// Creates an empty pool, for connections between these hosts.
    pub(crate) fn new(ends: Vec<Ends>) -> Pool<P> {
        Pool { slots: Vec::new(), ends, free: PacketId::NONE }
    }
}

impl<P: Packet> Pool<P> {
    /// Adds a packet that is on its last hop.
    pub fn insert(&mut self, packet: P) -> PacketId {
        self.insert_before(HopId::END, packet)
    }

    /// Adds a packet whose next hop is `next`.
    #[inline(always)]
    pub(crate) fn insert_before(&mut self, next: HopId, packet: P) -> PacketId {
        let id = self.free;
        match self.slots.get_mut(id.0 as usize) {
            Some(place) => {
                self.free = PacketId(place.next);
                place.next = next.0;
                place.bytes = packet.bytes();
                place.packet = packet;
                id
            }
            None => self.grow(next, packet),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, next: HopId, packet: P) -> PacketId {
        self.slots.push(Slot { bytes: packet.bytes(), packet, next: next.0 });
        PacketId(self.slots.len() as u32 - 1)
    }

    /// Reports whether the pool is full with `most` packets.
    pub fn is_full(&self, most: usize) -> bool {
        self.free == PacketId::NONE && self.slots.len() >= most
    }

    /// Returns a packet.
    #[inline]
    pub fn get(&self, id: PacketId) -> &P {
        &self.slots[id.0 as usize].packet
    }

    /// Returns the next hop of a packet.
    pub(crate) fn next_hop(&self, id: PacketId) -> HopId {
        HopId(self.slots[id.0 as usize].next)
    }

    /// Moves a packet to its next hop. Returns that hop's port and the packet's IP length in bytes;
    /// none at the end of its route.
    #[inline(always)]
    pub(crate) fn advance(&mut self, id: PacketId, routes: &Routes) -> Option<(PortId, u32)> {
        let place = &mut self.slots[id.0 as usize];
        let Hop { port, next } = routes.hop(HopId(place.next))?;
        place.next = next.0;
        Some((port, place.bytes))
    }

    /// Returns a packet for changes; its length must stay the same.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut P {
        &mut self.slots[id.0 as usize].packet
    }

    /// Removes a packet, and returns it to be read for the last time.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> &P {
        let place = &mut self.slots[id.0 as usize];
        place.next = self.free.0;
        self.free = id;
        &place.packet
    }

    /// Counts the packets in the pool.
    pub fn count(&self) -> usize {
        let mut free = 0;
        let mut id = self.free;
        while let Some(place) = self.slots.get(id.0 as usize) {
            free += 1;
            id = PacketId(place.next);
        }
        self.slots.len() - free
    }

    /// Returns a queue discipline's view of a packet that arrives at `now`.
    pub(crate) fn skb(&self, id: PacketId, now: Nanos) -> Skb {
        Skb { id: id.0, ..self.skb_of(self.get(id), now) }
    }

    /// Returns a queue discipline's view of a packet that is not in the pool.
    pub(crate) fn skb_of(&self, packet: &P, now: Nanos) -> Skb {
        let flow = packet.flow();
        let Ends { sender, receiver } =
            self.ends.get(flow as usize).copied().unwrap_or_else(|| Ends::of_pair(flow, true));
        let (source, destination) = if packet.is_from_sender() { (sender, receiver) } else { (receiver, sender) };
        Skb {
            id: PacketId::NONE.0,
            bytes: packet.bytes(),
            ecn: packet.ecn(),
            tos: packet.tos(),
            band: None,
            is_followed: false,
            flow_hash: flow_hash(flow, packet.connection(), source, destination),
            source,
            destination,
            enqueued_at: now,
        }
    }
}

/// Hashes the numbers of a connection and its hosts to 32 bits, as the kernel does with addresses
/// and ports.
fn flow_hash(flow: u32, connection: u32, source: u32, destination: u32) -> u32 {
    let word = (flow as u64) << 32 | (source ^ destination.rotate_left(16)) as u64;
    let word = word ^ (connection as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The finalizer of MurmurHash3: every bit of the input changes half of the output's.
    let word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (word ^ word >> 33) as u32
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn connections_of_one_flow_have_hashes_of_their_own() {
        let hashes: std::collections::BTreeSet<_> = (0..1000).map(|number| flow_hash(0, number, 1, 2)).collect();
        assert_eq!(hashes.len(), 1000);
    }

    /// A packet for tests.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TestPacket {
        pub number: u32,
        pub bytes: u32,
        pub ecn: Ecn,
        pub tos: u8,
    }

    impl TestPacket {
        /// Creates a packet of 1500 bytes that is ECN-capable.
        pub fn new(number: u32) -> TestPacket {
            TestPacket { number, bytes: 1500, ecn: Ecn::Ect0, tos: 0 }
        }
    }

    impl Packet for TestPacket {
        fn bytes(&self) -> u32 {
            self.bytes
        }
        fn ecn(&self) -> Ecn {
            self.ecn
        }
        fn mark_ce(&mut self) {
            self.ecn = Ecn::Ce;
        }
        fn tos(&self) -> u8 {
            self.tos
        }
        fn flow(&self) -> u32 {
            0
        }
        fn is_from_sender(&self) -> bool {
            true
        }
    }

    proptest! {
        /// The pool finds every packet under its number, whatever was added and removed before.
        #[test]
        fn a_pool_keeps_what_it_was_given(
            steps in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), 1..200)
        ) {
            let mut pool = Pool::default();
            let mut held: Vec<(PacketId, u32)> = vec![];
            for (number, step) in (0..).zip(steps) {
                match step {
                    Some(index) if !held.is_empty() => {
                        let (id, _) = held.swap_remove(index.index(held.len()));
                        pool.remove(id);
                    }
                    _ => held.push((pool.insert(TestPacket::new(number)), number)),
                }
                prop_assert_eq!(pool.count(), held.len());
                for (id, number) in &held {
                    prop_assert_eq!(pool.get(*id).number, *number);
                }
            }
        }
    }
}
