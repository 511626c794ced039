//! What a run is asked for and what it leaves behind, whichever backend makes it. Units stand in the names; the names
//! are part of the interface.

use crate::Scenario;
use crate::families::{BufferedStats, DelayStats, OccupancyStats, PageStats, QueueDelayStats, ResponseStats, RttStats};
use crate::series::{Series, Step};
use crate::setup::{FlowSetup, LinkSetup};
use crate::units::Nanos;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// What to keep of a run besides its records.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sample links and flows this often.
    pub series: Option<Nanos>,
    /// Write every packet at the senders' interfaces to this pcapng file.
    pub pcap: Option<PathBuf>,
    /// And at the far end of each link too.
    pub pcap_links: bool,
    /// Of each packet the headers only.
    pub pcap_headers_only: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct ProgressUpdate<'a> {
    /// The time there.
    pub now: Nanos,
    /// The step of the series that has just been taken, if one has.
    pub step: Option<&'a Step>,
}

/// Told how far a run is: at every step of its series, and now and then besides. May stop the run.
pub type Progress<'a> = &'a mut dyn FnMut(ProgressUpdate<'_>) -> ControlFlow<()>;

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The result records.
    pub run: Run,
    /// Present if asked for.
    pub series: Option<Series>,
    /// Data packets sent, over all flows and the whole run: the unit of speed figures.
    pub data_packets: u64,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The scenario's name.
    pub scenario: String,
    /// The backend: `simulator`, `kernel` or `vm`.
    pub on: String,
    /// The release of the kernel whose TCP it was; none in the simulator.
    pub kernel: Option<String>,
    /// The seed of its draws.
    pub seed: u64,
    /// How long it lasted, warm-up included.
    pub duration_s: f64,
    /// Jain's index of the flows' goodputs; 1 with one flow, none when nothing was delivered.
    pub jain_index: Option<f64>,
    /// False when the machine could not keep up and the figures mean nothing.
    pub sound: bool,
    /// Why it is not sound.
    pub unsound_because: Option<String>,
    /// How late the emulator let packets go, 99th percentile; none where time is simulated.
    pub lateness_us_p99: Option<f64>,
    /// How much of the machine's processors was left over; none where time is simulated.
    pub cpu_idle_percent: Option<f64>,
    /// One per flow, in the scenario's order.
    pub flows: Vec<Flow>,
    /// One per link, the bottleneck first.
    pub links: Vec<Link>,
    /// One per node of each mesh; none without a mesh.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
}

impl Run {
    /// Fills in what the scenario says about each flow and link.
    pub fn describe(&mut self, scenario: &Scenario) {
        let groups = scenario.flows.iter().zip(scenario.flow_arrivals());
        let setups = groups.flat_map(|(group, arrivals)| scenario.flow_setups(group, arrivals.len()));
        self.flows.iter_mut().zip(setups).for_each(|(flow, setup)| flow.setup = setup);
        self.links.iter_mut().zip(scenario.directions()).for_each(|(link, model)| link.setup = model.setup());
    }
}

/// One flow of a run; rates, packets and RTTs after the warm-up, over the flow's active time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// Its number, from 0, over all groups.
    pub flow: u32,
    /// The congestion control's name.
    pub cc: String,
    /// Payload that reached the application in order.
    pub goodput_mbps: f64,
    /// IP bytes that reached the receiving host.
    pub throughput_mbps: f64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Those of them that were dropped or lost anywhere on the path; like `sent_packets` it goes by the time of
    /// sending.
    pub lost_packets: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// How often losses were found, by timeouts and otherwise; of flows from a mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_events: Option<u64>,
    /// How long its control has it wait before a window, over time; none if it never has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms_mean: Option<f64>,
    /// `lost_packets` over `sent_packets`; none when no packet was sent.
    pub loss_percent: Option<f64>,
    /// Whether the other end answered its SYN before the run ended; none of a flow that sent no SYN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected: Option<bool>,
    /// Time average of the congestion window.
    pub cwnd_packets_mean: f64,
    /// From the flow's start to its last byte acknowledged; none for an endless or unfinished flow.
    pub completion_s: Option<f64>,
    /// Round-trip times as the sender's TCP samples them; none without a sample.
    #[serde(flatten)]
    pub rtt: RttStats,
    /// Mean of the round-trip times that its receiver measures; none unless that has a controller.
    pub receiver_rtt_ms_mean: Option<f64>,
    /// How full its send buffer is when packets leave it; none unless its sender is on a host.
    #[serde(flatten)]
    pub send_buffer: Option<SendBufferStats>,
    /// What its application waits for; none of the flows that only belong to one.
    #[serde(flatten)]
    pub app: Option<AppStats>,
    /// What the scenario says about it (`Run::describe`).
    #[serde(flatten)]
    pub setup: FlowSetup,
}

