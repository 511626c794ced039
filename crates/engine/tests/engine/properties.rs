//! Properties of every scenario.

use crate::auditor::{Auditor, Flow};
use crate::invariants::{capacity_bytes, groups};
use crate::random;
use crate::world::{self, fingerprint, run, run_with_series, watch};
use model::records::Run;
use model::units::{Bytes, Nanos};
use model::{DuplexLink, FlowGroup, Gemodel, Limit, Link, Loss, Scenario, Service, TcpProfile, Transmitter};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use unbloat_engine::{Options, Outcome};

/// Configuration of proptest with the same cases on every machine and day. `PROPTEST_CASES=20000` searches further,
/// from a seed that changes.
pub fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
        config.rng_seed = RngSeed::Fixed(2);
    }
    config
}

/// The directions of all links, in the order of their records.
pub fn directions(scenario: &Scenario) -> impl Iterator<Item = &Link> {
    scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse])
}

/// Checks that the record of each flow agrees with its events.
pub fn flows_agree(run: &Run, flows: &[Flow]) -> Result<(), TestCaseError> {
    for (record, flow) in run.flows.iter().zip(flows) {
        prop_assert_eq!(record.sent_packets, flow.sent);
        prop_assert_eq!(record.retransmitted_packets, flow.retransmitted);
        prop_assert_eq!(record.lost_packets, flow.lost);
        prop_assert!(flow.delivered_bytes() <= flow.fresh_bytes);
    }
    Ok(())
}

/// Checks a scenario with transfers that end, and few losses: every byte comes once, in order, and then there is
/// silence; nothing is left inside.
pub fn transfers_complete(mut scenario: Scenario) -> Result<(Outcome, Auditor), TestCaseError> {
    for link in scenario.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]) {
        if let Loss::Uniform(share) = &mut link.loss {
            *share = share.min(0.03);
        }
    }
    for group in &mut scenario.flows {
        let size = group.size.map_or(30_000, |size| size.0).min(60 * (group.packet.0 - 52));
        (group.size, group.stop) = (Some(Bytes(size.max(1))), None);
    }
    scenario.warmup = Nanos::ZERO;
    // Timeouts double up to two minutes: an hour lets the unluckiest flow finish.
    scenario.duration = Nanos::from_secs(3600);
    let (outcome, auditor) = watch(&scenario, &Options::default(), Auditor::new(&scenario));
    for ((record, flow), group) in outcome.run.flows.iter().zip(&auditor.flows).zip(groups(&scenario)) {
        prop_assert!(record.completion_s.is_some(), "flow {} never completed: {record:?}", record.flow);
        prop_assert_eq!(flow.delivered_bytes(), group.size.unwrap().0);
        prop_assert_eq!((flow.fresh_bytes, flow.unaccounted()), (flow.delivered_bytes(), 0));
    }
    Ok((outcome, auditor))
}

/// Checks that the records of the links contain all packets that queues drop and channels lose, data and
/// acknowledgements alike.
pub fn links_agree(run: &Run, auditor: &Auditor) -> Result<(), TestCaseError> {
    prop_assert_eq!(run.links.iter().map(|link| link.drops).sum::<u64>(), auditor.dropped);
    prop_assert_eq!(run.links.iter().map(|link| link.wire_losses).sum::<u64>(), auditor.lost_on_the_wire);
    for link in &run.links {
        prop_assert!((0.0..=100.0 + 1e-6).contains(&link.utilisation_percent), "{}", link.utilisation_percent);
        prop_assert!(link.queue_percent_mean.is_none_or(|p| (0.0..=100.0).contains(&p)));
    }
    Ok(())
}

