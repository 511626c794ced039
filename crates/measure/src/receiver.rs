//! The counters of a flow's receiving end.

use crate::Interval;
use model::units::Nanos;

/// Counts the arrivals at a receiver.
#[derive(Clone, Debug)]
pub struct ReceiverMeter {
    interval: Interval,
    /// IP bytes that reached the host in the interval.
    pub arrived_bytes: u64,
    /// Payload that reached the application in order in the interval.
    pub delivered_bytes: u64,
    /// Payload that reached the application in order since the start of the run.
    pub total_delivered: u64,
    /// Sum and number of the RTTs that the receiver measured in the interval.
    rtt_sum_us: u64,
    rtts: u64,
}

impl ReceiverMeter {
    /// Creates the counters of a flow that is active in `interval`.
    pub fn new(interval: Interval) -> ReceiverMeter {
        ReceiverMeter { interval, arrived_bytes: 0, delivered_bytes: 0, total_delivered: 0, rtt_sum_us: 0, rtts: 0 }
    }

    fn covers(&self, now: Nanos) -> bool {
        now >= self.interval.from && now <= self.interval.to
    }

    /// Counts a data packet with an IP length of `bytes`.
    #[inline]
    pub fn arrived(&mut self, now: Nanos, bytes: u32) {
        if self.covers(now) {
            self.arrived_bytes += bytes as u64;
        }
    }

    /// Counts a data packet with an IP length of `bytes`, whose payload reaches the application at
    /// once.
    #[inline]
    pub fn arrived_in_order(&mut self, now: Nanos, bytes: u32, payload: u64) {
        self.total_delivered += payload;
        if self.covers(now) {
            self.arrived_bytes += bytes as u64;
            self.delivered_bytes += payload;
        }
    }

    /// Counts an RTT that the echo of a timestamp shows.
    #[inline]
    pub fn measured_rtt(&mut self, now: Nanos, rtt_us: u32) {
        if self.covers(now) {
            self.rtt_sum_us += rtt_us as u64;
            self.rtts += 1;
        }
    }

    /// Returns the mean of the RTTs that the receiver measured; none without one.
    pub fn rtt_mean_ms(&self) -> Option<f64> {
        (self.rtts > 0).then(|| self.rtt_sum_us as f64 / self.rtts as f64 / 1e3)
    }

    /// Counts `bytes` of payload that reach the application.
    #[inline]
    pub fn delivered(&mut self, now: Nanos, bytes: u64) {
        self.total_delivered += bytes;
        if self.covers(now) {
            self.delivered_bytes += bytes;
        }
    }
}
