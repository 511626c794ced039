//! Several links: properties of any of their routes, and figures that can be calculated.

use crate::auditor::Auditor;
use crate::invariants;
use crate::properties::{config, transfers_complete};
use crate::random;
use crate::world::*;
use crate::written;
use model::impairments::Policer;
use model::queue::{Codel, Discipline, Drophead};
use model::records::{self, Run};
use model::units::{Bytes, Nanos, Rate};
use model::{
    Access, Clock, DuplexLink, FlowGroup, Limit, Loss, MechanismSource, Queue, Scenario, Service, TcpProfile,
    Transmitter,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use unbloat_engine::Options;

/// Number of random networks on which the test tries each property.
const SCENARIOS: u64 = 400;

/// Packets are conserved, in order per flow and never faster than their path. Windows are respected, and reassembly is
/// right. Queues stay within their limits and links within their capacity, with drops and losses in their records. One
/// seed gives one set of events and records. `tools/invariants` goes on where this ends.
#[test]
fn every_invariant_holds_in_random_networks() {
    let next = AtomicU64::new(0);
    let check_some = || {
        while let number @ ..SCENARIOS = next.fetch_add(1, Relaxed) {
            let checked = panic::catch_unwind(|| invariants::check(&invariants::numbered(number).current()));
            assert!(checked.is_ok(), "scenario {number}: see it with tools/invariants 1 {number}");
        }
    };
    std::thread::scope(|scope| [(); 2].map(|()| scope.spawn(check_some)).map(|worker| worker.join().unwrap()));
}

/// The invariants hold with a policer in front of each queue, and with queues that drop from their heads.
#[test]
fn every_invariant_holds_behind_policers_and_in_drop_head_queues() {
    for number in 0..60 {
        let mut scenario = invariants::numbered(number).current();
        for link in 0..scenario.links.len() {
            for is_reverse in [false, true] {
                let is_of_a_host = !is_reverse && scenario.hosts.iter().any(|host| host.uplink == link);
                if is_of_a_host
                    || scenario.shared_queue(link, is_reverse).is_some()
                    || scenario.links[link].hop().is_some()
                {
                    continue;
                }
                let burst = Bytes(scenario.largest_packet(link, is_reverse).0 * (1 + number % 40));
                let direction = scenario.links[link].direction_mut(is_reverse);
                let rate = Rate((direction.service.capacity().mean * (0.2 + number as f64 / 50.0)) as u64);
                direction.impairments.policer = Some(Policer { rate, burst });
                if let Some(limit) = direction.queue.limit().filter(|_| (number + link as u64).is_multiple_of(2)) {
                    direction.queue = Discipline::Drophead(Drophead { limit }).into();
                }
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let text = scenario::to_toml(&written::write_traces(&scenario, folder.path()).unwrap());
        let checked = panic::catch_unwind(|| invariants::check(&scenario));
        assert!(checked.is_ok(), "{text}");
    }
}

/// The file of each random network describes it in full, so that a finding can be repeated from the file.
#[test]
fn a_random_network_is_what_its_file_says() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..SCENARIOS {
        let drawn = invariants::numbered(number).current();
        let text = scenario::to_toml(&written::write_traces(&drawn, folder.path()).unwrap());
        let read = scenario::load_text(&text, "random.toml", folder.path(), &[]);
        let mut read = read.unwrap_or_else(|error| panic!("{number}: {error}\n{text}")).points.remove(0).scenario;
        for link in read.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]) {
            if let Service::Own(Transmitter::Trace(trace)) = &mut link.service {
                Arc::make_mut(trace).path = "random".into();
            }
        }
        assert!(drawn == read, "{number}: {drawn:?} is read as {read:?}");
    }
}

