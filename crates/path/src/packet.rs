//! Packets in the network: what the network asks of them, and the pool that they lie in while they travel.

use crate::channel::PortId;
use crate::network::{Hop, HopId, Routes};
use crate::qdisc::{Ecn, Skb};
use model::units::Nanos;

/// What the network has to know of what it carries.
pub trait Packet: Copy {
    /// IP length, bytes.
    fn bytes(&self) -> u32;
    /// The two ECN bits of the IP header (RFC 3168, section 5).
    fn ecn(&self) -> Ecn;
    /// Sets the ECN bits to CE.
    fn mark_ce(&mut self);
    /// Type of service, the ECN bits excluded.
    fn tos(&self) -> u8;
    /// The band that its sender's host has chosen for it there; none if nothing chooses.
    fn band(&self) -> Option<u8> {
        None
    }
    /// Whether its sender's host hands over another segment of the same buffer right behind it.
    fn is_followed(&self) -> bool {
        false
    }
    /// Its sender's host has handed it to its device. From here on `band` and `is_followed` tell nothing: a host that
    /// only forwards the packet knows neither the first host's classes nor its buffers, which no header carries.
    fn leave_host(&mut self) {}
    /// Number of its connection, which both directions share.
    fn flow(&self) -> u32;
    /// Whether it comes from the sender of its connection, not from the receiver.
    fn is_from_sender(&self) -> bool;
    /// Whether it carries data of its connection, as handshakes and acknowledgements do not; meshes count that.
    fn carries_data(&self) -> bool {
        true
    }
}

/// The place of a packet in a [`Pool`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketId(pub u32);

impl PacketId {
    /// No packet: what travels on in place of one that the channel loses.
    pub(crate) const NONE: PacketId = PacketId(u32::MAX);
}

/// The hosts of a connection, by their numbers in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Where its data comes from.
    pub sender: u32,
    /// Where its data goes.
    pub receiver: u32,
}

impl Ends {
    /// A pair of hosts, of which the near one sends, or the far one.
    pub fn of_pair(pair: u32, is_near_sender: bool) -> Ends {
        let (near, far) = (2 * pair, 2 * pair + 1);
        if is_near_sender { Ends { sender: near, receiver: far } } else { Ends { sender: far, receiver: near } }
    }
}

/// The packets that are in the network. Queues and channels hold their numbers only.
#[derive(Debug)]
pub struct Pool<P> {
    slots: Vec<Slot<P>>,
    /// The hosts of each connection; one that is not in it has two of its own.
    ends: Vec<Ends>,
    /// The place that the next packet takes; none is free at [`PacketId::NONE`].
    free: PacketId,
}

#[derive(Debug)]
struct Slot<P> {
    packet: P,
    /// IP length, which every port asks for.
    bytes: u32,
    /// While the place is in use, the [`HopId`] that the packet passes next; while it is free, the [`PacketId`] of the
    /// place that is free after it. One number, so that a place stays small.
    next: u32,
}

impl<P> Default for Pool<P> {
    fn default() -> Pool<P> {
        Pool::new(vec![])
    }
}

impl<P> Pool<P> {
    /// An empty one, of connections between these hosts.
    pub(crate) fn new(ends: Vec<Ends>) -> Pool<P> {
        Pool { slots: Vec::new(), ends, free: PacketId::NONE }
    }
}

impl<P: Packet> Pool<P> {
    /// Takes a packet in that is on its last hop.
    pub fn insert(&mut self, packet: P) -> PacketId {
        self.insert_before(HopId::END, packet)
    }

    /// Takes a packet in that goes on to the hop `next`.
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

    /// Whether another packet would be more than so many.
    pub fn is_full(&self, most: usize) -> bool {
        self.free == PacketId::NONE && self.slots.len() >= most
    }

    /// A packet of the pool.
    #[inline]
    pub fn get(&self, id: PacketId) -> &P {
        &self.slots[id.0 as usize].packet
    }

    /// The next hop of a packet of the pool.
    pub(crate) fn next_hop(&self, id: PacketId) -> HopId {
        HopId(self.slots[id.0 as usize].next)
    }

    /// Moves a packet of the pool on to its next hop, and gives that and the packet's IP length; none at the end of its
    /// route.
    #[inline(always)]
    pub(crate) fn advance(&mut self, id: PacketId, routes: &Routes) -> Option<(PortId, u32)> {
        let place = &mut self.slots[id.0 as usize];
        let Hop { port, next } = routes.hop(HopId(place.next))?;
        place.next = next.0;
        Some((port, place.bytes))
    }

    /// A packet of the pool, to change it, though not its length.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut P {
        &mut self.slots[id.0 as usize].packet
    }

    /// Gives the place of a packet back, and the packet to read for the last time.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> &P {
        let place = &mut self.slots[id.0 as usize];
        place.next = self.free.0;
        self.free = id;
        &place.packet
    }

    /// Packets that were taken in and not removed.
    pub fn count(&self) -> usize {
        let mut free = 0;
        let mut id = self.free;
        while let Some(place) = self.slots.get(id.0 as usize) {
            free += 1;
            id = PacketId(place.next);
        }
        self.slots.len() - free
    }

    /// What a queue discipline sees of a packet that comes to it at `now`.
    pub(crate) fn skb(&self, id: PacketId, now: Nanos) -> Skb {
        Skb { id: id.0, ..self.skb_of(self.get(id), now) }
    }

    /// The same of a packet that is not in the pool.
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
            flow_hash: flow_hash(flow, source, destination),
            source,
            destination,
            enqueued_at: now,
        }
    }
}

/// Spreads the numbers of connections and hosts over 32 bits, as the kernel's hash of addresses and ports does.
fn flow_hash(flow: u32, source: u32, destination: u32) -> u32 {
    let word = (flow as u64) << 32 | (source ^ destination.rotate_left(16)) as u64;
    // The finalizer of MurmurHash3: every bit of the input changes half of the output's.
    let word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (word ^ word >> 33) as u32
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet for tests.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TestPacket {
        pub number: u32,
        pub bytes: u32,
        pub ecn: Ecn,
        pub tos: u8,
    }

    impl TestPacket {
        /// One of 1500 bytes that may be marked.
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
        /// Every packet is found under its number, whatever came and went before.
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
