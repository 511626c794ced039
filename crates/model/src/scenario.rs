//! A scenario in memory: every value checked, every default filled in, units in the types.

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
    /// The scenario of one run: a file without `[sweep]`, or one point of its grid.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Scenario in "" {
        /// name of the experiment
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub name: String = Means("the file's name");
        /// duration of the run
        pub duration: Nanos = Required, SOME_TIME;
        /// first part of the run, which statistics leave out
        pub warmup: Nanos = Default("0s"), TIMES;
        /// seed of every random draw of the run
        pub seed: u64 = Default("1"), "0..9223372036854775807";
        /// Options for the compiler of the user's own mechanisms.
        #[serde(default, skip_serializing_if = "Compile::is_empty")]
        pub compile: Compile;
        /// which program queues, delays and loses packets of real TCP: unbloat, or the kernel's FIFOs and netem
        pub emulator: Emulator = Default("unbloat");
        "profile" = KeyType::Profile, Default("linux") => "TCP features of both ends";
        "compile" = KeyType::Table, Means("no options") =>
            "compiler options for mechanisms of your own";
        "wifi" = KeyType::Table, Means("no link is on Wi-Fi") => "the Wi-Fi cells";
        "link" = KeyType::Table, Required => "the links";
        "lte" = KeyType::Table, Means("no link is one of LTE") => "the LTE cells";
        "host" = KeyType::Table, Means("senders write without a limit, and no packet waits in them") =>
            "hosts with queues of their own";
        "mesh" = KeyType::Table, Means("no flow comes from a mesh") => "the meshes of IEEE 802.15.4 radios";
        "flows" = KeyType::Tables, Required => "the flow groups, one [[flows]] each";
        "expect" = KeyType::Table, Means("nothing is expected") =>
            "statements that the results must fulfil, each under a name of its own";
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
        /// The meshes that some flows come from, in the file's order. Each node except the border router has a link to
        /// its parent, after the links of the file.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub meshes: Vec<Mesh>;
        /// The flow groups, in the file's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub flows: Vec<FlowGroup>;
    }
}

impl Scenario {
    /// Returns the lowest rate of a forward direction; none if all follow traces.
    pub fn slowest_rate(&self) -> Option<Rate> {
        let services = self.links.iter().map(|link| &link.forward.service);
        services.filter(|service| service.trace().is_none()).map(|service| Rate(service.capacity().least as u64)).min()
    }

    /// Returns the time to send the largest packet at [`slowest_rate`](Self::slowest_rate).
    pub fn packet_time(&self) -> Option<Nanos> {
        let slowest = self.slowest_rate()?;
        self.flows.iter().map(|group| slowest.time_to_send(group.packet)).max()
    }

    /// Returns every direction of every link, in the order of their records: link by link, forward before reverse.
    pub fn directions(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().flat_map(|link| [&link.forward, &link.reverse])
    }

    /// Returns the shared media, each with its kind, its number within its kind, and its name.
    pub fn media(&self) -> impl Iterator<Item = (&'static str, usize, &str)> {
        let wifi = self.wifi.iter().enumerate().map(|(number, cell)| ("wifi", number, cell.name.as_str()));
        let lte = self.lte.iter().enumerate().map(|(number, cell)| ("lte", number, cell.name.as_str()));
        let meshes = self.meshes.iter().enumerate().map(|(number, mesh)| ("mesh", number, mesh.name.as_str()));
        wifi.chain(lte).chain(meshes)
    }

    /// Returns the links to the stations of a Wi-Fi cell, in the file's order.
    pub fn links_of_cell(&self, cell: usize) -> impl Iterator<Item = usize> {
        let is_of_cell =
            move |link: &DuplexLink| link.forward.service.station().is_some_and(|station| station.cell == cell);
        (0..).zip(&self.links).filter(move |(_, link)| is_of_cell(link)).map(|(number, _)| number)
    }

