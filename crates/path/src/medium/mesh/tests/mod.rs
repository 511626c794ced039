//! A mesh without a network around it: the packets that it carries, forwards and drops.

mod closed_forms;
mod failures;
mod properties;

use super::*;
use crate::channel::Transit;
use crate::medium::{Medium, Step, from_scenario};
use crate::packet::tests::TestPacket;
use model::Scenario;
use model::units::{Bytes, Rate};
use std::path::Path;

/// A transmission. Unless it is an acknowledgement, it has the end of the assessment before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub from: usize,
    pub start: Nanos,
    pub end: Nanos,
    pub assessed: Option<Nanos>,
}

/// A data packet of 64 bytes of payload: one frame of 118 bytes.
const PACKET: u32 = 104;
const FRAME: u32 = 118;

/// Builds a scenario with this mesh, whose nodes send nothing by themselves.
fn scenario(nodes: &str, keys: &str, seed: u64) -> Scenario {
    let text = format!(
        "duration = \"1000s\"\nseed = {seed}\nprofile = \"lln\"\n[mesh.m]\nborder_router = \"n0\"\n{keys}\n{nodes}\n\
         [link.wire]\nrate = \"1mbit\"\ndelay = \"1ms\"\nqueue = {{ limit = \"15p\" }}\n[[flows]]\n\
         cc = \"reno\"\nmesh = \"m\"\n"
    );
    let experiment = scenario::load_text(&text, "mesh.toml", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    experiment.points[0].scenario.clone()
}

/// Builds a chain of nodes n0 to n(count - 1). `signals` has the strength at the next node, at the
/// one behind it, and so on.
fn chain(count: usize, signals: &[i32]) -> String {
    let node = |at: usize| {
        let hears = (0..count).filter_map(|other| {
            let strength = signals.get(at.abs_diff(other).checked_sub(1)?)?;
            Some(format!("n{other} = \"{strength}dbm\""))
        });
        let parent = if at > 0 { format!("parent = \"n{}\"\n", at - 1) } else { String::new() };
        format!("[mesh.m.nodes.n{at}]\n{parent}hears = {{ {} }}\n", hears.collect::<Vec<_>>().join(", "))
    };
    (0..count).map(node).collect()
}

/// Builds a star of nodes that all hear each other and the border router, their parent.
fn star(count: usize) -> String {
    let node = |at: usize| {
        let hears = (0..=count).filter(|other| *other != at).map(|other| format!("n{other} = \"-60dbm\""));
        let parent = if at > 0 { "parent = \"n0\"\n" } else { "" };
        format!("[mesh.m.nodes.n{at}]\n{parent}hears = {{ {} }}\n", hears.collect::<Vec<_>>().join(", "))
    };
    (0..=count).map(node).collect()
}

/// A packet at its destination.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Nanos,
    /// The number of the packet.
    number: u32,
}

/// A mesh with packets that go up to the border router, or down to a node.
struct World {
    medium: Medium,
    mesh: mesh::Mesh,
    packets: Pool<TestPacket>,
    /// Destination of each packet by its number; the border router for packets up.
    destinations: Vec<usize>,
    gone: usize,
    /// How often a packet has reached the next node.
    hopped: u32,
}

impl World {
    fn new(scenario: &Scenario) -> World {
        let model = &scenario.meshes[0];
        let (control, members) = from_scenario::mesh(scenario, 0, model);
        World {
            medium: Medium::mesh(control, members),
            mesh: model.clone(),
            packets: Pool::default(),
            destinations: vec![],
            gone: 0,
            hopped: 0,
        }
    }

    fn mesh(&self) -> &Mesh {
        let crate::medium::Mac::Mesh(mesh) = &self.medium.mac else { panic!("it is a mesh") };
        mesh
    }

    /// Returns the member between a node and its parent, up or down.
    fn member(&self, node: usize, is_up: bool) -> MemberId {
        let upward = self.mesh().routing.members().find(|(member, hop)| Routing::is_up(*member) && hop.from == node);
        upward.expect("it is not the border router").0 + u32::from(!is_up)
    }

    /// Sends a packet from a node up to the border router, or down from it to a node.
    fn send(&mut self, now: Nanos, from: usize, destination: usize, bytes: u32) -> u32 {
        let number = self.destinations.len() as u32;
        self.destinations.push(destination);
        let id = self.packets.insert(TestPacket { bytes, ..TestPacket::new(number) });
        let member = if destination == 0 { self.member(from, true) } else { self.member(destination, false) };
        let mut gone = vec![];
        self.medium.offer(now, member, id, &mut self.packets, &mut gone);
        self.release(&gone);
        number
    }

    fn release(&mut self, gone: &[crate::Gone]) {
        self.gone += gone.len();
        for gone in gone {
            self.packets.remove(gone.id);
        }
    }