/// The parts that the random networks have, and the least number of networks with each.
#[test]
fn random_networks_have_every_part() {
    let networks: Vec<_> = (0..SCENARIOS).map(|number| invariants::numbered(number).current()).collect();
    let count = |has: &dyn Fn(&Scenario) -> bool| networks.iter().filter(|scenario| has(scenario)).count();
    let groups = |has: &dyn Fn(&FlowGroup) -> bool| count(&|scenario| scenario.flows.iter().any(has));
    let is_cake = |queue: &Queue| matches!(queue.simulated(), Some(Discipline::Cake(_)));
    let queues = |scenario: &Scenario| scenario.directions().any(|link| is_cake(&link.queue));
    let receives = |group: &FlowGroup, name: &str| {
        group
            .window_controller
            .as_ref()
            .is_some_and(|controller| controller.source == MechanismSource::Builtin(name.into()))
    };
    let profile = |of: TcpProfile| {
        let switches = move |stack: TcpProfile| TcpProfile { delayed_ack: false, ecn: false, pacing: false, ..stack };
        groups(&move |group| switches(group.stack) == switches(of))
    };
    let parts = [
        ("profile linux", profile(TcpProfile::LINUX)),
        ("profile sack", profile(TcpProfile::SACK)),
        ("profile newreno", profile(TcpProfile::NEWRENO)),
        ("profile ns2-linux", profile(TcpProfile::NS2_LINUX)),
        ("profile lln", profile(TcpProfile::LLN)),
        ("tcp_usec_ts", groups(&|group| group.stack.tcp_usec_ts)),
        ("gate", groups(&|group| group.stack.gate)),
        ("clocks", groups(&|group| group.clock != Clock::default())),
        ("rtac_auto", groups(&|group| receives(group, "rtac_auto"))),
        ("arrivals", groups(&|group| group.arrivals.is_some())),
        ("applications", groups(&|group| group.app.is_some())),
        ("a host", count(&|scenario| !scenario.hosts.is_empty())),
        ("two hosts", count(&|scenario| scenario.hosts.len() == 2)),
        ("CAKE and a host", count(&|scenario| !scenario.hosts.is_empty() && queues(scenario))),
        ("a mesh", count(&|scenario| !scenario.meshes.is_empty())),
        ("two meshes", count(&|scenario| scenario.meshes.len() == 2)),
        ("parameters", groups(&|group| !group.cc.params.is_empty())),
        ("maps", groups(&|group| !group.cc.maps.is_empty())),
        ("a mesh and applications", groups(&|group| group.origin.is_some() && group.app.is_some())),
        ("Wi-Fi", count(&|scenario| !scenario.wifi.is_empty())),
        ("LTE", count(&|scenario| !scenario.lte.is_empty())),
        ("bursts", count(&|scenario| scenario.directions().any(|link| matches!(link.loss, Loss::Gemodel(_))))),
    ];
    let rare: Vec<_> = parts.iter().filter(|(_, count)| *count < 10).collect();
    assert!(rare.is_empty(), "{rare:?}");
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn finite_transfers_complete_with_exactly_their_size(scenario in random::routed()) {
        transfers_complete(scenario)?;
    }

    /// Transfers complete on slow and fast links if hosts report to senders the packets that have left. At the end the
    /// hosts are empty, as assertions in the engine check.
    #[test]
    fn transfers_through_small_queues_complete(
        mut scenario in random::routed(),
        mbit in random::log_uniform(0.1, 500.0),
    ) {
        for group in &mut scenario.flows {
            group.access.rate.get_or_insert(Rate((mbit * 1e6) as u64));
            group.access.small_queues = true;
        }
        transfers_complete(scenario)?;
    }

    /// A sender with small queues repairs any losses of its first packets, whatever waits in its host.
    #[test]
    fn losses_behind_small_queues_are_repaired(
        stack in random::stack(),
        segments in 1u64..60,
        losses in prop::collection::vec(prop::bool::weighted(0.4), 1..80),
        mbit in random::log_uniform(0.02, 100.0),
        limit in 1u64..6,
    ) {
        let queue = Some(droptail(Limit::Packets(limit)));
        let rate = Some(Rate((mbit * 1e6) as u64));
        let access = Access { rate, queue, small_queues: true, ..Access::default() };
        let mut scenario = scenario(4 * 3600);
        scenario.flows[0] = FlowGroup { size: Some(Bytes(segments * 1400)), stack, access, ..flow("cubic") };
        let (outcome, auditor) = watch(&scenario, &Options::default(), Auditor::losing(&scenario, losses));
        prop_assert!(outcome.run.flows[0].completion_s.is_some(), "{:?}", outcome.run.flows[0]);
        prop_assert_eq!(auditor.flows[0].delivered_bytes(), segments * 1400);
        prop_assert_eq!(auditor.flows[0].unaccounted(), 0);
    }
}

