//! What stands behind a port's queue, whoever keeps that: transmitter and channel.

use crate::LinkStats;
use crate::channel::{Channel, Propagation, Transit};
use crate::packet::PacketId;
use crate::transmitter::{Slot, Transmitter};
use model::records;
use model::units::Nanos;

/// Why a packet does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It will be transmitted, but the channel loses it.
    Channel,
    /// The queue drops it.
    Queue,
}

/// Transmitter and channel, with what they and the queue before them counted.
pub struct LinkOutput {
    name: String,
    transmitter: Transmitter,
    channel: Channel,
    /// What was counted.
    pub stats: LinkStats,
}

impl LinkOutput {
    /// That of a link, which measures from `from` to `to`. `purpose` keeps its draws apart from others of the same
    /// seed.
    pub fn new(link: &model::Link, seed: u64, purpose: u64, from: Nanos, to: Nanos) -> LinkOutput {
        LinkOutput {
            name: link.name.clone(),
            transmitter: Transmitter::new(link, from, to),
            channel: Channel::new(link, seed, purpose),
            stats: LinkStats::new(from, to, link.queue.limit(), link.impairments.duplicate > 0.0),
        }
    }

    /// Transmits a packet of `bytes` that came to the queue at `arrival`, as soon after `ready` as all before it are
    /// out. Gives the start of its transmission, until which it waits, and whether the channel loses it.
    #[inline(always)]
    pub fn send(&mut self, arrival: Nanos, ready: Nanos, bytes: u32, id: PacketId) -> (Nanos, bool) {
        let slot = self.transmit(arrival, ready, bytes);
        (slot.start, self.propagate(arrival, slot.end, id) == Propagation::Lost)
    }

    /// The first half of `send`: when the packet is transmitted.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, arrival: Nanos, ready: Nanos, bytes: u32) -> Slot {
        let slot = self.transmitter.serve(ready, bytes);
        self.stats.transmitted(arrival, slot.start, bytes);
        slot
    }

    /// The second half of `send`: a packet that came to the queue at `arrival` is out at `end`.
    #[inline(always)]
    pub(crate) fn propagate(&mut self, arrival: Nanos, end: Nanos, id: PacketId) -> Propagation {
        let propagation = self.channel.send(end, id);
        if matches!(propagation, Propagation::Duplicated | Propagation::Lost) {
            self.note(arrival, propagation);
        }
        propagation
    }

    #[cold]
    fn note(&mut self, arrival: Nanos, propagation: Propagation) {
        match propagation {
            Propagation::Lost => self.stats.lost(arrival),
            Propagation::Duplicated => self.stats.duplicated(arrival),
            Propagation::Behind | Propagation::First => {}
        }
    }

    /// When the next packet arrives at the far end or is lost; `Nanos::NEVER` when none is in flight.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.channel.next()
    }

    /// Takes the packet that `next` announced, or [`Transit::Nothing`] in its place if the channel lost it.
    #[inline(always)]
    pub fn take(&mut self) -> Transit {
        self.channel.take()
    }

    /// The channel.
    #[inline]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// When all that was sent is out.
    pub fn free_at(&self) -> Nanos {
        self.transmitter.free_at()
    }

    /// When the transmission of a packet that is sent at `now` would start; `Nanos::NEVER` of one that never is.
    #[inline]
    pub fn next_start(&self, now: Nanos) -> Nanos {
        self.transmitter.next_start(now)
    }

    /// Share of the capacity of the measuring interval that was used, in percent.
    pub fn utilisation_percent(&self) -> f64 {
        self.transmitter.utilisation_percent()
    }

    /// The link's record.
    pub fn record(&self) -> records::Link {
        self.stats.record(&self.name, self.utilisation_percent())
    }
}