/// Checks that no queue ever exceeds its limit.
pub fn queues_keep_their_limits(scenario: &Scenario) -> Result<(), TestCaseError> {
    let (_, series) = run_with_series(scenario, Nanos(scenario.duration.0 / 500));
    let limits: Vec<_> = directions(scenario).map(|link| link.queue.limit()).collect();
    let links = &series.links;
    for (row, number) in links.link.iter().enumerate() {
        // Access links follow, which have no limit.
        match limits.get(*number as usize).copied().flatten() {
            None => {}
            Some(Limit::Packets(most)) => prop_assert!(links.queue_packets[row] <= most),
            Some(Limit::Bytes(Bytes(most))) => prop_assert!(links.queue_bytes[row] <= most),
        }
    }
    Ok(())
}

fn audited(scenario: &Scenario) -> (Outcome, Vec<Flow>) {
    let (outcome, auditor) = watch(scenario, &Options::default(), Auditor::new(scenario));
    (outcome, auditor.flows)
}

proptest! {
    #![proptest_config(config(200))]

    /// Packets are conserved and in order per flow, no segment comes from nowhere, windows are respected, and
    /// reassembly is right. The auditor checks this, and the debug assertions check the sender's own invariants.
    #[test]
    fn every_event_is_one_that_tcp_and_a_network_may_show(mut scenario in random::scenario()) {
        scenario.warmup = Nanos::ZERO;
        let (outcome, flows) = audited(&scenario);
        flows_agree(&outcome.run, &flows)?;
        let sent: u64 = flows.iter().map(|f| f.sent).sum();
        prop_assert_eq!(outcome.data_packets, sent);
    }

    /// Counts go by the time of sending: a packet of the warm-up that is dropped after it does not count as lost.
    #[test]
    fn sent_and_lost_speak_of_the_same_packets(scenario in random::scenario()) {
        let (outcome, flows) = audited(&scenario);
        for (record, flow) in outcome.run.flows.iter().zip(&flows) {
            prop_assert_eq!((record.sent_packets, record.lost_packets), (flow.sent, flow.lost));
            prop_assert_eq!(record.retransmitted_packets, flow.retransmitted);
            prop_assert!(record.loss_percent <= Some(100.0), "{:?} %", record.loss_percent);
        }
    }

    /// The delivered data fits through the link, in the whole run and in the measured interval.
    #[test]
    fn goodput_does_not_exceed_capacity(scenario in random::scenario()) {
        let (outcome, flows) = audited(&scenario);
        let run = scenario.duration;
        let delivered: u64 = flows.iter().map(|f| f.fresh_bytes).sum();
        prop_assert!(delivered as f64 <= capacity_bytes(&scenario.links[0].forward.service, run));
        let largest = scenario.flows.iter().map(|g| g.packet.0).max().unwrap_or(0) as f64;
        let measured = scenario.duration - scenario.warmup;
        let groups = scenario.flows.iter().flat_map(|g| std::iter::repeat_n(g, g.count as usize));
        for (record, group) in outcome.run.flows.iter().zip(groups) {
            // Arrived during its active time, which is the interval or less.
            let bytes = record.throughput_mbps * 1e6 / 8.0;
            if group.stop.is_none() && group.size.is_none() {
                let active = (run - scenario.warmup.max(group.start)).as_secs_f64();
                let capacity = capacity_bytes(&scenario.links[0].forward.service, measured);
                prop_assert!(bytes * active <= capacity + largest + 1.0);
            }
        }
        for link in &outcome.run.links {
            prop_assert!((0.0..=100.0 + 1e-6).contains(&link.utilisation_percent), "{}", link.utilisation_percent);
            prop_assert!(link.queue_percent_mean.is_none_or(|p| (0.0..=100.0).contains(&p)));
        }
    }

    /// The window is never empty, and a series is a table: columns of one length, within the run.
    #[test]
    fn the_window_holds_at_least_one_segment(scenario in random::scenario()) {
        let step = Nanos(scenario.duration.0 / 200);
        let (run, series) = run_with_series(&scenario, step);
        let established = series.flows.rtt_ms.iter().zip(&series.flows.cwnd_packets).filter(|(rtt, _)| rtt.is_some());
        for (_, cwnd) in established {
            prop_assert!(*cwnd >= 1);
        }
        let rows = series.flows.time_s.len();
        let flows = &series.flows;
        for length in [flows.flow.len(), flows.cwnd_packets.len(), flows.goodput_mbps.len(), flows.srtt_ms.len()] {
            prop_assert_eq!(length, rows);
        }
        prop_assert_eq!(series.links.time_s.len(), run.links.len() * 200);
    }

    /// The queue never exceeds its limit, and no packet waits longer than a full queue takes.
    #[test]
    fn a_queue_stays_within_its_limit(scenario in random::scenario()) {
        let (run, series) = run_with_series(&scenario, Nanos(scenario.duration.0 / 500));
        let limit = scenario.links[0].forward.queue.limit();
        let links = &series.links;
        for i in (0..links.time_s.len()).filter(|i| links.link[*i] == 0) {
            match limit {
                None => {}
                Some(Limit::Packets(most)) => prop_assert!(links.queue_packets[i] <= most),
                Some(Limit::Bytes(Bytes(most))) => prop_assert!(links.queue_bytes[i] <= most),
            }
        }
        let longest = run.links[0].queue_delay.queue_delay_ms_max;
        let service = &scenario.links[0].forward.service;
        if let (Service::Own(Transmitter::Rate(rate)), Some(Limit::Bytes(most)), Some(max)) = (service, limit, longest) {
            let largest = scenario.flows.iter().map(|g| g.packet.0).max().unwrap_or(0);
            // The one in transmission is ahead too; each transmission is rounded up to a nanosecond.
            let longest = rate.time_to_send(Bytes(most.0 + largest)).as_millis_f64() + 1e-3;
            prop_assert!(max <= longest, "{max} ms of at most {longest}");
        }
    }

    /// One seed always gives the same bytes. Another seed shows as soon as the wire has lost something.
    #[test]
    fn a_run_repeats_itself(scenario in random::scenario()) {
        let record = |scenario: &Scenario| {
            let options = Options { series: Some(Nanos(scenario.duration.0 / 50)), ..Options::default() };
            let (outcome, events) = fingerprint(scenario, &options);
            let bytes = serde_json::to_string(&(&outcome.run, &outcome.series)).unwrap();
            (bytes, events, outcome.run)
        };
        let first = record(&scenario);
        let second = record(&scenario);
        prop_assert_eq!(&first.0, &second.0);
        prop_assert_eq!(first.1, second.1);
        let other = record(&Scenario { seed: scenario.seed + 1, ..scenario.clone() });
        let losses: u64 = first.2.links.iter().map(|l| l.wire_losses).sum();
        if losses > 10 {
            prop_assert_ne!(first.1, other.1, "another seed, the same events");
        }
    }
}

