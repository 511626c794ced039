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
    /// The medium's place among the media of the network.
    pub medium: u32,
    /// The port's number as a member of the medium.
    pub member: MemberId,
}

/// The moment at which a packet leaves the host of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxCompletion {
    /// When the device has taken it, as a modem does into a buffer of its own.
    OnDequeue,
    /// When it has been transmitted or given up: until then the adapter reads the host's memory.
    OnAir,
}

/// A channel behind a shared transmitter, with its statistics. Its packets wait in one of the
/// queues of [`Members`](super::Members).
pub struct Member {
    pub(super) port: PortId,
    name: String,
    /// Number of the queue in which the member's packets wait.
    pub(super) queue: usize,
    pub(super) channel: Channel,
    /// When a packet leaves the sending host, which then gets a report; none if the sender is not a
    /// host.
    pub(super) host: Option<TxCompletion>,
    /// The member's statistics. A packet waits until its first transmission starts.
    pub stats: LinkStats,
    /// Bytes and packets of this member in its queue.
    pub(super) waiting: (u64, u64),
    /// The bytes and packets in the queue, integrated over time.
    occupancy: Occupancy,
    /// Nanoseconds of the member's transmissions and the answers to them, inside the measuring
    /// interval.
    air_ns: u64,
    /// Retransmissions on the medium in the measuring interval.
    retries: u64,
    from: Nanos,
    to: Nanos,
}

impl Member {
    /// Creates the member for a direction of a link, whose packets enter at `port` and wait in the
    /// medium's queue number `queue`. It measures from `from` to `to`. `purpose` selects the random
    /// stream of its draws.
    pub fn new(link: &Link, port: PortId, queue: usize, seed: u64, purpose: u64, from: Nanos, to: Nanos) -> Member {
        Member {
            port,
            name: link.name.clone(),
            queue,
            channel: Channel::new(link, seed, purpose),
            host: None,
            stats: LinkStats::new(from, to, link.queue.limit(), link.impairments.duplicates()),
            waiting: (0, 0),
            occupancy: Occupancy::new(from, to),
            air_ns: 0,
            retries: 0,
            from,
            to,
        }
    }

    /// Declares the member's sender a host, if `host` says when packets leave it.
    pub fn on_host(self, host: Option<TxCompletion>) -> Member {
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

    /// Counts a transmission from `start` to `end`.
    pub(super) fn transmits(&mut self, start: Nanos, end: Nanos) {
        self.air_ns += end.min(self.to).since(start.max(self.from)).0;
    }

    /// Counts a retransmission at `now`.
    pub(super) fn retries_at(&mut self, now: Nanos) {
        self.retries += (now >= self.from && now < self.to) as u64;
    }

    /// Returns the share of the measuring interval in which the member transmitted, in percent.
    pub fn air_percent(&self) -> f64 {
        100.0 * self.air_ns as f64 / (self.to - self.from).0 as f64
    }

    /// Returns the member's row of the results. `held` is what a host's queue contained, in bytes
    /// and packets times nanoseconds, without the packets in the device. In a shared queue only
    /// this member's packets count against the limit.
    pub(super) fn record(&self, held: Option<(u128, u128)>) -> records::Link {
        let record = self.stats.record(&self.name, self.air_percent());
        let held = held.unwrap_or_else(|| self.occupancy.whole());
        let queue_percent_mean = self.stats.percent_of_limit(held);
        records::Link { retries: Some(self.retries), queue_percent_mean, ..record }
    }

    /// Samples the queue now for the time series, as link number `link`.
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