/// What a person waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AppStats {
    /// Datagrams.
    #[serde(flatten)]
    pub delay: DelayStats,
    /// A call's rating factor by the E-model (ITU-T G.107): that of its worse direction.
    pub rating: Option<f64>,
    /// That of what the flow's sender says.
    pub rating_out: Option<f64>,
    /// That of what the other end says.
    pub rating_in: Option<f64>,
    /// The mean opinion score that belongs to it, from 1 to 4.5.
    pub opinion_score: Option<f64>,
    /// Responses.
    #[serde(flatten)]
    pub response: ResponseStats,
    /// Pages.
    #[serde(flatten)]
    pub page: PageStats,
    /// From the start of a film until it plays.
    pub startup_s: Option<f64>,
    /// How often it stops for want of data.
    pub stalls: Option<u64>,
    /// Share of the time since it has started in which it stands still.
    pub stalled_percent: Option<f64>,
    /// Rate of the pieces that were fetched.
    pub bitrate_mbps_mean: Option<f64>,
    /// How often its quality changes.
    pub quality_switches: Option<u64>,
    /// Responses, pages or starts of films that somebody still waited for at the end.
    pub unfinished: Option<u64>,
    /// Messages of the measuring interval that were left out, because the send buffer had no room for them.
    pub skipped: Option<u64>,
}

/// What a send buffer holds when packets leave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SendBufferStats {
    /// Memory in it.
    pub wmem_queued_bytes_mean: Option<f64>,
    /// Memory in it over its size.
    #[serde(flatten)]
    pub occupancy: OccupancyStats,
    /// Packets that leave a buffer that is half full or more, of all packets.
    pub sndbuf_half_full_percent: Option<f64>,
    /// From the flow's start until that is so for the first time.
    pub sndbuf_half_full_after_s: Option<f64>,
    /// Packets in it over the congestion window.
    #[serde(flatten)]
    pub buffered: BufferedStats,
}

/// A node of a mesh, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// The mesh that it is in.
    pub mesh: String,
    /// Its name there.
    pub node: String,
    /// The next node towards the border router at first; the border router has none.
    pub parent: Option<String>,
    /// How many hops away that is.
    pub hops: u32,
    /// Packets that its queue dropped, its own and others.
    pub overflows: u64,
    /// Frames with data that it sent.
    pub frames: u64,
    /// Those of them that it had sent before.
    pub frame_retries: u64,
    /// Packets given up because the channel was busy too often.
    pub channel_failures: u64,
    /// Packets given up because a frame was not acknowledged, whether it came or not.
    pub unacknowledged: u64,
    /// Time in which its radio transmitted or turned round to.
    pub transmit_s: f64,
    /// Time in which it received or listened.
    pub listen_s: f64,
    /// Time in which it slept.
    pub sleep_s: f64,
    /// Time in which the node was down.
    pub down_s: f64,
    /// What its radio used.
    pub energy_mj: f64,
}

/// One direction of one link, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Its name in the scenario.
    pub link: String,
    /// Packets that found the queue full.
    pub drops: u64,
    /// Packets that the wire lost.
    pub wire_losses: u64,
    /// Packets of which the wire delivered a second copy; none if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Transmissions that were not the first of their packets; none where nothing is transmitted again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Packets marked CE.
    pub marks: u64,
    /// Share of the time, or of the delivery opportunities, that was used; on a medium that it shares, its own share of
    /// the time.
    pub utilisation_percent: f64,
    /// Time average of the queue over its limit, without what the ring of a host's device has taken, and without the
    /// frames that wait for the air. Of a queue that several links share only the packets for this link count; none for
    /// a queue without a limit.
    pub queue_percent_mean: Option<f64>,
    /// Time average of the bytes waiting.
    pub queue_bytes_mean: f64,
    /// From arrival in the queue to the start of transmission.
    #[serde(flatten)]
    pub queue_delay: QueueDelayStats,
    /// What the scenario says about it (`Run::describe`).
    #[serde(flatten)]
    pub setup: LinkSetup,
}
