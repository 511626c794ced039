//! The experiment as the program sees it: every value checked, every default filled in, units in the types.

use crate::impairments::{Impairments, Rates};
use crate::queue::Discipline;
use crate::resolved::WrittenTrace;
use crate::units::{Bytes, Drift, Nanos, Offset, Rate};
use crate::workload::{Arrivals, Sizes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// One run: what a scenario file without `[sweep]`, or one cell of its grid, comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// What the file calls itself.
    pub name: String,
    /// How long the run lasts.
    pub duration: Nanos,
    /// The first part of the run, which statistics leave out.
    pub warmup: Nanos,
    /// Seeds every draw of the run.
    pub seed: u64,
    /// What queues, delays and loses packets where they are real.
    pub emulator: Emulator,
    /// The links between the hosts, in the file's order.
    pub links: Vec<DuplexLink>,
    /// The flow groups, in the file's order.
    pub flows: Vec<FlowGroup>,
}

impl Scenario {
    /// The lowest rate of a forward direction; none if all follow traces.
    pub fn slowest_rate(&self) -> Option<Rate> {
        let rates = self.links.iter().filter_map(|link| match &link.forward.service {
            Service::Rate(rate) => Some(*rate),
            Service::Rates(rates) => Some(rates.extremes().0),
            Service::Trace(_) => None,
        });
        rates.min()
    }

    /// What that rate takes to send the largest packet.
    pub fn packet_time(&self) -> Option<Nanos> {
        let slowest = self.slowest_rate()?;
        self.flows.iter().map(|group| slowest.time_to_send(group.packet)).max()
    }

    /// Every direction of every link, in the order of their records: link by link, forward before reverse.
    pub fn directions(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().flat_map(|link| [&link.forward, &link.reverse])
    }

    /// The seed of a group's congestion control: each instance draws from a stream of its own.
    pub fn control_seed(&self, group: usize) -> u64 {
        self.seed.wrapping_mul(1_000_003).wrapping_add(group as u64)
    }

    /// The first thing asked for that only a kernel has.
    pub fn only_in_the_kernel(&self) -> Option<OnlyInTheKernel> {
        if self.emulator == Emulator::Netem {
            return Some(OnlyInTheKernel { key: "emulator".into(), what: "netem".into() });
        }
        self.directions().find_map(|link| match &link.queue {
            Queue::Kernel(queue) => Some(OnlyInTheKernel {
                key: format!("link.{}.queue.kind", link.name),
                what: format!("kernel:{}", queue.discipline),
            }),
            Queue::Droptail { .. } | Queue::Discipline(_) => None,
        })
    }

    /// The links whose forward queues take in packets without end, because no limit was written.
    pub fn never_drop(&self) -> impl Iterator<Item = &Link> {
        let forward = self.links.iter().map(|link| &link.forward);
        forward.filter(|link| matches!(link.queue, Queue::Droptail { limit: None, .. }))
    }

    /// The directions of links that the data of `group` takes.
    pub fn data_path(&self, group: &FlowGroup) -> Vec<&Link> {
        if group.reverse { self.reverse_directions(group) } else { self.forward_directions(group) }
    }

    fn forward_directions(&self, group: &FlowGroup) -> Vec<&Link> {
        group.path.iter().map(|link| &self.links[*link].forward).collect()
    }

    fn reverse_directions(&self, group: &FlowGroup) -> Vec<&Link> {
        group.reverse_path.iter().map(|link| &self.links[*link].reverse).collect()
    }

    /// The slowest link, in the mean, that the data of `group` passes; the first of equals.
    pub fn bottleneck_of(&self, group: &FlowGroup) -> &Link {
        let path = self.data_path(group);
        let rate = |link: &&Link| link.service.bits_per_second();
        path.into_iter().min_by(|a, b| rate(a).total_cmp(&rate(b))).expect("a path has a link")
    }

