//! What comes behind a link's queue, whoever keeps that: a transmitter, then a wire.

use crate::link::{Fate, Packet};
use crate::loss::Losses;
use crate::ring::Ring;
use crate::service::Transmitter;
use crate::{Usage, draws};
use scenario::model;
use scenario::records;
use scenario::units::Nanos;

/// A packet on its way through.
#[derive(Clone, Copy, Debug)]
struct Passage<P> {
    /// When it is at the far end.
    arrival: Nanos,
    packet: P,
    lost: bool,
}

/// Transmitter and wire, with what they and the queue before them counted.
pub struct Line<P> {
    name: String,
    transmitter: Transmitter,
    delay: Nanos,
    losses: Losses,
    passages: Ring<Passage<P>>,
    /// When the first of them arrives.
    next: Nanos,
    /// What was counted.
    pub usage: Usage,
}

impl<P: Packet> Line<P> {
    /// That of a link, which measures from `from` to `to`. `purpose` keeps its draws apart from others of the same seed.
    pub fn new(link: &model::Link, seed: u64, purpose: u64, from: Nanos, to: Nanos) -> Line<P> {
        Line {
            name: link.name.clone(),
            transmitter: Transmitter::new(&link.service, from, to),
            delay: link.delay,
            losses: Losses::new(&link.loss, draws(seed, purpose)),
            passages: Ring::default(),
            next: Nanos::NEVER,
            usage: Usage::new(from, to, link.queue.limit()),
        }
    }

    /// Sends a packet that came to the queue at `arrival`, as soon after `ready` as all before it are out.
    #[inline]
    pub fn send(&mut self, arrival: Nanos, ready: Nanos, packet: P) -> Fate {
        self.send_telling(arrival, ready, packet).1
    }

    /// The same, and says when its transmission starts: until then it waits in the queue.
    #[inline]
    pub(crate) fn send_telling(&mut self, arrival: Nanos, ready: Nanos, packet: P) -> (Nanos, Fate) {
        let bytes = packet.bytes();
        let slot = self.transmitter.serve(ready, bytes);
        self.usage.account(arrival, slot.start, bytes);
        let lost = self.losses.next();
        let at = slot.end + self.delay;
        self.passages.push(Passage { arrival: at, packet, lost });
        self.next = self.next.min(at);
        if !lost {
            return (slot.start, Fate::Arrives(at));
        }
        self.usage.lost(arrival);
        (slot.start, Fate::LostOnTheWire)
    }

    /// When the next packet arrives at the far end or is lost; `Nanos::NEVER` when none is on its way.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Takes the packet that `next` announced; none if the wire lost it.
    #[inline]
    pub fn take(&mut self) -> Option<P> {
        let passage = self.passages.pop()?;
        self.next = self.passages.front().map_or(Nanos::NEVER, |p| p.arrival);
        if passage.lost {
            return None;
        }
        self.usage.total_arrived += 1;
        Some(passage.packet)
    }

    /// Packets between the two ends, those that the wire will lose included.
    pub fn inside(&self) -> usize {
        self.passages.len()
    }

    /// Packets inside that the wire will lose.
    pub fn doomed(&self) -> usize {
        self.passages.iter().filter(|p| p.lost).count()
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
        self.usage.record(&self.name, self.utilisation_percent())
    }
}
