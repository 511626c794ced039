//! Tests of reading LTE cells and the links to their users.

use model::lte::Scheduling;
use model::radio::lte::{Cqi, Direction};
use model::units::{Bytes, Nanos, Rate};
use model::{Limit, Member, Queue, Scenario, Service};
use std::path::Path;
use unbloat_scenario::load_text;

const BASE: &str = r#"
duration = "60s"
[lte.city]
bandwidth = "20mhz"
[link.phone]
lte = "city"
cqi = 14
delay = "10ms"
queue = { limit = "2560kb" }
[[flows]]
cc = "cubic"
"#;

fn base(overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment = load_text(BASE, "test.toml", Path::new(""), &overrides);
    experiment.unwrap_or_else(|error| panic!("{error}")).points.swap_remove(0).scenario
}

/// 100 x 120 x 5.1152 bits are 61 382 bits. Checksum and headers leave 7666 bytes of them, sent in 1.10555 tries.
#[test]
fn a_cell_has_a_user_in_either_direction() {
    let s = base(&[]);
    let [city] = &s.lte[..] else { panic!("one cell") };
    assert_eq!((city.name.as_str(), city.bandwidth.name(), city.error_rate), ("city", "20mhz", 0.1));
    assert_eq!(city.scheduler, Scheduling::ProportionalFair);
    assert_eq!(s.links[0].forward.service, Service::Shared(Member::Lte(city.user(0, Direction::Down, Cqi(14)))));
    assert_eq!(s.links[0].reverse.service, Service::Shared(Member::Lte(city.user(0, Direction::Up, Cqi(14)))));
    let most = 7666.0 * 8000.0 / city.harq().mean_tries();
    assert_eq!(s.slowest_rate(), Some(Rate(most as u64)));
    assert_eq!(s.links[0].reverse.delay, Nanos::from_millis(10));
}

/// Idle delays of 7.5 and 17 ms belong to the round trip, and so to "1bdp": 61.328 Mbit/s times 44.5 ms.
#[test]
fn an_idle_cell_is_part_of_the_round_trip() {
    let s = base(&[("lte.city.error_rate", "0%"), ("link.phone.queue.limit", "1bdp")]);
    assert_eq!(s.propagation_rtt(&s.flows[0]), Nanos::from_micros(20_000 + 7_500 + 17_000));
    let limit = Some(Limit::Bytes(Bytes(341_137)));
    assert_eq!(s.links[0].forward.queue, Queue::Droptail { limit, ecn_threshold: None });
}

#[test]
fn a_ratio_gives_the_quality() {
    let cqi = |snr| match base(&[(
        "link.phone",
        &format!("{{ lte = \"city\", snr = \"{snr}\", delay = \"1ms\", queue = {{ limit = \"9kb\" }} }}"),
    )])
    .links[0]
        .forward
        .service
    {
        Service::Shared(Member::Lte(user)) => user.cqi.0,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(["-2.1db", "0db", "18db", "60db"].map(cqi), [1, 2, 11, 15]);
}

#[test]
fn a_scenario_with_a_cell_can_be_read_again() {
    let s = base(&[("lte.city.scheduler", "rr")]);
    let again: Scenario = serde_json::from_str(&serde_json::to_string(&s).unwrap()).unwrap();
    assert_eq!(again, s);
}
