//! Reads meshes, their nodes, and the flow groups that come from them, and checks all three.

use crate::checks;
use model::bdp::Product;
use model::declare::Declared;
use model::did_you_mean;
use model::impairments::Outage;
use model::mesh::{Csma, Down, DutyCycle, Energy, Hears, Mesh, MeshKeys, Node, NodeKeys, Origin, etx_tree};
use model::quantity::Number;
use model::radio::ieee802154::phy;
use model::section::{Names, Section};
use model::units::{Bytes, Nanos};
use model::{Limit, Queue, Scenario};

/// The default queue of a node, as in TinyOS's BLIP on a TelosB.
const FIFO: Queue = Queue::Droptail { limit: Some(Limit::Packets(15)), ecn_threshold: None };
/// The largest packet of a mesh, counted with an IPv4 header. It is an IPv6 datagram of 1280 bytes (RFC 4944, section
/// 4), whose header is 20 bytes longer.
const LARGEST_PACKET: Bytes = Bytes(1260);

/// Reads a mesh except for its queue and links.
pub(crate) fn mesh(section: &Section) -> Mesh {
    let nodes = section.child("nodes", "mesh.NAME.nodes");
    let sections = nodes.named_children("mesh.NAME.nodes.NAME");
    if nodes.is_there() && sections.len() < 2 {
        section.complain("nodes", "must have a border router and at least one other node");
    }
    let names: Vec<_> = sections.iter().map(|node| node.name().to_string()).collect();
    let border_router = MeshKeys::read(section).border_router;
    let border_router = border_router.and_then(|name| node_named(section, "border_router", &name, &names));
    let signals = signals(section, &sections, &names);
    let given = parents(&sections, &names, border_router);
    let has_parents = given.is_some();
    if has_parents && section.get("repair_after").is_some() {
        section.complain(
            "repair_after",
            "cannot be set where nodes have a parent, for then the tree never changes; \
                                          leave it out",
        );
    }
    let parents = given.unwrap_or_else(|| match border_router {
        Some(root) => etx_tree(&signals, root),
        None => vec![None; names.len()],
    });
    let node = |((name, parent), section)| Node { name, parent, down: down(section) };
    let keys = Mesh::read(section);
    Mesh {
        name: section.name().into(),
        nodes: names.into_iter().zip(parents).zip(&sections).map(node).collect(),
        border_router: border_router.unwrap_or_default(),
        signals,
        queue: FIFO,
        csma: Csma::read(section),
        energy: Energy::read(section),
        duty_cycle: section.get("wake_interval").map(|_| DutyCycle::read(section)),
        repair_after: keys.repair_after.filter(|_| !has_parents),
        ..keys
    }
}

/// Reads the times at which a node is down.
fn down(node: &Section) -> Vec<Outage> {
    let mut end = Nanos::ZERO;
    let mut outages = vec![];
    for (Down { at, lasts }, section) in NodeKeys::read(node).down.into_iter().zip(node.list("down")) {
        let outage = Outage { at, lasts, lose: true };
        if outage.at < end {
            section.complain("at", format!("{} must not be before {end}, where the outage before it ends", outage.at));
        }
        end = outage.end();
        outages.push(outage);
    }
    outages
}

/// Returns the number of the node that `key` names.
fn node_named(section: &Section, key: &str, name: &str, names: &[String]) -> Option<usize> {
    let place = names.iter().position(|known| known == name);
    if place.is_none() && !names.is_empty() {
        let hint = did_you_mean(name, names.iter().map(String::as_str));
        section.complain(key, format!("unknown node {name}{hint}; valid: {}", names.join(", ")));
    }
    place
}

/// Returns how strongly each node hears each other one, in dBm: from `hears` of all nodes, or from their places.
fn signals(mesh: &Section, nodes: &[Section], names: &[String]) -> Vec<Vec<Option<f64>>> {
    let have_places = nodes.iter().any(|node| node.get("x").is_some() || node.get("y").is_some());
    for node in nodes {
        if have_places && node.get("hears").is_some() {
            node.complain(
                "hears",
                "cannot be set together with places, which decide who hears whom; leave one of the \
                                    two out",
            );
        } else if have_places && node.get("x").is_none() {
            node.complain("x", "is missing; write the node's place in metres, as for the other nodes");
        }
    }
    match have_places {
        true => by_places(mesh, nodes),
        false => by_hearing(nodes, names),
    }
}

