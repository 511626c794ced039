//! The channel behind a transmitter: propagation delay, losses, other impairments, and the packets in flight.

use crate::impaired::Impaired;
use crate::loss::Losses;
use crate::packet::PacketId;
use crate::ring::Ring;
use crate::rng;
use model::Link;
use model::units::Nanos;

/// Number of a port. At equal times the lower number goes first.
pub type PortId = u32;

/// What comes to the far end of a channel, or out of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transit {
    /// A packet.
    Packet(PacketId),
    /// A copy of a packet that arrives twice, and that is itself still on its way.
    Copy(PacketId),
    /// Nothing: the channel has lost a packet, or a port was busy with itself.
    #[default]
    Nothing,
}

/// What becomes of a packet in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// It arrives, and others before it.
    Behind,
    /// It arrives, and is the first of those in flight.
    First,
    /// It arrives twice.
    Duplicated,
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
    /// None if all packets arrive, once, and after the same delay.
    disturbances: Option<Box<Disturbances>>,
    /// In the order of their arrival.
    in_flight: Ring<InFlight>,
    /// When the first of them arrives.
    next: Nanos,
}

/// What befalls packets in a channel.
struct Disturbances {
    losses: Option<Losses>,
    impaired: Option<Impaired>,
}

impl Disturbances {
    fn of(link: &Link, seed: u64, purpose: u64) -> Option<Box<Disturbances>> {
        let losses = Losses::of(&link.loss, rng(seed, purpose));
        let impaired = Impaired::of(link, seed, purpose);
        (losses.is_some() || impaired.is_some()).then(|| Box::new(Disturbances { losses, impaired }))
    }
}

impl Channel {
    /// The empty channel of a link. `purpose` keeps its draws apart from others of the same seed.
    pub fn new(link: &Link, seed: u64, purpose: u64) -> Channel {
        Channel {
            delay: link.delay,
            disturbances: Disturbances::of(link, seed, purpose),
            in_flight: Ring::default(),
            next: Nanos::NEVER,
        }
    }

    /// Sends a packet whose last bit leaves the transmitter at `end`, not before that of the packet sent last.
    #[inline(always)]
    pub fn send(&mut self, end: Nanos, id: PacketId) -> Propagation {
        if self.disturbances.is_some() {
            return self.send_disturbed(end, id);
        }
        self.push(end + self.delay, Transit::Packet(id))
    }

    #[inline(never)]
    fn send_disturbed(&mut self, end: Nanos, id: PacketId) -> Propagation {
        let transit = Transit::Packet(id);
        let Some(disturbances) = &mut self.disturbances else { return self.push(end + self.delay, transit) };
        let lost = disturbances.losses.as_mut().is_some_and(Losses::next);
        let Some(impaired) = &mut disturbances.impaired else {
            let propagation = self.push(end + self.delay, if lost { Transit::Nothing } else { transit });
            return if lost { Propagation::Lost } else { propagation };
        };
        let arrival = impaired.arrival(end);
        let second = impaired.second_arrival(end);
        let lost = impaired.loses(end) || lost;
        if lost {
            self.insert(arrival, Transit::Nothing);
            return Propagation::Lost;
        }
        let Some(second) = second else {
            return self.insert(arrival, transit);
        };
        self.insert(arrival.min(second), Transit::Copy(id));
        self.insert(arrival.max(second), transit);
        Propagation::Duplicated
    }

    /// Puts a packet behind all others.
    #[inline(always)]
    fn push(&mut self, arrival: Nanos, transit: Transit) -> Propagation {
        let first = self.in_flight.is_empty();
        self.in_flight.push(InFlight { arrival, transit });
        if !first {
            return Propagation::Behind;
        }
        self.next = arrival;
        Propagation::First
    }

    /// Puts a packet behind those that arrive before it or with it.
    fn insert(&mut self, arrival: Nanos, transit: Transit) -> Propagation {
        self.in_flight.insert(InFlight { arrival, transit }, |other| other.arrival > arrival);
        if arrival >= self.next {
            return Propagation::Behind;
        }
        self.next = arrival;
        Propagation::First
    }

    /// When the next packet arrives at the far end or is lost; `Nanos::NEVER` when none is in flight.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Takes the packet that `next` announced, or [`Transit::Nothing`] in its place if it is lost. There has to be one.
    #[inline(always)]
    pub fn take(&mut self) -> Transit {
        let taken = self.in_flight.pop_known().transit;
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
        self.in_flight.iter().filter(|packet| packet.transit == Transit::Nothing).count()
    }
}