    /// The least delay that a packet may have on any group's forward path, access links left out.
    pub fn least_forward_delay(&self) -> Nanos {
        self.least_delay(Scenario::forward_directions)
    }

    /// The same of the reverse paths.
    pub fn least_reverse_delay(&self) -> Nanos {
        self.least_delay(Scenario::reverse_directions)
    }

    fn least_delay<'a>(&'a self, path: fn(&'a Scenario, &FlowGroup) -> Vec<&'a Link>) -> Nanos {
        let delay = |group| path(self, group).iter().fold(Nanos::ZERO, |delay, link| delay + link.least_delay());
        self.flows.iter().map(delay).min().unwrap_or_default()
    }

    /// Propagation from a sender of `group` to its receiver and back.
    pub fn propagation_rtt(&self, group: &FlowGroup) -> Nanos {
        let directions = self.forward_directions(group).into_iter().chain(self.reverse_directions(group));
        directions.fold(group.access.delay + group.access.delay, |rtt, link| rtt + link.delay)
    }

    /// The largest packet that takes a direction of link `number`.
    pub(crate) fn largest_packet(&self, number: usize, is_reverse: bool) -> Bytes {
        let passes = |group: &&FlowGroup| group.passes(number, is_reverse);
        let packet = |group: &FlowGroup| if group.reverse == is_reverse { group.packet } else { LARGEST_ACK };
        self.flows.iter().filter(passes).map(packet).max().unwrap_or_default()
    }

    /// How much the application of a group writes ahead of what TCP has sent: enough for a late application, little
    /// enough to end a flow by not writing any more.
    pub fn written_ahead(&self, group: &FlowGroup) -> Bytes {
        const LEAST: u64 = 128 << 10;
        // A flow that the receiver holds back takes long for what is ahead.
        let ahead = match group.receive_window {
            Some(_) => 0,
            None => self.bottleneck_of(group).service.carried_in(Nanos::from_millis(40)).0,
        };
        Bytes(ahead.max(LEAST))
    }

    /// The first thing asked for that only the simulator has.
    pub fn only_in_the_simulator(&self) -> Option<OnlyInTheSimulator> {
        let first = |(number, group): (usize, &FlowGroup)| {
            let key = |key| format!("flows.{number}.{key}");
            if group.clock.drift != Drift(0) {
                let Clock { drift, .. } = group.clock;
                return Some(OnlyInTheSimulator { key: key("clock.drift"), what: OnlyThere::Drift(drift) });
            }
            let small_queues = OnlyInTheSimulator { key: key("access.small_queues"), what: OnlyThere::SmallQueues };
            group.access.small_queues.then_some(small_queues)
        };
        self.flows.iter().enumerate().find_map(first)
    }

    /// Room that an auto-tuning receiver of `group` comes to offer: four times what the path holds, so that it is never what limits a flow. With a queue
    /// that never drops, at least what Linux 6.18 lets a receiver have (`tcp_rmem`).
    pub fn ample_window(&self, group: &FlowGroup) -> Bytes {
        const LEAST: u64 = 128 << 10;
        const LINUX_MAX: u64 = 32 << 20;
        let path = self.data_path(group);
        let rate = self.bottleneck_of(group).service.most_bits_per_second();
        let in_flight = (rate * self.propagation_rtt(group).as_secs_f64() / 8.0) as u64;
        let room = |link: &&Link| match &link.queue {
            // These keep their queues far shorter than their limits, which are for what does not heed them.
            Queue::Discipline(_) => None,
            queue => queue.limit(),
        };
        let queued = path.iter().try_fold(0u64, |sum, link| match room(link)? {
            Limit::Bytes(queue) => Some(sum.saturating_add(queue.0)),
            Limit::Packets(queue) => Some(sum.saturating_add(queue.saturating_mul(group.packet.0))),
        });
        match queued {
            Some(queued) => Bytes(in_flight.saturating_add(queued).saturating_mul(4).max(LEAST)),
            None => Bytes(in_flight.saturating_mul(4).max(LINUX_MAX)),
        }
    }
}

