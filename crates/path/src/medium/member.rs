//! A member of a medium: one direction of a link that shares its transmitter with others.

use crate::LinkStats;
use crate::channel::{Channel, PortId};
use crate::qdisc::Occupancy;
use measure::LinkSample;
use model::Link;
use model::records;
use model::units::Nanos;

/// Number of a member of a medium.
pub type MemberId = u32;

/// A port that is a member of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPort {
    /// The medium's place among those of the network.
    pub medium: u32,
    /// The number that it has there.
    pub member: MemberId,
}

/// When the host of a member is rid of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rid {
    /// When the device has taken it, as a modem does with a buffer of its own.
    Taken,
    /// When it has been transmitted, or is given up: until then the adapter reads the host's memory.
    Sent,
}

/// A channel of its own behind the shared transmitter, and what was counted. Its queue is one of those of
/// [`Members`](super::Members).
pub struct Member {
    pub(super) port: PortId,
    name: String,
    /// The number of the queue that its packets wait in.
    pub(super) queue: usize,
    pub(super) channel: Channel,
    /// Its sender is a host, which is told when it is rid of a packet.
    pub(super) host: Option<Rid>,
    /// What was counted; a packet waits until its first transmission starts.
    pub stats: LinkStats,
    /// Its own bytes and packets in that queue.
    pub(super) waiting: (u64, u64),
    /// How many those are over time.
    occupancy: Occupancy,
    /// Time of its transmissions, with what answers them, inside the measuring interval.
    air_ns: u64,
    /// Transmissions in the interval that were not the first of their packets.
    retries: u64,
    from: Nanos,
    to: Nanos,
}

impl Member {
    /// That of a direction of a link, whose packets come to `port` and wait in queue number `queue` of the medium. It
    /// measures from `from` to `to`; `purpose` keeps its draws apart from others of the same seed.
    pub fn new(link: &Link, port: PortId, queue: usize, seed: u64, purpose: u64, from: Nanos, to: Nanos) -> Member {
        Member {
            port,
            name: link.name.clone(),
            queue,
            channel: Channel::new(link, seed, purpose),
            host: None,
            stats: LinkStats::new(from, to, link.queue.limit(), link.impairments.duplicate > 0.0),
            waiting: (0, 0),
            occupancy: Occupancy::new(from, to),
            air_ns: 0,
            retries: 0,
            from,
            to,
        }
    }

    /// The same, whose sender is a host if it is told.
    pub fn on_host(self, host: Option<Rid>) -> Member {
        Member { host, ..self }
    }

    /// Notes that a packet of `bytes` bytes enters the member's queue at `now`.
    pub(super) fn queues(&mut self, now: Nanos, bytes: u32) {
        self.waiting = (self.waiting.0 + u64::from(bytes), self.waiting.1 + 1);
        self.occupancy.note(now, self.waiting);
    }

    /// Notes that a packet of `bytes` bytes leaves the member's queue at `now`; it may still wait for the medium.
    pub(super) fn unqueues(&mut self, now: Nanos, bytes: u32) {
        self.waiting = (self.waiting.0 - u64::from(bytes), self.waiting.1 - 1);
        self.occupancy.note(now, self.waiting);
    }

    /// It has the medium from `start` to `end`.
    pub(super) fn transmits(&mut self, start: Nanos, end: Nanos) {
        self.air_ns += end.min(self.to).since(start.max(self.from)).0;
    }

    /// It sends a packet once more at `now`.
    pub(super) fn retries_at(&mut self, now: Nanos) {
        self.retries += (now >= self.from && now < self.to) as u64;
    }

    /// Share of the measuring interval in which it transmitted, in percent.
    pub fn air_percent(&self) -> f64 {
        100.0 * self.air_ns as f64 / (self.to - self.from).0 as f64
    }

    /// Its record. A host's queue has `held` so much, each times nanoseconds, without what the device has taken. Of the
    /// limit of a queue that others share goes off what waits there for this member.
    pub(super) fn record(&self, held: Option<(u128, u128)>) -> records::Link {
        let record = self.stats.record(&self.name, self.air_percent());
        let held = held.unwrap_or_else(|| self.occupancy.whole());
        let queue_percent_mean = self.stats.percent_of_limit(held);
        records::Link { retries: Some(self.retries), queue_percent_mean, ..record }
    }

    /// This instant for the series, as link number `link`.
    pub fn sample(&self, link: u32) -> LinkSample {
        let stats = &self.stats;
        LinkSample {
            link,
            waiting: self.waiting,
            ring: None,
            total_drops: stats.total_drops,
            total_sent: stats.total_bytes,
        }
    }
}
