//! The experiment as the program sees it: every value checked, every default filled in, units in the types.

use crate::declare::{choice, section};
use crate::lte;
use crate::mesh::{Hop, Mesh};
use crate::schema::{KeyType, SOME_TIME, TIMES};
use crate::skb::{ReceiveBuffer, receive_memory};
use crate::units::{Bytes, Drift, Nanos, Rate};
use crate::{
    Clock, Compile, DuplexLink, FlowGroup, Host, Link, MechanismRef, Member, OnlyInTheKernel, OnlyInTheSimulator,
    OnlyThere, Queue, Service, TcpRmem, WifiCell, only,
};
use serde::{Deserialize, Serialize};

section! {
    /// One run: what a scenario file without `[sweep]`, or one cell of its grid, comes to.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Scenario in "" {
        /// name of the experiment
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub name: String = Means("the file's name");
        /// how long the run lasts
        pub duration: Nanos = Required, SOME_TIME;
        /// the first part of the run, left out of the statistics
        pub warmup: Nanos = Default("0s"), TIMES;
        /// seeds every random draw of the run
        pub seed: u64 = Default("1"), "0..9223372036854775807";
        /// What the compiler of mechanisms of the user's own is given.
        #[serde(default, skip_serializing_if = "Compile::is_empty")]
        pub compile: Compile;
        /// what queues, delays and loses real packets: this program, or the kernel's own FIFOs and netem
        pub emulator: Emulator = Default("unbloat");
        "profile" = KeyType::Profile, Default("linux") => "how the TCP ends behave";
        "compile" = KeyType::Table, Means("mechanisms of your own need no options") =>
            "what the compiler of mechanisms of your own is given";
        "wifi" = KeyType::Table, Means("no link is on Wi-Fi") => "the Wi-Fi cells";
        "link" = KeyType::Table, Required => "the links";
        "lte" = KeyType::Table, Means("no link is one of LTE") => "the LTE cells";
        "host" = KeyType::Table, Means("senders write without a limit, and nothing waits in them") =>
            "hosts with queues of their own";
        "mesh" = KeyType::Table, Means("no flow comes from a mesh") => "the meshes of IEEE 802.15.4 radios";
        "flows" = KeyType::Tables, Required => "the flow groups, one [[flows]] each";
        "sweep" = KeyType::Table, Means("a single run") => "a grid over other keys, the last axis fastest";
        /// The Wi-Fi cells, in the file's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub wifi: Vec<WifiCell>;
        /// The links between the hosts, in the file's order.
        pub links: Vec<DuplexLink>;
        /// The LTE cells that some of the links are in, in the file's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub lte: Vec<lte::Cell>;
        /// The hosts that some of the groups are on, in the file's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub hosts: Vec<Host>;
        /// The meshes that some flows come from, in the file's order. Each of their nodes but the border router has a
        /// link to its parent, behind the links of the file.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub meshes: Vec<Mesh>;
        /// The flow groups, in the file's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub flows: Vec<FlowGroup>;
    }
}

