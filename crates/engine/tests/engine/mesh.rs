//! TCP over a mesh of sensors, and senders that wait before each window.

use crate::invariants;
use crate::world::{Script, is_data, library, run, watch};
use model::Scenario;
use model::radio::ieee802154::{frames, phy};
use model::records::Run;
use model::units::Nanos;
use proptest::prelude::*;
use scenario::load_text;
use std::path::Path;
use unbloat_engine::Options;
use unbloat_engine::packet::{Data, flag};

/// Nodes in a chain, 25 m apart, which hear the next hop; some of them send.
fn chain(hops: usize, senders: &[usize], changes: &[(&str, &str)]) -> Scenario {
    let mut text =
        "duration = \"600s\"\nprofile = \"lln\"\n[mesh.m]\nborder_router = \"n0\"\npath_loss = 3.5\n".to_string();
    for node in 0..=hops {
        text += &format!("[mesh.m.nodes.n{node}]\nx = {}\n", 25 * node);
    }
    let nodes: Vec<_> = senders.iter().map(|node| format!("\"n{node}\"")).collect();
    text += "[link.wire]\nrate = \"1mbit\"\ndelay = \"5ms\"\nqueue = { limit = \"15p\" }\n";
    text += &format!("[[flows]]\ncc = \"reno\"\nmesh = \"m\"\nnodes = [{}]\n", nodes.join(", "));
    let changes: Vec<_> = changes.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment = load_text(&text, "mesh.toml", Path::new(""), &changes).unwrap_or_else(|error| panic!("{error}"));
    assert!(!library().names().is_empty());
    experiment.points[0].scenario.clone()
}

fn record(scenario: &Scenario) -> Run {
    let mut record = run(scenario, &Options::default()).run;
    record.describe(scenario);
    record
}

/// A sensor that writes two segments a second delivers them over any number of hops, and its record says where it is.
#[test]
fn a_reading_arrives_over_all_hops() {
    for hops in [1, 3, 6] {
        let record = record(&chain(hops, &[hops], &[("flows.0.write_rate", "1024bit")]));
        let flow = &record.flows[0];
        assert!((flow.goodput_mbps * 1e6 / 1024.0 - 1.0).abs() < 0.01, "{hops} hops: {} Mbit/s", flow.goodput_mbps);
        assert_eq!((flow.setup.node.as_deref(), flow.setup.hops), (Some(&*format!("n{hops}")), Some(hops as u32)));
        assert_eq!(record.nodes.len(), hops + 1);
        // Each segment and its acknowledgement pass each hop once.
        let frames: u64 = record.nodes.iter().map(|node| node.frames - node.frame_retries).sum();
        let packets = flow.sent_packets + 1;
        assert!(frames.abs_diff(2 * hops as u64 * packets) <= 2 * hops as u64 * 10, "{frames} for {packets} packets");
    }
}

/// A node that sends only a segment now and then listens all the time.
#[test]
fn listening_costs_most_of_the_energy() {
    let record = record(&chain(1, &[1], &[("flows.0.write_rate", "1024bit")]));
    let node = &record.nodes[1];
    assert!((node.transmit_s + node.listen_s - 600.0).abs() < 1e-6, "{node:?}");
    assert!(node.transmit_s < 10.0 && node.energy_mj > 0.98 * 600.0 * 18.8 * 3.0, "{node:?}");
}

/// Data that goes to a sensor, such as commands, arrives as well.
#[test]
fn data_goes_down_the_tree_as_well() {
    let queue = ("link.wire.reverse.queue", "{ limit = \"15p\" }");
    let down = [("flows.0.reverse", "true"), queue, ("flows.0.write_rate", "1024bit")];
    let goodput = record(&chain(3, &[3], &down)).flows[0].goodput_mbps;
    assert!((goodput * 1e6 / 1024.0 - 1.0).abs() < 0.01, "{goodput} Mbit/s");
}

/// A message goes up the tree and its answer down, and the records name the node of both.
#[test]
fn an_applications_answers_go_down_the_tree() {
    let queue = ("link.wire.reverse.queue", "{ limit = \"15p\" }");
    let app = ("flows.0.app", "{ kind = \"messenger\", every = \"5s\", request = \"60b\", response = \"60b\" }");
    let record = record(&chain(3, &[2, 3], &[app, queue]));
    let of_node = |node: &str| record.flows.iter().filter(|flow| flow.setup.node.as_deref() == Some(node)).count();
    assert_eq!((of_node("n2"), of_node("n3"), record.flows.len()), (2, 2, 4));
    let link = |name: &str| record.links.iter().find(|link| link.link == name).expect("it is there");
    assert!(link("m.n3").utilisation_percent > 0.0 && link("m.n3.reverse").utilisation_percent > 0.0);
    let hop = |bytes| phy::air_time(frames::bytes(bytes, 0)).as_millis_f64();
    let least_ms = 2.0 * (hop(40 + 60) + hop(40));
    assert!(record.flows.iter().all(|flow| flow.rtt.rtt_ms_mean > Some(least_ms)), "{least_ms} ms: {:?}", record.flows);
}

