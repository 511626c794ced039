//! A mesh against closed forms, and what holds in every mesh.

use super::*;
use crate::channel::Transit;
use crate::medium::{Medium, Member, Step, from_scenario};
use crate::packet::tests::TestPacket;
use proptest::prelude::*;
use scenario::model::Scenario;
use scenario::units::{Bytes, Rate};
use std::path::Path;

/// A transmission, with the end of the assessment before it, if it is not an acknowledgement.
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

/// A scenario with this mesh, in whose nodes nobody is asked to send by itself.
fn scenario(nodes: &str, keys: &str, seed: u64) -> Scenario {
    let text = format!(
        "duration = \"1000s\"\nseed = {seed}\nprofile = \"lln\"\n[mesh.m]\nborder_router = \"n0\"\n{keys}\n{nodes}\n\
         [link.wire]\nrate = \"1mbit\"\ndelay = \"1ms\"\nqueue = {{ limit = \"15p\" }}\n[[flows]]\ncc = \"reno\"\nmesh = \"m\"\n"
    );
    let experiment = scenario::load_text(&text, "mesh.toml", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    experiment.cells[0].scenario.clone()
}

/// Nodes n0 to n(count - 1) in a chain, each as strong at the next as `signals` says, at the one behind it, and so on.
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

/// Nodes that all hear each other and the border router, whose children they are.
fn star(count: usize) -> String {
    let node = |at: usize| {
        let hears = (0..=count).filter(|other| *other != at).map(|other| format!("n{other} = \"-60dbm\""));
        let parent = if at > 0 { "parent = \"n0\"\n" } else { "" };
        format!("[mesh.m.nodes.n{at}]\n{parent}hears = {{ {} }}\n", hears.collect::<Vec<_>>().join(", "))
    };
    (0..=count).map(node).collect()
}

/// A packet at the end of its way.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Nanos,
    /// The number of the packet.
    number: u32,
}

/// A mesh whose packets go all the way up, or down to the node that they are for.
struct World {
    medium: Medium,
    mesh: mesh::Mesh,
    packets: Pool<TestPacket>,
    /// By the number of a packet, for which node it is; the border router for those that go up.
    destinations: Vec<usize>,
    gone: usize,
    /// How often a packet has come to the next node.
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
        let crate::medium::Kind::Mesh(mesh) = &self.medium.kind else { panic!("it is a mesh") };
        mesh
    }

    /// The member that takes a packet from a node to its parent, or from its parent to a node.
    fn member(&self, node: usize, is_up: bool) -> MemberId {
        let upward = self.mesh().ways.members().find(|(member, hop)| Ways::is_up(*member) && hop.from == node);
        upward.expect("it is not the border router").0 + u32::from(!is_up)
    }

    /// A packet goes from a node up to the border router, or down from it to a node.
    fn send(&mut self, now: Nanos, from: usize, destination: usize, bytes: u32) -> u32 {
        let number = self.destinations.len() as u32;
        self.destinations.push(destination);
        let id = self.packets.insert(TestPacket { bytes, ..TestPacket::new(number) });
        let member = if destination == 0 { self.member(from, true) } else { self.member(destination, false) };
        let mut gone = vec![];
        self.medium.offer(now, member, Transit { id, next_hop: Transit::END }, &mut self.packets, &mut gone);
        self.release(&gone);
        number
    }

    fn release(&mut self, gone: &[crate::Gone]) {
        self.gone += gone.len();
        for gone in gone {
            self.packets.remove(gone.id);
        }
    }

    /// Carries out the next event; a packet at its destination is the answer.
    fn step(&mut self) -> Option<Arrival> {
        let (now, mut gone) = (self.medium.next(), vec![]);
        let (port, Transit { id, next_hop }) = match self.medium.step(now, &mut self.packets, &mut gone) {
            Step::Arrived(port, transit) => (port, transit),
            Step::Departed(_) | Step::Nothing => (0, Transit::NOTHING),
        };
        self.hopped += u32::from(id != PacketId::NONE);
        if next_hop == Transit::ONWARD {
            self.medium.forward(now, id, &self.packets, &mut gone);
        }
        self.release(&gone);
        if next_hop != Transit::END {
            return None;
        }
        let number = self.packets.remove(id).number;
        let (_, last) =
            self.mesh().ways.members().find(|(n, _)| self.medium.member(*n).port == port).expect("a port of the mesh");
        assert_eq!(last.to, self.destinations[number as usize]);
        Some(Arrival { at: now, number })
    }

    /// All that arrives until `end`.
    fn run(&mut self, end: Nanos) -> Vec<Arrival> {
        let mut arrivals = vec![];
        while self.medium.next() < end {
            arrivals.extend(self.step());
        }
        arrivals
    }

    /// How many packets a second arrive if these nodes always have so many of them in their queues.
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
                // It has finished with a packet.
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

