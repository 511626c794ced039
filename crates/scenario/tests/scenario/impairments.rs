//! Tests of reading impairments of links, random starts, and limits in bandwidth-delay products.

use model::declare::Packets;
use model::impairments::{DelayChange, Distribution, Impairments, Jitter, Outage, Policer, Rates, Reorder, Slot};
use model::quantity::Between;
use model::script::{Action, Scripted};
use model::units::{Bytes, Nanos, Rate};
use model::{Limit, Queue, Scenario, Service, Transmitter};
use std::path::Path;
use unbloat_scenario::{load_text, to_toml};

const BASE: &str = r#"
duration = "60s"
[link.bottleneck]
rate = "20mbit"
delay = "10ms"
queue = { limit = "500kb" }
[[flows]]
cc = "cubic"
"#;

fn read(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment = load_text(text, "test.toml", Path::new(""), &overrides);
    experiment.unwrap_or_else(|error| panic!("{error}")).points.swap_remove(0).scenario
}

fn base(overrides: &[(&str, &str)]) -> Scenario {
    read(BASE, overrides)
}

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

#[test]
fn each_direction_has_its_own() {
    let s = base(&[
        ("link.bottleneck.jitter", "5ms"),
        ("link.bottleneck.reorder", "1%"),
        ("link.bottleneck.duplicate", "2%"),
        ("link.bottleneck.outages", r#"[{ at = "5s", for = "2s" }, { at = "7s", for = "1s", lose = true }]"#),
        ("link.bottleneck.policer", r#"{ rate = "50mbit", burst = "64kb" }"#),
        ("link.bottleneck.delays", r#"[{ at = "5s", delay = "40ms" }]"#),
        ("link.bottleneck.slot", r#"{ wait = "1ms..4ms", most = "64p" }"#),
        (
            "link.bottleneck.script",
            r#"[{ packets = 10, do = "lose" }, { packets = "100..105", flow = 0, from = "3s", do = "mark" }]"#,
        ),
        ("link.bottleneck.reverse.jitter", "1ms"),
        ("link.bottleneck.reverse.jitter_distribution", "normal"),
        ("link.bottleneck.reverse.jitter_reorder", "true"),
        ("link.bottleneck.reverse.reorder", "50%"),
        ("link.bottleneck.reverse.reorder_gap", "5"),
        ("link.bottleneck.reverse.reorder_by", "3ms"),
    ]);
    let outage = |at, lasts, lose| Outage { at: Nanos::from_secs(at), lasts: Nanos::from_secs(lasts), lose };
    let rule = Scripted { action: Action::Lose, packets: None, flow: None, from: Nanos::ZERO, to: None, time: None };
    let packets = |from, until| Some(Between { from, until });
    assert_eq!(
        s.links[0].forward.impairments,
        Impairments {
            jitter: Some(Jitter { spread: ms(5), distribution: Distribution::Uniform, reorder: false }),
            reorder: Some(Reorder { share: 0.01, gap: 1, by: None }),
            duplicate: 0.02,
            outages: vec![outage(5, 2, false), outage(7, 1, true)],
            policer: Some(Policer { rate: Rate(50_000_000), burst: Bytes(64_000) }),
            delays: vec![DelayChange { at: Nanos::from_secs(5), delay: ms(40) }],
            handover: None,
            slot: Some(Slot { wait: Between { from: ms(1), until: ms(4) }, most: Some(Packets(64)) }),
            script: vec![
                Scripted { packets: packets(10, 10), ..rule },
                Scripted {
                    action: Action::Mark,
                    packets: packets(100, 105),
                    flow: Some(0),
                    from: Nanos::from_secs(3),
                    ..rule
                },
            ],
        }
    );
    assert_eq!(
        s.links[0].reverse.impairments,
        Impairments {
            jitter: Some(Jitter { spread: ms(1), distribution: Distribution::Normal, reorder: true }),
            reorder: Some(Reorder { share: 0.5, gap: 5, by: Some(ms(3)) }),
            ..Impairments::default()
        }
    );
    assert!(base(&[]).links[0].forward.impairments.is_none());
}

/// The rate is 20 Mbit/s for 15 s, 2 Mbit/s for 15 s, and 10 Mbit/s for 30 s.
#[test]
fn rates_follow_each_other() {
    let changes = r#"[{ at = "15s", rate = "2mbit" }, { at = "30s", rate = "10mbit" }]"#;
    let s = base(&[
        ("link.bottleneck.rates", changes),
        ("link.bottleneck.reverse.rates", r#"[{ at = "1s", rate = "1mbit" }]"#),
    ]);
    let steps = vec![
        (Nanos::ZERO, Rate(20_000_000)),
        (Nanos::from_secs(15), Rate(2_000_000)),
        (Nanos::from_secs(30), Rate(10_000_000)),
    ];
    assert_eq!(s.links[0].forward.service, Service::Own(Transmitter::Rates(Rates { steps, mean: Rate(10_500_000) })));
    assert_eq!(s.slowest_rate(), Some(Rate(2_000_000)));
    let Service::Own(Transmitter::Rates(reverse)) = &s.links[0].reverse.service else { panic!("rates") };
    assert_eq!(reverse.steps[0], (Nanos::ZERO, Rate(20_000_000)));
    let first_only = base(&[("link.bottleneck.rates", changes)]);
    assert_eq!(first_only.links[0].reverse.service, Service::Own(Transmitter::Rate(Rate(20_000_000))));
    assert_eq!(
        base(&[("link.bottleneck.rates", "[]")]).links[0].forward.service,
        Service::Own(Transmitter::Rate(Rate(20_000_000)))
    );
}

/// Handovers at 12, 27, 42 and 57 s. Each direction changes its delay and goes down as the other; the reverse rate stays.
#[test]
fn handovers_make_outages_rates_and_delays() {
    let handover = r#"{ every = "15s", first = "12s", outage = "80ms", rate = "10mbit..50mbit", delay = "9ms..30ms" }"#;
    let s = base(&[("link.bottleneck.handover", handover), ("link.bottleneck.reverse.rate", "5mbit")]);
    let (forward, reverse) = (&s.links[0].forward, &s.links[0].reverse);
    let times = [12, 27, 42, 57].map(Nanos::from_secs);
    let outages = times.map(|at| Outage { at, lasts: ms(80), lose: false });
    assert_eq!((&forward.impairments.outages[..], &reverse.impairments.outages[..]), (&outages[..], &outages[..]));
    assert!(forward.impairments.delays.iter().map(|change| change.at).eq(times));
    assert!(forward.impairments.delays.iter().all(|change| (ms(9)..=ms(30)).contains(&change.delay)));
    assert_eq!(forward.impairments.delays, reverse.impairments.delays);
    let Service::Own(Transmitter::Rates(rates)) = &forward.service else { panic!("the rate changes") };
    assert_eq!(rates.steps.len(), 5);
    assert!(rates.steps[1..].iter().all(|(_, rate)| (10_000_000..=50_000_000).contains(&rate.0)));
    assert_eq!(reverse.service, Service::Own(Transmitter::Rate(Rate(5_000_000))));
    // The longest round trip has the longest delay that can be drawn.
    assert_eq!(s.propagation_rtt(&s.flows[0]), ms(60));
    assert_eq!(read(&to_toml(&s), &[]), s);
    let other = s.clone().seeded(2);
    assert_ne!(other.links[0].forward.service, s.links[0].forward.service);
    assert_eq!(other.seeded(1), s);
}

/// 20 Mbit/s and 20 ms are 50 000 bytes, which are 33 1/3 packets.
#[test]
fn a_limit_follows_the_rate_and_the_round_trip() {
    let limit = |overrides: &[(&str, &str)]| base(overrides).links[0].forward.queue.limit();
    let key = "link.bottleneck.queue.limit";
    assert_eq!(limit(&[(key, "1bdp")]), Some(Limit::Bytes(Bytes(50_000))));
    assert_eq!(limit(&[(key, "0.5bdp"), ("link.bottleneck.rate", "40mbit")]), Some(Limit::Bytes(Bytes(50_000))));
    assert_eq!(limit(&[(key, "2BDP"), ("flows.0.access.delay", "5ms")]), Some(Limit::Bytes(Bytes(150_000))));
    assert_eq!(limit(&[(key, "0.001bdp")]), Some(Limit::Bytes(Bytes(1500))));
    assert_eq!(limit(&[(key, "1bdp"), ("link.bottleneck.queue.kind", "codel")]), Some(Limit::Packets(34)));
    for kind in ["red", "drophead"] {
        assert_eq!(limit(&[(key, "1bdp"), ("link.bottleneck.queue.kind", kind)]), Some(Limit::Bytes(Bytes(50_000))));
    }
    let half = ("link.bottleneck.rates", r#"[{ at = "30s", rate = "10mbit" }]"#);
    assert_eq!(limit(&[(key, "1bdp"), half]), Some(Limit::Bytes(Bytes(37_500))));
    let kernel = base(&[(key, "1bdp"), ("link.bottleneck.queue.kind", "kernel:fq_codel")]);
    assert_eq!(kernel.links[0].forward.queue.limit(), Some(Limit::Packets(34)));
    let both = base(&[(key, "2bdp"), ("link.bottleneck.queue.ecn_threshold", "0.17bdp")]);
    let [limit, ecn_threshold] = [100_000, 8500].map(|bytes| Some(Limit::Bytes(Bytes(bytes))));
    assert_eq!(both.links[0].forward.queue, Queue::Droptail { limit, ecn_threshold });
}

/// A limit in bandwidth-delay products uses the longest round trip of all flows that pass the link with data or
/// acknowledgements.
#[test]
fn a_limit_follows_the_longest_round_trip_that_passes() {
    let text = r#"
duration = "60s"
[link.home]
rate = "8mbit"
delay = "10ms"
queue = { limit = "1bdp" }
reverse = { rate = "1mbit", queue = { limit = "1bdp" } }
[link.far]
rate = "800mbit"
delay = "40ms"
queue = { limit = "1bdp" }
[link.unused]
rate = "1mbit"
delay = "1s"
queue = { limit = "1p" }
[[flows]]
cc = "cubic"
path = ["home"]
[[flows]]
cc = "cubic"
path = ["home", "far"]
"#;
    let s = read(text, &[]);
    let limit = |link: usize, is_reverse| s.links[link].direction(is_reverse).queue.limit();
    assert_eq!(limit(0, false), Some(Limit::Bytes(Bytes(100_000))));
    assert_eq!(limit(0, true), Some(Limit::Bytes(Bytes(12_500))));
    assert_eq!(limit(1, false), Some(Limit::Bytes(Bytes(10_000_000))));
    let nobody = load_text(&text.replace("1p", "1bdp"), "test.toml", Path::new(""), &[]);
    assert_eq!(
        nobody.expect_err("no flow passes").to_string(),
        "test.toml:15: link.unused.queue.limit: \"1bdp\" needs a flow that passes here, for its round-trip time; \
             write bytes or packets"
    );
}

#[test]
fn limits_and_outages_can_be_swept() {
    let sweep = r#"
[sweep]
"link.bottleneck.queue.limit" = { from = "0.5bdp", to = "2bdp", factor = 2 }
"link.bottleneck.outages" = [[], [{ at = "5s", for = "2s" }]]
"#;
    let experiment = load_text(&(BASE.to_string() + sweep), "test.toml", Path::new(""), &[]).unwrap();
    let of = |cell: &unbloat_scenario::GridPoint| {
        let link = &cell.scenario.links[0].forward;
        (link.queue.limit(), link.impairments.outages.len())
    };
    let cells: Vec<_> = experiment.points.iter().map(of).collect();
    let expected =
        [25_000, 50_000, 100_000].map(|bytes| [0, 1].map(|outages| (Some(Limit::Bytes(Bytes(bytes))), outages)));
    assert_eq!(cells, expected.concat());
    assert_eq!(experiment.points[0].axes[0].1, "0.5bdp");
}

/// 4000 flows start from 1 s to 3 s. The mean of their starts is 2 s, and each start has a standard deviation of 2 s
/// over the root of 12.
#[test]
fn starts_are_drawn_evenly_for_each_flow() {
    let count = ("flows.0.count", "4000");
    let starts = |overrides: &[(&str, &str)]| -> Vec<Nanos> {
        base(overrides).flow_arrivals()[0].iter().map(|arrival| arrival.at).collect()
    };
    let range = ("flows.0.start", "1s..3s");
    let drawn = starts(&[count, range]);
    assert!(drawn.iter().all(|at| (Nanos::from_secs(1)..=Nanos::from_secs(3)).contains(at)));
    let mean = drawn.iter().map(|at| at.as_secs_f64()).sum::<f64>() / 4000.0;
    assert!((mean - 2.0).abs() < 4.0 * 2.0 / 12f64.sqrt() / 4000f64.sqrt(), "{mean} s");
    assert_eq!(starts(&[count, range]), drawn);
    assert_ne!(starts(&[count, range, ("seed", "2")]), drawn);
    let later: Vec<_> = (0..).zip(&drawn).map(|(n, at)| *at + Nanos::from_micros(n)).collect();
    assert_eq!(starts(&[count, range, ("flows.0.stagger", "1us")]), later);
    // A smaller number of flows has the starts of the first of many, and sizes are drawn separately.
    assert_eq!(starts(&[("flows.0.count", "10"), range]), drawn[..10]);
    assert_eq!(starts(&[count, range, ("flows.0.size", r#"{ kind = "pareto", mean = "10kb" }"#)]), drawn);
    assert_eq!(starts(&[("flows.0.count", "2"), ("flows.0.start", "1s..1s")]), [Nanos::from_secs(1); 2]);
}

/// A scenario that another process has read is the same. Without impairments its JSON does not mention them.
#[test]
fn impairments_survive_being_written() {
    let plain = serde_json::to_string(&base(&[])).unwrap();
    assert!(!plain.contains("impairments") && !plain.contains("start_spread"));
    let impaired = serde_json::to_string(&base(&[("link.bottleneck.jitter", "5ms")])).unwrap();
    assert!(impaired.contains("impairments") && !impaired.contains("policer"));
    let s = base(&[
        ("link.bottleneck.jitter", "5ms"),
        ("link.bottleneck.rates", r#"[{ at = "15s", rate = "2mbit" }]"#),
        ("link.bottleneck.outages", r#"[{ at = "5s", for = "2s" }]"#),
        ("link.bottleneck.policer", r#"{ rate = "5mbit", burst = "9kb" }"#),
        ("link.bottleneck.delays", r#"[{ at = "2s", delay = "15ms" }]"#),
        ("link.bottleneck.slot", r#"{ wait = "3ms" }"#),
        ("link.bottleneck.script", r#"[{ packets = "3..4", to = "9s", do = "hold", time = "1ms" }]"#),
        ("link.bottleneck.queue", r#"{ kind = "drophead", limit = "1bdp" }"#),
        ("flows.0.start", "0s..1s"),
    ]);
    assert_eq!(read(&to_toml(&s), &[]), s);
    assert_eq!(serde_json::from_str::<Scenario>(&serde_json::to_string(&s).unwrap()).unwrap(), s);
    assert_eq!(serde_json::from_str::<Scenario>(&plain).unwrap(), base(&[]));
}
