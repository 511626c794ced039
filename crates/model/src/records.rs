//! What a run is asked for and what it leaves behind, whichever backend makes it. Units stand in the names; the names
//! are part of the interface.

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
        /// How long the run lasted, warm-up included.
        duration_s: f64,
        /// Jain's fairness index of the flows' goodputs: 1 if all are equal, 1/n if one of n flows has everything; empty
        /// when nothing was delivered. It means little for flows that need not be equal, such as a short and a long one.
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

/// The rows of flows, links and nodes are tables of their own.
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
    /// Fills in what the scenario says about each flow and link.
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
        /// Congestion control; that of a file is called by the file's name without `.bpf.c`.
        cc: String,
        /// Payload delivered in order to the receiving application, over the flow's active time after the warm-up. Of
        /// all flows together it is empty where flows share a link one after another, or in both directions: rates of
        /// different times do not add up, and the link's utilisation says how much passed. Data that arrived behind a
        /// gap counts when the gap is filled, so that goodput can exceed the link's rate by what the receiver held at
        /// the end of the warm-up.
        goodput_mbps: f64 = metric("goodput", "goodput", "Mbit/s").over_flows(Sum),
        /// IP bytes of data packets that reached the receiving host, retransmissions and headers included, over the
        /// flow's active time after the warm-up.
        throughput_mbps: f64 = metric("throughput", "throughput", "Mbit/s").over_flows(Sum),
        /// Data packets sent after the warm-up, retransmissions included.
        sent_packets: u64 = metric("sent", "sent", "packets").over_flows(Sum),
        /// Data packets that were dropped or lost anywhere on the path, counted at their send time, as in `sent_packets`.
        lost_packets: u64 = metric("losses", "losses", "packets").over_flows(Sum),
        /// Data packets sent after the warm-up that had been sent before.
        retransmitted_packets: u64 = metric("retransmissions", "retransmissions", "packets").over_flows(Sum),
        /// Retransmission timeouts (RTO) after the warm-up.
        timeouts: u64 = metric("timeouts", "timeouts", "").over_flows(Sum),
        /// How often losses were found after the warm-up, by timeouts and otherwise; absent but for flows from a mesh.
        #[serde(skip_serializing_if = "Option::is_none")]
        loss_events: Option<u64> =
            metric("loss_events", "loss events", "").over_flows(Sum).only(Backends::Simulator),
        /// Time average of how long the control has the flow wait before each window; absent if it never has.
        #[serde(skip_serializing_if = "Option::is_none")]
        wait_ms_mean: Option<f64> =
            metric("wait", "wait mean", "ms").over_flows(MeanOrZero).only(Backends::Simulator),
        /// `lost_packets` over `sent_packets`; empty when no packet was sent.
        loss_percent: Option<f64> = metric("loss", "loss", "%").over_flows(Loss).most(100.0),
        /// Whether the other end answered the flow's SYN before the run ended, also in the warm-up; empty for flows that
        /// send no SYN, such as calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        connected: Option<bool>,
        /// Time average of the congestion window over the flow's active time after the warm-up.
        cwnd_packets_mean: f64 = metric("cwnd", "cwnd", "packets").over_flows(Mean),
        /// Flow completion time: from the flow's start to its last byte acknowledged; empty for a flow without a size,
        /// or one that the end of the run cut off.
        completion_s: Option<f64> = metric("completion", "completion", "s").over_flows(Last),
        /// Round-trip times as the sender's TCP samples them.
        #[serde(flatten)]
        rtt: RttStats,
        /// Mean of the round-trip times that the flow's receiver measures after the warm-up, by the echoes of its
        /// timestamps; empty unless it has a controller of its window.
        receiver_rtt_ms_mean: Option<f64> =
            metric("receiver_rtt", "receiver's RTT mean", "ms").over_flows(Mean).only(Backends::Simulator),
        /// How full its send buffer is when packets leave it; none unless its sender is on a host.
        #[serde(flatten)]
        send_buffer: Option<SendBufferStats>,
        /// What its application waits for; none of the flows that only belong to one.
        #[serde(flatten)]
        app: Option<AppStats>,
        /// What the scenario says about it (`Run::describe`).
        #[serde(flatten)]
        setup: FlowSetup,
    }
}

