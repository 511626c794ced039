//! Samples of flows and links at equal steps, by row and by column.

use crate::units::Nanos;
use serde::Serialize;

/// Samples of flows and links during a run, at equal steps, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Series {
    /// One row per flow and step.
    pub flows: FlowSeries,
    /// One row per link and step.
    pub links: LinkSeries,
    /// Distribution of each flow's RTT after the warm-up: one row per flow and bin that is not empty.
    pub rtt: Distribution,
    /// Distribution of each link's queueing delay after the warm-up, likewise.
    pub queue_delay: Distribution,
}

impl Series {
    /// Adds the rows of a step.
    pub fn push(&mut self, step: &Step) {
        let time_s = step.at.as_secs_f64();
        step.flows.iter().for_each(|row| self.flows.push(time_s, row));
        step.links.iter().for_each(|row| self.links.push(time_s, row));
    }
}

/// The rows that one step adds to a series.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// When.
    pub at: Nanos,
    /// One per flow.
    pub flows: Vec<FlowRow>,
    /// One per link.
    pub links: Vec<LinkRow>,
}

/// The numbers of a column.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// Real numbers.
    F64(&'a [f64]),
    /// Real numbers that may be missing.
    OptionF64(&'a [Option<f64>]),
    /// Whole numbers of 32 bits.
    U32(&'a [u32]),
    /// Whole numbers of 32 bits that may be missing.
    OptionU32(&'a [Option<u32>]),
    /// Whole numbers of 64 bits.
    U64(&'a [u64]),
    /// Whole numbers of 64 bits that may be missing.
    OptionU64(&'a [Option<u64>]),
}

macro_rules! column {
    ($($type:ty as $Variant:ident),+) => {
        $(impl<'a> From<&'a Vec<$type>> for Column<'a> {
            fn from(values: &'a Vec<$type>) -> Column<'a> {
                Column::$Variant(values)
            }
        })+
    };
}
column!(f64 as F64, Option<f64> as OptionF64, u32 as U32, Option<u32> as OptionU32, u64 as U64, Option<u64> as OptionU64);

/// A table of samples, declared once: from each column come the field of a row, the column, and its place in `columns`.
macro_rules! table {
    (
        $(#[$row_attr:meta])* pub struct $Row:ident;
        $(#[$attr:meta])* pub struct $Table:ident {
            $($(#[doc = $doc:literal])+ $(#[serde($($serde:tt)*)])? $column:ident: $type:ty,)+
        }
    ) => {
        $(#[$row_attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
        pub struct $Row {
            $($(#[doc = $doc])+ pub $column: $type,)+
        }

        $(#[$attr])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        #[non_exhaustive]
        pub struct $Table {
            /// When the sample was taken.
            pub time_s: Vec<f64>,
            $($(#[doc = $doc])+ $(#[serde($($serde)*)])? pub $column: Vec<$type>,)+
        }

        impl $Table {
            fn push(&mut self, time_s: f64, row: &$Row) {
                self.time_s.push(time_s);
                $(self.$column.push(row.$column);)+
            }

            /// The columns by their names.
            pub fn columns(&self) -> Vec<(&'static str, Column<'_>)> {
                vec![("time_s", (&self.time_s).into()), $((stringify!($column), (&self.$column).into())),+]
            }
        }
    };
}

table! {
    /// A flow at one step.
    pub struct FlowRow;
    /// Samples of the flows.
    pub struct FlowSeries {
        /// Number of the flow.
        flow: u32,
        /// Congestion window.
        cwnd_packets: u32,
        /// Slow-start threshold; none while it is infinite.
        ssthresh_packets: Option<u32>,
        /// Packets in the network.
        in_flight_packets: u32,
        /// The latest sample of the round-trip time; none before the first.
        rtt_ms: Option<f64>,
        /// The smoothed round-trip time.
        srtt_ms: Option<f64>,
        /// Payload delivered in order over the step that ends here.
        goodput_mbps: f64,
        /// Data packets sent again since the start of the flow.
        retransmitted_packets: u64,
        /// Memory in the send buffer; none unless the sender is on a host.
        wmem_queued_bytes: Option<u32>,
        /// Memory that the send buffer may take.
        sndbuf_bytes: Option<u32>,
    }
}

table! {
    /// A link at one step.
    pub struct LinkRow;
    /// Samples of the links.
    pub struct LinkSeries {
        /// Number of the link's direction.
        link: u32,
        /// Bytes that wait.
        queue_bytes: u64,
        /// Packets that wait.
        queue_packets: u64,
        /// What a host's device has taken and not sent, the packet under way included; none unless it has a ring.
        #[serde(skip_serializing_if = "has_no_rings")]
        ring_bytes: Option<u64>,
        /// What that is limited to; none without byte queue limits.
        #[serde(skip_serializing_if = "has_no_rings")]
        bql_limit_bytes: Option<u64>,
        /// Packets dropped since the start of the run.
        drops: u64,
        /// What was transmitted over the step that ends here.
        throughput_mbps: f64,
    }
}

/// A network without hosts shows nothing of their devices.
fn has_no_rings(bytes: &[Option<u64>]) -> bool {
    bytes.iter().all(Option::is_none)
}

/// A histogram over several subjects (flows or links).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Distribution {
    /// Number of the flow or link.
    pub subject: Vec<u32>,
    /// Upper edge of the bin.
    pub upper_ms: Vec<f64>,
    /// Samples in the bin.
    pub count: Vec<u64>,
}

impl Distribution {
    /// The columns by their names.
    pub fn columns(&self) -> Vec<(&'static str, Column<'_>)> {
        vec![
            ("subject", (&self.subject).into()),
            ("upper_ms", (&self.upper_ms).into()),
            ("count", (&self.count).into()),
        ]
    }
}
