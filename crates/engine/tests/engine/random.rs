//! Random scenarios: everything that the model can express, within a budget of packets.

use crate::world::{self, flow, library};
use model::declare::Packets;
use model::impairments::{DelayChange, Distribution, Impairments, Jitter, Outage, Rates, Reorder, Slot};
use model::quantity::Between;
use model::script::{Action, Scripted};
use model::units::{Bytes, Nanos, Rate};
use model::{
    Access, DuplexLink, FlowGroup, Limit, Link, Loss, Queue, RepairSwitches, Scenario, Service, TcpProfile, Trace,
    Transmitter,
};
use proptest::prelude::*;
use std::sync::Arc;

/// The most packets, roughly, that pass a scenario's bottleneck.
const PACKETS: f64 = 6000.0;

/// A number from `low` to `high`, with every decade as likely as the next.
pub fn log_uniform(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low.ln()..high.ln()).prop_map(f64::exp)
}

/// A share from `low` to `high` in whole millionths, which a file can express exactly.
pub fn share(low: f64, high: f64) -> impl Strategy<Value = f64> {
    log_uniform(low, high).prop_map(|share| (share * 1e6).round() / 1e6)
}

fn millis(range: std::ops::Range<f64>) -> impl Strategy<Value = Nanos> {
    range.prop_map(|ms| Nanos((ms * 1e6) as u64))
}

/// The shipped profiles, of which most people take Linux.
const SHIPPED: [TcpProfile; 6] = [
    TcpProfile::LINUX,
    TcpProfile::LINUX,
    TcpProfile::NS2_LINUX,
    TcpProfile::SACK,
    TcpProfile::NEWRENO,
    TcpProfile::LLN,
];

prop_compose! {
    /// Any stack that Linux or a paper could have, often a shipped one. RACK and TLP need SACK.
    pub fn stack()(
        switches in any::<[bool; 18]>(),
        shipped in prop::option::of(prop::sample::select(&SHIPPED[..])),
        initial_window in 1u32..20,
        rto_min in prop_oneof![Just(200u64), 1u64..1000],
        ack_every in prop_oneof![3 => Just(2u32), 1 => 3u32..40],
    ) -> TcpProfile {
        let [
            sack, rack, tlp, timestamps, window_scaling, prr, frto, undo, delayed_ack, quick_ack, sack_compression,
            limited_transmit, cwnd_validation, ecn, pacing, rate_halving, tcp_usec_ts, gate,
        ] = switches;
        if let Some(shipped) = shipped {
            return TcpProfile { delayed_ack, ack_every, ecn, pacing, ..shipped };
        }
        TcpProfile {
            sack,
            timestamps,
            tcp_usec_ts: tcp_usec_ts && timestamps,
            window_scaling,
            tlp: tlp && sack,
            repair: RepairSwitches { rack, prr, rate_halving }.resolve(sack),
            frto,
            undo,
            delayed_ack,
            ack_every,
            quick_ack,
            sack_compression,
            limited_transmit,
            cwnd_validation,
            ecn,
            pacing,
            gate,
            initial_window,
            rto_min: Nanos::from_millis(rto_min),
        }
    }
}

fn access() -> impl Strategy<Value = Access> {
    let rate = prop::option::of(log_uniform(1e6, 1e9).prop_map(|r| Rate(r as u64)));
    (rate, prop_oneof![Just(Nanos::ZERO), millis(0.0..100.0)]).prop_map(|(rate, delay)| Access {
        rate,
        delay,
        ..Access::default()
    })
}

prop_compose! {
    fn group(controls: Vec<String>)(
        cc in prop::sample::select(controls),
        count in 1u32..3,
        access in access(),
        start in millis(0.0..300.0),
        stagger in millis(0.0..100.0),
        stop in prop::option::of(millis(1.0..5000.0)),
        size in prop::option::of(log_uniform(1.0, 5e6)),
        packet in prop_oneof![Just(1500u64), 100u64..9001],
        window in prop::option::of(1.0..50.0),
        stack in stack(),
    ) -> FlowGroup {
        let last_start = start + Nanos(stagger.0 * (count as u64 - 1));
        let unscaled = if stack.window_scaling { u64::MAX } else { 65_535 };
        FlowGroup {
            count,
            access,
            start,
            stagger,
            stop: stop.map(|after| last_start + after),
            size: size.map(|bytes| Bytes(bytes as u64)),
            packet: Bytes(packet),
            receive_window: window.map(|packets: f64| Bytes(((packet as f64 * packets) as u64).min(unscaled))),
            stack,
            ..flow(&cc)
        }
    }
}