/// A farther node gets less of a chain in which all send all the time.
#[test]
fn far_nodes_get_less() {
    let record = record(&chain(4, &[1, 2, 3, 4], &[]));
    let goodput: Vec<_> = record.flows.iter().map(|flow| flow.goodput_mbps).collect();
    assert!(goodput[0] > 2.0 * goodput[3], "{goodput:?}");
    assert!(record.flows.iter().all(|flow| flow.loss_events.is_some()));
}

/// The send times of a flow's new data segments.
fn first_sent(scenario: &Scenario) -> (Vec<Nanos>, Run) {
    let (outcome, script) = watch(scenario, &Options::default(), Script::new(|_, _| false));
    let first = |data: &Data| is_data(data) && data.flags & flag::RETRANSMISSION == 0;
    (script.sent.iter().filter(|(_, data)| first(data)).map(|(at, _)| *at).collect(), outcome.run)
}

/// If a congestion control makes the sender wait, a window takes the wait and a round trip, whether the sender spreads
/// it or not. The receiver takes all segments: of four at a time the gate would let no more through.
#[test]
fn a_window_in_the_wait_and_a_round_trip() {
    for gate in ["false", "true"] {
        let profile = format!("{{ base = \"lln\", gate = {gate} }}");
        // Some frames are lost: without a loss there is no wait.
        let changes = [
            ("flows.0.cc", "dtpa"),
            ("flows.0.params", "{ c = 1000 }"),
            ("flows.0.receive_window", "64kb"),
            ("link.wire.loss", "2%"),
        ];
        let (sent, run) = first_sent(&chain(1, &[1], &[&changes[..], &[("flows.0.profile", &*profile)]].concat()));
        let flow = &run.flows[0];
        let turn_s = (flow.wait_ms_mean.expect("it has waited") + flow.rtt.rtt_ms_mean.expect("samples")) / 1e3;
        let expected = flow.cwnd_packets_mean / turn_s * 600.0;
        let ratio = sent.len() as f64 / expected;
        // Mean window over mean turn, where windows and turns vary together.
        assert!((0.9..1.1).contains(&ratio), "gate {gate}: {} segments, not {expected}", sent.len());
    }
}