    /// Whether the forward direction of a link leads from a station of a Wi-Fi cell, or from a user of an LTE cell. A
    /// link in a cell leads to the station, unless it is a host's uplink: then the host is the station.
    pub fn leads_from_station(&self, link: usize) -> bool {
        let in_cell = matches!(
            self.links[link].forward.service,
            Service::Shared(Member::Wifi(_)) | Service::Shared(Member::Lte(_))
        );
        in_cell && self.hosts.iter().any(|host| host.uplink == link)
    }

    /// Returns the shared queue of the access point of a link's Wi-Fi cell, if this direction uses it.
    pub fn shared_queue(&self, link: usize, is_reverse: bool) -> Option<&Queue> {
        match &self.links[link].forward.service {
            Service::Shared(Member::Wifi(station)) if is_reverse == self.leads_from_station(link) => {
                self.wifi[station.cell].queue.as_ref()
            }
            _ => None,
        }
    }

    /// Returns the mechanisms of the scenario: those of the groups, then those of the hosts.
    pub fn mechanisms(&self) -> impl Iterator<Item = &MechanismRef> {
        let of_hosts = self.hosts.iter().filter_map(|host| host.classifier.as_ref());
        self.flows.iter().flat_map(FlowGroup::mechanisms).chain(of_hosts)
    }

    /// Returns mutable access to the mechanisms of the scenario.
    pub fn mechanisms_mut(&mut self) -> impl Iterator<Item = &mut MechanismRef> {
        let of_hosts = self.hosts.iter_mut().filter_map(|host| host.classifier.as_mut());
        self.flows.iter_mut().flat_map(FlowGroup::mechanisms_mut).chain(of_hosts)
    }

    /// Returns the seed of a group's congestion control: each instance has its own random stream.
    pub fn control_seed(&self, group: usize) -> u64 {
        self.seed.wrapping_mul(1_000_003).wrapping_add(group as u64)
    }

    /// Returns the first feature of the scenario that only a kernel supports.
    pub fn only_in_the_kernel(&self) -> Option<OnlyInTheKernel> {
        if self.emulator == Emulator::Netem {
            return Some(OnlyInTheKernel { key: "emulator".into(), what: "netem".into() });
        }
        let link = self.directions().find(|link| link.queue.is_of_kernel())?;
        Some(OnlyInTheKernel { key: format!("link.{}.queue.kind", link.name), what: link.queue.name() })
    }

    /// Returns the forward directions of links whose queues never drop, because the file has no limit.
    pub fn never_drop(&self) -> impl Iterator<Item = &Link> {
        let forward = self.links.iter().map(|link| &link.forward);
        forward.filter(|link| matches!(link.queue, Queue::Droptail { limit: None, .. }))
    }

    /// Returns the directions of links that the data of `group` passes.
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

    /// Returns the links from the node of a flow of `group` up to the border router; empty outside a mesh.
    pub fn way_up(&self, group: &FlowGroup, flow: u32) -> Vec<usize> {
        // A file that is being read may name no node.
        let (Some(origin), Some(node)) = (&group.origin, group.node_of_flow(flow)) else { return vec![] };
        let way = self.meshes[origin.mesh].way_up(node);
        way.filter_map(|node| self.link_of_node(origin.mesh, node)).collect()
    }

    /// Returns the link between a node and its parent.
    fn link_of_node(&self, mesh: usize, node: usize) -> Option<usize> {
        self.links_of_mesh(mesh).find(|(_, hop)| hop.from == node).map(|(link, _)| link)
    }

    /// Returns the links of a mesh, each with its forward hop from a node to its parent.
    pub fn links_of_mesh(&self, mesh: usize) -> impl Iterator<Item = (usize, Hop)> {
        let hops = (0..).zip(&self.links).filter_map(|(link, model)| Some((link, model.hop()?)));
        hops.filter(move |(_, hop)| hop.mesh == mesh)
    }

