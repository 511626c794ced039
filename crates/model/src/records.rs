//! The options and the records of a run, the same for every backend. Names contain units and are part of the interface.

use crate::Scenario;
use crate::families::{BufferedStats, DelayStats, OccupancyStats, PageStats, QueueDelayStats, ResponseStats, RttStats};
use crate::metric::Fold::{Last, Loss, Mean, MeanOrZero, Sum};
use crate::metric::{Backends, Column, Declaration, Recorded, metric};
use crate::record;
use crate::series::{Series, Step};
use crate::setup::{FlowSetup, LinkSetup};
use crate::units::Nanos;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The results to store besides the records of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The step at which links and flows are sampled; none for no series.
    pub series: Option<Nanos>,
    /// The pcapng file for every packet at the senders' interfaces; none for no trace.
    pub pcap: Option<PathBuf>,
    /// Whether the packet trace also has every packet at the far end of each link.
    pub pcap_links: bool,
    /// Whether the packet trace has only the headers of packets.
    pub pcap_headers_only: bool,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct ProgressUpdate<'a> {
    /// The simulated or emulated time since the start of the run.
    pub now: Nanos,
    /// The step of the series that has just been sampled, if any.
    pub step: Option<&'a Step>,
}

/// A callback that gets the progress of a run, at every step of its series and at other times. It may stop the run.
pub type Progress<'a> = &'a mut dyn FnMut(ProgressUpdate<'_>) -> ControlFlow<()>;

/// The results of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The result records.
    pub run: Run,
    /// The time series, if [`Options::series`] asked for it.
    pub series: Option<Series>,
    /// Data packets that all flows sent during the whole run, the unit of speed figures.
    pub data_packets: u64,
}

record! {
    /// One run.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Run {
        /// Name of the scenario.
        scenario: String,
        /// Backend: `simulator`, `kernel` or `vm`.
        on: String,
        /// Release of the kernel whose TCP ran; empty in the simulator.
        kernel: Option<String>,
        /// Seed of the run's random draws.
        seed: u64,
        /// Duration of the run, warm-up included.
        duration_s: f64,
        /// Jain's fairness index of the flows' goodputs: 1 if all are equal, 1/n if one of n flows has everything;
        /// empty when nothing was delivered. It means little for flows that need not be equal, such as a short and a
        /// long one.
        jain_index: Option<f64> = metric("jain", "Jain index", "").most(1.0),
        /// False for a run that the machine could not keep up with, or that has no result.
        sound: bool,
        /// Why the run is unsound.
        unsound_because: Option<String>,
        /// 99th percentile of how late the emulator let packets go; empty where time is simulated.
        lateness_us_p99: Option<f64> = metric("lateness_p99", "lateness p99", "us").only(Backends::RealTcp),
        /// Share of the machine's processor time that was left over; empty where time is simulated.
        cpu_idle_percent: Option<f64> = metric("cpu_idle", "CPU idle", "%").most(100.0).only(Backends::RealTcp),
        /// One row per flow, in the scenario's order.
        flows: Vec<Flow>,
        /// One row per link, the bottleneck first.
        links: Vec<Link>,
        /// One row per node of each mesh; absent without a mesh.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        nodes: Vec<Node>,
    }
}

/// Gives rows of flows, links and nodes no column, because they are tables of their own.
macro_rules! table {
    ($($Row:ident),+) => {
        $(impl Recorded for Vec<$Row> {
            fn columns(_: Declaration) -> Vec<Column> {
                Vec::new()
            }
        })+
    };
}
table!(Flow, Link, Node);

impl Run {
    /// Fills in the columns of each flow and link that come from the scenario.
    pub fn describe(&mut self, scenario: &Scenario) {
        let groups = scenario.flows.iter().zip(scenario.flow_arrivals());
        let setups = groups.flat_map(|(group, arrivals)| scenario.flow_setups(group, arrivals.len()));
        self.flows.iter_mut().zip(setups).for_each(|(flow, setup)| flow.setup = setup);
        self.links.iter_mut().zip(scenario.directions()).for_each(|(link, model)| link.setup = model.setup());
    }
}

