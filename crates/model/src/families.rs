//! Families of numbers that describe a distribution: mean, percentiles, extremes.

use crate::metric::Fold::{Max, Mean, Min};
use crate::metric::metric;
use crate::record;

/// The statistics of a distribution, all none without a sample.
pub trait Sampled {
    /// Returns the mean.
    fn mean(&self) -> Option<f64>;
    /// Returns the smallest sample.
    fn min(&self) -> Option<f64>;
    /// Returns the largest sample.
    fn max(&self) -> Option<f64>;
    /// Returns the value that a share of the samples, 0 to 1, does not exceed.
    fn quantile(&self, share: f64) -> Option<f64>;
}

/// A distribution in another unit.
pub struct In<'a, S>(
    /// The distribution.
    pub &'a S,
    /// The conversion from the distribution's unit to the other.
    pub fn(f64) -> f64,
);

impl<S: Sampled> Sampled for In<'_, S> {
    fn mean(&self) -> Option<f64> {
        self.0.mean().map(self.1)
    }
    fn min(&self) -> Option<f64> {
        self.0.min().map(self.1)
    }
    fn max(&self) -> Option<f64> {
        self.0.max().map(self.1)
    }
    fn quantile(&self, share: f64) -> Option<f64> {
        self.0.quantile(share).map(self.1)
    }
}

