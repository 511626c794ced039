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
     "base.toml:4: mesh.office.border_router: there is no node lrb; there is lbr, a, b"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nchannel = 11",
     "base.toml:5: mesh.office.channel: no such key; here may stand border_router, nodes, queue, tx_power, path_loss, \
      min_be, max_be, max_backoffs, max_retries, retry_delay, announces_rate, repair_after, wake_interval, listen_for, \
      transmit_ma, receive_ma, sleep_ma, volts"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nmin_be = 6",
     "base.toml:5: mesh.office.min_be: 6 is more than max_be, 5"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nwake_interval = \"100ms\"\nlisten_for = \"200ms\"",
     "base.toml:6: mesh.office.listen_for: 200ms is no part of wake_interval, 100ms"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nqueue = { kind = \"kernel:codel\" }",
     "base.toml:5: mesh.office.queue.kind: kernel:codel cannot share the air; take one of this program's own"),
    ("border_router = \"lbr\"", "border_router = \"lbr\"\nrepair_after = \"5s\"",
     "base.toml:5: mesh.office.repair_after: stands in a mesh whose nodes say their parents, which stay; leave it out"),
    ("a = { x = 25, parent",
     "a = { x = 25, down = [{ at = \"5s\", for = \"2s\" }, { at = \"6s\", for = \"1s\" }], parent",
     "base.toml:7: mesh.office.nodes.a.down.1.at: 6s is before 7s, where the outage before it ends"),
    ("a = { x = 25, parent", "a = { y = 25, parent",
     "base.toml:7: mesh.office.nodes.a.x: is missing, the node's place in metres; other nodes have theirs"),
    ("a = { x = 25, parent", "a = { x = 25, hears = { lbr = \"-60dbm\" }, parent",
     "base.toml:7: mesh.office.nodes.a.hears: stands in a mesh whose nodes have places, which say it; leave one of the \
      two out"),
    ("parent = \"a\"", "parent = \"c\"",
     "base.toml:8: mesh.office.nodes.b.parent: there is no node c; there is lbr, a, b (did you mean a?)"),
    (", parent = \"a\"", "",
     "base.toml:8: mesh.office.nodes.b.parent: is missing; either all nodes but the border router say theirs, or none \
      does"),
    ("lbr = { x = 0 }", "lbr = { x = 0, parent = \"a\" }",
     "base.toml:6: mesh.office.nodes.lbr.parent: stands in the border router, which has none"),
    ("parent = \"lbr\"", "parent = \"b\"",
     "base.toml:7: mesh.office.nodes.a: has no way to lbr: its parents go round in a circle\n\
      base.toml:8: mesh.office.nodes.b: has no way to lbr: its parents go round in a circle"),
    ("b = { x = 50, parent", "b = { x = 500, parent",
     "base.toml:8: mesh.office.nodes.b: and its parent a do not hear each other with -95 dBm or more"),
    ("a = { x = 25, parent = \"lbr\" }\nb = { x = 50, parent = \"a\" }", "a = { x = 25 }\nb = { x = 500 }",
     "base.toml:8: mesh.office.nodes.b: has no way to lbr: no neighbour on one hears it, and is heard, well enough"),
    ("a = { x = 25, parent = \"lbr\" }\nb = { x = 50, parent = \"a\" }\n", "",
     "base.toml:5: mesh.office.nodes: must be a border router and at least one node more"),
    ("mesh = \"office\"", "mesh = \"home\"",
     "base.toml:15: flows.0.mesh: there is no [mesh.home]; there is office"),
    ("mesh = \"office\"", "mesh = \"office\"\nnodes = [\"lbr\"]",
     "base.toml:16: flows.0.nodes: lbr is the border router, which sends nothing of its own"),
    ("mesh = \"office\"", "mesh = \"office\"\nnodes = [\"a\", \"a\"]",
     "base.toml:16: flows.0.nodes: names a twice"),
    ("mesh = \"office\"", "mesh = \"office\"\ncount = 2",
     "base.toml:16: flows.0.count: cannot be set together with mesh, whose nodes have one flow each; leave it out"),
    ("mesh = \"office\"", "mesh = \"office\"\npacket = \"1500b\"",
     "base.toml:16: flows.0.packet: 1500b do not fit a datagram of 6LoWPAN; a mesh takes 1260b"),
    ("cc = \"reno\"", "app = { kind = \"udp\", rate = \"10kbit\", packet = \"1261b\" }",
     "base.toml:14: flows.0.app.packet: 1261b do not fit a datagram of 6LoWPAN; a mesh takes 1260b"),
    ("mesh = \"office\"", "mesh = \"office\"\nhost = \"phone\"\n[host.phone]",
     "base.toml:16: flows.0.host: cannot be set together with mesh, whose nodes are these flows' hosts; leave it out"),
    ("mesh = \"office\"", "nodes = [\"a\"]",
     "base.toml:15: flows.0.nodes: are of a mesh; write mesh with its name beside them"),
    ("mesh = \"office\"", "count = 1",
     "base.toml:5: mesh.office.nodes: no flow group has mesh = \"office\", so that nobody sends"),
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
        "base.toml:7: mesh.office.nodes.a.hears: there is no node c; there is lbr, a, b (did you mean a?)\n\
         base.toml:7: mesh.office.nodes.a.hears.lbr: must be a signal strength such as \"-80dbm\"\n\
         base.toml:8: mesh.office.nodes.b.hears: has the node itself in it"
    );
}