/// A receiver that acknowledges each segment at once, so that no timer blurs the arithmetic.
const PROMPT: TcpProfile = TcpProfile { delayed_ack: false, ..TcpProfile::LINUX };
/// Transmission time of a packet of 1500 bytes on a link of 10 Mbit/s, 100 Mbit/s and 1 Gbit/s, ms. Below are those of
/// one of 52 bytes.
const DATA_MS: [f64; 3] = [1.2, 0.12, 0.012];
const ACK_MS: [f64; 3] = [0.0416, 0.00416, 0.000416];
const MBIT: [f64; 3] = [10.0, 100.0, 1000.0];

fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (got - expected).abs() <= tolerance * expected.abs(),
        "{what}: {got}, expected {expected} within {tolerance}"
    );
}

fn duplex(name: &str, mbit: f64, delay_ms: u64) -> DuplexLink {
    let delay = Nanos::from_millis(delay_ms);
    DuplexLink { forward: link(name, mbit, delay), reverse: link(&format!("{name}.reverse"), mbit, delay) }
}

/// A run of a flow with a fixed window over links in a row, each 10 ms long. The `speeds` are indices of the rates
/// above.
fn in_a_row(speeds: &[usize], window: i64) -> Run {
    let mut s = scenario(65);
    s.warmup = Nanos::from_secs(5);
    let links = speeds.iter().enumerate();
    s.links = links.map(|(number, speed)| duplex(&format!("link{number}"), MBIT[*speed], 10)).collect();
    let all: Vec<usize> = (0..speeds.len()).collect();
    s.flows[0] = FlowGroup {
        cc: fixed_window(window),
        stack: PROMPT,
        path: all.clone(),
        reverse_path: all,
        ..s.flows[0].clone()
    };
    run(&s, &Options::default()).run
}

fn rtt_ms(run: &Run, flow: usize) -> f64 {
    run.flows[flow].rtt.rtt_ms_mean.expect("samples")
}

/// The RTT with nothing else on the links, ms.
fn base_rtt_ms(speeds: &[usize]) -> f64 {
    speeds.iter().map(|speed| 20.0 + DATA_MS[*speed] + ACK_MS[*speed]).sum()
}

/// The record of a link's forward direction.
fn forward(run: &Run, link: usize) -> &records::Link {
    &run.links[2 * link]
}

/// The slowest link sets the rate at any place in the row, and packets that do not fit the pipe wait before it. No
/// other queue holds anything for longer than its own transmissions take, and Little's law gives the RTT.
#[test]
fn the_slowest_link_decides_the_rate_and_the_queue_builds_before_it() {
    for speeds in [&[0, 1][..], &[1, 0], &[0, 1, 2], &[2, 0, 1], &[2, 1, 0]] {
        let window = 100;
        let run = in_a_row(speeds, window);
        let flow = &run.flows[0];
        close(flow.throughput_mbps, 10.0, 2e-5, "throughput");
        close(flow.goodput_mbps, 10.0 * 1448.0 / 1500.0, 2e-5, "goodput");
        close(rtt_ms(&run, 0), window as f64 * 1.2, 1e-6, "RTT");
        assert_eq!((flow.lost_packets, flow.retransmitted_packets), (0, 0));
        for (link, speed) in speeds.iter().enumerate() {
            let record = forward(&run, link);
            assert_eq!(record.link, format!("link{link}"));
            close(record.utilisation_percent, 1000.0 / MBIT[*speed], 2e-4, "utilisation");
            let (mean, max) = (record.queue_delay.queue_delay_ms_mean, record.queue_delay.queue_delay_ms_max);
            match speed {
                0 => close(mean.unwrap(), window as f64 * 1.2 - base_rtt_ms(speeds), 1e-4, "wait"),
                _ => assert_eq!((mean, max), (Some(0.0), Some(0.0)), "wait before a faster link, {speeds:?}"),
            }
        }
    }
}

