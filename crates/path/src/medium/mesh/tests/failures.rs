//! Nodes that go down, and trees without them.

use super::*;

/// Builds a mesh in which n3 hears n1 and n2, which hear the border router.
fn diamond(parents: [&str; 3], down: &str) -> String {
    let [of_1, of_2, of_3] = parents;
    format!(
        "[mesh.m.nodes.n0]\nx = 0\n[mesh.m.nodes.n1]\nx = 22\ny = 10\n{of_1}\ndown = {down}\n\
         [mesh.m.nodes.n2]\nx = 22\ny = -10\n{of_2}\n[mesh.m.nodes.n3]\nx = 44\n{of_3}\n"
    )
}

/// Sends a packet a second between n3 and the border router, and returns the seconds of those that
/// did not arrive.
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

/// Node n1, the parent of n3, is down for 20 s. Packets are lost until the others notice; then they
/// go through n2. If the file gives the tree, packets are lost for the whole outage.
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

/// The return of n3 is noticed equally late, and until then it has no parent.
#[test]
fn who_was_down_has_no_parent_until_it_is_found() {
    let nodes = diamond([""; 3], "[]") + "down = [{ at = \"9.5s\", for = \"20s\" }]";
    assert_eq!(lost_seconds(&nodes, "repair_after = \"4s\"", true), (10..34).collect::<Vec<_>>());
}

/// A node that goes down loses its queue and the packet that it is sending, but no frame on the
/// air.
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

/// Runs two nodes with ten packets each, and returns how many arrive within ten seconds.
///
/// Outages of both nodes count from the beginning of n1's first frame, which takes 4 ms. Each has a
/// start and a length, in microseconds.
fn down_within_a_frame(of_1: &[(u64, u64)], of_2: &[(u64, u64)]) -> (World, usize) {
    let run = |of_1: String, of_2: String| {
        let nodes = star(2).replace("[mesh.m.nodes.n2]", &format!("{of_1}\n[mesh.m.nodes.n2]")) + &of_2;
        let mut world = World::new(&scenario(&nodes, "", 1));
        for node in (0..10).flat_map(|_| [1, 2]) {
            world.send(Nanos::ZERO, node, 0, PACKET);
        }
        let (mut arrived, mut now) = (0, Nanos::ZERO);
        while world.medium.next() < Nanos::from_secs(10) {
            assert!(world.medium.next() >= now, "{} us, after {} us", us(world.medium.next()), us(now));
            now = world.medium.next();
            arrived += usize::from(world.step().is_some());
        }
        (world, arrived)
    };
    let (undisturbed, arrived) = run(String::new(), String::new());
    assert!(arrived > 15, "{arrived}: a few are given up, because the channel is busy");
    let frame = undisturbed.mesh().log.iter().find(|sent| sent.from == 1).expect("it has packets");
    let down = |outages: &[(u64, u64)]| {
        let one =
            |(at, lasts): &(u64, u64)| format!("{{ at = \"{}us\", for = \"{lasts}us\" }}", frame.start.0 / 1000 + at);
        format!("down = [{}]", outages.iter().map(one).collect::<Vec<_>>().join(", "))
    };
    run(down(of_1), down(of_2))
}

/// An outage that would end before the frame on the air still counts: the node starts again and has
/// lost its queue. Several such outages act as one.
#[test]
fn an_outage_shorter_than_a_frame_is_over_when_that_ends() {
    for outages in [&[(100, 1000)][..], &[(100, 1000), (1200, 500), (1800, 1)]] {
        let (mut world, arrived) = down_within_a_frame(outages, &[]);
        assert!((6..12).contains(&arrived), "{arrived}: those of n2, and n1's first");
        assert_eq!((world.gone, world.packets.count()), (20 - arrived, 0));
        assert_eq!(world.medium.node_records()[1].down_s, 0.0);
        world.send(Nanos::from_secs(10), 1, 0, PACKET);
        assert_eq!(world.run(Nanos::from_secs(11)).len(), 1, "it is up");
    }
}

/// While a frame delays the outage of one node, the other nodes change on time.
#[test]
fn others_go_down_and_come_up_while_a_node_sends_its_last_frame() {
    let (mut world, _) = down_within_a_frame(&[(100, 100_000)], &[(1000, 1000), (2500, 500)]);
    let down = world.medium.node_records().iter().map(|node| 1e3 * node.down_s).collect::<Vec<_>>();
    assert!((96.0..97.0).contains(&down[1]) && (down[2] - 1.5).abs() < 1e-6, "{down:?} ms");
    for node in [1, 2] {
        world.send(Nanos::from_secs(10), node, 0, PACKET);
    }
    assert_eq!(world.run(Nanos::from_secs(11)).len(), 2, "both are up");
}
