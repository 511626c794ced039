//! A group of flows: its congestion control, its path, its start, and the data that it sends.

use crate::TcpProfile;
use crate::app::{App, Datagrams, Requests, Traffic};
use crate::declare::{self, Declared, section};
use crate::mechanism_ref::{Maps, MechanismRef, Params};
use crate::mesh::Origin;
use crate::quantity::Start;
use crate::queue::Queue;
use crate::schema::{DELAYS, Key, KeyType, RATES, SOME_TIME, TIMES};
use crate::section::{Names, Section};
use crate::units::{Bytes, Drift, Nanos, Offset, Rate};
use crate::workload::{Arrivals, SIZES, Size, Sizes};
use serde::{Deserialize, Serialize};

section! {
    /// A group of `count` flows that differ only in their start time.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct FlowGroup in "flows" with FlowGroupKeys {
        /// name of the group's flows in tables and figures
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String> = Means("the congestion control's name");
        /// The congestion control: a built-in name, or a path to a `.bpf.c` file (made absolute or relative to the
        /// scenario's folder by the reader).
        #[serde(default, skip_serializing_if = "MechanismRef::is_none")]
        pub cc: MechanismRef;
        key cc: NamedControl = Required =>
            "name of the congestion control, path of its .bpf.c file (add #NAME to pick one of several), or \
             kernel:NAME for one of the running kernel";
        key params: Params = Means("the defaults of the congestion control") =>
            "parameters of the congestion control; a table params.NAME is for the congestion control NAME only";
        key maps: Maps = Means("the contents that its file declares, empty or zero") =>
            "initial contents of the congestion control's BPF maps, such as rates = { 0 = 1250000 }. A value is a \
             whole number, or a list of them for a struct's members. A table maps.CC is for the congestion control CC \
             only";
        /// The application of the group's programs; `None` = each writes one transfer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub app: Option<App>;
        /// number of flows in the group
        pub count: u32 = Default("1"), "1..1000000";
        /// random arrivals of flows from start until stop, instead of count and stagger
        pub arrivals: Option<Arrivals> = Means("count and stagger apply");
        /// The host that the group's flows send from, or receive at if their data takes the reverse path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub host: Option<usize>;
        /// send data over the reverse path, whose links then need queues, and acknowledgements over the forward path
        pub reverse: bool = Default("false");
        /// The nodes of a mesh that the flows come from, one for each flow; `None` = the senders are not in a mesh.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub origin: Option<Origin>;
        key mesh: Option<String> = Means("the senders are hosts at the first link") =>
            "mesh whose nodes send one flow each; packets go along its tree to the border router, and then along path";
        key nodes: Option<Names> = Means("all but the border router, in the file's order") =>
            "nodes of the mesh that send";
        /// The numbers of the links whose forward directions make up the forward path, from the senders or the border
        /// router of their mesh on.
        pub path: Vec<usize>;
        key path: Option<Names> = Means("every link, in the file's order") =>
            "links from the senders to the receivers, in order; data passes their forward directions";
        /// The numbers of the links whose reverse directions make up the reverse path, in the order in which packets
        /// pass them.
        pub reverse_path: Vec<usize>;
        key reverse_path: Option<Names> = Means("the links of path, in reverse order") =>
            "links whose reverse directions make up the reverse path, in order";
        key app: Option<App> = Means("a transfer of size") =>
            "application of the flows: messenger, game, upload, web and video use TCP, with two flows for each \
             connection; voice, ping and udp need no cc";
        key host: Option<String> = Means("a host without a queue") =>
            "host that sends the flows; with reverse = true the host that receives them and sends acknowledgements";
        /// link of each sender to the bottleneck
        pub access: Access = Means("no limit");
        /// receiver's clock relative to the sender's, as timestamps show it (RFC 7323)
        pub clock: Clock = Means("the sender's clock");
        /// When the first flow of the group opens its connection.
        pub start: Nanos;
        /// The longest random delay of a flow's opening, drawn for each flow and added to `start` and `stagger`.
        #[serde(default, skip_serializing_if = "Nanos::is_zero")]
        pub start_spread: Nanos;
        key start: Start = Default("0s"), TIMES =>
            "time when the first flow opens its connection; from a range such as 0s..1s each flow draws a uniform \
             time, and stagger is added";
        /// time between the starts of consecutive flows
        pub stagger: Nanos = Default("0s"), TIMES;
        /// time when applications stop writing and flows stop arriving
        pub stop: Option<Nanos> = Means("the end of the run"), SOME_TIME;
        /// How much the application writes; `None` = without end, unless `sizes` is set.
        pub size: Option<Bytes>;
        /// The distribution of each flow's size, in place of `size`.
        pub sizes: Option<Sizes>;
        key size: Option<Size> = Means("unlimited"), SIZES => "bytes that the application writes";
        /// IP length of a full data packet
        pub packet: Bytes = Means("1500b, or 104b with profile lln"), "100b..65535b";
        /// type of service of the flows' packets, such as 0x10 (low delay), which prio, pfifo_fast and cake read
        pub tos: u8 = Default("0"), "0..252";
        /// largest window that the receiver advertises
        pub receive_window: Option<Bytes> =
            Means("the largest possible window; four segments with profile lln"), "100b..1gib";
        /// bounds of the auto-tuned receive buffer (net.ipv4.tcp_rmem)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tcp_rmem: Option<TcpRmem> =
            Means("a buffer of fixed size, SO_RCVBUF, as large as receive_window needs");
        /// largest rate at which the receiving application reads, segment by segment
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub read_rate: Option<Rate> = Means("the application reads data at once"), RATES;
        /// payload rate of the sending application, a segment at a time; it discards data while four segments are
        /// unsent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub write_rate: Option<Rate> = Means("the application writes as much as TCP takes"), RATES;
        /// The window controller of the receivers; `None` = they have none.
        // The seeds of sweeps are a hash of the JSON, so the field keeps its first name there.
        #[serde(default, rename = "receiver", skip_serializing_if = "Option::is_none")]
        pub window_controller: Option<MechanismRef>;
        key window_controller: Option<String> = Means("the stack alone decides") =>
            "what lowers the window that the receiver shows, a built-in name or the path of a .bpf.c file";
        key window_controller_params: Option<Params> = Means("the window controller's own defaults") =>
            "parameters of the window controller; a table window_controller_params.NAME holds for NAME only";
        /// How the two TCP ends behave.
        pub stack: TcpProfile;
        "profile" = KeyType::Profile, Means("the experiment's profile") => "TCP features of this group";
        key delayed_ack: Option<bool> = Means("the profile's value") =>
            "acknowledge every second segment, or after 40 ms";
        key ecn: Option<bool> = Means("the profile's value") => "negotiate ECN";
        key pacing: Option<bool> = Means("the profile's value") => "pace every flow at Linux's default rates";
        key initial_window: Option<u32> = Means("the profile's value"), "1..10000" => "initial window in segments";
        key rto_min: Option<Nanos> = Means("the profile's value"), "1ms..120s" =>
            "lower bound of the retransmission timeout's variance term";
    }
}

