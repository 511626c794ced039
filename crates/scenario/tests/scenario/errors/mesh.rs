//! Mistakes in meshes, their nodes, and the flow groups that come from them.

use super::sentence;

const BASE: &str = r#"duration = "60s"
profile = "lln"
[mesh.office]
border_router = "lbr"
[mesh.office.nodes]
lbr = { x = 0 }
a = { x = 25, parent = "lbr" }
b = { x = 50, parent = "a" }
[link.wire]
rate = "1mbit"
delay = "5ms"
queue = { limit = "15p" }
[[flows]]
cc = "reno"
mesh = "office"
"#;

#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    ("border_router = \"lbr\"", "border_router = \"lrb\"",
     "base.toml:4: mesh.office.border_router: unknown node lrb; valid: lbr, a, b"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nchannel = 11",
     "base.toml:5: mesh.office.channel: unknown key; valid keys: border_router, nodes, queue, tx_power, path_loss, \
         min_be, max_be, max_backoffs, max_retries, retry_delay, announces_rate, repair_after, wake_interval, \
         listen_for, transmit_ma, receive_ma, sleep_ma, volts"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nmin_be = 6",
     "base.toml:5: mesh.office.min_be: 6 must not exceed max_be, 5"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nwake_interval = \"100ms\"\nlisten_for = \"200ms\"",
     "base.toml:6: mesh.office.listen_for: 200ms must be shorter than wake_interval, 100ms"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nqueue = { kind = \"kernel:codel\" }",
     "base.toml:5: mesh.office.queue.kind: kernel:codel cannot share the air; write a queue without \"kernel:\""),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nrepair_after = \"5s\"",
     "base.toml:5: mesh.office.repair_after: cannot be set where nodes have a parent, for then the tree never \
         changes; leave it out"),
    ("a = { x = 25, parent",
     "a = { x = 25, down = [{ at = \"5s\", for = \"2s\" }, { at = \"6s\", for = \"1s\" }], parent",
     "base.toml:7: mesh.office.nodes.a.down.1.at: 6s must not be before 7s, where the outage before it ends"),
    ("a = { x = 25, parent", "a = { y = 25, parent",
     "base.toml:7: mesh.office.nodes.a.x: is missing; write the node's place in metres, as for the other nodes"),
    ("a = { x = 25, parent", "a = { x = 25, hears = { lbr = \"-60dbm\" }, parent",
     "base.toml:7: mesh.office.nodes.a.hears: cannot be set together with places, which decide who hears whom; leave \
         one of the two out"),
    ("parent = \"a\"", "parent = \"c\"",
     "base.toml:8: mesh.office.nodes.b.parent: unknown node c (did you mean a?); valid: lbr, a, b"),
    (", parent = \"a\"", "",
     "base.toml:8: mesh.office.nodes.b.parent: is missing; write a parent for every node but the border router, or \
         for none"),
    ("lbr = { x = 0 }", "lbr = { x = 0, parent = \"a\" }",
     "base.toml:6: mesh.office.nodes.lbr.parent: cannot be set in the border router, which is the root; leave it out"),
    ("parent = \"lbr\"", "parent = \"b\"",
     "base.toml:7: mesh.office.nodes.a: has no path to lbr: its parents form a loop\nbase.toml:8: \
         mesh.office.nodes.b: has no path to lbr: its parents form a loop"),
    ("b = { x = 50, parent", "b = { x = 500, parent",
     "base.toml:8: mesh.office.nodes.b: and its parent a must hear each other with -95 dBm or more"),
    ("a = { x = 25, parent = \"lbr\" }\nb = { x = 50, parent = \"a\" }", "a = { x = 25 }\nb = { x = 500 }",
     "base.toml:8: mesh.office.nodes.b: has no path to lbr: no neighbour with a path hears it, and is heard, well \
         enough"),
    ("a = { x = 25, parent = \"lbr\" }\nb = { x = 50, parent = \"a\" }\n", "",
     "base.toml:5: mesh.office.nodes: must have a border router and at least one other node"),
    ("mesh = \"office\"", "mesh = \"home\"",
     "base.toml:15: flows.0.mesh: unknown mesh home; valid: office"),
    ("mesh = \"office\"", "mesh = \"office\"\nnodes = [\"lbr\"]",
     "base.toml:16: flows.0.nodes: lbr is the border router, which sends no data of its own; leave it out"),
    ("mesh = \"office\"", "mesh = \"office\"\nnodes = [\"a\", \"a\"]",
     "base.toml:16: flows.0.nodes: names a twice; leave one out"),
    ("mesh = \"office\"", "mesh = \"office\"\ncount = 2",
     "base.toml:16: flows.0.count: cannot be set together with mesh, whose nodes send one flow each; leave it out"),
    ("mesh = \"office\"", "mesh = \"office\"\npacket = \"1500b\"",
     "base.toml:16: flows.0.packet: 1500b do not fit a datagram of 6LoWPAN; the largest packet of a mesh is 1260b"),
    ("cc = \"reno\"", "app = { kind = \"udp\", rate = \"10kbit\", packet = \"1261b\" }",
     "base.toml:14: flows.0.app.packet: 1261b do not fit a datagram of 6LoWPAN; the largest packet of a mesh is 1260b"),
    ("mesh = \"office\"", "mesh = \"office\"\nhost = \"phone\"\n[host.phone]",
     "base.toml:16: flows.0.host: cannot be set together with mesh, whose nodes are these flows' hosts; leave it out"),
    ("mesh = \"office\"", "nodes = [\"a\"]",
     "base.toml:15: flows.0.nodes: needs mesh; write mesh = NAME beside it"),
    ("mesh = \"office\"", "count = 1",
     "base.toml:5: mesh.office.nodes: have nothing to send; write mesh = \"office\" in a flow group"),
];

#[test]
fn the_base_itself_is_right() {
    assert_eq!(sentence(BASE, &[]), "no mistake was found");
}

#[test]
fn each_mistake_has_its_sentence() {
    for (piece, replacement, expected) in CASES {
        assert!(BASE.contains(piece), "{piece:?} does not occur in the base");
        let text = BASE.replacen(piece, replacement, 1);
        assert_eq!(sentence(&text, &[]), *expected, "{piece:?} was replaced by {replacement:?}");
    }
}

#[test]
fn what_a_node_hears_is_a_strength_of_another() {
    let text = BASE
        .replace("{ x = 0 }", "{ hears = { a = \"-60dbm\" } }")
        .replace(
            "{ x = 25, parent = \"lbr\" }",
            "{ hears = { lbr = \"60\", b = \"-60dbm\", c = \"-60dbm\" }, parent = \"lbr\" }",
        )
        .replace("{ x = 50, parent = \"a\" }", "{ hears = { a = \"-60dbm\", b = \"-60dbm\" }, parent = \"a\" }");
    assert_eq!(
        sentence(&text, &[]),
        "base.toml:7: mesh.office.nodes.a.hears: unknown node c (did you mean a?); valid: lbr, a, b\nbase.toml:7: \
             mesh.office.nodes.a.hears.lbr: must be a signal strength such as \"-80dbm\"\nbase.toml:8: \
             mesh.office.nodes.b.hears: must not name the node itself"
    );
}