record! {
    /// One flow of a run; rates, packets and RTTs after the warm-up, over the flow's active time.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Flow {
        /// Number of the flow, from 0, group by group.
        flow: u32,
        /// Congestion control; one from a file has the file's name without `.bpf.c`.
        cc: String,
        /// Payload delivered in order to the receiving application, over the flow's active time after the warm-up. The
        /// sum over all flows is empty where flows share a link one after another, or in both directions. Rates of
        /// different times do not add up. The link's utilisation tells how much passed. Data behind a gap counts when
        /// the gap is filled. So goodput can exceed the link's rate by the data that the receiver held at the end of
        /// the warm-up.
        goodput_mbps: f64 = metric("goodput", "goodput", "Mbit/s").over_flows(Sum),
        /// IP bytes of data packets that reached the receiving host, retransmissions and headers included, over the
        /// flow's active time after the warm-up.
        throughput_mbps: f64 = metric("throughput", "throughput", "Mbit/s").over_flows(Sum),
        /// Data packets sent after the warm-up, retransmissions included.
        sent_packets: u64 = metric("sent", "sent", "packets").over_flows(Sum),
        /// Data packets that were dropped or lost anywhere on the path, counted at their send time, as in
        /// `sent_packets`.
        lost_packets: u64 = metric("losses", "losses", "packets").over_flows(Sum),
        /// Data packets sent after the warm-up that had been sent before.
        retransmitted_packets: u64 = metric("retransmissions", "retransmissions", "packets").over_flows(Sum),
        /// Retransmission timeouts (RTO) after the warm-up.
        timeouts: u64 = metric("timeouts", "timeouts", "").over_flows(Sum),
        /// How often losses were detected after the warm-up, by timeouts and otherwise; only for flows from a mesh.
        #[serde(skip_serializing_if = "Option::is_none")]
        loss_events: Option<u64> =
            metric("loss_events", "loss events", "").over_flows(Sum).only(Backends::Simulator),
        /// Time average of how long the congestion control lets the flow wait before each window; absent if it never
        /// does.
        #[serde(skip_serializing_if = "Option::is_none")]
        wait_ms_mean: Option<f64> =
            metric("wait", "wait mean", "ms").over_flows(MeanOrZero).only(Backends::Simulator),
        /// `lost_packets` over `sent_packets`; empty when no packet was sent.
        loss_percent: Option<f64> = metric("loss", "loss", "%").over_flows(Loss).most(100.0),
        /// Whether the other end answered the flow's SYN before the end of the run, warm-up included; empty for flows
        /// without a SYN, such as calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        connected: Option<bool>,
        /// Time average of the congestion window over the flow's active time after the warm-up.
        cwnd_packets_mean: f64 = metric("cwnd", "cwnd", "packets").over_flows(Mean),
        /// Flow completion time: from the flow's start until its last byte is acknowledged; empty for flows without a
        /// size, and for unfinished flows.
        completion_s: Option<f64> = metric("completion", "completion", "s").over_flows(Last),
        /// Round-trip times that the sender's TCP samples.
        #[serde(flatten)]
        rtt: RttStats,
        /// Mean of the round-trip times that the receiver measures after the warm-up, by the echoes of its timestamps;
        /// empty without a window controller.
        receiver_rtt_ms_mean: Option<f64> =
            metric("receiver_rtt", "receiver's RTT mean", "ms").over_flows(Mean).only(Backends::Simulator),
        /// Occupancy of the send buffer when packets leave it; none unless the sender is on a host.
        #[serde(flatten)]
        send_buffer: Option<SendBufferStats>,
        /// The measurements of the application; none for its further flows.
        #[serde(flatten)]
        app: Option<AppStats>,
        /// The columns of the flow that come from the scenario (`Run::describe`).
        #[serde(flatten)]
        setup: FlowSetup,
    }
}

