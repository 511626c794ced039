//! The channel behind a transmitter: propagation delay, losses, other impairments, and the packets in flight.

use crate::draws;
use crate::impaired::Impaired;
use crate::loss::Losses;
use crate::packet::PacketId;
use crate::ring::Ring;
use scenario::model::Link;
use scenario::units::Nanos;

/// A packet on its route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    /// The packet.
    pub id: PacketId,
    /// The next hop of its route, as the network's routes count them, [`Transit::END`] behind the last, or
    /// [`Transit::LOST`]. With [`Transit::COPY`] added the packet itself is still on its way, and a copy of it is what
    /// arrives.
    pub next_hop: u32,
}

impl Transit {
    /// The next hop of a packet on its last.
    pub const END: u32 = Transit::COPY - 1;
    /// The next hop of a packet that a channel loses.
    pub const LOST: u32 = Transit::COPY - 2;
    /// Added to the next hop of the copy of a packet that arrives twice.
    pub const COPY: u32 = 1 << 31;
    /// What comes out of a channel in the place of a packet that is lost.
    pub const NOTHING: Transit = Transit { id: PacketId::NONE, next_hop: Transit::LOST };

    /// The first of a packet's two arrivals.
    fn copy(self) -> Transit {
        Transit { next_hop: self.next_hop | Transit::COPY, ..self }
    }

    /// If this is the copy of a packet that is still on its way, the same without saying so.
    #[inline]
    pub(crate) fn of_copy(self) -> Option<Transit> {
        (self.next_hop & Transit::COPY != 0).then_some(Transit { next_hop: self.next_hop & !Transit::COPY, ..self })
    }
}

/// What becomes of a packet in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It arrives.
    Once,
    /// It arrives twice.
    Twice,
    /// It is lost.
    Lost,
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
    /// None if all packets have the same delay, and arrive once unless they are lost.
    impaired: Option<Box<Impaired>>,
    /// In the order of their arrival.
    in_flight: Ring<InFlight>,
    /// When the first of them arrives.
    next: Nanos,
}

impl Channel {
    /// The empty channel of a link. `purpose` keeps its draws apart from others of the same seed.
    pub fn new(link: &Link, seed: u64, purpose: u64) -> Channel {
        Channel {
            delay: link.delay,
            losses: Losses::new(&link.loss, draws(seed, purpose)),
            impaired: Impaired::of(link, seed, purpose),
            in_flight: Ring::default(),
            next: Nanos::NEVER,
        }
    }

    /// Sends a packet whose last bit leaves the transmitter at `end`, not before that of the packet sent last.
    #[inline(always)]
    pub fn send(&mut self, end: Nanos, transit: Transit) -> Passage {
        let lost = self.losses.next();
        if self.impaired.is_some() {
            return self.send_impaired(end, transit, lost);
        }
        let arrival = end + self.delay;
        self.in_flight.push(InFlight { arrival, transit: if lost { Transit::NOTHING } else { transit } });
        self.next = self.next.min(arrival);
        if lost { Passage::Lost } else { Passage::Once }
    }

    #[cold]
    #[inline(never)]
    fn send_impaired(&mut self, end: Nanos, transit: Transit, lost: bool) -> Passage {
        let Some(impaired) = &mut self.impaired else { return Passage::Lost };
        let arrival = impaired.arrival(end);
        let second = impaired.second_arrival(end);
        if lost || impaired.is_down(end) {
            self.insert(arrival, Transit::NOTHING);
            return Passage::Lost;
        }
        let Some(second) = second else {
            self.insert(arrival, transit);
            return Passage::Once;
        };
        self.insert(arrival.min(second), transit.copy());
        self.insert(arrival.max(second), transit);
        Passage::Twice
    }

    fn insert(&mut self, arrival: Nanos, transit: Transit) {
        self.in_flight.insert(InFlight { arrival, transit }, |other| other.arrival > arrival);
        self.next = self.next.min(arrival);
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

    /// Packets that wait for the transmitter, are transmitted or propagate, those that will be lost included; those
    /// that will arrive twice count twice.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Those of them that will be lost.
    pub fn lost_in_flight(&self) -> usize {
        self.in_flight.iter().filter(|packet| packet.transit.next_hop == Transit::LOST).count()
    }
}
