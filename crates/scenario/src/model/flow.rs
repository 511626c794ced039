//! A group of flows: its congestion control, its path, when it comes, how much it sends.

use super::tcp_profile::TcpProfile;
use crate::app::App;
use crate::mesh::Origin;
use crate::queue::Queue;
use crate::units::{Bytes, Drift, Nanos, Offset, Rate};
use crate::workload::{Arrivals, Sizes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `count` flows that differ in their start time only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowGroup {
    /// What tables and figures call its flows; `None` = by the congestion control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The congestion control: a built-in name, or a path to a `.bpf.c` file (made absolute or relative to the
    /// scenario's folder by the reader).
    pub cc: MechanismRef,
    /// What its programs do; `None` = each writes a transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<App>,
    /// Number of flows, or of programs; without meaning beside `arrivals`.
    pub count: u32,
    /// The random process by which flows come from `start` on until `stop`; `None` = as `count` and `stagger` say.
    pub arrivals: Option<Arrivals>,
    /// The host that the group's flows send from, or receive at if their data takes the reverse path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<usize>,
    /// The data takes the reverse path, and its acknowledgements take the forward one.
    pub reverse: bool,
    /// The nodes of a mesh that its flows come from, one each; `None` = the senders are not in a mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The links whose forward directions make up the forward path, by their numbers, from the senders' side on, or
    /// from the border router of their mesh.
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
    /// The receiver's buffer grows with what comes in a round trip; `None` = its size is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_rmem: Option<TcpRmem>,
    /// What the receiving application reads at most; `None` = all that has come, at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_rate: Option<Rate>,
    /// What the sending application writes a second, segment by segment; `None` = as much as TCP takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_rate: Option<Rate>,
    /// What lowers the window that the receiver shows; `None` = nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<MechanismRef>,
    /// How the two TCP ends behave.
    pub stack: TcpProfile,
}

impl FlowGroup {
    /// Yields the congestion control, and the receiver's window controller if the group has one.
    pub fn mechanisms(&self) -> impl Iterator<Item = &MechanismRef> {
        std::iter::once(&self.cc).chain(&self.receiver)
    }

    /// Yields mutable access to the group's mechanisms.
    pub fn mechanisms_mut(&mut self) -> impl Iterator<Item = &mut MechanismRef> {
        std::iter::once(&mut self.cc).chain(&mut self.receiver)
    }

    /// Flows of one program: one, or several of an application.
    pub fn flows_of_one(&self) -> u32 {
        self.app.as_ref().map_or(1, App::flows)
    }

    /// IP length of its largest packet.
    pub fn largest_packet(&self) -> Bytes {
        match &self.app {
            Some(App::Datagrams(datagrams)) => datagrams.packet,
            _ => self.packet,
        }
    }

    /// Does flow `number` of the group carry responses, against the direction of the group's requests?
    pub fn is_response(&self, number: u32) -> bool {
        matches!(self.app, Some(App::Requests(_))) && number % 2 == 1
    }

    /// The group as its flow of this number is, where an application's flows differ: responses go the other way, and a
    /// message that fits one packet takes a packet of its own size.
    pub fn of_flow(&self, number: u32) -> FlowGroup {
        let group = self.of_receiver(number);
        let Some(App::Requests(requests)) = &self.app else { return group };
        let message = if self.is_response(number) { requests.largest_response() } else { requests.request };
        let headers = Bytes(self.packet.0 - self.mss().0);
        FlowGroup { packet: self.packet.min(Bytes(message.0 + headers.0)), ..group }
    }

    /// The group as the receiver of its flow of this number knows it: it does not know how long messages are.
    pub fn of_receiver(&self, number: u32) -> FlowGroup {
        FlowGroup { reverse: self.reverse ^ self.is_response(number), ..self.clone() }
    }

    /// Does the file say how large the receiver's buffer is, how fast it is read, or what lowers its window?
    pub fn receiver_may_limit(&self) -> bool {
        let has_buffer = self.receive_window.is_some() || self.tcp_rmem.is_some();
        has_buffer || self.read_rate.is_some() || self.receiver.is_some()
    }

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

    /// The group with full segments of so much payload.
    pub fn with_payload(&self, payload: Bytes) -> FlowGroup {
        FlowGroup { packet: Bytes(self.packet.0 - self.mss().0 + payload.0), ..self.clone() }
    }

    /// The most that one flow of the group can be told to send: a simulated flow numbers its packets with 32 bits, of
    /// which the last number stands for a flow without end.
    pub fn largest_size(&self) -> Bytes {
        Bytes((u32::MAX as u64 - 1) * self.mss().0)
    }
}

/// Names a congestion control, a receiver's window controller or a host's classifier, and sets its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MechanismRef {
    /// Built-in name or source file.
    pub source: MechanismSource,
    /// Globals of the file to set, by name. A duration stands in the unit that the parameter declares.
    pub params: BTreeMap<String, ParamValue>,
    /// What its BPF maps hold when the run begins, by name.
    pub maps: BTreeMap<String, MapContents>,
}

/// What a BPF map holds, by key: the whole numbers that make up each value. A key of several numbers has commas between
/// them.
pub type MapContents = BTreeMap<String, Vec<i128>>;

impl MechanismRef {
    /// Refers to a mechanism whose maps begin as its file has them.
    pub fn new(source: MechanismSource, params: BTreeMap<String, ParamValue>) -> MechanismRef {
        MechanismRef { source, params, maps: BTreeMap::new() }
    }

    /// Refers to nothing, as groups of datagrams do.
    pub(crate) fn none() -> MechanismRef {
        MechanismRef::new(MechanismSource::None, BTreeMap::new())
    }
}

/// Where a mechanism comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MechanismSource {
    /// A file of `algorithms/congestion`, by its kernel name, or of `algorithms/window` or `algorithms/classify`.
    Builtin(String),
    /// A user's own `.bpf.c` file; `#NAME` behind the path picks one of several controls in it.
    File(PathBuf),
    /// The running kernel's own, by the name under which the kernel lists it; the simulator has none of these.
    Kernel(String),
    /// Nowhere: the group's programs send datagrams.
    None,
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

/// The memory of a receive buffer that is auto-tuned (`net.ipv4.tcp_rmem`; its least value counts only where the host
/// is short of memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpRmem {
    /// At first.
    pub default: Bytes,
    /// What it may grow to.
    pub max: Bytes,
}

/// A receiver's clock for the timestamps option (RFC 7323) against its sender's. Its timers run as true time does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// When the run starts.
    pub offset: Offset,
    /// From then on.
    pub drift: Drift,
}