impl Scenario {
    /// The lowest rate of a forward direction; none if all follow traces.
    pub fn slowest_rate(&self) -> Option<Rate> {
        let services = self.links.iter().map(|link| &link.forward.service);
        services.filter(|service| service.trace().is_none()).map(|service| Rate(service.capacity().least as u64)).min()
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

    /// The media with their kinds, their places among those of their kind, and their names.
    pub fn media(&self) -> impl Iterator<Item = (&'static str, usize, &str)> {
        let wifi = self.wifi.iter().enumerate().map(|(number, cell)| ("wifi", number, cell.name.as_str()));
        let lte = self.lte.iter().enumerate().map(|(number, cell)| ("lte", number, cell.name.as_str()));
        let meshes = self.meshes.iter().enumerate().map(|(number, mesh)| ("mesh", number, mesh.name.as_str()));
        wifi.chain(lte).chain(meshes)
    }

    /// The links to the stations of a Wi-Fi cell, in the file's order.
    pub fn links_of_cell(&self, cell: usize) -> impl Iterator<Item = usize> {
        let is_of_cell =
            move |link: &DuplexLink| link.forward.service.station().is_some_and(|station| station.cell == cell);
        (0..).zip(&self.links).filter(move |(_, link)| is_of_cell(link)).map(|(number, _)| number)
    }

    /// Does the forward direction of a link lead from a station of a Wi-Fi cell, or a user of an LTE cell? A link in a
    /// cell leads to it, unless a host's packets leave by the link: then the host is the station.
    pub fn leads_from_station(&self, link: usize) -> bool {
        let in_cell = matches!(
            self.links[link].forward.service,
            Service::Shared(Member::Wifi(_)) | Service::Shared(Member::Lte(_))
        );
        in_cell && self.hosts.iter().any(|host| host.uplink == link)
    }

    /// The one queue that the access point of a link's cell has for all stations, if it is that of this direction.
    pub fn shared_queue(&self, link: usize, is_reverse: bool) -> Option<&Queue> {
        match &self.links[link].forward.service {
            Service::Shared(Member::Wifi(station)) if is_reverse == self.leads_from_station(link) => {
                self.wifi[station.cell].queue.as_ref()
            }
            _ => None,
        }
    }

    /// What it runs: the mechanisms of the groups, then those of the hosts.
    pub fn mechanisms(&self) -> impl Iterator<Item = &MechanismRef> {
        let of_hosts = self.hosts.iter().filter_map(|host| host.classifier.as_ref());
        self.flows.iter().flat_map(FlowGroup::mechanisms).chain(of_hosts)
    }

    /// The same, to be changed.
    pub fn mechanisms_mut(&mut self) -> impl Iterator<Item = &mut MechanismRef> {
        let of_hosts = self.hosts.iter_mut().filter_map(|host| host.classifier.as_mut());
        self.flows.iter_mut().flat_map(FlowGroup::mechanisms_mut).chain(of_hosts)
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
        let link = self.directions().find(|link| link.queue.is_of_kernel())?;
        Some(OnlyInTheKernel { key: format!("link.{}.queue.kind", link.name), what: link.queue.name() })
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
        let in_mesh = self.way_up(group, self.farthest(group)).into_iter();
        in_mesh.chain(group.path.iter().copied()).map(|link| &self.links[link].forward).collect()
    }

    fn reverse_directions(&self, group: &FlowGroup) -> Vec<&Link> {
        let in_mesh = self.way_up(group, self.farthest(group)).into_iter().rev();
        group.reverse_path.iter().copied().chain(in_mesh).map(|link| &self.links[link].reverse).collect()
    }

    /// The links from the node of a flow of `group` up to the border router; none outside a mesh.
    pub fn way_up(&self, group: &FlowGroup, flow: u32) -> Vec<usize> {
        // There is no node while a file is read that names none.
        let (Some(origin), Some(node)) = (&group.origin, group.node_of_flow(flow)) else { return vec![] };
        let way = self.meshes[origin.mesh].way_up(node);
        way.filter_map(|node| self.link_of_node(origin.mesh, node)).collect()
    }

    /// The link between a node and its parent.
    fn link_of_node(&self, mesh: usize, node: usize) -> Option<usize> {
        self.links_of_mesh(mesh).find(|(_, hop)| hop.from == node).map(|(link, _)| link)
    }

    /// The links of a mesh, each with its forward direction, from a node to its parent.
    pub fn links_of_mesh(&self, mesh: usize) -> impl Iterator<Item = (usize, Hop)> {
        let hops = (0..).zip(&self.links).filter_map(|(link, model)| Some((link, model.hop()?)));
        hops.filter(move |(_, hop)| hop.mesh == mesh)
    }

    /// The flow of a group from a mesh that has most hops before it; of another its first.
    pub fn farthest(&self, group: &FlowGroup) -> u32 {
        let Some(origin) = &group.origin else { return 0 };
        let hops = |program: &u32| self.meshes[origin.mesh].hops(origin.nodes[*program as usize]);
        let farthest = (0..origin.nodes.len() as u32).max_by_key(hops).unwrap_or_default();
        farthest * group.flows_of_one()
    }

    /// The slowest link, in the mean, that the data of `group` passes; the first of equals.
    pub fn bottleneck_of(&self, group: &FlowGroup) -> &Link {
        let path = self.data_path(group);
        let rate = |link: &&Link| link.service.capacity().mean;
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

    /// Propagation from a sender of `group` to its receiver and back, with what cells add when they are idle.
    pub fn propagation_rtt(&self, group: &FlowGroup) -> Nanos {
        let directions = self.forward_directions(group).into_iter().chain(self.reverse_directions(group));
        directions
            .fold(group.access.delay + group.access.delay, |rtt, link| rtt + link.delay + link.service.idle_delay())
    }

    /// The largest packet that takes a direction of link `number`.
    pub fn largest_packet(&self, number: usize, is_reverse: bool) -> Bytes {
        let passes = |group: &&FlowGroup| group.passes(number, is_reverse);
        let packet = |group: &FlowGroup| {
            let both_ways = group.app.is_some();
            if both_ways || group.reverse == is_reverse {
                group.packet.max(group.largest_packet())
            } else {
                LARGEST_ACK
            }
        };
        self.flows.iter().filter(passes).map(packet).max().unwrap_or_default()
    }

    /// How much the application of a group writes ahead of what TCP has sent: enough for a late application, little
    /// enough to end a flow by not writing any more.
    pub fn written_ahead(&self, group: &FlowGroup) -> Bytes {
        const LEAST: u64 = 128 << 10;
        // A flow that the receiver holds back takes long for what is ahead.
        let ahead = match (group.receive_window, group.read_rate) {
            (Some(_), _) | (_, Some(_)) => 0,
            (None, None) => self.bottleneck_of(group).service.carried_in(Nanos::from_millis(40)).0,
        };
        Bytes(ahead.max(LEAST))
    }

    /// The first thing asked for that only the simulator has.
    pub fn only_in_the_simulator(&self) -> Option<OnlyInTheSimulator> {
        if let Some(refused) = self.host_only_in_the_simulator() {
            return Some(refused);
        }
        let first = |(number, group): (usize, &FlowGroup)| {
            let key = |key| format!("flows.{number}.{key}");
            if group.clock.drift != Drift(0) {
                let Clock { drift, .. } = group.clock;
                return Some(OnlyInTheSimulator { key: key("clock.drift"), what: OnlyThere::Drift(drift) });
            }
            if group.datagrams().is_some_and(|datagrams| datagrams.packet < only::STAMPED) {
                return Some(OnlyInTheSimulator { key: key("app.packet"), what: OnlyThere::ShortDatagrams });
            }
            if group.receive_window.is_some_and(|window| window < only::LEAST_WINDOW) {
                return Some(OnlyInTheSimulator { key: key("receive_window"), what: OnlyThere::SmallWindow });
            }
            let small_queues = OnlyInTheSimulator { key: key("access.small_queues"), what: OnlyThere::SmallQueues };
            group.access.small_queues.then_some(small_queues)
        };
        self.flows.iter().enumerate().find_map(first)
    }

    /// The buffer of a receiver of `group`.
    pub fn receive_buffer(&self, group: &FlowGroup) -> ReceiveBuffer {
        match group.tcp_rmem {
            Some(TcpRmem { default, max }) => {
                ReceiveBuffer { memory: default.0 as u32, tcp_rmem_max: Some(max.0 as u32) }
            }
            None => {
                let window = group.receive_window.unwrap_or_else(|| self.ample_window(group));
                let memory = receive_memory(window, group.mss().0 as u32, group.packet);
                ReceiveBuffer { memory, tcp_rmem_max: None }
            }
        }
    }

    /// Payload of a full segment that a sender of `group` sends: the MSS, or less where the receiver's buffer is small.
    /// Messages of an application take segments of the MSS.
    pub fn segment_payload(&self, group: &FlowGroup) -> Bytes {
        let mss = group.mss();
        let is_cut = group.app.is_none() && group.stack.quick_ack;
        if is_cut { Bytes(self.receive_buffer(group).segment(mss.0 as u32).into()) } else { mss }
    }
}

/// IP and TCP headers without payload: 20 bytes, 20 bytes and at most 40 bytes of options (RFC 9293).
pub const LARGEST_ACK: Bytes = Bytes(80);

/// What an application hands to TCP at a time: whole segments, at most so many bytes.
pub const WRITTEN_AT_ONCE: Bytes = Bytes(16 << 10);

choice! {
    /// What queues, delays and loses packets where they are real. The simulator knows its own way only.
    #[derive(Default)]
    pub enum Emulator {
        /// Ours, the simulator's own code on the real clock.
        #[default]
        Unbloat = "unbloat",
        /// The kernel's: its FIFOs behind its shaper, `netem` as the wire.
        Netem = "netem",
    }
}
