//! Compares times and rates with closed forms, and with orders of magnitude where there is none.

use super::*;

/// The time is that of 3.5 periods, CCA, turnaround, the frame, its answer and the space.
#[test]
fn a_lone_hop_carries_what_its_timings_leave() {
    let mut world = World::new(&scenario(&star(1), "", 1));
    let expected = phy::most_carried(Csma::default(), Bytes(PACKET.into())).0 as f64 / f64::from(8 * PACKET);
    let rate = world.saturated(&[1], 2, 300);
    assert!((rate / expected - 1.0).abs() < 0.005, "{rate} packets a second, not {expected}");
    let record = &world.medium.node_records()[1];
    assert_eq!((record.frame_retries, record.channel_failures, record.unacknowledged), (0, 0, 0));
}

/// Each of two fragments is a frame of its own.
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
    let frame = |bytes| 3.5 * 320.0 + 128.0 + 192.0 + us(phy::air_time(bytes));
    let expected = frame(126) + us(phy::answer_time()) + 640.0 + frame(48);
    assert!((taken / 2000.0 / expected - 1.0).abs() < 0.01, "{} us, not {expected}", taken / 2000.0);
}

/// Returns the mean time, in us, from the start of a channel access to the clear end of its
/// assessment.
///
/// The channel is busy until `busy`, in us from the start. A back-off lasts 0 to 2^BE - 1 periods;
/// the next has a larger exponent.
fn access_us(busy: f64, exponent: u32) -> f64 {
    let most = Csma::most_periods(exponent);
    let one = |periods: u64| {
        let end = periods as f64 * 320.0 + 128.0;
        if end - 128.0 >= busy { end } else { end + access_us((busy - end).max(0.0), (exponent + 1).min(5)) }
    };
    (0..=most).map(one).sum::<f64>() / (most + 1) as f64
}

/// A packet travels alone. A node that has received it spends 544 us on its acknowledgement, and
/// finds the channel busy that long. All hops but the first therefore take equally long.
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
        let hop = |busy| access_us(busy, 3) + 192.0 + us(phy::air_time(FRAME));
        let expected = hop(0.0) + (hops - 1) as f64 * hop(us(phy::answer_time()));
        let mean = taken / 2000.0;
        assert!((mean / expected - 1.0).abs() < 0.01, "{hops} hops: {mean} us, not {expected}");
    }
}

/// The rate over n hops is bounded, and up to three hops it is known within 10 %.
///
/// If all nodes are in one another's range, only one transmits at a time. Together they complete as
/// many hops a second as up to n saturated nodes of a star, since not all always have a packet. So
/// over n hops the rate is at most an n-th of that, less the drops of full queues on the way.
///
/// If ranges end after a hop, only one of three nodes in a row can transmit usefully. The rate is
/// that of a lone hop divided by n; from three hops on it is at most a third of that. Beyond three
/// hops, senders that do not hear each other collide. No closed form for that exists here, and from
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
    let lone = rate(1, &[-60]);
    for hops in [2, 3] {
        let share = rate(hops, &[-60]) * hops as f64 / lone;
        assert!((share - 1.0).abs() < 0.1, "{hops} hops: {share} of a lone hop's rate over {hops}");
    }
    let (four, eight) = (rate(4, &[-60]), rate(8, &[-60]));
    assert!(four < lone / 3.0 && eight < lone / 3.0, "lone {lone}, over 4 hops {four}, over 8 {eight}");
    assert!(eight > 0.6 * four && four < 0.5 * lone, "lone {lone}, over 4 hops {four}, over 8 {eight}");
}

/// Returns the packets a second that `nodes` saturated nodes bring to a node that hears them all.
///
/// The formula is a mean-field model, as Bianchi's is, for unslotted CSMA/CA. In a back-off, a node
/// ends assessments at a rate r, and finds the channel busy with probability b. The first node to
/// find it idle transmits after its turnaround. Every node that ends an assessment within that
/// turnaround transmits too: a collision.
///
/// An assessment that fits between a frame and its acknowledgement also finds the channel idle. The
/// frame that follows spoils the acknowledgement and is not received itself. The frame before it is
/// then sent again, unless the channel is busy too often.
fn saturation(nodes: f64) -> f64 {
    const STAGES: i32 = 5;
    let (turnaround, cca) = (us(phy::TURNAROUND), us(phy::CCA));
    let (frame, answer, space) = (us(phy::air_time(FRAME)), us(phy::answer_time()), us(phy::space_after(FRAME)));
    let stage = |stage: i32| Csma::most_periods((3 + stage as u32).min(5)) as f64 / 2.0 * us(phy::BACKOFF_PERIOD) + cca;
    let mut busy = 0.3_f64;
    let mut carried = 0.0;
    for _ in 0..4000 {
        let reached = |n: i32| busy.powi(n);
        let rate = (0..STAGES).map(reached).sum::<f64>() / (0..STAGES).map(|n| reached(n) * stage(n)).sum::<f64>();
        let others = (nodes - 1.0) * rate;
        let within = |time: f64| 1.0 - libm::exp(-others * time);
        // A node that has just sent leaves a space before it joins the others.
        let idle = if others > 0.0 { within(space) / others } else { space } + (1.0 - within(space)) / (nodes * rate);
        let (collides, spoils) = (within(turnaround), within(turnaround - cca));
        let end = (1.0 - collides) * (answer + spoils * (frame - turnaround)) + collides * turnaround / 2.0;
        let period = idle + turnaround + frame + end;
        let wait = us(phy::ACK_WAIT);
        let own = (turnaround + frame + (1.0 - collides) * (answer + space) + collides * wait) / nodes;
        busy += 0.05 * ((frame + end) * (nodes - 1.0) / nodes / (period - own) - busy);
        // A share of the frames whose acknowledgement is lost is sent once more.
        let accesses = 1.0 - busy.powi(STAGES);
        let again: f64 = (0..3).map(|tries| (accesses * collides).powi(tries) * accesses * (1.0 - collides)).sum();
        carried = 1e6 * (1.0 - collides) * (1.0 - spoils * again) / period;
    }
    carried
}

/// Measures the packets a second from `nodes` saturated nodes in a star.
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

/// Two nodes that do not hear each other collide at a third, far more often than two that do.
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

/// Idle nodes sleep for all but their share of listening. A packet waits on each hop until the next
/// node wakes up: half an interval in the mean over times and over the nodes' draws.
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
    // Two hops lead to nodes that sleep, the last to the border router, which does not.
    let mean = taken.iter().sum::<f64>() / 1000.0;
    assert!((0.45..0.58).contains(&mean), "{mean} s");
}
