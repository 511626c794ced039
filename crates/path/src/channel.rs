//! The channel behind a transmitter: propagation delay, losses, and the packets in flight.

use crate::Draws;
use crate::loss::Losses;
use crate::packet::PacketId;
use crate::ring::Ring;
use scenario::model::Loss;
use scenario::units::Nanos;

/// A packet on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// The packet.
    pub id: PacketId,
    /// The hop of its route at which it is, as the network's routes count them.
    pub hop: u32,
}

impl Transit {
    /// What takes the place of a packet that the channel loses.
    const LOST: Transit = Transit { id: PacketId::NONE, hop: 0 };

    fn is_lost(&self) -> bool {
        self.id == PacketId::NONE
    }
}

/// A packet that is transmitted or propagates.
#[derive(Clone, Copy, Debug)]
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

    /// Sends a packet whose last bit leaves the transmitter at `end`, not before that of the packet sent last. Says when it arrives; none if
    /// it is lost.
    #[inline]
    pub fn send(&mut self, end: Nanos, transit: Transit) -> Option<Nanos> {
        let lost = self.losses.next();
        let arrival = end + self.delay;
        self.in_flight.push(InFlight { arrival, transit: if lost { Transit::LOST } else { transit } });
        self.next = self.next.min(arrival);
        (!lost).then_some(arrival)
    }

    /// When the next packet arrives at the far end or is lost; `Nanos::NEVER` when none is in flight.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Takes the packet that `next` announced; none if it is lost.
    #[inline]
    pub fn take(&mut self) -> Option<Transit> {
        let first = self.in_flight.pop()?;
        self.next = self.in_flight.front().map_or(Nanos::NEVER, |packet| packet.arrival);
        (!first.transit.is_lost()).then_some(first.transit)
    }

    /// Packets that wait for the transmitter, are transmitted or propagate, those that will be lost included.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Those of them that will be lost.
    pub fn lost_in_flight(&self) -> usize {
        self.in_flight.iter().filter(|packet| packet.transit.is_lost()).count()
    }
}