/// A queue that takes at least one packet of `largest`.
fn queue(largest: u64) -> impl Strategy<Value = Queue> {
    let limit = move |most: f64| {
        prop_oneof![
            log_uniform(1.0, most).prop_map(|n| Limit::Packets(n as u64)),
            log_uniform(1.0, most).prop_map(move |n| Limit::Bytes(Bytes((n * largest as f64) as u64))),
        ]
    };
    (prop::option::of(limit(1000.0)), prop::option::of(limit(50.0)))
        .prop_map(|(limit, ecn_threshold)| Queue::Droptail { limit, ecn_threshold })
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![Just(0.0), share(1e-4, 0.2)].prop_map(Loss::Uniform)
}

/// A trace with outages now and then, as on a mobile link.
fn trace() -> impl Strategy<Value = Service> {
    let gap = prop_oneof![9 => 0u64..5, 1 => 0u64..400];
    prop::collection::vec(gap, 1..200).prop_map(|gaps| {
        let mut at = 1;
        let opportunities: Vec<_> = gaps
            .iter()
            .map(|gap| {
                at += gap;
                Nanos::from_millis(at)
            })
            .collect();
        Service::Own(Transmitter::Trace(Arc::new(Trace {
            path: "random".into(),
            period: *opportunities.last().expect("not empty"),
            opportunities,
        })))
    })
}

fn service() -> impl Strategy<Value = Service> {
    let rate = || log_uniform(0.5e6, 200e6).prop_map(|r| Service::Own(Transmitter::Rate(Rate(r as u64))));
    prop_oneof![4 => rate(), 1 => trace()]
}

fn direction(name: &'static str, largest: u64) -> impl Strategy<Value = Link> {
    (service(), prop_oneof![Just(Nanos::ZERO), millis(0.0..200.0)], queue(largest), loss()).prop_map(
        move |(service, delay, queue, loss)| {
            let impairments = Impairments::default();
            Link { name: name.into(), service, delay, queue, loss, impairments }
        },
    )
}

fn bits_a_second(service: &Service) -> f64 {
    service.capacity().mean
}

/// Any scenario of any built-in congestion controls, with a duration that keeps it within the budget.
pub fn scenario() -> impl Strategy<Value = Scenario> {
    scenario_of(library().names())
}

fn scenario_of(controls: Vec<String>) -> impl Strategy<Value = Scenario> {
    let flows = prop::collection::vec(group(controls), 1..4);
    let links = |flows: Vec<FlowGroup>| {
        let largest = flows.iter().map(|g| g.packet.0).max().unwrap_or(0);
        (Just(flows), direction("bottleneck", largest), direction("bottleneck.reverse", 92), any::<u16>(), 0.0..0.5)
    };
    flows.prop_flat_map(links).prop_map(|(flows, bottleneck, reverse, seed, warmup): (_, _, _, _, f64)| {
        let smallest = flows.iter().map(|g| g.packet.0).min().unwrap_or(1) as f64;
        let busy = PACKETS * smallest * 8.0 / bits_a_second(&bottleneck.service);
        let duration = Nanos((busy.clamp(1.5, 30.0) * 1e9) as u64);
        let warmup = Nanos((warmup * duration.0 as f64) as u64);
        Scenario {
            name: "random".into(),
            duration,
            warmup,
            seed: seed as u64,
            links: vec![DuplexLink { forward: bottleneck, reverse }],
            flows,
            ..world::scenario(1)
        }
    })
}

/// Any scenario in which some of the data, or all of it, goes the other way.
pub fn both_ways() -> impl Strategy<Value = Scenario> {
    both_ways_of(library().names())
}

fn both_ways_of(controls: Vec<String>) -> impl Strategy<Value = Scenario> {
    let turned = any::<[bool; 3]>().prop_filter("one at least", |turned| turned[0]);
    (scenario_of(controls), turned).prop_flat_map(|(mut scenario, turned)| {
        for (group, turned) in scenario.flows.iter_mut().rev().zip(turned) {
            group.reverse = turned;
        }
        let largest = scenario.flows.iter().map(|g| g.packet.0).max().unwrap_or(0);
        (Just(scenario), direction("bottleneck.reverse", largest)).prop_map(|(mut scenario, reverse)| {
            let shorter = bits_a_second(&scenario.links[0].forward.service) / bits_a_second(&reverse.service);
            let duration = Nanos((scenario.duration.0 as f64 * shorter.min(1.0)) as u64).max(Nanos::from_millis(1500));
            let warmup = scenario.warmup.min(Nanos(duration.0 / 2));
            scenario.links[0].reverse = reverse;
            Scenario { duration, warmup, ..scenario }
        })
    })
}

