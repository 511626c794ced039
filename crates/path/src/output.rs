//! The transmitter and the channel behind a port's queue, wherever that queue is.

use crate::LinkStats;
use crate::channel::{Channel, Propagation, Transit};
use crate::packet::{Packet, PacketId, Pool};
use crate::qdisc::Ecn;
use crate::script::Script;
use crate::transmitter::{Slot, Transmitter};
use model::records;
use model::units::Nanos;

/// The reason why a packet does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The channel loses the packet after its transmission.
    Channel,
    /// The queue drops the packet.
    Queue,
}

/// Transmitter and channel, with the statistics of the queue before them.
pub struct LinkOutput {
    name: String,
    transmitter: Transmitter,
    channel: Channel,
    script: Option<Box<Script>>,
    /// Statistics of queue, transmitter and channel.
    pub stats: LinkStats,
}

impl LinkOutput {
    /// Creates the output of a link, which measures from `from` to `to`. `purpose` selects the
    /// random stream of its draws.
    pub fn new(link: &model::Link, seed: u64, purpose: u64, from: Nanos, to: Nanos) -> LinkOutput {
        LinkOutput {
            name: link.name.clone(),
            transmitter: Transmitter::new(link, from, to),
            channel: Channel::new(link, seed, purpose),
            script: Script::of(&link.impairments.script).map(Box::new),
            stats: LinkStats::new(from, to, link.queue.limit(), link.impairments.duplicates()),
        }
    }

    /// Transmits a packet of `bytes` that joined the queue at `arrival`, after `ready` and after
    /// all packets before it. Returns the start of its transmission, until which it waits, and
    /// whether the channel loses it.
    #[inline(always)]
    pub fn send<P: Packet>(
        &mut self,
        arrival: Nanos,
        ready: Nanos,
        bytes: u32,
        id: PacketId,
        packets: &mut Pool<P>,
    ) -> (Nanos, bool) {
        let slot = self.transmit(arrival, ready, bytes);
        (slot.start, self.propagate(arrival, slot.end, id, packets) == Propagation::Lost)
    }

    /// Transmits a packet, and returns the time of its transmission; the first half of `send`.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, arrival: Nanos, ready: Nanos, bytes: u32) -> Slot {
        let slot = self.transmitter.serve(ready, bytes);
        self.stats.transmitted(arrival, slot.start, bytes);
        slot
    }

    /// Passes a packet that joined the queue at `arrival` and is out at `end` to the channel; the
    /// second half of `send`.
    #[inline(always)]
    pub(crate) fn propagate<P: Packet>(
        &mut self,
        arrival: Nanos,
        end: Nanos,
        id: PacketId,
        packets: &mut Pool<P>,
    ) -> Propagation {
        if self.script.is_some() {
            return self.propagate_by_script(arrival, end, id, packets);
        }
        let propagation = self.channel.send(end, id);
        if matches!(propagation, Propagation::Duplicated | Propagation::Lost) {
            self.note(arrival, propagation);
        }
        propagation
    }

    #[cold]
    fn propagate_by_script<P: Packet>(
        &mut self,
        arrival: Nanos,
        end: Nanos,
        id: PacketId,
        packets: &mut Pool<P>,
    ) -> Propagation {
        let packet = packets.get_mut(id);
        let fate = self.script.as_mut().map(|script| script.next(end, packet.flow())).unwrap_or_default();
        let propagation = self.channel.send_to(end, id, fate);
        if fate.mark && propagation != Propagation::Lost && !matches!(packet.ecn(), Ecn::NotEct | Ecn::Ce) {
            packet.mark_ce();
            self.stats.marked(arrival);
        }
        self.note(arrival, propagation);
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

    /// Returns when the next packet arrives or is lost at the far end; `Nanos::NEVER` if none is in
    /// flight.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.channel.next()
    }

    /// Takes the packet that `next` announced, or [`Transit::Nothing`] in its place if the channel
    /// lost it.
    #[inline(always)]
    pub fn take(&mut self) -> Transit {
        self.channel.take()
    }

    /// Returns the channel.
    #[inline]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Returns when the transmission of all packets so far ends.
    pub fn free_at(&self) -> Nanos {
        self.transmitter.free_at()
    }

    /// Returns when the transmission of a packet that is sent at `now` would start; `Nanos::NEVER`
    /// if never.
    #[inline]
    pub fn next_start(&self, now: Nanos) -> Nanos {
        self.transmitter.next_start(now)
    }

    /// Returns the used share of the capacity in the measuring interval, in percent.
    pub fn utilisation_percent(&self) -> f64 {
        self.transmitter.utilisation_percent()
    }

    /// Returns the link's row of the results.
    pub fn record(&self) -> records::Link {
        self.stats.record(&self.name, self.utilisation_percent())
    }
}