fn by_places(mesh: &Section, nodes: &[Section]) -> Vec<Vec<Option<f64>>> {
    let MeshKeys { tx_power, path_loss, .. } = MeshKeys::read(mesh);
    let power = tx_power.0 as f64;
    let metres = |place: Option<Number>| place.unwrap_or_default().0;
    let places: Vec<_> = nodes.iter().map(NodeKeys::read).map(|node| (metres(node.x), metres(node.y))).collect();
    let signal = |from: usize, to: usize| {
        let ((x, y), (u, v)) = (places[from], places[to]);
        let metres = ((x - u) * (x - u) + (y - v) * (y - v)).sqrt();
        (from != to).then(|| phy::signal_at(metres, power, path_loss))
    };
    (0..nodes.len()).map(|from| (0..nodes.len()).map(|to| signal(from, to)).collect()).collect()
}

fn by_hearing(nodes: &[Section], names: &[String]) -> Vec<Vec<Option<f64>>> {
    let mut signals = vec![vec![None; nodes.len()]; nodes.len()];
    for (to, node) in nodes.iter().enumerate() {
        let Some(Hears(heard)) = NodeKeys::read(node).hears else { continue };
        for (name, strength) in heard {
            match node_named(node, "hears", &name, names) {
                Some(from) if from == to => node.complain("hears", "must not name the node itself"),
                Some(from) => signals[from][to] = Some(strength),
                None => {}
            }
        }
    }
    signals
}

/// Returns each node's parent, as the file sets them; none if it sets no parent.
fn parents(nodes: &[Section], names: &[String], root: Option<usize>) -> Option<Vec<Option<usize>>> {
    let say = |node: &Section| node.get("parent").is_some();
    if !nodes.iter().any(say) {
        return None;
    }
    let mut parents = vec![];
    for (place, node) in nodes.iter().enumerate() {
        let parent = NodeKeys::read(node).parent.and_then(|name| node_named(node, "parent", &name, names));
        if say(node) && Some(place) == root {
            node.complain("parent", "cannot be set in the border router, which is the root; leave it out");
        } else if !say(node) && root.is_some_and(|root| root != place) {
            node.complain("parent", "is missing; write a parent for every node but the border router, or for none");
        }
        parents.push(parent);
    }
    Some(parents)
}

/// Reads the nodes of a mesh that a group's flows come from; none for other groups.
pub(crate) fn origin(group: &Section, mesh: Option<String>, nodes: Option<Names>, meshes: &[Mesh]) -> Option<Origin> {
    let Some(name) = mesh else {
        if nodes.is_some() {
            group.complain("nodes", "needs mesh; write mesh = NAME beside it");
        }
        return None;
    };
    let Some(number) = meshes.iter().position(|mesh| mesh.name == name) else {
        let known: Vec<_> = meshes.iter().map(|mesh| mesh.name.as_str()).collect();
        let valid = match known.is_empty() {
            true => format!("; write [mesh.{name}]"),
            false => format!("{}; valid: {}", did_you_mean(&name, known.iter().copied()), known.join(", ")),
        };
        group.complain("mesh", format!("unknown mesh {name}{valid}"));
        return None;
    };
    for key in ["count", "arrivals"].into_iter().filter(|key| group.get(key).is_some()) {
        group.complain(key, "cannot be set together with mesh, whose nodes send one flow each; leave it out");
    }
    if group.get("host").is_some() {
        group.complain("host", "cannot be set together with mesh, whose nodes are these flows' hosts; leave it out");
    }
    let mesh = &meshes[number];
    let Some(chosen) = nodes else {
        return Some(Origin { mesh: number, nodes: mesh.children().collect() });
    };
    let names: Vec<_> = mesh.nodes.iter().map(|node| node.name.clone()).collect();
    let mut nodes = vec![];
    for name in &chosen.0 {
        match node_named(group, "nodes", name, &names) {
            Some(node) if node == mesh.border_router => {
                group.complain(
                    "nodes",
                    format!(
                        "{name} is the border router, which sends no data of its own; leave \
                                                 it out"
                    ),
                );
            }
            Some(node) if nodes.contains(&node) => {
                group.complain("nodes", format!("names {name} twice; leave one out"))
            }
            Some(node) => nodes.push(node),
            None => {}
        }
    }
    Some(Origin { mesh: number, nodes })
}

