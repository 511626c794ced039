//! Invariants of every scenario, whatever its links, queues, routes and flows. One function checks them, which tests
//! and the tool `tools/invariants` use.

use crate::auditor::{Auditor, Flow};
use crate::inhabited;
use crate::world::library;
use model::impairments::Rates;
use model::radio::lte::Harq;
use model::records::{ProgressUpdate, Run};
use model::units::{Bytes, Nanos};
use model::{FlowGroup, Limit, MechanismSource, Member, Queue, Scenario, Service, Transmitter};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::ops::ControlFlow;
use unbloat_engine::tap::Fingerprint;
use unbloat_engine::{Options, Outcome};

/// Number of rows of a run's series.
const ROWS: u64 = 200;
/// Number of calls of `progress` that no scenario needs.
const MOST_REPORTS: u32 = 500;

thread_local! {
    /// The random networks, made once because that searches for the congestion controls.
    static NETWORKS: BoxedStrategy<Scenario> = inhabited::with_parameters(inhabited::inhabited(library().names()).boxed()).boxed();
}

/// Random scenario `number`, the same on every machine, as a tree with which proptest can make it smaller.
pub fn numbered(number: u64) -> impl ValueTree<Value = Scenario> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(ProptestConfig { failure_persistence: None, ..Default::default() }, rng);
    NETWORKS.with(|networks| networks.new_tree(&mut runner)).expect("its filters refuse little")
}

/// Bytes that a link can carry in the time `over`; on a trace, the bytes of all its opportunities.
pub fn capacity_bytes(service: &Service, over: Nanos) -> f64 {
    match service {
        Service::Own(Transmitter::Rate(rate)) => rate.0 as f64 / 8.0 * over.as_secs_f64(),
        Service::Own(Transmitter::Rates(rates)) => {
            Rates::new(rates.steps[0].1, &rates.steps[1..], over).mean.0 as f64 / 8.0 * over.as_secs_f64() + 1.0
        }
        Service::Shared(Member::Wifi(station)) => station.phy_rate.0 as f64 / 8.0 * over.as_secs_f64(),
        Service::Shared(Member::Mesh(_)) => 250_000.0 / 8.0 * over.as_secs_f64(),
        // In a short run there may be fewer repeats than in the mean.
        Service::Shared(Member::Lte(user)) => user.most.0 as f64 / 8.0 * over.as_secs_f64() * Harq::MOST_TRIES as f64,
        Service::Own(Transmitter::Trace(trace)) => {
            let rounds = over.as_secs_f64() / trace.period.as_secs_f64() + 1.0;
            rounds * trace.opportunities.len() as f64 * 1500.0
        }
    }
}

/// The group of each flow, with the values of that flow.
pub fn groups(scenario: &Scenario) -> impl Iterator<Item = FlowGroup> {
    let with_arrivals = scenario.flows.iter().zip(scenario.flow_arrivals());
    with_arrivals.flat_map(|(group, flows)| (0..flows.len() as u32).map(|number| group.of_flow(number)))
}

/// Runs a scenario with the auditor, and panics at a broken invariant.
pub fn check(scenario: &Scenario) {
    let (first, auditor, events) = audited(scenario);
    records_agree_with_events(scenario, &first, &auditor);
    queues_stay_within_their_limits(scenario, &first);
    links_carry_no_more_than_they_can(scenario, &first, &auditor.flows);
    windows_are_never_empty(scenario, &first);
    round_trips_are_in_their_order(&first);
    let (second, again) = unwatched(scenario);
    assert_eq!(events, again, "the same seed, other events");
    assert!(first.run == second, "the same seed, other records: {:?} {second:?}", first.run);
}

/// Runs a scenario without auditor and series, neither of which may change the events.
fn unwatched(scenario: &Scenario) -> (Run, u64) {
    let run = unbloat_engine::watch(
        scenario,
        library(),
        &Options::default(),
        &mut |_| ControlFlow::Continue(()),
        Fingerprint::new(),
    );
    let (outcome, events) = run.unwrap_or_else(|error| panic!("no result: {error:?}"));
    (outcome.run, events.0)
}