/// IP and TCP headers without payload: 20 bytes, 20 bytes and at most 40 bytes of options (RFC 9293).
pub(crate) const LARGEST_ACK: Bytes = Bytes(80);

/// What an application hands to TCP at a time: whole segments, at most so many bytes.
pub const WRITTEN_AT_ONCE: Bytes = Bytes(16 << 10);

/// What queues, delays and loses packets where they are real. The simulator knows its own way only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emulator {
    /// Ours, the simulator's own code on the real clock.
    #[default]
    Unbloat,
    /// The kernel's: its FIFOs behind its shaper, `netem` as the wire.
    Netem,
}

/// What a scenario asks for that only a kernel has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnlyInTheKernel {
    /// The dotted key that asks for it.
    pub key: String,
    /// What stands there, as it is written.
    pub what: String,
}

impl std::fmt::Display for OnlyInTheKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} is the running kernel's own: run it with --on kernel or --on vm", self.what)
    }
}

/// What a scenario asks for that cannot be had on a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnlyInTheSimulator {
    /// The dotted key that asks for it.
    pub key: String,
    /// What it asks for.
    pub what: OnlyThere,
}

/// What only the simulator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnlyThere {
    /// Clocks that drift apart: both ends of a real run read the same one.
    Drift(Drift),
    /// Senders that are told when packets have left the emulator's access link: a kernel's TCP is told when they have
    /// left its own device.
    SmallQueues,
}

impl std::fmt::Display for OnlyInTheSimulator {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.what {
            OnlyThere::Drift(drift) => {
                write!(f, "{drift} cannot be had on a kernel, where both ends read the same clock")?;
            }
            OnlyThere::SmallQueues => {
                write!(f, "cannot be had on a kernel, whose TCP is told of its own device, not of our access link")?;
            }
        }
        write!(f, ": leave it out, or simulate")
    }
}

/// A link with its two directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplexLink {
    /// From the senders' side.
    pub forward: Link,
    /// Towards the senders' side.
    pub reverse: Link,
}

impl DuplexLink {
    /// One of the two.
    pub fn direction(&self, is_reverse: bool) -> &Link {
        if is_reverse { &self.reverse } else { &self.forward }
    }

    pub(crate) fn direction_mut(&mut self, is_reverse: bool) -> &mut Link {
        if is_reverse { &mut self.reverse } else { &mut self.forward }
    }
}

/// One direction of a link: a queue, a transmitter, a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The key under `[link]`; the reverse direction is `NAME.reverse`.
    pub name: String,
    /// What decides when a packet may leave the queue.
    pub service: Service,
    /// Propagation, one way.
    pub delay: Nanos,
    /// Where packets wait for the transmitter.
    pub queue: Queue,
    /// What the wire loses after transmission.
    pub loss: Loss,
    /// What else it does to packets.
    #[serde(default, skip_serializing_if = "Impairments::is_none")]
    pub impairments: Impairments,
}

impl Link {
    /// The least time that a packet may be on the wire.
    pub fn least_delay(&self) -> Nanos {
        use crate::impairments::Distribution;
        match (&self.impairments.reorder, &self.impairments.jitter) {
            (Some(reorder), _) if reorder.by.is_none() => Nanos::ZERO,
            (_, Some(jitter)) if jitter.distribution == Distribution::Normal => Nanos::ZERO,
            (_, Some(jitter)) => self.delay.since(jitter.spread),
            (_, None) => self.delay,
        }
    }
}

/// How a wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Loss {
    /// Each with this probability, 0 to 1, whatever became of those before.
    Uniform(f64),
    /// In bursts.
    Gemodel(Gemodel),
}

impl Loss {
    /// It loses nothing.
    pub const NONE: Loss = Loss::Uniform(0.0);
}

