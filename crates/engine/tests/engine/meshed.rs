//! Random meshes, and networks whose flows come from them.

use crate::networks::{acceptable, discipline, packets};
use crate::random::{self, log_uniform};
use model::impairments::Outage;
use model::mesh::{Csma, DutyCycle, Energy, Mesh, Node, Origin, etx_tree};
use model::units::{Bytes, Nanos};
use model::{FlowGroup, Limit, Queue, Scenario};
use proptest::prelude::*;

const MOST_NODES: usize = 7;
/// Length of the largest packet that a mesh takes.
const LARGEST_PACKET: Bytes = Bytes(1260);

/// A group's choice: whether it comes from a mesh, and from which of its nodes.
type Choice = (bool, Vec<bool>);

/// A mesh, and the choice of each of three groups.
pub fn mesh() -> impl Strategy<Value = (Mesh, Vec<Choice>)> {
    let choice = (prop::bool::weighted(0.6), prop::collection::vec(any::<bool>(), MOST_NODES));
    let parts = (tree(), queue(), csma(), energy(), prop::option::weighted(0.2, duty_cycle()), any::<bool>());
    (parts, prop::collection::vec(choice, 3)).prop_map(|(parts, choices)| {
        let (tree, queue, csma, energy, duty_cycle, announces_rate) = parts;
        let (nodes, signals, repair_after) = tree;
        let name = String::new();
        let mesh = Mesh {
            name,
            nodes,
            border_router: 0,
            signals,
            queue,
            csma,
            energy,
            duty_cycle,
            announces_rate,
            repair_after,
        };
        (mesh, choices)
    })
}

type Tree = (Vec<Node>, Vec<Vec<Option<f64>>>, Option<Nanos>);

/// The tree of a mesh: its nodes, who hears whom, and the time after which it repairs the tree unless the file gives
/// it.
fn tree() -> impl Strategy<Value = Tree> {
    let down = prop::option::weighted(0.3, (0u64..5000, 1u64..5000));
    let node = (any::<prop::sample::Index>(), -88i32..-50, -88i32..-50, down);
    let nodes = prop::collection::vec(node, 2..=MOST_NODES);
    let others = prop::collection::vec(prop::option::weighted(0.4, -100i32..-60), MOST_NODES * MOST_NODES);
    let repair = prop::option::of(log_uniform(1.0, 5000.0).prop_map(|ms| Nanos::from_millis(ms as u64)));
    (nodes, others, repair).prop_map(|(drawn, others, repair_after)| {
        let count = drawn.len();
        let other = |from: usize, to: usize| others[from * MOST_NODES + to].filter(|_| from != to).map(f64::from);
        let mut signals: Vec<Vec<_>> = (0..count).map(|from| (0..count).map(|to| other(from, to)).collect()).collect();
        let mut parents = vec![None; count];
        for (node, (parent, there, back, _)) in drawn.iter().enumerate().skip(1) {
            let parent = parent.index(node);
            parents[node] = Some(parent);
            (signals[node][parent], signals[parent][node]) = (Some(f64::from(*there)), Some(f64::from(*back)));
        }
        if repair_after.is_some() {
            parents = etx_tree(&signals, 0);
        }
        let node = |(number, (_, _, _, down)): (usize, &(_, _, _, Option<(u64, u64)>))| {
            let outage =
                |(at, lasts)| Outage { at: Nanos::from_millis(at), lasts: Nanos::from_millis(lasts), lose: true };
            Node { name: format!("n{number}"), parent: parents[number], down: down.map(outage).into_iter().collect() }
        };
        (drawn.iter().enumerate().map(node).collect(), signals, repair_after)
    })
}

fn queue() -> impl Strategy<Value = Queue> {
    let fifo =
        packets().prop_map(|limit| Queue::Droptail { limit: Some(Limit::Packets(limit.into())), ecn_threshold: None });
    prop_oneof![2 => fifo, 1 => discipline().prop_map(Queue::from)]
}

fn csma() -> impl Strategy<Value = Csma> {
    let delay = prop_oneof![Just(Nanos::ZERO), (0u64..100).prop_map(Nanos::from_millis)];
    (0u32..9, 0u32..9, 0u32..6, 0u32..8, delay).prop_map(|(one, other, max_backoffs, max_retries, retry_delay)| Csma {
        min_be: one.min(other),
        max_be: one.max(other),
        max_backoffs,
        max_retries,
        retry_delay,
    })
}

fn energy() -> impl Strategy<Value = Energy> {
    (0.0..1000.0, 0.0..1000.0, 0.0..1000.0, 0.0..100.0).prop_map(|(transmit_ma, receive_ma, sleep_ma, volts)| Energy {
        transmit_ma,
        receive_ma,
        sleep_ma,
        volts,
    })
}

fn duty_cycle() -> impl Strategy<Value = DutyCycle> {
    (20u64..1000, 0.0..1.0).prop_map(|(interval, share)| {
        let listens_for = 6 + ((interval - 6) as f64 * share) as u64;
        DutyCycle { interval: Nanos::from_millis(interval), listens_for: Nanos::from_millis(listens_for) }
    })
}

/// Makes groups that are in no mesh send from the nodes of another, if one of them can.
pub fn join(mut scenario: Scenario, (mut mesh, choices): (Mesh, Vec<Choice>)) -> Scenario {
    let number = scenario.meshes.len();
    let mut is_used = false;
    for (group, (joins, nodes)) in scenario.flows.iter_mut().zip(choices) {
        let fits = group
            .datagrams()
            .is_none_or(|datagrams| datagrams.packet <= LARGEST_PACKET && datagrams.every >= Nanos::from_millis(1));
        if joins && fits && group.arrivals.is_none() && group.origin.is_none() {
            let mut nodes: Vec<_> = mesh.children().filter(|node| nodes[*node]).collect();
            if nodes.is_empty() {
                nodes.push(1);
            }
            come_from(group, number, nodes);
            is_used = true;
        }
    }
    if !is_used {
        return scenario;
    }
    (mesh.name, mesh.queue) = (format!("m{number}"), acceptable(mesh.queue, LARGEST_PACKET.0));
    scenario.links.extend(mesh.links(number));
    scenario.meshes.push(mesh);
    random::within_budget(scenario)
}

fn come_from(group: &mut FlowGroup, mesh: usize, nodes: Vec<usize>) {
    let flows = nodes.len() as u32;
    // The last one starts no later before the group stops.
    group.stop = group.stop.map(|stop| stop + Nanos(group.stagger.0 * u64::from(flows)));
    (group.count, group.origin) = (flows, Some(Origin { mesh, nodes }));
    group.packet = group.packet.min(LARGEST_PACKET);
}