/// Random scenarios in which everything can be delivered: finite transfers, losses that leave a chance, time enough.
fn finite() -> impl Strategy<Value = Scenario> {
    random::scenario().prop_map(|mut scenario| {
        scenario.warmup = Nanos::ZERO;
        let DuplexLink { forward, reverse } = &mut scenario.links[0];
        for link in [forward, reverse] {
            if let Loss::Uniform(share) = &mut link.loss {
                *share = share.min(0.1);
            }
        }
        for group in &mut scenario.flows {
            let size = group.size.map_or(30_000, |size| size.0).min(60 * (group.packet.0 - 52));
            group.size = Some(Bytes(size.max(1)));
            group.stop = None;
        }
        // Timeouts double up to two minutes: an hour lets the unluckiest flow finish.
        scenario.duration = Nanos::from_secs(3600);
        scenario
    })
}

/// Any losses, one by one or in bursts.
fn loss() -> impl Strategy<Value = Loss> {
    let bursts = (0.0..0.1, 0.05..1.0, 0.0..1.0, 0.0..0.1).prop_map(|(p, r, lost_while_bad, lost_while_good)| {
        Loss::Gemodel(Gemodel { p, r, lost_while_bad, lost_while_good })
    });
    prop_oneof![(0.0..0.2).prop_map(Loss::Uniform), bursts]
}