/// Adds the links of meshes, each between a node and its parent, after the links of the file.
pub(crate) fn add_links(scenario: &mut Scenario, sections: &[Section]) {
    for (number, section) in sections.iter().enumerate() {
        let first = scenario.links.len();
        scenario.links.extend(scenario.meshes[number].links(number));
        if section.get("queue").is_some() && scenario.links.len() > first {
            let queue = Queue::read(&section.queue().with(Product::at(scenario, first, false)));
            for link in &mut scenario.links[first..] {
                (link.forward.queue, link.reverse.queue) = (queue.clone(), queue.clone());
            }
            scenario.meshes[number].queue = queue;
        }
    }
}

/// Checks that each node has a way to the border router, each mesh a flow, and each flow packets that a mesh can carry.
pub(crate) fn check(sections: &[Section], groups: &[Section], scenario: &Scenario) {
    for (number, (section, mesh)) in sections.iter().zip(&scenario.meshes).enumerate() {
        ways(section, mesh);
        if mesh.csma.min_be > mesh.csma.max_be {
            let Csma { min_be, max_be, .. } = mesh.csma;
            section.complain("min_be", format!("{min_be} must not exceed max_be, {max_be}"));
        }
        if let Some(DutyCycle { interval, listens_for }) =
            mesh.duty_cycle.filter(|duty| duty.listens_for >= duty.interval)
        {
            section.complain("listen_for", format!("{listens_for} must be shorter than wake_interval, {interval}"));
        }
        let of_mesh = |group: &&model::FlowGroup| group.origin.as_ref().is_some_and(|from| from.mesh == number);
        let largest = scenario.flows.iter().filter(of_mesh).map(|group| group.packet).max();
        match (largest, &mesh.queue) {
            (None, _) => {
                section
                    .complain("nodes", format!("have nothing to send; write mesh = \"{}\" in a flow group", mesh.name));
            }
            (_, queue) if queue.is_of_kernel() => {
                let message = format!("{} cannot share the air; write a queue without \"kernel:\"", queue.name());
                section.queue().complain("kind", message);
            }
            (Some(largest), queue) => checks::queue(section, queue, largest),
        }
    }
    for (section, group) in groups.iter().zip(&scenario.flows) {
        if group.origin.is_some() {
            let what = format!("a datagram of 6LoWPAN; the largest packet of a mesh is {LARGEST_PACKET}");
            checks::packet(section, group, LARGEST_PACKET, &what);
        }
    }
}

/// Checks that each node's way ends at the border router, over hops that are heard both ways.
fn ways(section: &Section, mesh: &Mesh) {
    let nodes = section.child("nodes", "mesh.NAME.nodes");
    for node in mesh.children() {
        let name = &mesh.nodes[node].name;
        let root = &mesh.nodes[mesh.border_router].name;
        let Some(parent) = mesh.nodes[node].parent else {
            nodes.complain(
                name,
                format!("has no path to {root}: no neighbour with a path hears it, and is heard, well enough"),
            );
            continue;
        };
        let hears = |from: usize, to: usize| mesh.signals[from][to].is_some_and(|signal| signal >= phy::SENSITIVITY);
        let to = &mesh.nodes[parent].name;
        if !hears(node, parent) || !hears(parent, node) {
            let least = phy::SENSITIVITY;
            nodes.complain(name, format!("and its parent {to} must hear each other with {least} dBm or more"));
        }
        if mesh.way_up(node).count() == mesh.nodes.len() {
            nodes.complain(name, format!("has no path to {root}: its parents form a loop"));
        }
    }
}