/// The Gilbert-Elliott model as tc-netem(8) has it (`loss gemodel p r 1-h 1-k`): a wire that is good or bad, and good at first. A packet is lost with
/// the probability of the state that it finds; then the state may change for the next. All are probabilities, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gemodel {
    /// From good to bad.
    pub p: f64,
    /// From bad to good.
    pub r: f64,
    /// To lose a packet while bad: netem's `1-h`.
    pub lost_while_bad: f64,
    /// To lose a packet while good: netem's `1-k`.
    pub lost_while_good: f64,
}

/// What decides when a packet may leave the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Service {
    /// A transmitter of constant rate.
    Rate(Rate),
    /// One whose rate changes at given times.
    Rates(Rates),
    /// Recorded delivery opportunities.
    Trace(Arc<Trace>),
}

impl Service {
    /// What it carries in a time at most; nothing is known of a trace.
    pub fn carried_in(&self, time: Nanos) -> Bytes {
        let rate = match self {
            Service::Rate(rate) => *rate,
            Service::Rates(rates) => rates.extremes().1,
            Service::Trace(_) => return Bytes(0),
        };
        Bytes(rate.0 / 8 * time.as_micros() / 1_000_000)
    }

    /// The rate, in the mean if it varies.
    pub fn bits_per_second(&self) -> f64 {
        match self {
            Service::Rate(rate) => rate.0 as f64,
            Service::Rates(rates) => rates.mean.0 as f64,
            Service::Trace(trace) => trace.opportunities.len() as f64 * 1500.0 * 8.0 / trace.period.as_secs_f64(),
        }
    }

    /// The highest rate, that of a trace in the mean.
    pub fn most_bits_per_second(&self) -> f64 {
        match self {
            Service::Rates(rates) => rates.extremes().1.0 as f64,
            _ => self.bits_per_second(),
        }
    }
}

/// Recorded delivery opportunities: at each instant up to 1500 bytes may leave; after `period` it starts again.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "WrittenTrace")]
pub struct Trace {
    /// The file it came from.
    pub path: PathBuf,
    /// Instants, not decreasing, all at most `period`.
    pub opportunities: Vec<Nanos>,
    /// The last instant of the file: where the trace wraps.
    pub period: Nanos,
}

/// A queue discipline with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Queue {
    /// First in, first out; what finds it full is dropped.
    Droptail {
        /// Room for waiting packets (the one being transmitted has left the queue); `None` never drops.
        limit: Option<Limit>,
        /// Packets of ECN-capable flows that arrive when this much waits are marked CE (DCTCP's threshold K).
        ecn_threshold: Option<Limit>,
    },
    /// One of the running kernel's own.
    Kernel(KernelQueue),
    /// Another of this program's own.
    Discipline(Discipline),
}

/// A queue discipline of the kernel's. What is not said is left to the kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelQueue {
    /// As `tc` calls it.
    pub discipline: &'static str,
    /// As `tc` calls them, in the register's order.
    pub parameters: Vec<(&'static str, Setting)>,
}

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Setting {
    Number(u64),
    Flag(bool),
    Time(Nanos),
    Size(Bytes),
    Limit(Limit),
    Share(f64),
    Rate(Rate),
}

impl KernelQueue {
    /// The value of a parameter, if the scenario says one.
    pub fn parameter(&self, name: &str) -> Option<Setting> {
        self.parameters.iter().find(|(parameter, _)| *parameter == name).map(|(_, value)| *value)
    }
}

impl Queue {
    /// Room for waiting packets; none if it never drops, if the kernel chooses, or if it is counted in memory.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Queue::Droptail { limit, .. } => *limit,
            Queue::Kernel(queue) => match queue.parameter("limit") {
                Some(Setting::Limit(limit)) => Some(limit),
                _ => None,
            },
            Queue::Discipline(discipline) => discipline.limit(),
        }
    }
}