record! {
    /// The user-perceived delays of an application.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct AppStats {
        /// One-way delays of datagrams.
        #[serde(flatten)]
        delay: DelayStats,
        /// Transmission rating factor R of a call's worse direction by the E-model (ITU-T G.107), at most 93.2; above
        /// 70 most people are satisfied. The codec is G.711 with concealment of losses and `every` of sound in a
        /// packet. The playout delay is the constant that gives the highest R. Both ends send at the same pace; the
        /// other end begins when it first hears something.
        rating: Option<f64> = metric("rating", "R", "of 93.2").over_flows(Mean).most(93.2),
        /// Rating factor R (G.107) of the direction from the flow's sender to the other end.
        rating_out: Option<f64> = metric("rating_out", "R out", "of 93.2").over_flows(Mean).most(93.2),
        /// Rating factor R (G.107) of the direction from the other end to the flow's sender.
        rating_in: Option<f64> = metric("rating_in", "R in", "of 93.2").over_flows(Mean).most(93.2),
        /// Mean opinion score of the rating (G.107, annex B), from 1 to 4.5.
        opinion_score: Option<f64> = metric("opinion", "MOS", "of 4.5").over_flows(Mean).most(4.5),
        /// Times until responses have arrived.
        #[serde(flatten)]
        response: ResponseStats,
        /// Times until pages have loaded.
        #[serde(flatten)]
        page: PageStats,
        /// For `video`: time from opening it until it plays.
        startup_s: Option<f64> = metric("startup", "start-up", "s").over_flows(Mean),
        /// For `video`: how often it stops because no data is left.
        stalls: Option<u64> = metric("stalls", "stalls", "times").over_flows(Sum),
        /// For `video`: share of the time since its start in which it is stopped.
        stalled_percent: Option<f64> = metric("stalled", "stalled", "%").over_flows(Mean).most(100.0),
        /// For `video`: mean rate of the pieces that it fetched.
        bitrate_mbps_mean: Option<f64> = metric("bitrate", "bit rate", "Mbit/s").over_flows(Mean),
        /// For `video`: how often its quality changes.
        quality_switches: Option<u64> = metric("switches", "switches", "times").over_flows(Sum),
        /// Responses (for `web` pages, for `video` the start) that had not arrived when the application stopped. They
        /// count in no mean or percentile, so a path on which many do not arrive looks better there than it is.
        unfinished: Option<u64> = metric("unfinished", "unfinished", "").over_flows(Sum),
        /// Messages that a `messenger` or `game` with `when_full = "skip"` left out because its send buffer had no
        /// room. They count in no mean or percentile.
        skipped: Option<u64> = metric("skipped", "skipped", "").over_flows(Sum),
    }
}

record! {
    /// The contents of a send buffer when packets leave it.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct SendBufferStats {
        /// Memory that the send buffer of a sender on a host holds (`sk_wmem_queued`), mean over the packets that leave
        /// TCP.
        wmem_queued_bytes_mean: Option<f64> = metric("wmem_queued", "in send buffer", "B").over_flows(Mean),
        /// Memory in the send buffer over its size.
        #[serde(flatten)]
        occupancy: OccupancyStats,
        /// Share of the packets whose send buffer is half full or more when they leave TCP.
        sndbuf_half_full_percent: Option<f64> =
            metric("sndbuf_half_full", "half full", "%").over_flows(Mean).most(100.0),
        /// Time from the flow's start until its send buffer is half full for the first time; empty if it never is.
        sndbuf_half_full_after_s: Option<f64> = metric("sndbuf_half_full_after", "half full after", "s").over_flows(Mean),
        /// Packets in the send buffer over the congestion window.
        #[serde(flatten)]
        buffered: BufferedStats,
    }
}

