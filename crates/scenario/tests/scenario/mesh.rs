//! Tests of reading meshes, and flow groups that come from them.

use model::mesh::{Csma, Energy, Hop};
use model::units::{Bytes, Nanos, Rate};
use model::{Limit, Member, Queue, Scenario, Service, TcpProfile};
use std::path::Path;
use unbloat_scenario::load_text;

const OFFICE: &str = r#"
duration = "60s"
profile = "lln"
[mesh.office]
border_router = "lbr"
path_loss = 3.5
[mesh.office.nodes]
lbr = { x = 0 }
a = { x = 25 }
b = { x = 50 }
c = { x = 50, y = 30 }
[link.wire]
rate = "1mbit"
delay = "5ms"
queue = { limit = "15p" }
[[flows]]
cc = "reno"
mesh = "office"
"#;

fn load(overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment = load_text(OFFICE, "test.toml", Path::new(""), &overrides).map_err(|error| error.to_string())?;
    Ok(experiment.points.into_iter().next().expect("one").scenario)
}

fn read(overrides: &[(&str, &str)]) -> Scenario {
    load(overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// A hop can be 25 m long, but not 50 m. Only b is less than 37 m away from c at (50, 30).
#[test]
fn a_tree_is_built_from_places() {
    let s = read(&[]);
    let [mesh] = &s.meshes[..] else { panic!("one mesh") };
    let parents: Vec<_> = mesh.nodes.iter().map(|node| node.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2)]);
    assert_eq!((1..4).map(|node| mesh.hops(node)).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((mesh.csma, mesh.energy), (Csma::default(), Energy::default()));
    assert_eq!(mesh.queue, Queue::Droptail { limit: Some(Limit::Packets(15)), ecn_threshold: None });
}

/// d is a little farther from c than b is. Without b the way from c is over d, until others have found out that b is
/// back. An outage that they do not notice changes nothing. Without the border router the tree is empty.
#[test]
fn the_tree_goes_round_a_node_that_is_down() {
    let d = ("mesh.office.nodes.d", "{ x = 50, y = -5 }");
    let down = ("mesh.office.nodes.b.down", "[{ at = \"10s\", for = \"3s\" }, { at = \"20s\", for = \"30s\" }]");
    let trees = |more: &[(&str, &str)]| {
        let s = read(&[&[d, down], more].concat());
        let parents = |tree: model::mesh::Tree| (tree.since.as_secs_f64(), tree.parents);
        s.meshes[0].later_trees().into_iter().map(parents).collect::<Vec<_>>()
    };
    let with = vec![None, Some(0), Some(1), Some(2), Some(1)];
    let without = vec![None, Some(0), None, Some(4), Some(1)];
    let expected = [(14.0, &with), (17.0, &with), (24.0, &without), (54.0, &with)].map(|(at, tree)| (at, tree.clone()));
    assert_eq!(trees(&[("mesh.office.repair_after", "4s")]), expected);
    let root = ("mesh.office.nodes.lbr.down", "[{ at = \"20s\", for = \"10s\" }]");
    assert_eq!(trees(&[root])[2], (28.0, vec![None; 5]));
}

/// The links of the mesh follow the links of the file, one for each node but the border router.
#[test]
fn each_node_has_a_link_to_its_parent() {
    let s = read(&[("mesh.office.queue", "{ limit = \"7p\" }")]);
    let names: Vec<_> = s.links.iter().map(|link| (&*link.forward.name, &*link.reverse.name)).collect();
    let expected = [("wire", "wire.reverse"), ("office.a", "office.a.reverse")];
    assert_eq!((names.len(), &names[..2]), (4, &expected[..]));
    assert_eq!(s.links[3].forward.service, Service::Shared(Member::Mesh(Hop { mesh: 0, from: 3, to: 2 })));
    assert_eq!(s.links[3].reverse.service, Service::Shared(Member::Mesh(Hop { mesh: 0, from: 2, to: 3 })));
    let limit = |link: &model::Link| link.queue.limit();
    assert!(s.directions().skip(2).all(|link| limit(link) == Some(Limit::Packets(7))));
}

/// Each node sends a flow, up its way and over the links of `path`; a group may name its nodes.
#[test]
fn flows_come_from_the_nodes() {
    let s = read(&[]);
    let group = &s.flows[0];
    assert_eq!((group.count, &group.path), (3, &vec![0]));
    assert_eq!((0..3).map(|flow| s.way_up(group, flow)).collect::<Vec<_>>(), [vec![1], vec![2, 1], vec![3, 2, 1]]);
    let s = read(&[("flows.0.nodes", "[\"c\", \"a\"]")]);
    assert_eq!((0..2).map(|flow| s.way_up(&s.flows[0], flow).len()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(s.data_path(&s.flows[0]).len(), 4, "that of the node with most hops");
}

/// Both flows of an application's connection come from its node: requests and responses.
#[test]
fn an_applications_flows_come_from_its_node() {
    let app = ("flows.0.app", "{ kind = \"messenger\" }");
    let s = read(&[app, ("flows.0.nodes", "[\"a\", \"b\"]"), ("link.wire.reverse.queue", "{ limit = \"15p\" }")]);
    let group = &s.flows[0];
    assert_eq!(s.flow_arrivals()[0].len(), 4);
    assert_eq!([0, 1, 2, 3].map(|flow| s.way_up(group, flow)), [vec![1], vec![1], vec![2, 1], vec![2, 1]]);
    assert_eq!(s.data_path(group).len(), 3, "that of the node with most hops");
}

#[test]
fn a_sensors_profile_has_small_segments_and_windows() {
    let s = read(&[]);
    let group = &s.flows[0];
    assert_eq!((group.stack, group.packet, group.mss()), (TcpProfile::LLN, Bytes(104), Bytes(64)));
    assert_eq!(group.receive_window, Some(Bytes(256)));
    assert_eq!((group.stack.rto_min, group.stack.sack, group.stack.delayed_ack), (Nanos::from_secs(1), false, false));
    let s = read(&[("flows.0.packet", "200b"), ("flows.0.receive_window", "1kb"), ("flows.0.write_rate", "1kbit")]);
    let group = &s.flows[0];
    assert_eq!((group.packet, group.receive_window), (Bytes(200), Some(Bytes(1000))));
    assert_eq!(group.write_rate, Some(Rate(1000)));
    let newreno = read(&[("flows.0.profile", "newreno"), ("flows.0.packet", "500b")]);
    assert_eq!(newreno.flows[0].receive_window, None);
}

#[test]
fn a_kernel_joins_a_mesh() {
    let with = |window| read(&[("flows.0.write_rate", "1kbit"), ("flows.0.receive_window", window)]);
    assert_eq!(with("1152b").only_in_the_simulator(), None);
    let refused = with("1151b").only_in_the_simulator().expect("a window that no kernel has");
    assert_eq!(refused.key, "flows.0.receive_window");
    assert_eq!(
        refused.to_string(),
        "must be at least 1152b on a kernel, whose receivers have no smaller buffer; leave it out, or simulate"
    );
}