proptest! {
    #![proptest_config(config(200))]

    /// Every byte arrives once and in order, and then there is silence: nothing is left on the way.
    #[test]
    fn finite_transfers_complete_with_exactly_their_size(scenario in finite()) {
        let (outcome, flows) = audited(&scenario);
        for (record, flow) in outcome.run.flows.iter().zip(&flows) {
            let completion = record.completion_s;
            prop_assert!(completion.is_some(), "flow {} never completed: {record:?}", record.flow);
            prop_assert_eq!(flow.fresh_bytes, flow.delivered_bytes());
            prop_assert_eq!(flow.unaccounted(), 0, "packets that neither arrived nor were lost");
            let bytes = record.goodput_mbps * 1e6 / 8.0 * completion.unwrap();
            prop_assert!((bytes - flow.delivered_bytes() as f64).abs() < 1e-3, "{bytes} of {}", flow.delivered_bytes());
        }
        let sizes = scenario.flows.iter().flat_map(|g| (0..g.count).map(|_| g.size.unwrap().0));
        prop_assert_eq!(sizes.collect::<Vec<_>>(), flows.iter().map(|f| f.delivered_bytes()).collect::<Vec<_>>());
    }

    /// More loss never creates data: no byte reaches the application that was not written, and no more arrives than was
    /// sent.
    #[test]
    fn loss_never_creates_data(mut scenario in finite(), loss in loss()) {
        scenario.links[0].forward.loss = loss;
        scenario.links[0].reverse.loss = loss;
        scenario.duration = Nanos::from_secs(5);
        let (_, flows) = audited(&scenario);
        let sizes = scenario.flows.iter().flat_map(|g| (0..g.count).map(|_| g.size.unwrap().0));
        for (flow, size) in flows.iter().zip(sizes) {
            prop_assert!(flow.fresh_bytes <= size);
        }
    }

    /// Every stack repairs any pattern of losses of the first packets, bursts, retransmissions and probes included.
    #[test]
    fn any_pattern_of_losses_is_repaired(
        stack in random::stack(),
        segments in 1u64..60,
        losses in prop::collection::vec(prop::bool::weighted(0.4), 1..80),
        cc in prop::sample::select(&["reno", "cubic", "dctcp"][..]),
        reverse_loss in prop_oneof![Just(0.0), 0.0..0.4],
    ) {
        let mut scenario = world::scenario(4 * 3600);
        scenario.links[0].reverse.loss = Loss::Uniform(reverse_loss);
        scenario.flows[0] = FlowGroup { size: Some(Bytes(segments * 1400)), stack, ..world::flow(cc) };
        let (outcome, auditor) = watch(&scenario, &Options::default(), Auditor::losing(&scenario, losses));
        prop_assert!(outcome.run.flows[0].completion_s.is_some(), "{:?}", outcome.run.flows[0]);
        prop_assert_eq!(auditor.flows[0].delivered_bytes(), segments * 1400);
        prop_assert_eq!(auditor.flows[0].unaccounted(), 0);
    }
}

/// Summed over seeds, ten times the loss never carries more. (A single run may be lucky.)
#[test]
fn more_loss_does_not_mean_more_goodput() {
    for stack in [TcpProfile::LINUX, TcpProfile::SACK, TcpProfile::NEWRENO, TcpProfile::NS2_LINUX] {
        let mut last = f64::INFINITY;
        for loss in [0.0, 0.001, 0.01, 0.1] {
            let goodput = |seed| {
                let mut scenario = world::scenario(20);
                scenario.links[0].forward.loss = Loss::Uniform(loss);
                scenario.seed = seed;
                scenario.flows[0].stack = stack;
                scenario.links[0].forward.queue = world::droptail(Limit::Packets(100));
                run(&scenario, &Options::default()).run.flows[0].goodput_mbps
            };
            let total: f64 = (1..=8).map(goodput).sum();
            assert!(total <= last, "{total} Mbit/s in eight runs at a loss of {loss}, {last} at less");
            last = total;
        }
    }
}