/// Declares families: for each number its name, the statistic that it is, and its metric.
macro_rules! families {
    ($($(#[doc = $doc:literal])+ pub struct $Name:ident {
        $($(#[doc = $means:literal])+ $field:ident: $part:ident $(($share:literal))? = $metric:expr,)+
    })+) => {
        $(record! {
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            pub struct $Name {
                $($(#[doc = $means])+ $field: Option<f64> = $metric,)+
            }
        }

        impl $Name {
            /// Computes the numbers from a distribution.
            pub fn of(samples: &impl Sampled) -> $Name {
                $Name { $($field: samples.$part($($share)?),)+ }
            }
        })+
    };
}

families! {
    /// Round-trip times.
    pub struct RttStats {
        /// Mean of the round-trip times that the sender's TCP samples after the warm-up, in whole microseconds; empty
        /// without a sample. Like Linux, it takes no sample of round trips of more than 35 minutes.
        rtt_ms_mean: mean = metric("rtt", "RTT mean", "ms").over_flows(Mean),
        /// Least of these samples.
        rtt_ms_min: min = metric("rtt_min", "least", "ms").over_flows(Min),
        /// Median of these samples.
        rtt_ms_p50: quantile(0.5) = metric("rtt_p50", "p50", "ms").over_flows(Mean),
        /// 95th percentile of these samples.
        rtt_ms_p95: quantile(0.95) = metric("rtt_p95", "p95", "ms").over_flows(Mean),
        /// 99th percentile of these samples.
        rtt_ms_p99: quantile(0.99) = metric("rtt_p99", "p99", "ms").over_flows(Mean),
        /// Largest of these samples.
        rtt_ms_max: max = metric("rtt_max", "max", "ms").over_flows(Max),
    }

    /// Queueing delays: from a packet's arrival in a queue to the start of its transmission.
    pub struct QueueDelayStats {
        /// Mean time from a packet's arrival in the queue to the start of its transmission, over the packets after the
        /// warm-up.
        queue_delay_ms_mean: mean = metric("queue_delay", "queueing delay", "ms"),
        /// Median of these times.
        queue_delay_ms_p50: quantile(0.5) = metric("queue_delay_p50", "p50", "ms"),
        /// 95th percentile of these times.
        queue_delay_ms_p95: quantile(0.95) = metric("queue_delay_p95", "p95", "ms"),
        /// 99th percentile of these times.
        queue_delay_ms_p99: quantile(0.99) = metric("queue_delay_p99", "p99", "ms"),
        /// Longest of these times.
        queue_delay_ms_max: max = metric("queue_delay_max", "max", "ms"),
    }

    /// One-way delays: from the sending of a datagram to its arrival at the other end.
    pub struct DelayStats {
        /// Mean time of an application's datagrams from sending to arrival, over those sent after the warm-up; empty
        /// for other flows. Their round-trip times are in the RTT columns, and their `cc` is `none`. In a call, a round
        /// trip is a datagram to the other end and the next one that comes back.
        delay_ms_mean: mean = metric("delay", "one-way delay mean", "ms").over_flows(Mean),
        /// Median of these times.
        delay_ms_p50: quantile(0.5) = metric("delay_p50", "p50", "ms").over_flows(Mean),
        /// 95th percentile of these times.
        delay_ms_p95: quantile(0.95) = metric("delay_p95", "p95", "ms").over_flows(Mean),
        /// 99th percentile of these times.
        delay_ms_p99: quantile(0.99) = metric("delay_p99", "p99", "ms").over_flows(Mean),
        /// Longest of these times.
        delay_ms_max: max = metric("delay_max", "max", "ms").over_flows(Max),
    }

    /// Response times: from a request to the end of its response.
    pub struct ResponseStats {
        /// Mean time from writing a request until all of its response has arrived, in the row of the application's
        /// first flow.
        response_ms_mean: mean = metric("response", "response mean", "ms").over_flows(Mean),
        /// Median of these times.
        response_ms_p50: quantile(0.5) = metric("response_p50", "p50", "ms").over_flows(Mean),
        /// 95th percentile of these times.
        response_ms_p95: quantile(0.95) = metric("response_p95", "p95", "ms").over_flows(Mean),
        /// 99th percentile of these times.
        response_ms_p99: quantile(0.99) = metric("response_p99", "p99", "ms").over_flows(Mean),
        /// Longest of these times.
        response_ms_max: max = metric("response_max", "max", "ms").over_flows(Max),
    }

    /// Page load times: from the first request of a page to its last byte.
    pub struct PageStats {
        /// For `web`: mean time from the request for a page until its last object has arrived.
        page_load_s_mean: mean = metric("page_load", "page load mean", "s").over_flows(Mean),
        /// Median of these times.
        page_load_s_p50: quantile(0.5) = metric("page_load_p50", "p50", "s").over_flows(Mean),
        /// 95th percentile of these times.
        page_load_s_p95: quantile(0.95) = metric("page_load_p95", "p95", "s").over_flows(Mean),
        /// 99th percentile of these times.
        page_load_s_p99: quantile(0.99) = metric("page_load_p99", "p99", "s").over_flows(Mean),
        /// Longest of these times.
        page_load_s_max: max = metric("page_load_max", "max", "s").over_flows(Max),
    }

    /// Memory in a send buffer over its size: SORPC's sendbuffer occupancy ratio.
    pub struct OccupancyStats {
        /// Occupancy of the send buffer of a sender on a host (`sk_wmem_queued` over `sk_sndbuf`), mean over the
        /// packets that leave TCP.
        sndbuf_percent_mean: mean = metric("sndbuf", "send buffer", "%").over_flows(Mean),
        /// Tenth percentile of that.
        sndbuf_percent_p10: quantile(0.1) = metric("sndbuf_p10", "p10", "%").over_flows(Mean),
        /// 25th percentile of that.
        sndbuf_percent_p25: quantile(0.25) = metric("sndbuf_p25", "p25", "%").over_flows(Mean),
        /// Median of that.
        sndbuf_percent_p50: quantile(0.5) = metric("sndbuf_p50", "p50", "%").over_flows(Mean),
        /// 75th percentile of that.
        sndbuf_percent_p75: quantile(0.75) = metric("sndbuf_p75", "p75", "%").over_flows(Mean),
        /// 90th percentile of that.
        sndbuf_percent_p90: quantile(0.9) = metric("sndbuf_p90", "p90", "%").over_flows(Mean),
    }

    /// Packets in a send buffer over the congestion window.
    pub struct BufferedStats {
        /// Packets in the send buffer of a sender on a host over the congestion window, mean over the packets that
        /// leave TCP.
        buffered_windows_mean: mean = metric("buffered_windows", "buffered windows", "").over_flows(Mean),
        /// Tenth percentile of that.
        buffered_windows_p10: quantile(0.1) = metric("buffered_windows_p10", "p10", "").over_flows(Mean),
        /// 25th percentile of that.
        buffered_windows_p25: quantile(0.25) = metric("buffered_windows_p25", "p25", "").over_flows(Mean),
        /// Median of that.
        buffered_windows_p50: quantile(0.5) = metric("buffered_windows_p50", "p50", "").over_flows(Mean),
        /// 75th percentile of that.
        buffered_windows_p75: quantile(0.75) = metric("buffered_windows_p75", "p75", "").over_flows(Mean),
        /// 90th percentile of that.
        buffered_windows_p90: quantile(0.9) = metric("buffered_windows_p90", "p90", "").over_flows(Mean),
    }
}