/// The congestion control that a group names; none for programs that send datagrams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedControl(pub Option<String>);

impl declare::Field for NamedControl {
    const KIND: KeyType = KeyType::Text;
    fn find(group: &Section, name: &'static str) -> Option<NamedControl> {
        let needs_none = <App as declare::Field>::find(group, "app").is_some_and(|app| app.is_datagrams());
        if needs_none { None } else { group.read(name).map(|control| NamedControl(Some(control))) }
    }
    fn absent(_: &Key) -> NamedControl {
        NamedControl(None)
    }
    fn written(&self) -> Option<String> {
        declare::Field::written(&self.0)
    }
}

impl FlowGroup {
    /// Makes a group of one endless Linux flow over the first link, in packets of 1500 bytes.
    pub fn bulk(cc: MechanismRef) -> FlowGroup {
        let (path, reverse_path) = (vec![0], vec![0]);
        FlowGroup { cc, path, reverse_path, packet: Bytes(1500), ..FlowGroup::absent() }
    }

    /// Yields the congestion control, and the window controller if the group has one.
    pub fn mechanisms(&self) -> impl Iterator<Item = &MechanismRef> {
        std::iter::once(&self.cc).chain(&self.window_controller)
    }

    /// Yields mutable access to the group's mechanisms.
    pub fn mechanisms_mut(&mut self) -> impl Iterator<Item = &mut MechanismRef> {
        std::iter::once(&mut self.cc).chain(&mut self.window_controller)
    }

    /// Returns the datagrams of the group's application, if it sends datagrams.
    pub fn datagrams(&self) -> Option<Datagrams> {
        match self.app.as_ref()?.traffic() {
            Traffic::Datagrams(datagrams) => Some(datagrams),
            Traffic::Requests(_) => None,
        }
    }

    /// Returns the requests of the group's application, if it makes requests.
    pub fn requests(&self) -> Option<Requests> {
        match self.app.as_ref()?.traffic() {
            Traffic::Requests(requests) => Some(requests),
            Traffic::Datagrams(_) => None,
        }
    }

    /// Returns the number of flows of one program: one, or several for an application.
    pub fn flows_of_one(&self) -> u32 {
        self.app.as_ref().map_or(1, App::flows)
    }