/// With a window of one packet each link adds its delay and its transmissions, there and back, in any order.
#[test]
fn each_link_adds_its_delay_and_its_transmissions() {
    for speeds in [&[0][..], &[1, 0], &[0, 1], &[2, 0, 1, 1]] {
        let run = in_a_row(speeds, 1);
        // The host reads its clock up to 3 us late.
        let above_us = (rtt_ms(&run, 0) - base_rtt_ms(speeds)) * 1e3;
        assert!((-1.0..=4.0).contains(&above_us), "{above_us} us above what {speeds:?} take");
        close(run.flows[0].throughput_mbps, 0.012 / base_rtt_ms(speeds) * 1e3, 2e-3, "throughput");
    }
}

/// Flows on links of their own do not meet; acknowledgements return over the link that the group names.
#[test]
fn each_flow_takes_the_links_that_its_group_names() {
    let mut s = scenario(65);
    s.warmup = Nanos::from_secs(5);
    s.links = vec![duplex("a", 10.0, 10), duplex("b", 10.0, 30)];
    let flow = |path: usize, reverse_path: usize, window| FlowGroup {
        cc: fixed_window(window),
        stack: PROMPT,
        path: vec![path],
        reverse_path: vec![reverse_path],
        ..flow("reno")
    };
    s.flows = vec![flow(0, 1, 60), flow(1, 0, 70)];
    let full = run(&s, &Options::default()).run;
    for (number, rtt) in [(0, 60.0 * 1.2), (1, 70.0 * 1.2)] {
        close(full.flows[number].throughput_mbps, 10.0, 2e-5, "throughput");
        close(rtt_ms(&full, number), rtt, 1e-6, "RTT");
    }
    s.flows = vec![flow(0, 0, 1), flow(1, 1, 1)];
    let own = run(&s, &Options::default()).run;
    s.flows = vec![flow(0, 1, 1), flow(1, 0, 1)];
    let crossed = run(&s, &Options::default()).run;
    for (run, number, rtt) in [(&own, 0, 20.0), (&own, 1, 60.0), (&crossed, 0, 40.0), (&crossed, 1, 40.0)] {
        close(rtt_ms(run, number), rtt + DATA_MS[0] + ACK_MS[0], 1e-3, "RTT of a window of one");
    }
}

/// If each of two links loses a share p, both losses count: 1 - (1 - p)^2 of the packets are lost.
#[test]
fn losses_of_links_in_a_row_add_up() {
    let mut s = scenario(200);
    s.links = vec![duplex("a", 100.0, 1), duplex("b", 100.0, 1)];
    (s.links[0].forward.loss, s.links[1].forward.loss) = (Loss::Uniform(0.1), Loss::Uniform(0.1));
    s.flows[0] = FlowGroup { cc: fixed_window(50), path: vec![0, 1], reverse_path: vec![0, 1], ..flow("reno") };
    let run = run(&s, &Options::default()).run;
    let (sent, lost) = (run.flows[0].sent_packets as f64, run.flows[0].lost_packets as f64);
    // Six standard deviations of a binomial.
    let expected = 0.19 * sent;
    assert!((lost - expected).abs() < 6.0 * (sent * 0.19 * 0.81).sqrt(), "{lost} of {sent} lost");
    assert!(sent > 10_000.0);
    let [first, second] = [0, 1].map(|link| forward(&run, link).wire_losses as f64);
    // SYNs and the like are in the links' counts only.
    assert!(
        (second - 0.9 * first).abs() < 6.0 * (2.0 * first).sqrt(),
        "{first} lost by the first, {second} by the second"
    );
}