/// 3.5 periods, CCA, turnaround, the frame, its answer, the space.
#[test]
fn a_lone_hop_carries_what_its_timings_leave() {
    let mut world = World::new(&scenario(&star(1), "", 1));
    let expected = radio::most_carried(Csma::STANDARD, Bytes(PACKET.into())).0 as f64 / f64::from(8 * PACKET);
    let rate = world.saturated(&[1], 2, 300);
    assert!((rate / expected - 1.0).abs() < 0.005, "{rate} packets a second, not {expected}");
    let record = &world.medium.node_records()[1];
    assert_eq!((record.frame_retries, record.channel_failures, record.unacknowledged), (0, 0, 0));
}

/// Of two fragments each is a frame of its own.
#[test]
fn a_packet_of_two_frames_takes_both() {
    let mut world = World::new(&scenario(&star(1), "", 1));
    let mut taken = 0.0;
    for number in 0..2000 {
        let start = Nanos::from_millis(100 * number);
        world.send(start, 1, 0, 20 + 120);
        let arrival = world.run(start + Nanos::from_millis(100))[0];
        taken += us(arrival.at - start);
    }
    let frame = |bytes| 3.5 * 320.0 + 128.0 + 192.0 + us(radio::air_time(bytes));
    let expected = frame(126) + us(radio::answer_time()) + 640.0 + frame(48);
    assert!((taken / 2000.0 / expected - 1.0).abs() < 0.01, "{} us, not {expected}", taken / 2000.0);
}

/// Data once a second from the end of a chain of two hops, and every other second back to it.
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

/// What comes down does not count, nor does what a node sends itself.
#[test]
fn nodes_count_what_they_forward_upward() {
    let mut world = up_and_down("", 100);
    let rates = [2, 1].map(|node| {
        let member = world.member(node, true);
        world.medium.mean_flow_rate(Nanos::from_secs(100), member)
    });
    assert_eq!(rates, [0, 1000]);
}

/// Then all know what the border router does, from packets down that are longer by that.
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
    let (plain, longer) = (radio::air_time(FRAME), radio::air_time(FRAME + frames::ANNOUNCEMENT));
    assert_eq!((frames(&silent, 0), frames(&silent, 1)), (vec![plain], vec![plain]));
    assert_eq!(
        (frames(&world, 0), frames(&world, 1), frames(&world, 2)),
        (vec![longer], vec![plain, longer], vec![plain])
    );
}

/// The mean time from the beginning of a channel access to the clear end of its assessment, if the channel is busy
/// until `busy` from there, us: 0 to 2^BE - 1 periods, and again with a larger exponent.
fn access_us(busy: f64, exponent: u32) -> f64 {
    let most = Csma::most_periods(exponent);
    let one = |periods: u64| {
        let end = periods as f64 * 320.0 + 128.0;
        if end - 128.0 >= busy { end } else { end + access_us((busy - end).max(0.0), (exponent + 1).min(5)) }
    };
    (0..=most).map(one).sum::<f64>() / (most + 1) as f64
}

/// A packet alone on its way: a node that has received it answers for 544 us, and finds its own channel busy so long.
/// Only the second node's way is shorter by nothing: each hop takes as long as the others.
#[test]
fn the_time_over_n_hops() {
    for hops in [1, 2, 4, 6] {
        let mut world = World::new(&scenario(&chain(hops + 1, &[-60]), "", 1));
        let mut taken = 0.0;
        for number in 0..2000 {
            let start = Nanos::from_millis(500 * number);
            world.send(start, hops, 0, PACKET);
            let arrivals = world.run(start + Nanos::from_millis(500));
            taken += us(arrivals[0].at - start);
        }
        let hop = |busy| access_us(busy, 3) + 192.0 + us(radio::air_time(FRAME));
        let expected = hop(0.0) + (hops - 1) as f64 * hop(us(radio::answer_time()));
        let mean = taken / 2000.0;
        assert!((mean / expected - 1.0).abs() < 0.01, "{hops} hops: {mean} us, not {expected}");
    }
}