/// A queue length, in bytes or in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Bytes of IP packets.
    Bytes(Bytes),
    /// Whole packets.
    Packets(u64),
}

/// Bytes and packets do not compare: a packet may be short.
impl PartialOrd for Limit {
    fn partial_cmp(&self, other: &Limit) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Limit::Bytes(a), Limit::Bytes(b)) => a.partial_cmp(b),
            (Limit::Packets(a), Limit::Packets(b)) => a.partial_cmp(b),
            _ => None,
        }
    }
}

/// `count` flows that differ in their start time only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowGroup {
    /// The congestion control: a built-in name, or a path to a `.bpf.c` file (made absolute or relative to the scenario's folder by the reader).
    pub cc: CongestionControl,
    /// Number of flows; without meaning beside `arrivals`.
    pub count: u32,
    /// The random process by which flows come from `start` on until `stop`; `None` = as `count` and `stagger` say.
    pub arrivals: Option<Arrivals>,
    /// The data takes the reverse path, and its acknowledgements take the forward one.
    pub reverse: bool,
    /// The links whose forward directions make up the forward path, by their numbers, from the senders' side on.
    pub path: Vec<usize>,
    /// Those whose reverse directions make up the reverse path, in the order in which packets pass them.
    pub reverse_path: Vec<usize>,
    /// Between each sender and the bottleneck, on the sender's side, wherever that is.
    pub access: Access,
    /// What the receiver's timestamps show.
    pub clock: Clock,
    /// When the first flow of the group opens its connection.
    pub start: Nanos,
    /// Each flow opens later than `start` and `stagger` say by a time up to this, drawn for it alone.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub start_spread: Nanos,
    /// Each next flow of the group opens this much later.
    pub stagger: Nanos,
    /// When the application stops writing; `None` = at the end of the run.
    pub stop: Option<Nanos>,
    /// How much the application writes; `None` = without end, unless `sizes` says how much.
    pub size: Option<Bytes>,
    /// What each flow's size is drawn from, in place of `size`.
    pub sizes: Option<Sizes>,
    /// IP length of a full data packet.
    pub packet: Bytes,
    /// The type of service that both ends' packets carry (RFC 1349), without the two bits that are ECN's.
    pub tos: u8,
    /// Room that the receiver offers; `None` = so much that it never limits the flow.
    pub receive_window: Option<Bytes>,
    /// How the two TCP ends behave.
    pub stack: Stack,
}

impl FlowGroup {
    /// Do its packets take that direction of link `number`, data or acknowledgements?
    pub(crate) fn passes(&self, number: usize, is_reverse: bool) -> bool {
        if is_reverse { &self.reverse_path } else { &self.path }.contains(&number)
    }

    /// Payload of a full data packet.
    pub fn mss(&self) -> Bytes {
        const HEADERS: u64 = 40;
        const TIMESTAMP_OPTION: u64 = 12;
        Bytes(self.packet.0 - HEADERS - if self.stack.timestamps { TIMESTAMP_OPTION } else { 0 })
    }

    /// The most that one flow of the group can be told to send: a simulated flow numbers its packets with 32 bits, of which the last number
    /// stands for a flow without end.
    pub fn largest_size(&self) -> Bytes {
        Bytes((u32::MAX as u64 - 1) * self.mss().0)
    }
}

/// A congestion control with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CongestionControl {
    /// Built-in name or source file.
    pub source: CcSource,
    /// Globals of the file to set, by name. A duration stands in the unit that the parameter declares.
    pub params: BTreeMap<String, ParamValue>,
}

/// Where a congestion control comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CcSource {
    /// A file of `algorithms/congestion`, by its kernel name.
    Builtin(String),
    /// A user's own `.bpf.c` file; `#NAME` behind the path picks one of several controls in it.
    File(PathBuf),
    /// The running kernel's own, by the name under which the kernel lists it; the simulator has none of these.
    Kernel(String),
}

