//! The statistics of a link.

use measure::Histogram;
use model::Limit;
use model::families::QueueDelayStats;
use model::records;
use model::units::Nanos;

/// Statistics of a link: totals since the start of the run, and counts of its measuring interval.
#[derive(Clone, Debug)]
pub struct LinkStats {
    from: Nanos,
    to: Nanos,
    limit: Option<Limit>,
    /// Packets that found the queue full, in the interval.
    pub drops: u64,
    /// Packets that the channel lost, in the interval.
    pub losses: u64,
    /// Packets that the channel delivers twice, in the interval; none if it never duplicates any.
    pub duplicates: Option<u64>,
    /// Packets that were marked, in the interval.
    pub marks: u64,
    /// Drops since the start of the run.
    pub total_drops: u64,
    /// Packets lost in the channel since the start of the run.
    pub total_losses: u64,
    /// Bytes transmitted since the start of the run.
    pub total_bytes: u64,
    /// Time from arrival in the queue to the start of transmission, of packets that arrived in the
    /// interval.
    pub queue_delay: Histogram,
    byte_ns: u128,
    packet_ns: u128,
}

impl LinkStats {
    pub(crate) fn new(from: Nanos, to: Nanos, limit: Option<Limit>, may_duplicate: bool) -> LinkStats {
        LinkStats {
            from,
            to,
            limit,
            drops: 0,
            losses: 0,
            duplicates: may_duplicate.then_some(0),
            marks: 0,
            total_drops: 0,
            total_losses: 0,
            total_bytes: 0,
            queue_delay: Histogram::default(),
            byte_ns: 0,
            packet_ns: 0,
        }
    }

    /// Returns the part of `[start, end)` inside the measuring interval, in nanoseconds.
    #[inline]
    fn clip(&self, start: Nanos, end: Nanos) -> u64 {
        end.min(self.to).0.saturating_sub(start.max(self.from).0)
    }

    /// Counts a packet that joined the queue at `arrival` and that the queue drops.
    #[inline]
    pub fn dropped(&mut self, arrival: Nanos) {
        self.total_drops += 1;
        self.drops += self.covers(arrival) as u64;
    }

    /// Counts a packet of `bytes` that the queue drops at `now`, after it has waited since
    /// `arrival`.
    pub(crate) fn dropped_after(&mut self, arrival: Nanos, now: Nanos, bytes: u32) {
        self.dropped(arrival);
        self.waited(arrival, now, bytes);
    }

    /// Counts a packet that joined the queue at `arrival` and that the queue marks.
    #[inline]
    pub fn marked(&mut self, arrival: Nanos) {
        self.marks += self.covers(arrival) as u64;
    }

    /// Counts a packet that joined the queue at `arrival` and that the channel loses.
    #[inline]
    pub fn lost(&mut self, arrival: Nanos) {
        self.total_losses += 1;
        self.losses += self.covers(arrival) as u64;
    }

    /// Counts a packet that joined the queue at `arrival` and that the channel delivers twice.
    pub(crate) fn duplicated(&mut self, arrival: Nanos) {
        *self.duplicates.get_or_insert(0) += self.covers(arrival) as u64;
    }

    /// Reports whether a packet that joined the queue at `arrival` belongs to the measuring
    /// interval.
    #[inline]
    pub(crate) fn covers(&self, arrival: Nanos) -> bool {
        arrival >= self.from
    }

    #[inline(always)]
    pub(crate) fn transmitted(&mut self, arrival: Nanos, start: Nanos, bytes: u32) {
        self.total_bytes += bytes as u64;
        if start > arrival {
            if self.covers(arrival) {
                self.queue_delay.record(start - arrival);
            }
            if self.covers(arrival) && start <= self.to {
                self.waited_inside(start - arrival, bytes);
            } else {
                self.waited(arrival, start, bytes);
            }
        } else if self.covers(arrival) {
            self.queue_delay.record_zero();
        }
    }

    /// Counts the time that a packet waited within the measuring interval.
    #[inline(never)]
    fn waited(&mut self, from: Nanos, until: Nanos, bytes: u32) {
        self.waited_inside(Nanos(self.clip(from, until)), bytes);
    }

    #[inline]
    fn waited_inside(&mut self, waited: Nanos, bytes: u32) {
        self.byte_ns += waited.0 as u128 * bytes as u128;
        self.packet_ns += waited.0 as u128;
    }

    fn interval_ns(&self) -> f64 {
        (self.to - self.from).0 as f64
    }

    /// Returns the mean over time of the bytes that wait, in the measuring interval.
    pub fn queue_bytes_mean(&self) -> f64 {
        self.byte_ns as f64 / self.interval_ns()
    }

    /// Returns the mean over time of the queue, in percent of its limit; none for a queue without
    /// one.
    pub fn queue_percent_mean(&self) -> Option<f64> {
        self.percent_of_limit((self.byte_ns, self.packet_ns))
    }

    /// Returns the share of the limit that the queue used, in percent. The arguments are bytes and
    /// packets, each times nanoseconds of waiting.
    pub(crate) fn percent_of_limit(&self, (byte_ns, packet_ns): (u128, u128)) -> Option<f64> {
        let (held, limit) = match self.limit? {
            Limit::Bytes(limit) => (byte_ns, limit.0),
            Limit::Packets(limit) => (packet_ns, limit),
        };
        Some(100.0 * held as f64 / self.interval_ns() / limit as f64)
    }

    /// Returns the row of the results for link `name`.
    pub fn record(&self, name: &str, utilisation_percent: f64) -> records::Link {
        records::Link {
            link: name.to_string(),
            drops: self.drops,
            wire_losses: self.losses,
            duplicates: self.duplicates,
            retries: None,
            marks: self.marks,
            utilisation_percent,
            queue_percent_mean: self.queue_percent_mean(),
            queue_bytes_mean: self.queue_bytes_mean(),
            queue_delay: QueueDelayStats::of(&self.queue_delay),
            setup: model::LinkSetup::default(),
        }
    }
}