/// Any scenario of one to three links. Each group takes any of them there and any of them back, in any order, and its
/// data may go either way.
pub fn routed() -> impl Strategy<Value = Scenario> {
    routed_of(library().names())
}

fn routed_of(controls: Vec<String>) -> impl Strategy<Value = Scenario> {
    let with_links = scenario_of(controls).prop_flat_map(|scenario| {
        let largest = scenario.flows.iter().map(|g| g.packet.0).max().unwrap_or(0);
        let directions = || (direction("forward", largest), direction("reverse", largest));
        (Just(scenario), prop::collection::vec(directions(), 1..4))
    });
    let with_routes = with_links.prop_flat_map(|(mut scenario, directions)| {
        let links = (0..).zip(directions).map(|(number, (forward, reverse))| DuplexLink {
            forward: Link { name: format!("link{number}"), ..forward },
            reverse: Link { name: format!("link{number}.reverse"), ..reverse },
        });
        scenario.links = links.collect();
        let all: Vec<usize> = (0..scenario.links.len()).collect();
        let route = move || prop::sample::subsequence(all.clone(), 1..=all.len()).prop_shuffle();
        let routes = prop::collection::vec((route(), route(), any::<bool>()), scenario.flows.len());
        (Just(scenario), routes)
    });
    with_routes.prop_map(|(mut scenario, routes)| {
        for (group, (path, reverse_path, reverse)) in scenario.flows.iter_mut().zip(routes) {
            (group.path, group.reverse_path, group.reverse) = (path, reverse_path, reverse);
        }
        within_budget(scenario)
    })
}

/// Shortens a scenario to the budget of packets. The fastest of the groups' bottlenecks decides how many packets there
/// may be.
pub fn within_budget(scenario: Scenario) -> Scenario {
    let bottleneck = |group| {
        let rates = scenario.data_path(group).into_iter().map(|link| bits_a_second(&link.service));
        rates.fold(f64::INFINITY, f64::min)
    };
    let fastest = scenario.flows.iter().map(bottleneck).fold(0.0, f64::max);
    let smallest = scenario.flows.iter().map(|g| g.packet.0).min().unwrap_or(1) as f64;
    let longest = if scenario.meshes.is_empty() { 30.0 } else { 10.0 };
    let duration = Nanos(((PACKETS * smallest * 8.0 / fastest).clamp(1.5, longest) * 1e9) as u64);
    lasting(scenario, duration)
}

/// Sets a scenario's duration, and with it the mean of rates that change.
pub fn lasting(mut scenario: Scenario, duration: Nanos) -> Scenario {
    for link in scenario.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]) {
        if let Service::Own(Transmitter::Rates(rates)) = &mut link.service {
            *rates = Rates::new(rates.steps[0].1, &rates.steps[1..], duration);
        }
    }
    Scenario { warmup: scenario.warmup.min(Nanos(duration.0 / 2)), duration, ..scenario }
}