/// With all nodes in one another's range only one transmits at a time: they carry packets as many hops as contending
/// nodes do, or fewer of them, because not all always have something. So over n hops the rate is at most an n-th, less
/// what full queues drop on the way. Where ranges end after a hop, nodes farther apart transmit side by side, and from
/// some length on the rate falls no more.
#[test]
fn the_rate_over_n_hops() {
    let carried = |hops: usize, signals: &[i32]| {
        let mut world = World::new(&scenario(&chain(hops + 1, signals), "", 1));
        let arrived = world.saturated(&[hops], 2, 100);
        (arrived, f64::from(world.hopped) / 100.0)
    };
    let rate = |hops: usize, signals: &[i32]| carried(hops, signals).0;
    for hops in [2, 3, 4, 6] {
        let (arrived, carried) = carried(hops, &[-60; 8]);
        assert!(arrived * hops as f64 <= carried, "{arrived} packets a second, {carried} hops");
        let (least, most) = (saturated_star(hops), saturated_star(1));
        assert!((0.9 * least..=most).contains(&carried), "{hops} hops: {carried}, not {least} to {most}");
    }
    let (lone, four, eight) = (rate(1, &[-60]), rate(4, &[-60]), rate(8, &[-60]));
    assert!(eight > 0.6 * four && four < 0.5 * lone, "lone {lone}, over 4 hops {four}, over 8 {eight}");
}

/// Packets a second that so many nodes bring to a node that all hear, if they always have one.
///
/// A mean-field model, as Bianchi's is, for unslotted CSMA/CA. In a back-off, a node ends assessments at a rate r, and
/// finds the channel busy with probability b. The first to find it idle transmits after its turnaround, and whoever
/// ends an assessment within that does, too: a collision. An assessment that fits between a frame and its
/// acknowledgement finds the channel idle as well: the frame that follows spoils the acknowledgement and is not
/// received itself, and what was received is sent again, unless the channel is busy too often.
fn saturation(nodes: f64) -> f64 {
    const STAGES: i32 = 5;
    let (turnaround, cca) = (us(radio::TURNAROUND), us(radio::CCA));
    let (frame, answer, space) = (us(radio::air_time(FRAME)), us(radio::answer_time()), us(radio::space_after(FRAME)));
    let stage =
        |stage: i32| Csma::most_periods((3 + stage as u32).min(5)) as f64 / 2.0 * us(radio::BACKOFF_PERIOD) + cca;
    let mut busy = 0.3_f64;
    let mut carried = 0.0;
    for _ in 0..4000 {
        let reached = |n: i32| busy.powi(n);
        let rate = (0..STAGES).map(reached).sum::<f64>() / (0..STAGES).map(|n| reached(n) * stage(n)).sum::<f64>();
        let others = (nodes - 1.0) * rate;
        let within = |time: f64| 1.0 - libm::exp(-others * time);
        // Who has just sent leaves a space before he joins the others.
        let idle = if others > 0.0 { within(space) / others } else { space } + (1.0 - within(space)) / (nodes * rate);
        let (collides, spoils) = (within(turnaround), within(turnaround - cca));
        let end = (1.0 - collides) * (answer + spoils * (frame - turnaround)) + collides * turnaround / 2.0;
        let period = idle + turnaround + frame + end;
        let wait = us(radio::ACK_WAIT);
        let own = (turnaround + frame + (1.0 - collides) * (answer + space) + collides * wait) / nodes;
        busy += 0.05 * ((frame + end) * (nodes - 1.0) / nodes / (period - own) - busy);
        // Of those whose acknowledgement is lost, so many come once more.
        let accesses = 1.0 - busy.powi(STAGES);
        let again: f64 = (0..3).map(|tries| (accesses * collides).powi(tries) * accesses * (1.0 - collides)).sum();
        carried = 1e6 * (1.0 - collides) * (1.0 - spoils * again) / period;
    }
    carried
}

/// Packets a second from so many nodes.
fn saturated_star(nodes: usize) -> f64 {
    let senders: Vec<_> = (1..=nodes).collect();
    World::new(&scenario(&star(nodes), "", 1)).saturated(&senders, 2, 60)
}