/// A parameter's value as it stands in the scenario; the mechanism's own description decides what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParamValue {
    /// `true` or `false`.
    Bool(bool),
    /// A bare number.
    Integer(i64),
    /// A string: a quantity with its unit, such as `"100ms"`.
    Text(String),
}

/// A sender's own link to the bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// `None` = no constraint.
    pub rate: Option<Rate>,
    /// Where packets wait for it, if it has a rate; `None` = a queue that never drops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Whether the sender is told when its packets have left its host, so that TCP keeps few of them there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub small_queues: bool,
    /// One way; acknowledgements take it too.
    pub delay: Nanos,
}

/// A receiver's clock for the timestamps option (RFC 7323) against its sender's. Its timers run as true time does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// When the run starts.
    pub offset: Offset,
    /// From then on.
    pub drift: Drift,
}

/// The switches of a TCP stack. `Stack::LINUX` is what a current Linux does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Selective acknowledgements (RFC 2018), with duplicate SACK (RFC 2883).
    pub sack: bool,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// The ticks of the timestamps are microseconds, not milliseconds.
    pub tcp_usec_ts: bool,
    /// Window scaling (RFC 7323); without it at most 65 535 bytes are offered.
    pub window_scaling: bool,
    /// Time-based loss detection (RFC 8985); without it three duplicates as in RFC 6675 and RFC 5681.
    pub rack: bool,
    /// Tail loss probe (RFC 8985).
    pub tlp: bool,
    /// Proportional rate reduction (RFC 6937); without it cwnd falls to ssthresh at once.
    pub prr: bool,
    /// Forward RTO recovery (RFC 5682).
    pub frto: bool,
    /// Undo of a reduction that proves spurious (Eifel, DSACK).
    pub undo: bool,
    /// Acknowledge every second segment or after 40 ms; without it each segment at once.
    pub delayed_ack: bool,
    /// Acknowledge the first segments of a connection at once, as Linux does.
    pub quick_ack: bool,
    /// Let duplicates wait up to a millisecond for one acknowledgement of them all, as Linux does.
    pub sack_compression: bool,
    /// New data on the first two duplicates (RFC 3042).
    pub limited_transmit: bool,
    /// No growth of an unused window, decay when application-limited or idle (RFC 7661 as Linux does it).
    pub cwnd_validation: bool,
    /// Negotiate ECN (RFC 3168). A congestion control that needs ECN turns it on for its flows.
    pub ecn: bool,
    /// Pace every flow at Linux's default rates, as with the `fq` queue discipline. A control that sets a rate is always paced.
    pub pacing: bool,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// Lower bound of the retransmission timeout's variance term (Linux: 200 ms).
    pub rto_min: Nanos,
}

impl Stack {
    /// Profile `linux`.
    pub const LINUX: Stack = Stack {
        sack: true,
        timestamps: true,
        tcp_usec_ts: false,
        window_scaling: true,
        rack: true,
        tlp: true,
        prr: true,
        frto: true,
        undo: true,
        delayed_ack: true,
        quick_ack: true,
        sack_compression: true,
        limited_transmit: true,
        cwnd_validation: true,
        ecn: false,
        pacing: false,
        initial_window: 10,
        rto_min: Nanos::from_millis(200),
    };
    /// Profile `sack`: RFC 6675 recovery on a textbook stack.
    pub const SACK: Stack = Stack {
        rack: false,
        tlp: false,
        prr: false,
        frto: false,
        undo: false,
        quick_ack: false,
        sack_compression: false,
        cwnd_validation: false,
        ..Stack::LINUX
    };
    /// Profile `newreno`: TCP Reno as the papers mean it (RFC 5681, RFC 6582).
    pub const NEWRENO: Stack = Stack { sack: false, timestamps: false, ..Stack::SACK };
}