prop_compose! {
    /// Impairments of a link of this delay in the first seconds.
    fn impairments(delay: Nanos)(
        jitter in prop::option::of((0.0..1.0, any::<bool>(), any::<bool>())),
        reorder in prop::option::of((share(1e-3, 0.3), 1u64..10, prop::option::of(millis(0.1..50.0)))),
        duplicate in prop_oneof![Just(0.0), share(1e-3, 0.3)],
        outages in prop::collection::vec((millis(0.0..2000.0), millis(0.1..1000.0), any::<bool>()), 0..3),
        delays in prop::collection::vec((millis(1.0..1000.0), 1.0..2.0), 0..3),
        slot in prop::option::weighted(0.2, (millis(0.1..10.0), prop::option::of(1u32..64))),
        script in prop::collection::vec((scripted(), 1u64..100, 0u64..5), 0..3),
    ) -> Impairments {
        let jitter = jitter.map(|(share, normal, reorder)| Jitter {
            spread: Nanos((delay.0 as f64 * share) as u64),
            distribution: if normal { Distribution::Normal } else { Distribution::Uniform },
            reorder,
        });
        let jitter = jitter.filter(|jitter| jitter.spread > Nanos::ZERO);
        // Without a delay that packets could skip, those that leave the order are held back.
        let held_back = (delay == Nanos::ZERO).then_some(Nanos::from_millis(1));
        let reorder = reorder.map(|(share, gap, by)| Reorder { share, gap, by: by.or(held_back) });
        let outages = outages.iter().scan(Nanos::ZERO, |end, (gap, lasts, lose)| {
            let outage = Outage { at: *end + *gap, lasts: *lasts, lose: *lose };
            *end = outage.end();
            Some(outage)
        });
        let delays = delays.iter().scan(Nanos::ZERO, |at, (gap, factor)| {
            *at += *gap;
            Some(DelayChange { at: *at, delay: Nanos((delay.0 as f64 * factor) as u64) })
        });
        let (outages, delays) = (outages.collect(), delays.collect());
        let slot = slot.map(|(wait, most)| Slot { wait: Between::only(wait), most: most.map(Packets) });
        let rule = |(rule, from, more)| Scripted { packets: Some(Between { from, until: from + more }), ..rule };
        let script = script.into_iter().map(rule).collect();
        Impairments { jitter, reorder, duplicate, outages, delays, slot, script, ..Impairments::default() }
    }
}

/// Draws a rule for all packets, or those of the first flow.
fn scripted() -> impl Strategy<Value = Scripted> {
    let action = prop::sample::select(vec![Action::Lose, Action::Mark, Action::Duplicate, Action::Hold]);
    (action, any::<bool>()).prop_map(|(action, only_first)| Scripted {
        action,
        packets: None,
        flow: only_first.then_some(0),
        from: Nanos::ZERO,
        to: None,
        time: (action == Action::Hold).then_some(Nanos::from_millis(3)),
    })
}

/// Every third link or so changes its rate, up or down, a few times in the first seconds.
fn changing(service: Service, duration: Nanos) -> impl Strategy<Value = Service> {
    let change = (millis(1.0..1000.0), log_uniform(0.2, 1.0));
    prop::option::weighted(0.3, prop::collection::vec(change, 1..4)).prop_map(move |changes| {
        let (Service::Own(Transmitter::Rate(rate)), Some(changes)) = (&service, changes) else {
            return service.clone();
        };
        let changes = changes.iter().scan(Nanos::ZERO, |at, (gap, factor)| {
            *at += *gap;
            Some((*at, Rate((rate.0 as f64 * factor) as u64)))
        });
        Service::Own(Transmitter::Rates(Rates::new(*rate, &changes.collect::<Vec<_>>(), duration)))
    })
}

/// Any scenario, all of whose links may be impaired, and whose flows may start at random.
pub fn impaired() -> impl Strategy<Value = Scenario> {
    impaired_of(library().names())
}

/// Any scenario of these congestion controls, all of whose links may be impaired, and whose flows may start at random.
pub fn impaired_of(controls: Vec<String>) -> impl Strategy<Value = Scenario> {
    let [scenario, both_ways, routed] = [(); 3].map(|()| controls.clone());
    // The strategies are in boxes, because these values are too large for the stack of a thread.
    let any = prop_oneof![scenario_of(scenario).boxed(), both_ways_of(both_ways).boxed(), routed_of(routed).boxed()];
    let with_links = any.prop_flat_map(|scenario| {
        let (directions, duration): (Vec<_>, _) = (scenario.directions().cloned().collect(), scenario.duration);
        let impaired =
            directions.into_iter().map(|link| (impairments(link.delay), changing(link.service, duration)).boxed());
        let spreads = prop::collection::vec(prop_oneof![Just(Nanos::ZERO), millis(0.0..500.0)], scenario.flows.len());
        (Just(scenario), impaired.collect::<Vec<_>>(), spreads)
    });
    with_links.prop_map(|(mut scenario, impaired, spreads)| {
        let directions = scenario.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]);
        for (link, (impairments, service)) in directions.zip(impaired) {
            (link.impairments, link.service) = (impairments, service);
        }
        for (group, spread) in scenario.flows.iter_mut().zip(spreads) {
            // All of a group start before it stops.
            let last = group.start + Nanos(group.stagger.0 * (group.count as u64 - 1));
            group.start_spread = spread.min(group.stop.map_or(spread, |stop| Nanos(stop.since(last).0 / 2)));
        }
        scenario
    })
}