#[test]
fn saturation_of_nodes_that_hear_each_other() {
    for nodes in [1, 2, 3, 5, 10, 20] {
        let rate = saturated_star(nodes);
        let expected = saturation(nodes as f64);
        assert!((rate / expected - 1.0).abs() < 0.05, "{nodes} nodes: {rate} packets a second, not {expected}");
    }
}

/// Two nodes that do not hear each other collide at the one that hears both, and far more often than two that do.
#[test]
fn hidden_nodes_lose_frames() {
    let hidden = "[mesh.m.nodes.n0]\nhears = { n1 = \"-60dbm\", n2 = \"-60dbm\" }\n\
                  [mesh.m.nodes.n1]\nparent = \"n0\"\nhears = { n0 = \"-60dbm\" }\n\
                  [mesh.m.nodes.n2]\nparent = \"n0\"\nhears = { n0 = \"-60dbm\" }\n";
    let retries = |nodes: &str| {
        let mut world = World::new(&scenario(nodes, "", 1));
        let rate = world.saturated(&[1, 2], 2, 60);
        let records = world.medium.node_records();
        let sum = |of: fn(&records::Node) -> u64| records.iter().map(of).sum::<u64>() as f64;
        (rate, sum(|node| node.frame_retries) / sum(|node| node.frames))
    };
    let ((open, few), (out_of_range, many)) = (retries(&star(2)), retries(hidden));
    assert!(many > 3.0 * few, "{few} and {many} of the frames are retries");
    assert!(out_of_range < 0.5 * open, "{out_of_range} and {open} packets a second");
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

/// n3 hears n1 and n2, which hear the border router.
fn diamond(parents: [&str; 3], down: &str) -> String {
    let [of_1, of_2, of_3] = parents;
    format!(
        "[mesh.m.nodes.n0]\nx = 0\n[mesh.m.nodes.n1]\nx = 22\ny = 10\n{of_1}\ndown = {down}\n\
         [mesh.m.nodes.n2]\nx = 22\ny = -10\n{of_2}\n[mesh.m.nodes.n3]\nx = 44\n{of_3}\n"
    )
}

/// Of a packet a second between n3 and the border router, the seconds of those that did not arrive.
fn lost_seconds(nodes: &str, keys: &str, is_up: bool) -> Vec<u32> {
    let mut world = World::new(&scenario(nodes, &format!("path_loss = 3.5\n{keys}"), 1));
    let mut arrived = vec![];
    for second in 0..60 {
        let now = Nanos::from_secs(second);
        arrived.extend(world.run(now));
        let (from, destination) = if is_up { (3, 0) } else { (0, 3) };
        world.send(now, from, destination, PACKET);
    }
    arrived.extend(world.run(Nanos::from_secs(60)));
    assert_eq!(arrived.len() + world.gone, 60);
    (0..60).filter(|number| !arrived.iter().any(|arrival| arrival.number == *number)).collect()
}

/// n1, the parent of n3, is down for 20 s: until others find out, packets are lost on the way. Then they go over n2.
/// Where the file gives the tree they are lost all the time.
#[test]
fn children_of_a_node_that_is_down_find_another_parent() {
    let down = "[{ at = \"9.5s\", for = \"20s\" }]";
    for is_up in [true, false] {
        let lost = |nodes: &str, keys: &str| lost_seconds(nodes, keys, is_up);
        let found = diamond([""; 3], down);
        assert_eq!(lost(&found, "repair_after = \"4s\""), [10, 11, 12, 13]);
        assert_eq!(lost(&found, ""), (10..18).collect::<Vec<_>>());
        assert_eq!(lost(&diamond([""; 3], "[]"), ""), [0; 0]);
        let given = diamond(["parent = \"n0\"", "parent = \"n0\"", "parent = \"n1\""], down);
        assert_eq!(lost(&given, ""), (10..30).collect::<Vec<_>>());
    }
}

/// It is found out as late that n3 is back, which then has no parent.
#[test]
fn who_was_down_has_no_parent_until_it_is_found() {
    let nodes = diamond([""; 3], "[]") + "down = [{ at = \"9.5s\", for = \"20s\" }]";
    assert_eq!(lost_seconds(&nodes, "repair_after = \"4s\"", true), (10..34).collect::<Vec<_>>());
}

/// What waits in a node is lost when it goes down, and what it is sending, but not what is on the air.
#[test]
fn what_waits_in_a_node_that_goes_down_is_lost() {
    let nodes = star(1) + "down = [{ at = \"1s\", for = \"9s\" }]";
    let mut world = World::new(&scenario(&nodes, "", 1));
    for _ in 0..10 {
        world.send(Nanos::from_millis(980), 1, 0, PACKET);
    }
    let arrived = world.run(Nanos::from_secs(10)).len();
    assert!((1..6).contains(&arrived), "{arrived}: each takes some 7 ms");
    assert_eq!((world.gone, world.packets.count()), (10 - arrived, 0));
    world.send(Nanos::from_secs(9), 1, 0, PACKET);
    assert_eq!((world.gone, world.packets.count()), (11 - arrived, 0), "it is down");
    world.run(Nanos::from_millis(10_001));
    world.send(Nanos::from_millis(10_001), 1, 0, PACKET);
    assert_eq!(world.run(Nanos::from_secs(11)).len(), 1);
    let record = &world.medium.node_records()[1];
    assert!((record.down_s - 9.0).abs() < 0.005, "{record:?}");
    assert_eq!(record.overflows, 0);
}

/// Nodes that have nothing to do sleep for all but their share of listening; a packet waits on each hop until the next
/// node wakes up, half an interval in the mean over times and over what the nodes have drawn.
#[test]
fn sleeping_nodes_cost_time_and_save_energy() {
    let sleepy = |seed| scenario(&chain(4, &[-60]), "wake_interval = \"500ms\"\nlisten_for = \"10ms\"", seed);
    let mut world = World::new(&sleepy(1));
    world.run(Nanos::from_secs(1000));
    let idle = &world.medium.node_records()[2];
    assert!((idle.listen_s / 1000.0 - 0.02).abs() < 0.002, "{idle:?}");
    let mut taken = vec![];
    for seed in 0..40 {
        let mut world = World::new(&sleepy(seed));
        for number in 0..25 {
            // At any time of the interval.
            let start = Nanos::from_millis(4_037 * number);
            world.send(start, 3, 0, PACKET);
            let arrivals = world.run(start + Nanos::from_secs(4));
            taken.extend(arrivals.iter().map(|arrival| (arrival.at - start).as_secs_f64()));
        }
    }
    assert_eq!(taken.len(), 1000);
    // Two hops to nodes that sleep, the last to the border router, which does not.
    let mean = taken.iter().sum::<f64>() / 1000.0;
    assert!((0.45..0.58).contains(&mean), "{mean} s");
}

/// Energy adds up: all the time that a radio does not transmit it listens, and transmissions are as long as they are.
fn energy_adds_up(world: &World) -> Result<(), TestCaseError> {
    let end = Nanos::from_secs(1000);
    for (number, record) in world.medium.node_records().iter().enumerate() {
        let sent = world.mesh().log.iter().filter(|sent| sent.from == number);
        let transmitted: u64 = sent.map(|sent| (sent.end - sent.start).0 + radio::TURNAROUND.0).sum();
        prop_assert!((record.transmit_s - transmitted as f64 / 1e9).abs() < 1e-6, "{record:?}");
        let all = record.transmit_s + record.listen_s + record.sleep_s + record.down_s;
        prop_assert!((all - end.as_secs_f64()).abs() < 1e-6, "{record:?}");
        let energy = 3.0 * (17.4 * record.transmit_s + 18.8 * record.listen_s + 0.02 * record.sleep_s);
        prop_assert!((record.energy_mj - energy).abs() < 1e-6 * energy, "{record:?}");
    }
    Ok(())
}

/// A node that is down does not send, nor answer, but for what was on the air.
fn who_is_down_is_silent(world: &World) -> Result<(), TestCaseError> {
    for (number, node) in world.mesh.nodes.iter().enumerate() {
        for outage in &node.down {
            let is_meanwhile = |sent: &&Transmission| {
                sent.from == number && sent.start > outage.at + Nanos::from_millis(5) && sent.start < outage.end()
            };
            let sent = world.mesh().log.iter().find(is_meanwhile);
            prop_assert!(sent.is_none(), "{sent:?} in {outage:?}");
        }
    }
    Ok(())
}

/// No node sends data while another that it hears is sending, or was in its assessment; none sends twice at a time.
fn nobody_talks_over_others(world: &World) -> Result<(), TestCaseError> {
    let log = &world.mesh().log;
    let hears =
        |from: usize, to: usize| world.mesh.signals[from][to].is_some_and(|signal| signal >= radio::SENSITIVITY);
    for (number, sent) in log.iter().enumerate() {
        // Transmissions are in the order of their start, and none lasts longer than 5 ms.
        let near = log[..number].iter().rev().take_while(|other| other.start + Nanos::from_millis(10) > sent.start);
        for other in near {
            if other.from == sent.from {
                prop_assert!(other.end <= sent.start, "node {} sends twice at a time", sent.from);
            } else if let Some(assessed) = sent.assessed.filter(|_| hears(other.from, sent.from)) {
                let overlaps = other.start < assessed && other.end > assessed - radio::CCA;
                prop_assert!(!overlaps, "{sent:?} though {other:?} was heard");
            }
        }
    }
    Ok(())
}

/// Nodes anywhere in a square, the border router in its corner.
fn places() -> impl Strategy<Value = Vec<(u32, u32)>> {
    prop::collection::vec((0u32..60, 0u32..60), 3..14)
}

/// A node, and in ms how long after the beginning, or after another outage of it, it goes down, and for how long.
type Failure = (usize, u32, u32);

fn at_places(places: &[(u32, u32)], failures: &[Failure]) -> String {
    let outages = |number: usize| {
        let mut end = 0;
        let of_node = failures.iter().filter(|(node, ..)| node % places.len() == number);
        let outage = |(_, after, lasts): &Failure| {
            let at = end + after;
            end = at + lasts;
            format!("{{ at = \"{at}ms\", for = \"{lasts}ms\" }}")
        };
        of_node.map(outage).collect::<Vec<_>>().join(", ")
    };
    let node = |(number, (x, y)): (usize, &(u32, u32))| {
        format!("[mesh.m.nodes.n{number}]\nx = {x}\ny = {y}\ndown = [{}]\n", outages(number))
    };
    places.iter().enumerate().map(node).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever stands where and sends how much: packets arrive, are lost, or are still there, each once; the radio
    /// keeps its rules.
    #[test]
    fn in_every_mesh(
        places in places(),
        sends in prop::collection::vec((0u32..4000, 1usize..13, any::<bool>(), 40u32..400), 1..200),
        (retries, backoffs, limit, sleeps) in (0u32..4, 0u32..5, 1u32..16, any::<bool>()),
        failures in prop::collection::vec((0usize..14, 0u32..2000, 1u32..2000), 0..6),
        repair_after in 1u32..1000,
        seed in any::<u32>(),
    ) {
        let keys = format!("path_loss = 2.5\nmax_retries = {retries}\nmax_backoffs = {backoffs}\nqueue = {{ limit = \"{limit}p\" }}");
        let keys = format!("{keys}\nrepair_after = \"{repair_after}ms\"");
        let keys = keys + if sleeps { "\nwake_interval = \"250ms\"" } else { "" };
        let mut world = World::new(&scenario(&at_places(&places, &failures), &keys, seed.into()));
        let mut sends = sends;
        sends.sort_by_key(|send| send.0);
        let (mut arrived, mut offered) = (vec![], 0);
        for (ms, node, up, bytes) in sends {
            let now = Nanos::from_millis(ms.into());
            arrived.extend(world.run(now));
            let node = 1 + node % (places.len() - 1);
            let (from, destination) = if up { (node, 0) } else { (0, node) };
            world.send(now, from, destination, bytes);
            offered += 1;
            let under_way = world.packets.count();
            prop_assert_eq!(arrived.len() + world.gone + under_way, offered);
        }
        arrived.extend(world.run(Nanos::from_secs(900)));
        prop_assert!(sleeps || world.medium.next() == Nanos::NEVER, "all is over");
        prop_assert_eq!((arrived.len() + world.gone, world.packets.count()), (offered, 0));
        let mut numbers: Vec<_> = arrived.iter().map(|arrival| arrival.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), arrived.len(), "a packet has come twice");
        nobody_talks_over_others(&world)?;
        energy_adds_up(&world)?;
        who_is_down_is_silent(&world)?;
    }
}

/// What a member is called; its air time is that of its frames.
#[test]
fn members_have_the_names_of_nodes() {
    let world = World::new(&scenario(&star(2), "", 1));
    let names: Vec<_> = (0..4).map(|member| Member::record(world.medium.member(member)).link).collect();
    assert_eq!(names, ["m.n1", "m.n1.reverse", "m.n2", "m.n2.reverse"]);
    assert_eq!(Rate(250_000).time_to_send(Bytes(FRAME.into())) + Nanos::from_micros(192), radio::air_time(FRAME));
}
