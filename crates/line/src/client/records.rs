//! What a measurement collects: rows of raw samples. Times are seconds since the measurement began.

use serde::Serialize;

/// What the line carries during a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Nothing but probes.
    Idle,
    /// Downloads.
    Down,
    /// Uploads.
    Up,
    /// Downloads and uploads.
    Both,
    /// Between phases: connections are opened, or queues drain.
    Pause,
}

impl Phase {
    /// All phases that can be measured, in the order in which they run.
    pub const ALL: [Phase; 4] = [Phase::Idle, Phase::Down, Phase::Up, Phase::Both];

    /// Returns the phase's name.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Down => "down",
            Phase::Up => "up",
            Phase::Both => "both",
            Phase::Pause => "pause",
        }
    }

    /// Returns which ways the phase's load goes.
    pub fn directions(self) -> &'static [Direction] {
        match self {
            Phase::Idle | Phase::Pause => &[],
            Phase::Down => &[Direction::Down],
            Phase::Up => &[Direction::Up],
            Phase::Both => &[Direction::Down, Direction::Up],
        }
    }
}

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To this computer.
    Down,
    /// From this computer.
    Up,
}

/// When a phase's load began and ended.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(missing_docs, reason = "COLUMNS of line/measurement.py describes the members of all rows")]
pub struct PhaseRow {
    pub phase: Phase,
    pub start_s: f64,
    pub stop_s: f64,
}

/// A probe of the UDP echo.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(missing_docs, reason = "COLUMNS of line/measurement.py describes the members of all rows")]
pub struct ProbeRow {
    pub phase: Phase,
    pub sent_s: f64,
    pub rtt_ms: Option<f64>,
    pub up_ms: Option<f64>,
    pub down_ms: Option<f64>,
}

/// A sample of a connection that carries load.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(missing_docs, reason = "COLUMNS of line/measurement.py describes the members of all rows")]
pub struct TransferRow {
    pub phase: Phase,
    pub direction: Direction,
    pub connection: usize,
    pub time_s: f64,
    pub bytes: u64,
    pub rtt_ms: Option<f64>,
    pub retransmits: Option<u32>,
}

/// On which connection a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestKind {
    /// A new one.
    Foreign,
    /// One that carries load.
    #[serde(rename = "self")]
    Own,
}

/// A request of a small object.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(missing_docs, reason = "COLUMNS of line/measurement.py describes the members of all rows")]
pub struct RequestRow {
    pub phase: Phase,
    pub kind: RequestKind,
    pub sent_s: f64,
    pub tcp_ms: Option<f64>,
    pub tls_ms: Option<f64>,
    pub http_ms: Option<f64>,
}

/// A probe of the first router.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(missing_docs, reason = "COLUMNS of line/measurement.py describes the members of all rows")]
pub struct HopRow {
    pub phase: Phase,
    pub sent_s: f64,
    pub rtt_ms: Option<f64>,
}

/// A sample of this computer's own queues.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(missing_docs, reason = "COLUMNS of line/measurement.py describes the members of all rows")]
pub struct HostRow {
    pub phase: Phase,
    pub time_s: f64,
    pub unsent_bytes: u64,
    pub backlog_bytes: Option<u64>,
}

/// All rows of a measurement.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(missing_docs, reason = "each table is described at its row")]
pub struct Tables {
    pub phases: Vec<PhaseRow>,
    pub probes: Vec<ProbeRow>,
    pub transfers: Vec<TransferRow>,
    pub requests: Vec<RequestRow>,
    pub hops: Vec<HopRow>,
    pub host: Vec<HostRow>,
}

/// What a measurement came to.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    /// The far end's address and port.
    pub address: String,
    /// The network device that leads to the far end.
    pub device: Option<String>,
    /// The congestion control of this computer's uploads.
    pub cc: String,
    /// Bytes that all connections and probes sent, with their headers.
    pub sent_bytes: u64,
    /// Bytes that all connections and probes received, with their headers.
    pub received_bytes: u64,
    /// How long the measurement took.
    pub seconds: f64,
    /// Whether every phase ran to its end.
    pub is_complete: bool,
    /// Remarks for readers, a sentence each.
    pub notes: Vec<String>,
    /// The samples.
    pub tables: Tables,
}
