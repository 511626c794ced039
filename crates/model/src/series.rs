//! Time series: samples of flows and links at equal steps, by row and by column.

use crate::declare::meaning;
use crate::units::Nanos;
use serde::Serialize;

/// Samples of flows and links during a run, at equal steps, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Series {
    /// Samples of flows, one row per flow and step.
    pub flows: FlowSeries,
    /// Samples of links, one row per link and step.
    pub links: LinkSeries,
    /// Distribution of each flow's RTT after the warm-up: one row per flow and bin that is not empty.
    pub rtt: Distribution,
    /// Distribution of each link's queueing delay after the warm-up: one row per link and bin that is not empty.
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
    /// The time of the step.
    pub at: Nanos,
    /// One row for each flow.
    pub flows: Vec<FlowRow>,
    /// One row for each link.
    pub links: Vec<LinkRow>,
}

/// The numbers of a column, by type.
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

/// Declares a table of samples once: each column gives the field of a row, the column, and its place in `columns`.
macro_rules! table {
    (
        $(#[$row_attr:meta])* pub struct $Row:ident;
        $(#[$attr:meta])* pub struct $Table:ident {
            $($(#[doc = $doc:literal])+ $(#[serde($($serde:tt)*)])? $column:ident: $type:ty,)+
        }
    ) => {
        $(#[$row_attr])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
        pub struct $Row {
            $($(#[doc = $doc])+ pub $column: $type,)+
        }

        $(#[$attr])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        #[non_exhaustive]
        pub struct $Table {
            /// Time of the sample since the start of the run.
            pub time_s: Vec<f64>,
            $($(#[doc = $doc])+ $(#[serde($($serde)*)])? pub $column: Vec<$type>,)+
        }

        impl $Table {
            fn push(&mut self, time_s: f64, row: &$Row) {
                self.time_s.push(time_s);
                $(self.$column.push(row.$column);)+
            }

            /// The columns in their order, each with its meaning.
            pub const MEANINGS: &'static [(&'static str, &'static str)] = &[
                ("time_s", "Time of the sample since the start of the run."),
                $((stringify!($column), meaning(concat!($($doc),+))),)+
            ];

            /// Returns the columns with their names.
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
        /// Slow-start threshold; empty while it is infinite.
        ssthresh_packets: Option<u32>,
        /// Packets in flight, as the sender's TCP estimates them.
        in_flight_packets: u32,
        /// Latest RTT sample; empty before the first.
        rtt_ms: Option<f64>,
        /// Smoothed RTT (RFC 6298).
        srtt_ms: Option<f64>,
        /// Payload delivered in order during the step that ends at this time, per second.
        goodput_mbps: f64,
        /// Packets retransmitted since the start of the run.
        retransmitted_packets: u64,
        /// Memory that the sender's send buffer holds (`sk_wmem_queued`); empty unless the sender is on a host.
        wmem_queued_bytes: Option<u32>,
        /// Memory that the sender's send buffer may take (`sk_sndbuf`); empty unless the sender is on a host.
        sndbuf_bytes: Option<u32>,
    }
}

table! {
    /// A link at one step.
    pub struct LinkRow;
    /// Samples of the links.
    pub struct LinkSeries {
        /// Name of the link.
        link: u32,
        /// Bytes that wait in the queue.
        queue_bytes: u64,
        /// Packets that wait in the queue.
        queue_packets: u64,
        /// Bytes that a host's device has taken and not sent, including the packet in transmission; empty unless it has
        /// a ring (simulated hosts only). The waiting ones are part of `queue_bytes`.
        #[serde(skip_serializing_if = "has_no_rings")]
        ring_bytes: Option<u64>,
        /// Limit of `ring_bytes` (byte queue limits); empty if it has no limit.
        #[serde(skip_serializing_if = "has_no_rings")]
        bql_limit_bytes: Option<u64>,
        /// Packets dropped since the start of the run.
        drops: u64,
        /// Bytes transmitted during the step that ends at this time, per second.
        throughput_mbps: f64,
    }
}

/// Whether no link has a ring, so that its columns are left out.
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
    /// Returns the columns with their names.
    pub fn columns(&self) -> Vec<(&'static str, Column<'_>)> {
        vec![
            ("subject", (&self.subject).into()),
            ("upper_ms", (&self.upper_ms).into()),
            ("count", (&self.count).into()),
        ]
    }
}