/// The queue of a sender's own link works as any link's. With 20 packets of room before 10 Mbit/s, one packet is in
/// transmission, 20 wait, and the rest of the window is on its way. The queue drops packets that do not fit, and its
/// record has them.
#[test]
fn a_sender_s_own_link_has_a_queue_like_any_other() {
    let mut s = scenario(65);
    s.warmup = Nanos::from_secs(5);
    s.links = vec![duplex("core", 100.0, 10)];
    let window = |packets| {
        let access =
            Access { rate: Some(Rate(10_000_000)), queue: Some(droptail(Limit::Packets(20))), ..Access::default() };
        let mut s = s.clone();
        s.flows[0] = FlowGroup { cc: fixed_window(packets), stack: PROMPT, access, ..flow("reno") };
        run(&s, &Options::default()).run
    };
    // 20.12416 ms of the window of 1.2 ms each are on the way, and one is in transmission.
    let fits = window(30);
    let own = &fits.links[2];
    assert_eq!(own.link, "flows.0.access");
    close(own.queue_delay.queue_delay_ms_mean.unwrap(), 30.0 * 1.2 - 1.2 - 20.0 - DATA_MS[1] - ACK_MS[1], 1e-3, "wait");
    close(fits.flows[0].throughput_mbps, 10.0, 2e-5, "throughput");
    assert_eq!((own.drops, fits.flows[0].lost_packets), (0, 0));
    let overflows = window(60);
    let own = &overflows.links[2];
    assert!(own.drops > 0 && own.drops == overflows.flows[0].lost_packets);
    assert_eq!(overflows.links[0].drops, 0);
    assert!(own.queue_delay.queue_delay_ms_max.unwrap() <= 20.0 * 1.2 + 1e-6);
}

/// A discipline acts there: with CoDel before a sender's own link an endless flow waits near CoDel's target.
#[test]
fn a_discipline_acts_before_a_sender_s_own_link() {
    let delay_ms = |queue| {
        let mut s = scenario(60);
        s.warmup = Nanos::from_secs(10);
        s.links = vec![duplex("core", 100.0, 10)];
        let access = Access { rate: Some(Rate(10_000_000)), queue, ..Access::default() };
        s.flows[0] = FlowGroup { access, ..flow("cubic") };
        run(&s, &Options::default()).run.links[2].queue_delay.queue_delay_ms_mean.unwrap()
    };
    let (long, short) = (delay_ms(None), delay_ms(Some(Queue::from(Discipline::Codel(Codel::default())))));
    assert!(long > 100.0 && short < 12.0, "{long} ms without a discipline, {short} ms with CoDel");
}

/// A run of CUBIC over a link of its own at 10 Mbit/s with room for 1000 packets. Behind it are 100 Mbit/s, and 10 ms
/// there and back.
fn bulk_on_an_own_link(small_queues: bool, loss: f64) -> Run {
    let mut s = scenario(60);
    s.warmup = Nanos::from_secs(10);
    s.links = vec![duplex("core", 100.0, 10)];
    s.links[0].forward.loss = Loss::Uniform(loss);
    let queue = Some(droptail(Limit::Packets(1000)));
    let access = Access { rate: Some(Rate(10_000_000)), queue, small_queues, delay: Nanos::from_millis(2) };
    s.flows[0] = FlowGroup { access, ..flow("cubic") };
    run(&s, &Options::default()).run
}

/// With small queues two segments are in the host: one in transmission, and one that came when that started and waits.
/// Otherwise the whole window waits there, and the link is as busy.
#[test]
fn a_sender_that_is_told_what_left_keeps_two_segments_in_its_host() {
    let [untold, told] = [false, true].map(|small_queues| bulk_on_an_own_link(small_queues, 0.0));
    let waits = |run: &Run| (run.links[2].queue_delay.queue_delay_ms_mean.unwrap(), run.links[2].link.clone());
    let own = &told.links[2].queue_delay;
    close(own.queue_delay_ms_mean.unwrap(), 1.2, 1e-6, "wait");
    assert_eq!(own.queue_delay_ms_max, Some(1.2));
    assert!(waits(&untold).0 > 300.0, "{:?}", waits(&untold));
    close(told.flows[0].goodput_mbps, 10.0 * 1448.0 / 1500.0, 1e-4, "goodput");
    close(told.flows[0].goodput_mbps, untold.flows[0].goodput_mbps, 1e-4, "goodput");
    // Two segments in the host, the rest on their way; the second acknowledgement of each pair waits for nothing.
    close(rtt_ms(&told, 0), 2.0 * 1.2 + 2.0 * (2.0 + 10.0) + DATA_MS[1] + ACK_MS[1], 0.05, "RTT");
}

