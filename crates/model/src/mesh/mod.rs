//! A mesh of IEEE 802.15.4 radios: its nodes, the signals between them, and the tree that packets follow.

mod csma;
mod energy;
mod repair;
mod tree;

pub use csma::Csma;
pub use energy::{DutyCycle, Energy, Times};
pub use repair::Tree;
pub use tree::etx_tree;

use crate::declare::{self, section, table};
use crate::impairments::{Impairments, Outage};
use crate::quantity::Number;
use crate::queue::Queue;
use crate::schema::{Key, KeyType, SOME_TIME, TIMES};
use crate::section::Section;
use crate::units::{Dbm, Nanos};
use crate::{DuplexLink, Link, Loss, Member, Service};
use serde::{Deserialize, Serialize};

section! {
    /// A mesh, `[mesh.NAME]`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Mesh in "mesh.NAME" {
        /// The name of the mesh, by which flow groups refer to it.
        pub name: String;
        /// The nodes, in the file's order.
        pub nodes: Vec<Node>;
        /// The number of the border router among the nodes; it is the root of the tree.
        pub border_router: usize;
        /// The strength with which each node (row) is heard by each other one (column), dBm; none if it is not heard.
        pub signals: Vec<Vec<Option<f64>>>;
        /// The queue in each node, for packets in both directions.
        pub queue: Queue;
        /// The parameters of the access to the channel.
        pub csma: Csma;
        /// The currents and voltage of the radios.
        pub energy: Energy;
        /// The times at which the radios of all nodes but the border router listen; `None` = whenever they do not
        /// transmit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub duty_cycle: Option<DutyCycle>;
        /// the border router tells nodes the mean rate of the flows that it forwards, in 6 bytes of each packet down,
        /// for dtpa_auto
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub announces_rate: bool = Default("false");
        /// time until other nodes notice that a node is down or back, and rebuild the tree; by default as IPv6 takes
        /// (RFC 4861, section 10)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub repair_after: Option<Nanos> = Default("8s"), "1ms..3600s";
    }
}

section! {
    /// The keys of a mesh besides its nodes, and of its radio channel.
    pub struct MeshKeys in "mesh.NAME" {
        /// the node at the root of the tree, where the links of path begin
        pub border_router: Option<String> = Required;
        "nodes" = KeyType::Table, Required => "the nodes, each a table of its own, [mesh.NAME.nodes.NAME]";
        "queue" = KeyType::Table, Means("a FIFO of 15 packets") =>
            "queue of each node, for its own packets and those that it forwards, up and down";
        /// transmit power of the radios, for nodes with places
        pub tx_power: Dbm = Default("0dbm"), "-40dbm..20dbm";
        /// exponent of the loss with distance, 40.2 dB at one metre, for nodes with places
        pub path_loss: f64 [Number] = Default("3"), "1.5..6";
    }
}

section! {
    /// The keys of a node.
    pub struct NodeKeys: Default in "mesh.NAME.nodes.NAME" {
        /// position of the node along the first axis, in metres
        pub x: Option<Number> = Means("hears must be given"), "-100000..100000";
        /// position of the node along the second axis, in metres
        pub y: Option<Number> = Means("0"), "-100000..100000";
        /// signal strengths of the nodes that it hears, such as { n2 = "-80dbm" }; it hears no others
        pub hears: Option<Hears> = Means("derived from places and path_loss");
        /// next node towards the border router
        pub parent: Option<String> = Means("the tree of least ETX, as RPL builds it");
        /// times when the node is down; packets that wait in it or are sent to it are lost, and its flow continues
        pub down: Vec<Down> = Means("never");
    }
}

/// The strength with which a node hears others, dBm, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hears(pub Vec<(String, f64)>);

impl declare::Field for Hears {
    const KIND: KeyType = KeyType::Table;
    fn find(node: &Section, name: &'static str) -> Option<Hears> {
        let written = node.get(name)?;
        let Some(table) = written.value.as_table() else {
            let message = format!("must be a table such as {{ n2 = \"-80dbm\" }}, not {}", written.value.kind());
            node.complain(name, message);
            return None;
        };
        let mut hears = vec![];
        for (other, signal) in &table.0 {
            match signal.value.as_text().and_then(strength) {
                Some(strength) => hears.push((other.clone(), strength)),
                None => {
                    let path = node.path_of(&format!("{name}.{other}"));
                    node.complain_about(&signal.place, path, "must be a signal strength such as \"-80dbm\"");
                }
            }
        }
        Some(Hears(hears))
    }
    fn absent(_: &Key) -> Hears {
        Hears::default()
    }
    fn written(&self) -> Option<String> {
        let hears: Vec<_> = self.0.iter().map(|(name, strength)| (name, format!("\"{strength}dbm\""))).collect();
        Some(table(&hears))
    }
}

/// Parses a signal strength in dBm, which may have a fraction.
fn strength(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    number.parse().ok().filter(|_| unit.eq_ignore_ascii_case("dbm"))
}

section! {
    /// A time in which a node is down.
    pub struct Down in "down" {
        /// time when the node goes down
        pub at: Nanos = Required, TIMES;
        /// how long the link is down
        pub lasts("for"): Nanos = Required, SOME_TIME;
    }
}

/// A node of a mesh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The node's name in the file.
    pub name: String,
    /// The number of the node's parent at the start; none for the border router.
    pub parent: Option<usize>,
    /// The times at which the node is down, in order and without overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<Outage>,
}

/// The two ends of one direction of a link between a node and its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// The number of the mesh in the scenario.
    pub mesh: usize,
    /// The node that sends.
    pub from: usize,
    /// The node that receives.
    pub to: usize,
}

/// The nodes of a mesh that a group's flows come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The number of the mesh in the scenario.
    pub mesh: usize,
    /// The node of each flow.
    pub nodes: Vec<usize>,
}

impl Mesh {
    /// Returns the nodes from `node` up to, but without, the border router. If the parents form a circle, it stops
    /// after as many nodes as the mesh has.
    pub fn way_up(&self, node: usize) -> impl Iterator<Item = usize> {
        let parent = move |node: &usize| self.nodes[*node].parent;
        let way = std::iter::successors(Some(node), parent).filter(|node| *node != self.border_router);
        way.take(self.nodes.len())
    }

    /// Returns the number of hops from a node to the border router.
    pub fn hops(&self, node: usize) -> u32 {
        self.way_up(node).count() as u32
    }

    /// Makes the links of the mesh, which has number `number` in the scenario, each between a node and its parent.
    pub fn links(&self, number: usize) -> Vec<DuplexLink> {
        let direction = |name: String, from, to| Link {
            name,
            service: Service::Shared(Member::Mesh(Hop { mesh: number, from, to })),
            delay: Nanos::ZERO,
            queue: self.queue.clone(),
            loss: Loss::NONE,
            impairments: Impairments::default(),
        };
        let link = |node: usize| {
            let parent = self.nodes[node].parent?;
            let name = format!("{}.{}", self.name, self.nodes[node].name);
            let reverse = direction(format!("{name}.reverse"), parent, node);
            Some(DuplexLink { forward: direction(name, node, parent), reverse })
        };
        self.children().filter_map(link).collect()
    }

    /// Returns the nodes with a parent, and thus with a link: all but the border router.
    pub fn children(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|node| *node != self.border_router)
    }
}