fn audited(scenario: &Scenario) -> (Outcome, Auditor, u64) {
    let options = Options { series: Some(Nanos(scenario.duration.0 / ROWS)), ..Options::default() };
    let mut reports = 0;
    let mut progress = |moment: ProgressUpdate| {
        reports += moment.step.is_none() as u32;
        if reports < MOST_REPORTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let tap = (Auditor::new(scenario), Fingerprint::new());
    let run = unbloat_engine::watch(scenario, library(), &options, &mut progress, tap);
    let (outcome, (auditor, events)) = run.unwrap_or_else(|error| panic!("no result: {error:?}"));
    (outcome, auditor, events.0)
}

/// Checks that the records contain every packet that flows sent, queues dropped and channels lost.
fn records_agree_with_events(scenario: &Scenario, outcome: &Outcome, auditor: &Auditor) {
    for (record, flow) in outcome.run.flows.iter().zip(&auditor.flows) {
        let counted = (record.sent_packets, record.retransmitted_packets, record.lost_packets);
        assert_eq!(counted, (flow.sent, flow.retransmitted, flow.lost), "flow {}", record.flow);
        assert!(record.loss_percent <= Some(100.0), "{:?} %", record.loss_percent);
        assert!(flow.delivered_bytes() <= flow.fresh_bytes, "flow {}", record.flow);
    }
    if scenario.warmup == Nanos::ZERO {
        let links = &outcome.run.links;
        assert_eq!(links.iter().map(|link| link.drops).sum::<u64>(), auditor.dropped, "drops");
        assert_eq!(links.iter().map(|link| link.wire_losses).sum::<u64>(), auditor.lost_on_the_wire, "wire losses");
    }
}

fn queues_stay_within_their_limits(scenario: &Scenario, outcome: &Outcome) {
    let with_rate = groups(scenario).filter(|group| group.access.rate.is_some());
    let of_senders = with_rate.map(|group| group.access.queue.as_ref().and_then(Queue::limit));
    let mut limits: Vec<_> = scenario.directions().map(|link| link.queue.limit()).chain(of_senders).collect();
    for host in scenario.hosts.iter().filter(|host| host.ring > 0 || host.gso) {
        // The host's device holds more, and a buffer of several segments is one packet for its queue, so only the mean
        // share is checked.
        limits[2 * host.uplink] = None;
    }
    let links = &outcome.series.as_ref().expect("asked for").links;
    for (row, number) in links.link.iter().enumerate() {
        let (packets, bytes) = (links.queue_packets[row], links.queue_bytes[row]);
        match limits.get(*number as usize).copied().flatten() {
            None => {}
            Some(Limit::Packets(most)) => assert!(packets <= most, "{packets} packets of {most} in link {number}"),
            Some(Limit::Bytes(Bytes(most))) => assert!(bytes <= most, "{bytes} bytes of {most} in link {number}"),
        }
    }
    for link in &outcome.run.links {
        assert!(link.queue_percent_mean.is_none_or(|p| (0.0..=100.0).contains(&p)), "{link:?}");
        let delay = &link.queue_delay;
        let (mean, max) = (delay.queue_delay_ms_mean, delay.queue_delay_ms_max);
        assert!(mean.unwrap_or(0.0) <= max.unwrap_or(0.0) + 1e-6, "{link:?}");
    }
}

fn links_carry_no_more_than_they_can(scenario: &Scenario, outcome: &Outcome, flows: &[Flow]) {
    for link in &outcome.run.links {
        assert!((0.0..=100.0 + 1e-6).contains(&link.utilisation_percent), "{link:?}");
    }
    for link in scenario.directions() {
        let crosses = |group: &FlowGroup| scenario.data_path(group).iter().any(|passed| passed.name == link.name);
        let flows = flows.iter().zip(groups(scenario)).filter(|(_, group)| crosses(group));
        let carried: u64 = flows.map(|(flow, _)| flow.fresh_bytes).sum();
        let most = capacity_bytes(&link.service, scenario.duration);
        assert!(carried as f64 <= most, "{carried} bytes over {}, which carries {most}", link.name);
    }
}

fn round_trips_are_in_their_order(outcome: &Outcome) {
    for flow in &outcome.run.flows {
        let rtt = &flow.rtt;
        let shares = [rtt.rtt_ms_min, rtt.rtt_ms_p50, rtt.rtt_ms_p95, rtt.rtt_ms_p99, rtt.rtt_ms_max];
        assert!(
            shares.is_sorted() && rtt.rtt_ms_min <= rtt.rtt_ms_mean && rtt.rtt_ms_mean <= rtt.rtt_ms_max,
            "{rtt:?}"
        );
    }
}

fn windows_are_never_empty(scenario: &Scenario, outcome: &Outcome) {
    let has_window: Vec<_> = groups(scenario).map(|group| group.cc.source != MechanismSource::None).collect();
    let flows = &outcome.series.as_ref().expect("asked for").flows;
    for (row, cwnd) in flows.cwnd_packets.iter().enumerate().filter(|(row, _)| flows.rtt_ms[*row].is_some()) {
        assert!(
            *cwnd >= 1 || !has_window[flows.flow[row] as usize],
            "flow {} has a window of nothing",
            flows.flow[row]
        );
    }
}