    /// Returns the flow of a group with the most hops in its mesh; 0 for groups outside a mesh.
    pub fn farthest(&self, group: &FlowGroup) -> u32 {
        let Some(origin) = &group.origin else { return 0 };
        let hops = |program: &u32| self.meshes[origin.mesh].hops(origin.nodes[*program as usize]);
        let farthest = (0..origin.nodes.len() as u32).max_by_key(hops).unwrap_or_default();
        farthest * group.flows_of_one()
    }

    /// Returns the link with the lowest mean rate that the data of `group` passes; the first of equals.
    pub fn bottleneck_of(&self, group: &FlowGroup) -> &Link {
        let path = self.data_path(group);
        let rate = |link: &&Link| link.service.capacity().mean;
        path.into_iter().min_by(|a, b| rate(a).total_cmp(&rate(b))).expect("a path has a link")
    }

    /// Returns the least delay of a packet on any group's forward path, without access links.
    pub fn least_forward_delay(&self) -> Nanos {
        self.least_delay(Scenario::forward_directions)
    }

    /// Returns the least delay of a packet on any group's reverse path, without access links.
    pub fn least_reverse_delay(&self) -> Nanos {
        self.least_delay(Scenario::reverse_directions)
    }

    fn least_delay<'a>(&'a self, path: fn(&'a Scenario, &FlowGroup) -> Vec<&'a Link>) -> Nanos {
        let delay = |group| path(self, group).iter().fold(Nanos::ZERO, |delay, link| delay + link.least_delay());
        self.flows.iter().map(delay).min().unwrap_or_default()
    }

    /// Returns the propagation time from a sender of `group` to its receiver and back, plus the mean delay of idle
    /// radio cells.
    pub fn propagation_rtt(&self, group: &FlowGroup) -> Nanos {
        let directions = self.forward_directions(group).into_iter().chain(self.reverse_directions(group));
        directions.fold(group.access.delay + group.access.delay, |rtt, link| {
            rtt + link.longest_delay() + link.service.idle_delay()
        })
    }

    /// Returns the largest packet that passes a direction of link `number`.
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

    /// Returns how many unsent bytes the application of a group keeps in its socket. They are enough when the
    /// application is late, and few enough that a flow ends soon after its last write.
    pub fn written_ahead(&self, group: &FlowGroup) -> Bytes {
        const LEAST: u64 = 128 << 10;
        // A flow that its receiver limits needs long to send these bytes.
        let ahead = match (group.receive_window, group.read_rate) {
            (Some(_), _) | (_, Some(_)) => 0,
            (None, None) => self.bottleneck_of(group).service.carried_in(Nanos::from_millis(40)).0,
        };
        Bytes(ahead.max(LEAST))
    }

    /// Returns the first feature of the scenario that only the simulator supports.
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

    /// Returns the receive buffer of a receiver of `group`.
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

    /// Returns the payload of a full segment of `group`: the MSS, or less if the receiver's buffer is small. Messages
    /// of an application use segments of the MSS.
    pub fn segment_payload(&self, group: &FlowGroup) -> Bytes {
        let mss = group.mss();
        let is_cut = group.app.is_none() && group.stack.quick_ack;
        if is_cut { Bytes(self.receive_buffer(group).segment(mss.0 as u32).into()) } else { mss }
    }
}

/// The largest acknowledgement: IP and TCP headers of 20 bytes each and at most 40 bytes of options (RFC 9293).
pub const LARGEST_ACK: Bytes = Bytes(80);

/// The most that an application writes at a time, bytes, in whole segments.
pub const WRITTEN_AT_ONCE: Bytes = Bytes(16 << 10);

choice! {
    /// The program that queues, delays and loses real packets. The simulator always uses its own code.
    #[derive(Default)]
    pub enum Emulator {
        /// This program: the simulator's code on the real clock.
        #[default]
        Unbloat = "unbloat",
        /// The kernel: its FIFOs behind its shaper, and `netem` as the wire.
        Netem = "netem",
    }
}
