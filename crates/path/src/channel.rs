//! The channel behind a transmitter: propagation delay, losses, and the packets in flight.

use crate::Draws;
use crate::loss::Losses;
use crate::packet::PacketId;
use crate::ring::Ring;
use scenario::model::Loss;
use scenario::units::Nanos;

/// A packet on its route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    /// The packet.
    pub id: PacketId,
    /// The next hop of its route, as the network's routes count them, [`Transit::END`] behind the last, or [`Transit::LOST`].
    pub next_hop: u32,
}

impl Transit {
    /// The next hop of a packet on its last.
    pub const END: u32 = u32::MAX;
    /// The next hop of a packet that a channel loses.
    pub const LOST: u32 = u32::MAX - 1;
    /// What comes out of a channel in the place of a packet that is lost.
    pub const NOTHING: Transit = Transit { id: PacketId::NONE, next_hop: Transit::LOST };
}

/// A packet that is transmitted or propagates.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    arrival: Nanos,
    transit: Transit,
}

/// Delays and loses what is sent into it.
pub struct Channel {
    delay: Nanos,
    losses: Losses,
    in_flight: Ring<InFlight>,
    /// When the first of them arrives.
    next: Nanos,
}

impl Channel {
    /// An empty channel.
    pub fn new(delay: Nanos, loss: &Loss, draws: Draws) -> Channel {
        Channel { delay, losses: Losses::new(loss, draws), in_flight: Ring::default(), next: Nanos::NEVER }
    }

    /// Sends a packet whose last bit leaves the transmitter at `end`, not before that of the packet sent last. True if it is lost.
    #[inline(always)]
    pub fn send(&mut self, end: Nanos, transit: Transit) -> bool {
        let lost = self.losses.next();
        let arrival = end + self.delay;
        self.in_flight.push(InFlight { arrival, transit: if lost { Transit::NOTHING } else { transit } });
        self.next = self.next.min(arrival);
        lost
    }

    /// When the next packet arrives at the far end or is lost; `Nanos::NEVER` when none is in flight.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Takes the packet that `next` announced, or [`Transit::NOTHING`] in its place if it is lost.
    #[inline(always)]
    pub fn take(&mut self) -> Transit {
        let taken = self.in_flight.pop().map_or(Transit::NOTHING, |first| first.transit);
        self.next = self.in_flight.front().map_or(Nanos::NEVER, |packet| packet.arrival);
        taken
    }

    /// Packets that wait for the transmitter, are transmitted or propagate, those that will be lost included.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Those of them that will be lost.
    pub fn lost_in_flight(&self) -> usize {
        self.in_flight.iter().filter(|packet| packet.transit.next_hop == Transit::LOST).count()
    }
}