/// The sender repairs losses through small queues, because retransmissions pass the same host.
#[test]
fn retransmissions_pass_small_queues() {
    let told = bulk_on_an_own_link(true, 0.002);
    let own = &told.links[2];
    assert!(told.flows[0].retransmitted_packets > 30, "{:?}", told.flows[0]);
    // Retransmissions may find twice the limit: four segments, of which one is in transmission.
    assert!(own.queue_delay.queue_delay_ms_max.unwrap() <= 4.0 * 1.2 + 1e-6, "{own:?}");
    assert_eq!(own.drops, 0);
}

/// At 1 Gbit/s a sender keeps 1/1024 s of its pacing rate in its host, which counts the memory of its buffers.
#[test]
fn a_fast_sender_keeps_a_millisecond_in_its_host() {
    let mut s = scenario(20);
    s.warmup = Nanos::from_secs(10);
    s.links = vec![duplex("core", 10_000.0, 1)];
    let access = Access { rate: Some(Rate(1_000_000_000)), small_queues: true, ..Access::default() };
    s.flows[0] = FlowGroup { access, ..flow("cubic") };
    let (run, series) = run_with_series(&s, Nanos::from_millis(100));
    close(run.flows[0].throughput_mbps, 1000.0, 1e-3, "throughput");
    let (cwnd, srtt_ms) = (series.flows.cwnd_packets.last().unwrap(), series.flows.srtt_ms.last().unwrap().unwrap());
    let factor = match series.flows.ssthresh_packets.last().unwrap() {
        Some(ssthresh) if *cwnd >= ssthresh / 2 => 1.2,
        _ => 2.0,
    };
    let pacing_rate = factor * *cwnd as f64 * 1448.0 / (srtt_ms / 1e3);
    let in_host = (pacing_rate / 1024.0 / (1448.0 + 896.0)).ceil();
    let own = &run.links[2].queue_delay;
    close(own.queue_delay_ms_max.unwrap(), (in_host - 1.0) * DATA_MS[2], 0.02, "wait");
    assert!(own.queue_delay_ms_max.unwrap() < 1.5, "{own:?}");
}

/// Reports whether a group's window follows from nothing else, and its packets are not so large that their memory
/// exceeds them.
fn may_compare(group: &FlowGroup) -> bool {
    !group.receiver_may_limit() && group.stack.window_scaling && group.packet <= Bytes(1500)
}

/// The default window never limits a sender, whatever else waits on the way back: ten times the window gives the same
/// events. The test compares groups whose writer has the same rules with and without a given window.
#[test]
fn a_window_that_nothing_is_said_of_limits_nobody() {
    let (mut compared, mut with_waits) = (0, 0);
    for number in 1_000_000..1_000_300 {
        let scenario = invariants::numbered(number).current();
        let mut ample = scenario.clone();
        for group in ample.flows.iter_mut().filter(|group| may_compare(group)) {
            let window = Bytes(scenario.ample_window(group).0.saturating_mul(10).min(1 << 30));
            let larger = FlowGroup { receive_window: Some(window), ..group.clone() };
            if scenario.written_ahead(&larger) == scenario.written_ahead(group) {
                *group = larger;
                compared += 1;
                with_waits += u32::from(scenario.flows.iter().any(|other| other.reverse || other.app.is_some()));
            }
        }
        if ample != scenario {
            let [events, others] = [&scenario, &ample].map(|scenario| fingerprint(scenario, &Options::default()).1);
            assert_eq!(events, others, "scenario {number}:\n{}", scenario::to_toml(&scenario));
        }
    }
    assert!(compared > 40 && with_waits > 30, "{compared} groups, {with_waits} with others against them");
}
