//! Properties that hold in every mesh.

use super::*;
use proptest::prelude::*;

/// Checks that times add up: a radio listens whenever it does not transmit, and transmits for the
/// length of its frames.
fn energy_adds_up(world: &World) -> Result<(), TestCaseError> {
    let end = Nanos::from_secs(1000);
    for (number, record) in world.medium.node_records().iter().enumerate() {
        let sent = world.mesh().log.iter().filter(|sent| sent.from == number);
        let transmitted: u64 = sent.map(|sent| (sent.end - sent.start).0 + phy::TURNAROUND.0).sum();
        prop_assert!((record.transmit_s - transmitted as f64 / 1e9).abs() < 1e-6, "{record:?}");
        let all = record.transmit_s + record.listen_s + record.sleep_s + record.down_s;
        prop_assert!((all - end.as_secs_f64()).abs() < 1e-6, "{record:?}");
        let energy = 3.0 * (17.4 * record.transmit_s + 18.8 * record.listen_s + 0.02 * record.sleep_s);
        prop_assert!((record.energy_mj - energy).abs() < 1e-6 * energy, "{record:?}");
    }
    Ok(())
}

/// Checks that a node sends and answers nothing while it is down, except a frame that was on the
/// air.
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

/// Checks that no node sends data while a node that it hears is sending, or was sending in its
/// assessment. No node sends two frames at a time.
fn nobody_talks_over_others(world: &World) -> Result<(), TestCaseError> {
    let log = &world.mesh().log;
    let hears = |from: usize, to: usize| world.mesh.signals[from][to].is_some_and(|signal| signal >= phy::SENSITIVITY);
    for (number, sent) in log.iter().enumerate() {
        // Transmissions are in the order of their start, and none lasts longer than 5 ms.
        let near = log[..number].iter().rev().take_while(|other| other.start + Nanos::from_millis(10) > sent.start);
        for other in near {
            if other.from == sent.from {
                prop_assert!(other.end <= sent.start, "node {} sends twice at a time", sent.from);
            } else if let Some(assessed) = sent.assessed.filter(|_| hears(other.from, sent.from)) {
                let overlaps = other.start < assessed && other.end > assessed - phy::CCA;
                prop_assert!(!overlaps, "{sent:?} though {other:?} was heard");
            }
        }
    }
    Ok(())
}

/// Draws nodes anywhere in a square, with the border router in its corner.
fn places() -> impl Strategy<Value = Vec<(u32, u32)>> {
    prop::collection::vec((0u32..60, 0u32..60), 3..14)
}

/// A node, when it goes down, in ms after the beginning or after its last outage, and for how long.
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
    /// For any places and any load, each packet arrives, is lost or is still there, exactly once.
    /// The radio follows its rules.
    #[test]
    fn in_every_mesh(
        places in places(),
        sends in prop::collection::vec((0u32..4000, 1usize..13, any::<bool>(), 40u32..400), 1..200),
        (retries, backoffs, limit, sleeps) in (0u32..4, 0u32..5, 1u32..16, any::<bool>()),
        failures in prop::collection::vec((0usize..14, 0u32..2000, 1u32..2000), 0..6),
        repair_after in 1u32..1000,
        seed in any::<u32>(),
    ) {
        let keys = format!("path_loss = 2.5\nmax_retries = {retries}\nmax_backoffs = {backoffs}\n\
                            queue = {{ limit = \"{limit}p\" }}");
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