    /// Carries out the next event, and returns a packet that reached its destination.
    fn step(&mut self) -> Option<Arrival> {
        let (now, mut gone) = (self.medium.next(), vec![]);
        let step = self.medium.step(now, &mut self.packets, &mut gone);
        self.hopped += u32::from(matches!(step, Step::Arrived(_, Transit::Packet(_)) | Step::Onward(..)));
        if let Step::Onward(_, id) = step {
            self.medium.forward(now, id, &self.packets, &mut gone);
        }
        self.release(&gone);
        let Step::Arrived(port, Transit::Packet(id)) = step else { return None };
        let number = self.packets.remove(id).number;
        let (_, last) = self
            .mesh()
            .routing
            .members()
            .find(|(n, _)| self.medium.member(*n).port == port)
            .expect("a port of the mesh");
        assert_eq!(last.to, self.destinations[number as usize]);
        Some(Arrival { at: now, number })
    }

    /// Returns the packets that arrive until `end`.
    fn run(&mut self, end: Nanos) -> Vec<Arrival> {
        let mut arrivals = vec![];
        while self.medium.next() < end {
            arrivals.extend(self.step());
        }
        arrivals
    }

    /// Measures the packets a second that arrive if each of these nodes always has `ahead` packets
    /// in its queue.
    fn saturated(&mut self, nodes: &[usize], ahead: usize, seconds: u64) -> f64 {
        for node in (0..ahead).flat_map(|_| nodes) {
            self.send(Nanos::ZERO, *node, 0, PACKET);
        }
        let mut arrived = 0;
        while self.medium.next() < Nanos::from_secs(seconds) {
            let now = self.medium.next();
            let before = self.mesh().nodes.iter().map(|node| node.outgoing.is_some()).collect::<Vec<_>>();
            arrived += u32::from(self.step().is_some());
            for node in nodes {
                // The node has finished a packet.
                if before[*node] && self.mesh().nodes[*node].outgoing.is_none() {
                    self.send(now, *node, 0, PACKET);
                }
            }
        }
        f64::from(arrived) / seconds as f64
    }
}

fn us(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

/// Sends data once a second from the end of a chain of two hops, and every other second back to it.
fn up_and_down(keys: &str, seconds: u64) -> World {
    let mut world = World::new(&scenario(&chain(3, &[-60]), keys, 1));
    for second in 0..seconds {
        let now = Nanos::from_secs(second);
        world.send(now, 2, 0, PACKET);
        world.run(now + Nanos::from_millis(500));
        if second % 2 == 0 {
            world.send(now + Nanos::from_millis(500), 0, 2, PACKET);
        }
        world.run(now + Nanos::from_secs(1));
    }
    world
}

/// Packets down do not count, nor do a node's own packets.
#[test]
fn nodes_count_what_they_forward_upward() {
    let mut world = up_and_down("", 100);
    let rates = [2, 1].map(|node| {
        let member = world.member(node, true);
        world.medium.mean_flow_rate(Nanos::from_secs(100), member)
    });
    assert_eq!(rates, [0, 1000]);
}

/// An announcement gives all nodes the border router's rate, and makes packets down longer.
#[test]
fn a_border_router_announces_the_rate_in_packets_down() {
    let mut world = up_and_down("announces_rate = true", 100);
    for node in [2, 1] {
        let member = world.member(node, true);
        assert_eq!(world.medium.mean_flow_rate(Nanos::from_secs(100), member), 1000);
    }
    let frames = |world: &World, from: usize| {
        let data = world.mesh().log.iter().filter(|sent| sent.assessed.is_some() && sent.from == from);
        let mut times: Vec<_> = data.map(|sent| sent.end - sent.start).collect();
        times.sort_unstable();
        times.dedup();
        times
    };
    let silent = up_and_down("", 10);
    let (plain, longer) = (phy::air_time(FRAME), phy::air_time(FRAME + frames::ANNOUNCEMENT));
    assert_eq!((frames(&silent, 0), frames(&silent, 1)), (vec![plain], vec![plain]));
    assert_eq!(
        (frames(&world, 0), frames(&world, 1), frames(&world, 2)),
        (vec![longer], vec![plain, longer], vec![plain])
    );
}

#[test]
fn a_full_queue_drops_what_comes() {
    let mut world = World::new(&scenario(&star(1), "", 1));
    for _ in 0..20 {
        world.send(Nanos::ZERO, 1, 0, PACKET);
    }
    assert_eq!(world.gone, 5, "the first leaves the queue with the next event");
    assert_eq!(world.run(Nanos::from_secs(1)).len(), 15);
    assert_eq!(world.medium.node_records()[1].overflows, 5);
}

/// Members have the names of their nodes, and the air time is that of the frames.
#[test]
fn members_have_the_names_of_nodes() {
    let world = World::new(&scenario(&star(2), "", 1));
    let names: Vec<_> = (0..4).map(|member| world.medium.record(member).link).collect();
    assert_eq!(names, ["m.n1", "m.n1.reverse", "m.n2", "m.n2.reverse"]);
    assert_eq!(Rate(250_000).time_to_send(Bytes(FRAME.into())) + Nanos::from_micros(192), phy::air_time(FRAME));
}