    /// Returns the node of a mesh that a flow of the group comes from, if it comes from one.
    pub fn node_of_flow(&self, number: u32) -> Option<usize> {
        let program = number / self.flows_of_one();
        self.origin.as_ref()?.nodes.get(program as usize).copied()
    }

    /// Returns the IP length of the group's largest packet.
    pub fn largest_packet(&self) -> Bytes {
        self.datagrams().map_or(self.packet, |datagrams| datagrams.packet)
    }

    /// Whether flow `number` of the group carries responses, opposite to the group's requests.
    pub fn is_response(&self, number: u32) -> bool {
        self.requests().is_some() && number % 2 == 1
    }

    /// Returns the group's settings for flow `number`, because an application's flows differ. Responses go in the
    /// opposite direction, and a message that fits one packet gets a packet of its own size.
    pub fn of_flow(&self, number: u32) -> FlowGroup {
        let group = self.of_receiver(number);
        let Some(requests) = self.requests() else { return group };
        let message = if self.is_response(number) { requests.largest_response() } else { requests.request };
        let headers = Bytes(self.packet.0 - self.mss().0);
        FlowGroup { packet: self.packet.min(Bytes(message.0 + headers.0)), ..group }
    }

    /// Returns the group's settings for the receiver of flow `number`, which does not know how long messages are.
    pub fn of_receiver(&self, number: u32) -> FlowGroup {
        FlowGroup { reverse: self.reverse ^ self.is_response(number), ..self.clone() }
    }

    /// Whether the file sets a receive buffer, a read rate or a window controller, so that the receiver may limit the
    /// flow.
    pub fn receiver_may_limit(&self) -> bool {
        let has_buffer = self.receive_window.is_some() || self.tcp_rmem.is_some();
        has_buffer || self.read_rate.is_some() || self.window_controller.is_some()
    }

    /// Whether data or acknowledgements of the group pass a direction of link `number`.
    pub fn passes(&self, number: usize, is_reverse: bool) -> bool {
        if is_reverse { &self.reverse_path } else { &self.path }.contains(&number)
    }

    /// Returns the payload of a full data packet.
    pub fn mss(&self) -> Bytes {
        const HEADERS: u64 = 40;
        const TIMESTAMP_OPTION: u64 = 12;
        Bytes(self.packet.0 - HEADERS - if self.stack.timestamps { TIMESTAMP_OPTION } else { 0 })
    }

    /// Returns the group's settings with full segments of `payload` bytes.
    pub fn with_payload(&self, payload: Bytes) -> FlowGroup {
        FlowGroup { packet: Bytes(self.packet.0 - self.mss().0 + payload.0), ..self.clone() }
    }

    /// Returns the largest size of a flow of the group. A simulated flow numbers its packets with 32 bits, and the last
    /// number means a flow without end.
    pub fn largest_size(&self) -> Bytes {
        Bytes((u32::MAX as u64 - 1) * self.mss().0)
    }
}

section! {
    /// A sender's own link to the bottleneck.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Access: Default in "access" {
        /// rate of the sender's link
        pub rate: Option<Rate> = Means("no limit"), RATES;
        /// The queue before the link, if it has a rate; `None` = a queue that never drops.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub queue: Option<Queue>;
        "queue" = KeyType::Table, Means("a queue that never drops") =>
            "queue before the sender's link, any but the kernel's; needs rate";
        /// limit each flow's packets in its host (TCP small queues); needs rate; simulator only
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub small_queues: bool = Default("false");
        /// propagation delay from the sender to the bottleneck, one way, also for acknowledgements
        pub delay: Nanos = Default("0s"), DELAYS;
    }
}

section! {
    /// The memory of an auto-tuned receive buffer (`net.ipv4.tcp_rmem`, whose first value matters only when the host is
    /// short of memory).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct TcpRmem in "tcp_rmem" {
        /// initial memory of the buffer, half of which the handshake advertises
        pub default: Bytes = Default("131072b"), "4kib..1gib";
        /// largest memory of the buffer
        pub max: Bytes = Default("6mib"), "4kib..1gib";
    }
}

section! {
    /// A receiver's clock for the timestamps option (RFC 7323), relative to the sender's. The receiver's timers use
    /// true time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Clock: Default in "clock" {
        /// how far the receiver's clock is ahead of the sender's at the start; a kernel uses a random offset for each
        /// connection instead
        pub offset: Offset = Default("0s"), "-1000000s..1000000s";
        /// how much faster the receiver's clock runs than the sender's (clock skew in RFC 6817); simulator only
        pub drift: Drift = Default("0ppm"), "-10000ppm..10000ppm";
    }
}