/// With the gate a window leaves at once, and then nothing for at least the wait. With pacing no two segments of the
/// later run follow each other directly.
#[test]
fn the_gate_sends_windows_at_once_and_pacing_spreads_them() {
    let gaps = |gate: &str| {
        let profile = format!("{{ base = \"lln\", gate = {gate} }}");
        let changes = [
            ("flows.0.cc", "dtpa"),
            ("flows.0.params", "{ c = 500 }"),
            ("link.wire.loss", "2%"),
            ("flows.0.profile", &*profile),
        ];
        let (sent, _) = first_sent(&chain(1, &[1], &changes));
        let late = sent.iter().filter(|at| **at > Nanos::from_secs(300)).copied().collect::<Vec<_>>();
        late.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    let at_once = |gaps: &[Nanos]| gaps.iter().filter(|gap| **gap < Nanos::from_millis(1)).count();
    let (gated, paced) = (gaps("true"), gaps("false"));
    assert!(at_once(&gated) > gated.len() / 3, "{gated:?}");
    assert!(at_once(&paced) * 10 < paced.len(), "{paced:?}");
}

/// A node has more to send than the one behind it, and waits because it forwards that node's data. The node behind
/// learns of rates from the border router only, and its wait then leaves it enough for its data.
#[test]
fn nodes_wait_by_the_rates_that_they_know() {
    let run = |announces| {
        let group = |node, rate| {
            let rates = [("flows.0.write_rate", rate), ("mesh.m.announces_rate", announces)];
            chain(2, &[node], &[&[("flows.0.cc", "dtpa_auto"), ("warmup", "120s")], &rates[..]].concat())
        };
        let mut scenario = group(1, "2048bit");
        scenario.flows.extend(group(2, "256bit").flows);
        record(&scenario).flows
    };
    for (announces, far_waits) in [("false", false), ("true", true)] {
        let flows = run(announces);
        let waits: Vec<_> = flows.iter().map(|flow| flow.wait_ms_mean.is_some_and(|wait| wait > 0.0)).collect();
        assert_eq!(waits, [true, far_waits], "announces_rate = {announces}");
        assert!(flows[0].goodput_mbps < 0.3 * 2048e-6, "{} Mbit/s", flows[0].goodput_mbps);
        assert!(flows[1].goodput_mbps > 0.99 * 256e-6, "{} Mbit/s", flows[1].goodput_mbps);
    }
}

/// Nodes get about equal shares in a chain in which all always have something to send.
#[test]
fn all_get_about_as_much_where_rates_are_announced() {
    let jain = |changes: &[(&str, &str)]| record(&chain(4, &[1, 2, 3, 4], changes)).jain_index.expect("four flows");
    let auto =
        [("flows.0.cc", "dtpa_auto"), ("mesh.m.announces_rate", "true"), ("duration", "1200s"), ("warmup", "600s")];
    let (reno, auto) = (jain(&[]), jain(&auto));
    assert!(auto > 0.7 && auto > 2.0 * reno, "{auto} with, {reno} without");
}

/// A slow application does not make a window grow, and loses its readings if TCP cannot take them.
#[test]
fn a_slow_application_loses_what_finds_no_room() {
    let run = record(&chain(1, &[1], &[("flows.0.write_rate", "64kbit"), ("flows.0.receive_window", "128b")]));
    let flow = &run.flows[0];
    // A window a round trip, but for some seconds of timeouts.
    let most = 128.0 * 8.0 / (flow.rtt.rtt_ms_mean.expect("samples") * 1e3);
    assert!((0.97 * most..most).contains(&flow.goodput_mbps), "{} Mbit/s of {most}", flow.goodput_mbps);
    let run = record(&chain(1, &[1], &[("flows.0.write_rate", "1024bit"), ("flows.0.size", "6400b")]));
    let done = run.flows[0].completion_s.expect("a hundred readings are over after 50 s");
    assert!((49.0..52.0).contains(&done), "{done} s");
}

/// Without another way a flow waits for a node that is down, and goes on at its next timeout.
#[test]
fn a_flow_outlives_a_node_that_is_down() {
    let down = ("mesh.m.nodes.n1.down", "[{ at = \"100s\", for = \"30s\" }]");
    let record = record(&chain(2, &[2], &[("flows.0.write_rate", "1024bit"), down]));
    let (flow, node) = (&record.flows[0], &record.nodes[1]);
    let delivered_s = flow.goodput_mbps * 1e6 / 1024.0 * 600.0;
    // Timeouts double from a second on: the one that follows the return is at most as long after it as the outage is.
    assert!((530.0..571.0).contains(&delivered_s), "{delivered_s} s of 600");
    assert!(flow.lost_packets > 0 && record.nodes[2].unacknowledged > 0, "{:?}", record.nodes);
    assert!((node.down_s - 30.0).abs() < 0.005, "{node:?}");
}

/// Any chain: its length, who sends, what and how fast, losses, and a node that is down for a while.
fn any_chain() -> impl Strategy<Value = Scenario> {
    let controls = prop::sample::select(vec!["reno", "cubic", "vegas", "dtpa", "dtpa_auto"]);
    let rates = prop::sample::select(vec!["64bit", "1024bit", "64kbit"]);
    let windows = prop::sample::select(vec!["128b", "512b", "64kb"]);
    let down = prop::option::of((1usize..5, 1u64..40, 1u64..30));
    let switches = any::<[bool; 4]>();
    let senders = prop::sample::subsequence(vec![1usize, 2, 3, 4, 5], 1..4);
    (senders, controls, prop::option::of(rates), windows, 0u32..20, down, switches, 0u64..1000).prop_map(
        |(senders, cc, rate, window, loss, down, [reverse, gate, announces, warm], seed)| {
            let hops = senders[senders.len() - 1];
            let (loss, seed) = (format!("{loss}%"), seed.to_string());
            let profile = format!("{{ base = \"lln\", gate = {gate} }}");
            let mut changes = vec![
                ("duration", "60s"),
                ("seed", &*seed),
                ("flows.0.cc", cc),
                ("flows.0.profile", &*profile),
                ("flows.0.receive_window", window),
                ("link.wire.loss", &*loss),
                ("flows.0.reverse", if reverse { "true" } else { "false" }),
                ("link.wire.reverse.queue", "{ limit = \"15p\" }"),
                ("mesh.m.announces_rate", if announces { "true" } else { "false" }),
                ("warmup", if warm { "20s" } else { "0s" }),
            ];
            changes.extend(rate.map(|rate| ("flows.0.write_rate", rate)));
            let outage = down.map(|(node, at, length)| {
                let node = node.min(hops);
                (format!("mesh.m.nodes.n{node}.down"), format!("[{{ at = \"{at}s\", for = \"{length}s\" }}]"))
            });
            changes.extend(outage.iter().map(|(key, value)| (&**key, &**value)));
            chain(hops, &senders, &changes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..Default::default() })]

    /// Over a mesh no packet comes from nothing or vanishes, and every invariant of a network holds.
    #[test]
    fn packets_are_conserved_in_a_mesh(scenario in any_chain()) {
        invariants::check(&scenario);
    }
}
