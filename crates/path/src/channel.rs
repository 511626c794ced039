//! The channel behind a transmitter: propagation delay, losses, other impairments, and the packets in flight.

use crate::impaired::Impaired;
use crate::loss::Losses;
use crate::packet::PacketId;
use crate::ring::Ring;
use crate::rng;
use crate::script::Fate;
use model::Link;
use model::units::Nanos;

/// Number of a port. At equal times the lower number goes first.
pub type PortId = u32;

/// A packet at the far end of a channel or at the exit of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transit {
    /// A packet.
    Packet(PacketId),
    /// A copy of a packet that arrives twice; the packet itself is still on its way.
    Copy(PacketId),
    /// Nothing: the channel has lost a packet, or the port did internal work.
    #[default]
    Nothing,
}

/// The fate of a packet that enters a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// It arrives, after others in flight.
    Behind,
    /// It arrives, before all others in flight.
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

/// Delays packets, and loses some of them.
pub struct Channel {
    delay: Nanos,
    /// Losses and impairments; none if every packet arrives once, after the same delay.
    disturbances: Option<Box<Disturbances>>,
    /// Packets in flight, in the order of their arrival.
    in_flight: Ring<InFlight>,
    /// When the first packet in flight arrives.
    next: Nanos,
}

/// Losses and other impairments of a channel.
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
    /// Creates the empty channel of a link. `purpose` selects the random stream of its draws.
    pub fn new(link: &Link, seed: u64, purpose: u64) -> Channel {
        Channel {
            delay: link.delay,
            disturbances: Disturbances::of(link, seed, purpose),
            in_flight: Ring::default(),
            next: Nanos::NEVER,
        }
    }

    /// Sends a packet whose last bit leaves the transmitter at `end`. From call to call, `end`
    /// never decreases.
    #[inline(always)]
    pub fn send(&mut self, end: Nanos, id: PacketId) -> Propagation {
        if self.disturbances.is_some() {
            return self.send_to(end, id, Fate::default());
        }
        self.push(end + self.delay, Transit::Packet(id))
    }

    /// Sends a packet as `send` does, to the fate that a script has for it.
    #[inline(never)]
    pub(crate) fn send_to(&mut self, end: Nanos, id: PacketId, fate: Fate) -> Propagation {
        let transit = Transit::Packet(id);
        let Some(disturbances) = &mut self.disturbances else { return self.push(end + self.delay, transit) };
        let lost = disturbances.losses.as_mut().is_some_and(Losses::next) || fate.lose;
        let Some(impaired) = &mut disturbances.impaired else {
            let propagation = self.push(end + self.delay, if lost { Transit::Nothing } else { transit });
            return if lost { Propagation::Lost } else { propagation };
        };
        let lost = impaired.loses(end) || lost;
        let start = impaired.sets_out(end);
        let arrival = impaired.arrival(start, fate);
        let second = impaired.second_arrival(start, fate);
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

    /// Appends a packet behind all others.
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

    /// Inserts a packet behind those that arrive earlier or at the same time.
    fn insert(&mut self, arrival: Nanos, transit: Transit) -> Propagation {
        self.in_flight.insert(InFlight { arrival, transit }, |other| other.arrival > arrival);
        if arrival >= self.next {
            return Propagation::Behind;
        }
        self.next = arrival;
        Propagation::First
    }

    /// Returns when the next packet arrives or is lost at the far end; `Nanos::NEVER` if none is in
    /// flight.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Takes the packet that `next` announced, or [`Transit::Nothing`] if it is lost. The channel
    /// must not be empty.
    #[inline(always)]
    pub fn take(&mut self) -> Transit {
        let taken = self.in_flight.pop_known().transit;
        self.next = self.in_flight.front().map_or(Nanos::NEVER, |packet| packet.arrival);
        taken
    }

    /// Counts the packets that wait for the transmitter, are transmitted or propagate. Packets that
    /// will be lost count too; those that will arrive twice count twice.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Counts the packets in flight that will be lost.
    pub fn lost_in_flight(&self) -> usize {
        self.in_flight.iter().filter(|packet| packet.transit == Transit::Nothing).count()
    }
}