record! {
    /// What a person waits for.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct AppStats {
        /// Datagrams.
        #[serde(flatten)]
        delay: DelayStats,
        /// Transmission rating factor R of a call's worse direction by the E-model (ITU-T G.107), at most 93.2; above 70
        /// most people are satisfied. The codec is G.711 with concealment of losses and `every` of sound in a packet. The
        /// playout delay is the constant that gives the highest R. Both ends send at the same pace, the other one from
        /// when it first hears something.
        rating: Option<f64> = metric("rating", "R", "of 93.2").over_flows(Mean).most(93.2),
        /// Rating factor of what the flow's sender says.
        rating_out: Option<f64> = metric("rating_out", "R out", "of 93.2").over_flows(Mean).most(93.2),
        /// Rating factor of what the other end says.
        rating_in: Option<f64> = metric("rating_in", "R in", "of 93.2").over_flows(Mean).most(93.2),
        /// The mean opinion score that belongs to this rating (G.107, annex B), from 1 to 4.5.
        opinion_score: Option<f64> = metric("opinion", "MOS", "of 4.5").over_flows(Mean).most(4.5),
        /// Responses.
        #[serde(flatten)]
        response: ResponseStats,
        /// Pages.
        #[serde(flatten)]
        page: PageStats,
        /// Of `video`: time from opening it until it plays.
        startup_s: Option<f64> = metric("startup", "start-up", "s").over_flows(Mean),
        /// Of `video`: how often it stops for want of data.
        stalls: Option<u64> = metric("stalls", "stalls", "times").over_flows(Sum),
        /// Of `video`: share of the time since it has started in which it stands still.
        stalled_percent: Option<f64> = metric("stalled", "stalled", "%").over_flows(Mean).most(100.0),
        /// Of `video`: mean rate of the pieces that it fetched.
        bitrate_mbps_mean: Option<f64> = metric("bitrate", "bit rate", "Mbit/s").over_flows(Mean),
        /// Of `video`: how often its quality changes.
        quality_switches: Option<u64> = metric("switches", "switches", "times").over_flows(Sum),
        /// Responses, or of `web` pages, or of `video` the start, that were still waited for when the application
        /// stopped. They are in no mean or percentile, so that a path on which many do not arrive looks better there than
        /// it is.
        unfinished: Option<u64> = metric("unfinished", "unfinished", "").over_flows(Sum),
        /// Messages that a `messenger` or `game` with `when_full = "skip"` left out because its send buffer had no room.
        /// They are in no mean or percentile.
        skipped: Option<u64> = metric("skipped", "skipped", "").over_flows(Sum),
    }
}

record! {
    /// What a send buffer holds when packets leave it.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct SendBufferStats {
        /// Memory that the send buffer of a sender on a host holds (`sk_wmem_queued`), mean over the packets that leave
        /// TCP.
        wmem_queued_bytes_mean: Option<f64> = metric("wmem_queued", "in send buffer", "B").over_flows(Mean),
        /// Memory in it over its size.
        #[serde(flatten)]
        occupancy: OccupancyStats,
        /// Share of the packets that leave TCP which leave a send buffer that is half full or more.
        sndbuf_half_full_percent: Option<f64> =
            metric("sndbuf_half_full", "half full", "%").over_flows(Mean).most(100.0),
        /// From the flow's start until its send buffer is half full for the first time; empty if it never is.
        sndbuf_half_full_after_s: Option<f64> = metric("sndbuf_half_full_after", "half full after", "s").over_flows(Mean),
        /// Packets in it over the congestion window.
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
        /// Frames with data that the node had sent before.
        frame_retries: u64 = metric("frame_retries", "retries", ""),
        /// Packets given up because the channel was busy too often.
        channel_failures: u64 = metric("channel_failures", "channel failures", "packets"),
        /// Packets given up because a frame was not acknowledged, whether it had come or not.
        unacknowledged: u64 = metric("unacknowledged", "unacknowledged", "packets"),
        /// Time after the warm-up in which the node's radio transmitted, or turned round to.
        transmit_s: f64 = metric("transmit", "transmits", "s"),
        /// Time in which it received or listened.
        listen_s: f64 = metric("listen", "listens", "s"),
        /// Time in which it slept.
        sleep_s: f64 = metric("sleep", "sleeps", "s"),
        /// Time in which the node was down.
        down_s: f64 = metric("down", "down", "s"),
        /// What the radio used while it transmitted, listened and slept.
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
        /// Share of the time after the warm-up in which the link transmits; with a recorded link, of its delivery
        /// opportunities that are used.
        utilisation_percent: f64 = metric("utilisation", "utilisation", "%").most(100.0),
        /// Time average of the queue over its limit, both as the discipline counts them: packets in the ring of a host's
        /// device have left it, and so have the frames that wait for the air. Of a queue that several links share, such
        /// as an access point's, only the packets for this link count. Empty for a queue without a limit.
        queue_percent_mean: Option<f64> = metric("buffer", "queue", "%").most(100.0),
        /// Time average of the bytes that wait in the queue. Those in the ring of a host's device are included, and the
        /// frames that wait for the air.
        queue_bytes_mean: f64 = metric("queue_bytes", "queue", "B"),
        /// From arrival in the queue to the start of transmission.
        #[serde(flatten)]
        queue_delay: QueueDelayStats,
        /// What the scenario says about it (`Run::describe`).
        #[serde(flatten)]
        setup: LinkSetup,
    }
}

/// The columns of a record.
pub fn columns<T: Recorded>() -> Vec<Column> {
    T::columns(Declaration { name: "", doc: "", serde: "", metric: None })
}

/// The tables of a run's records with their columns: runs, flows, links and nodes.
pub fn tables() -> [(&'static str, Vec<Column>); 4] {
    [
        ("runs", columns::<Run>()),
        ("flows", columns::<Flow>()),
        ("links", columns::<Link>()),
        ("nodes", columns::<Node>()),
    ]
}