record! {
    /// A node of a mesh, after the warm-up.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Node {
        /// Name of the mesh in the scenario.
        mesh: String,
        /// Name of the node.
        node: String,
        /// The next node towards the border router; empty for the border router.
        parent: Option<String>,
        /// How many hops the node is from the border router.
        hops: u32,
        /// Packets that the node's queue dropped after the warm-up, its own and those that it forwards.
        overflows: u64 = metric("overflows", "overflows", "packets"),
        /// Frames with data that the node sent after the warm-up.
        frames: u64 = metric("frames", "frames", ""),
        /// Frames with data that the node sent again.
        frame_retries: u64 = metric("frame_retries", "retries", ""),
        /// Packets given up because the channel was busy too often.
        channel_failures: u64 = metric("channel_failures", "channel failures", "packets"),
        /// Packets given up because a frame was not acknowledged, whether it had arrived or not.
        unacknowledged: u64 = metric("unacknowledged", "unacknowledged", "packets"),
        /// Time after the warm-up in which the node's radio transmitted, or switched to transmitting.
        transmit_s: f64 = metric("transmit", "transmits", "s"),
        /// Time after the warm-up in which the node's radio received or listened.
        listen_s: f64 = metric("listen", "listens", "s"),
        /// Time after the warm-up in which the node's radio slept.
        sleep_s: f64 = metric("sleep", "sleeps", "s"),
        /// Time after the warm-up in which the node was down.
        down_s: f64 = metric("down", "down", "s"),
        /// Energy that the node's radio used while it transmitted, listened and slept.
        energy_mj: f64 = metric("energy", "energy", "mJ"),
    }
}

record! {
    /// One direction of one link, after the warm-up.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Link {
        /// Name of the link in the scenario; `NAME.reverse` is its reverse direction.
        link: String,
        /// Packets that the queue dropped after the warm-up.
        drops: u64 = metric("drops", "drops", "packets"),
        /// Packets that were lost behind the queue, on the wire, after the warm-up.
        wire_losses: u64 = metric("wire_losses", "wire losses", "packets"),
        /// Packets of which the wire delivered a second copy; absent where it never does.
        #[serde(skip_serializing_if = "Option::is_none")]
        duplicates: Option<u64> = metric("duplicates", "duplicates", "packets"),
        /// Transmissions of packets that were not their first, after the warm-up; absent where the medium repeats
        /// nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        retries: Option<u64> = metric("retries", "retries", "packets"),
        /// Packets that the queue marked CE (congestion experienced).
        marks: u64 = metric("marks", "ECN marks", "packets"),
        /// Share of the time after the warm-up in which the link transmits; for a recorded link, share of its delivery
        /// opportunities that are used.
        utilisation_percent: f64 = metric("utilisation", "utilisation", "%").most(100.0),
        /// Time average of the queue over its limit, both as the discipline counts them. Packets in the ring of a
        /// host's device, and frames that wait for the air, have left the queue. If several links share a queue, such
        /// as an access point's, only the packets for this link count. Empty for a queue without a limit.
        queue_percent_mean: Option<f64> = metric("buffer", "queue", "%").most(100.0),
        /// Time average of the bytes that wait in the queue. It includes those in the ring of a host's device, and
        /// frames that wait for the air.
        queue_bytes_mean: f64 = metric("queue_bytes", "queue", "B"),
        /// Times from a packet's arrival in the queue to the start of its transmission.
        #[serde(flatten)]
        queue_delay: QueueDelayStats,
        /// The columns of the link that come from the scenario (`Run::describe`).
        #[serde(flatten)]
        setup: LinkSetup,
    }
}

/// Returns the columns of a record.
pub fn columns<T: Recorded>() -> Vec<Column> {
    T::columns(Declaration { name: "", doc: "", serde: "", metric: None })
}

/// Returns the tables of a run's records with their columns: runs, flows, links and nodes.
pub fn tables() -> [(&'static str, Vec<Column>); 4] {
    [
        ("runs", columns::<Run>()),
        ("flows", columns::<Flow>()),
        ("links", columns::<Link>()),
        ("nodes", columns::<Node>()),
    ]
}
