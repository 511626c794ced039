//! What stands behind a port's queue, whoever keeps that: transmitter and channel.

use crate::channel::{Channel, Transit};
use crate::transmitter::Transmitter;
use crate::{LinkStats, draws};
use scenario::model;
use scenario::records;
use scenario::units::Nanos;

/// What becomes of a packet that a port is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is queued, transmitted or in flight.
    Accepted,
    /// It will be transmitted, but the channel loses it.
    Lost,
    /// The queue drops it.
    Dropped,
}

/// Transmitter and channel, with what they and the queue before them counted.
pub struct LinkOutput {
    name: String,
    transmitter: Transmitter,
    channel: Channel,
    /// What was counted.
    pub stats: LinkStats,
}

/// When a packet's transmission starts, and whether the channel loses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The first bit leaves; until then the packet waits.
    pub start: Nanos,
    /// The last bit leaves.
    pub end: Nanos,
    /// The far end; none if the channel loses the packet.
    pub arrival: Option<Nanos>,
}

impl LinkOutput {
    /// That of a link, which measures from `from` to `to`. `purpose` keeps its draws apart from others of the same seed.
    pub fn new(link: &model::Link, seed: u64, purpose: u64, from: Nanos, to: Nanos) -> LinkOutput {
        LinkOutput {
            name: link.name.clone(),
            transmitter: Transmitter::new(&link.service, from, to),
            channel: Channel::new(link.delay, &link.loss, draws(seed, purpose)),
            stats: LinkStats::new(from, to, link.queue.limit()),
        }
    }

    /// Transmits a packet of `bytes` that came to the queue at `arrival`, as soon after `ready` as all before it are out.
    #[inline]
    pub fn send(&mut self, arrival: Nanos, ready: Nanos, bytes: u32, transit: Transit) -> Transmission {
        let slot = self.transmitter.serve(ready, bytes);
        self.stats.transmitted(arrival, slot.start, bytes);
        let at = self.channel.send(slot.end, transit);
        if at.is_none() {
            self.stats.lost(arrival);
        }
        Transmission { start: slot.start, end: slot.end, arrival: at }
    }

    /// When the next packet arrives at the far end or is lost; `Nanos::NEVER` when none is in flight.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.channel.next()
    }

    /// Takes the packet that `next` announced; none if the channel lost it.
    #[inline]
    pub fn take(&mut self) -> Option<Transit> {
        let taken = self.channel.take()?;
        self.stats.total_arrived += 1;
        Some(taken)
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

    /// Share of the capacity of the measuring interval that was used, in percent.
    pub fn utilisation_percent(&self) -> f64 {
        self.transmitter.utilisation_percent()
    }

    /// The link's record.
    pub fn record(&self) -> records::Link {
        self.stats.record(&self.name, self.utilisation_percent())
    }
}
