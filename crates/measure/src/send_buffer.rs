//! The fill level of a send buffer when packets leave it.

use crate::Interval;
use model::families::{BufferedStats, In, OccupancyStats, Sampled};
use model::records::SendBufferStats;
use model::units::Nanos;

/// Largest ratio that has a bin of its own, in hundredths.
const MOST: usize = 2000;
/// Share of the buffer from which an application counts as one that fills it.
const HALF: f64 = 0.5;

/// Measures how full a send buffer is when packets leave it.
#[derive(Clone, Debug)]
pub struct SendBufferMeter {
    interval: Interval,
    opened: Nanos,
    queued_bytes: u64,
    occupancy: Ratios,
    windows: Ratios,
    half_full: Option<Nanos>,
}

/// A distribution of ratios.
#[derive(Clone, Debug, Default)]
struct Ratios {
    bins: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Ratios {
    fn note(&mut self, ratio: f64) {
        let bin = ((ratio * 100.0) as usize).min(MOST);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
        self.sum += ratio;
    }

    /// Returns the share of ratios that are at least `bound`.
    fn share_from(&self, bound: f64) -> Option<f64> {
        let above = self.bins.iter().skip((bound * 100.0) as usize).sum::<u64>();
        (self.count > 0).then(|| above as f64 / self.count as f64)
    }
}

impl Sampled for Ratios {
    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    fn min(&self) -> Option<f64> {
        self.quantile(0.0)
    }

    fn max(&self) -> Option<f64> {
        self.quantile(1.0)
    }

    /// Returns the lower edge of the bin at or below which the share `part` of all ratios lies.
    fn quantile(&self, part: f64) -> Option<f64> {
        let wanted = (part * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let found = self.bins.iter().position(|count| {
            below += count;
            below >= wanted
        });
        found.map(|bin| bin as f64 / 100.0)
    }
}

impl SendBufferMeter {
    /// Creates a meter for a flow that opens at `opened`.
    pub fn new(interval: Interval, opened: Nanos) -> SendBufferMeter {
        let (occupancy, windows) = (Ratios::default(), Ratios::default());
        SendBufferMeter { interval, opened, queued_bytes: 0, occupancy, windows, half_full: None }
    }

    /// Counts a packet that leaves a buffer. The buffer has `queued` of `sndbuf` bytes of memory in
    /// use, and packets for `windows` congestion windows.
    pub fn note(&mut self, now: Nanos, queued: u64, sndbuf: u64, windows: f64) {
        let occupancy = queued as f64 / sndbuf as f64;
        if occupancy >= HALF {
            self.half_full.get_or_insert(now - self.opened);
        }
        if now >= self.interval.from && now <= self.interval.to {
            self.queued_bytes += queued;
            self.occupancy.note(occupancy);
            self.windows.note(windows);
        }
    }

    /// Returns the columns of the flow's record.
    pub fn stats(&self) -> SendBufferStats {
        let percent = |ratio: Option<f64>| ratio.map(|ratio| 100.0 * ratio);
        let packets = self.occupancy.count;
        SendBufferStats {
            wmem_queued_bytes_mean: (packets > 0).then(|| self.queued_bytes as f64 / packets as f64),
            occupancy: OccupancyStats::of(&In(&self.occupancy, |ratio| 100.0 * ratio)),
            sndbuf_half_full_percent: percent(self.occupancy.share_from(HALF)),
            sndbuf_half_full_after_s: self.half_full.map(Nanos::as_secs_f64),
            buffered: BufferedStats::of(&self.windows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_quantiles() {
        let interval = Interval { from: Nanos::from_secs(1), to: Nanos::from_secs(9) };
        let mut meter = SendBufferMeter::new(interval, Nanos::from_millis(100));
        meter.note(Nanos::from_millis(200), 4000, 10_000, 1.0);
        meter.note(Nanos::from_millis(350), 5000, 10_000, 1.0);
        assert_eq!(meter.stats().occupancy.sndbuf_percent_mean, None, "before the interval");
        for quarters in 1..=4u8 {
            meter.note(Nanos::from_secs(2), 2500 * u64::from(quarters), 10_000, quarters.into());
        }
        let stats = meter.stats();
        assert_eq!((stats.occupancy.sndbuf_percent_mean, stats.occupancy.sndbuf_percent_p50), (Some(62.5), Some(50.0)));
        assert_eq!(stats.wmem_queued_bytes_mean, Some(6250.0));
        assert_eq!((stats.occupancy.sndbuf_percent_p10, stats.occupancy.sndbuf_percent_p90), (Some(25.0), Some(100.0)));
        assert_eq!((stats.sndbuf_half_full_percent, stats.sndbuf_half_full_after_s), (Some(75.0), Some(0.25)));
        assert_eq!((stats.buffered.buffered_windows_mean, stats.buffered.buffered_windows_p10), (Some(2.5), Some(1.0)));
    }
}
