//! Families of numbers that tell a distribution: mean, percentiles, extremes.

use serde::Serialize;

/// What a distribution tells; each is none without a sample.
pub trait Sampled {
    /// The mean.
    fn mean(&self) -> Option<f64>;
    /// The least.
    fn min(&self) -> Option<f64>;
    /// The most.
    fn max(&self) -> Option<f64>;
    /// The value that a share of the samples, 0 to 1, does not exceed.
    fn quantile(&self, share: f64) -> Option<f64>;
}

/// A distribution in another unit.
pub struct In<'a, S>(
    /// The distribution.
    pub &'a S,
    /// From its unit to the other.
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

/// Declares families: of each number the name, and what of the distribution it is.
macro_rules! families {
    ($($(#[doc = $doc:literal])+ pub struct $Name:ident {
        $($field:ident: $part:ident $(($share:literal))?,)+
    })+) => {
        $($(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
        #[allow(missing_docs)]
        pub struct $Name {
            $(pub $field: Option<f64>,)+
        }

        impl $Name {
            /// The numbers of a distribution.
            pub fn of(samples: &impl Sampled) -> $Name {
                $Name { $($field: samples.$part($($share)?),)+ }
            }
        })+
    };
}

families! {
    /// Round-trip times.
    pub struct RttStats {
        rtt_ms_mean: mean,
        rtt_ms_min: min,
        rtt_ms_p50: quantile(0.5),
        rtt_ms_p95: quantile(0.95),
        rtt_ms_p99: quantile(0.99),
        rtt_ms_max: max,
    }

    /// From arrival in a queue to the start of transmission.
    pub struct QueueDelayStats {
        queue_delay_ms_mean: mean,
        queue_delay_ms_p50: quantile(0.5),
        queue_delay_ms_p95: quantile(0.95),
        queue_delay_ms_p99: quantile(0.99),
        queue_delay_ms_max: max,
    }

    /// From the sending of a datagram to its arrival at the other end.
    pub struct DelayStats {
        delay_ms_mean: mean,
        delay_ms_p50: quantile(0.5),
        delay_ms_p95: quantile(0.95),
        delay_ms_p99: quantile(0.99),
        delay_ms_max: max,
    }

    /// From a request to the end of its response.
    pub struct ResponseStats {
        response_ms_mean: mean,
        response_ms_p50: quantile(0.5),
        response_ms_p95: quantile(0.95),
        response_ms_p99: quantile(0.99),
        response_ms_max: max,
    }

    /// From the first request of a page to its last byte.
    pub struct PageStats {
        page_load_s_mean: mean,
        page_load_s_p50: quantile(0.5),
        page_load_s_p95: quantile(0.95),
        page_load_s_p99: quantile(0.99),
        page_load_s_max: max,
    }

    /// Memory in a send buffer over its size: SORPC's sendbuffer occupancy ratio.
    pub struct OccupancyStats {
        sndbuf_percent_mean: mean,
        sndbuf_percent_p10: quantile(0.1),
        sndbuf_percent_p25: quantile(0.25),
        sndbuf_percent_p50: quantile(0.5),
        sndbuf_percent_p75: quantile(0.75),
        sndbuf_percent_p90: quantile(0.9),
    }

    /// Packets in a send buffer over the congestion window.
    pub struct BufferedStats {
        buffered_windows_mean: mean,
        buffered_windows_p10: quantile(0.1),
        buffered_windows_p25: quantile(0.25),
        buffered_windows_p50: quantile(0.5),
        buffered_windows_p75: quantile(0.75),
        buffered_windows_p90: quantile(0.9),
    }
}
