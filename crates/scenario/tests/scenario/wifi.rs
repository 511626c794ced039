//! Tests of reading Wi-Fi cells, and links on them.

use model::radio::ieee80211::{Slot, Standard};
use model::units::{Bytes, Rate};
use model::{Limit, Member, Queue, Scenario, Service, Transmitter};
use std::path::Path;
use unbloat_scenario::load_text;

const HOME: &str = r#"
duration = "60s"
[wifi.home]
standard = "802.11g"
[link.core]
rate = "100mbit"
delay = "10ms"
queue = { limit = "500kb" }
[link.phone]
wifi = "home"
signal = "-51dbm"
delay = "0ms"
queue = { limit = "300p" }
[link.laptop]
wifi = "home"
phy_rate = "6mbit"
frame_errors = "10%"
delay = "0ms"
queue = { limit = "100p" }
[[flows]]
cc = "cubic"
path = ["core", "phone"]
[[flows]]
cc = "cubic"
path = ["core", "laptop"]
"#;

fn load(overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment = load_text(HOME, "test.toml", Path::new(""), &overrides).map_err(|error| error.to_string())?;
    Ok(experiment.points.into_iter().next().expect("one").scenario)
}

fn read(overrides: &[(&str, &str)]) -> Scenario {
    load(overrides).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn both_directions_of_a_link_share_the_air_of_its_cell() {
    let s = read(&[]);
    let [cell] = &s.wifi[..] else { panic!("one cell") };
    assert_eq!((cell.name.as_str(), cell.standard, &cell.queue), ("home", Standard::G, &None));
    assert_eq!(s.links_of_cell(0).collect::<Vec<_>>(), [1, 2]);
    for (link, rate, errors) in [(1, 54, 0.0), (2, 6, 0.1)] {
        for direction in [&s.links[link].forward, &s.links[link].reverse] {
            let Service::Shared(Member::Wifi(station)) = direction.service else { panic!("{:?}", direction.service) };
            assert_eq!((station.phy_rate, station.frame_errors), (Rate(rate * 1_000_000), errors));
        }
    }
    assert_eq!(s.links[2].forward.queue, Queue::Droptail { limit: Some(Limit::Packets(100)), ecn_threshold: None });
    assert_eq!(s.links[2].reverse.queue, Queue::Droptail { limit: None, ecn_threshold: None });
}

/// Bandwidth-delay products use the capacity for a lone sender, not the rate of the physical layer: 20 ms at 30.496
/// Mbit/s are 76 239 bytes. The shared queue of a cell uses its fastest station.
#[test]
fn limits_go_by_what_a_lone_sender_carries() {
    let limit = |s: &Scenario| s.links[1].forward.queue.limit();
    let carried = Standard::G.most_carried(Slot::Short, 7, Bytes(1500)).0;
    let expected = Some(Limit::Bytes(Bytes((carried * 20 / 1000).div_ceil(8))));
    assert_eq!(limit(&read(&[("link.phone.queue.limit", "1bdp")])), expected);
    let shared = HOME.replace("queue = { limit = \"300p\" }\n", "").replace("queue = { limit = \"100p\" }\n", "");
    let shared = shared.replace("standard", "queue = { limit = \"1bdp\" }\nstandard");
    let experiment = load_text(&shared, "test.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    let s = &experiment.points[0].scenario;
    assert_eq!((limit(s), s.wifi[0].queue.as_ref().and_then(Queue::limit)), (expected, expected));
    let policed = |key: &str| {
        let policer = (key.to_string(), "{ rate = \"5mbit\", burst = \"9kb\" }".to_string());
        load_text(&shared, "test.toml", Path::new(""), &[policer]).map_err(|error| error.to_string())
    };
    let error = policed("link.phone.policer").expect_err("the queue is the cell's");
    assert!(error.starts_with("link.phone.policer: cannot be set together with the cell's queue"), "{error}");
    assert!(policed("link.phone.reverse.policer").is_ok());
}

#[test]
fn a_rate_of_the_one_kind_takes_the_place_of_the_other() {
    let s = read(&[("link.phone.phy_rate", "24mbit"), ("link.laptop.signal", "-70dbm")]);
    let rates = [1, 2].map(|link| match s.links[link].forward.service {
        Service::Shared(Member::Wifi(station)) => station.phy_rate.0 / 1_000_000,
        _ => 0,
    });
    assert_eq!(rates, [24, 36]);
}

/// Each mistake gets one sentence, with its key.
#[test]
fn what_no_cell_can_be_is_refused() {
    let cases = [
        ("link.phone.wifi", "hme", "link.phone.wifi: unknown Wi-Fi cell hme (did you mean home?); valid: home"),
        ("link.phone.reverse.rate", "1mbit", "link.phone.reverse.rate: cannot be set together with wifi"),
        (
            "link.core.signal",
            "-51dbm",
            "link.core.signal: needs wifi, because it describes a station; write wifi = NAME",
        ),
        ("link.phone.phy_rate", "11mbit", "link.phone.phy_rate: 11mbit is not a rate of 802.11g; valid: 6mbit, 9mbit"),
        (
            "link.phone.signal",
            "-90dbm",
            "link.phone.signal: -90dbm is too weak for 802.11g, whose lowest rate needs -82dbm",
        ),
        ("link.phone.signal", "-51", "must be a signal strength such as \"-51dbm\", not -51"),
        ("wifi.home.queue", "{ limit = \"9p\" }", "link.phone.queue: cannot be set together with the cell's queue"),
        ("wifi.home.standard", "802.11b", "wifi.home.standard: must be one of 802.11g, 802.11n"),
        ("wifi.other.standard", "802.11n", "wifi.other: has no user; write wifi = \"other\" for a link, or leave"),
        ("link.phone.queue.kind", "kernel:pfifo", "link.phone.queue.kind: kernel:pfifo cannot share the air of home"),
        ("link.phone.outages", "[{ at = \"1s\", for = \"1s\" }]", "link.phone.outages: cannot stop the air"),
        ("flows.0.packet", "9000b", "flows.0.packet: 9kb do not fit a frame of Wi-Fi, which holds 2296b"),
        (
            "flows.0.app",
            "{ kind = \"ping\", packet = \"3kb\" }",
            "flows.0.app.packet: 3kb do not fit a frame of Wi-Fi, which holds 2296b",
        ),
        ("emulator", "netem", "link.phone.wifi: is not supported by the kernel's shaper; netem needs a rate"),
    ];
    for (key, value, expected) in cases {
        let error = load(&[(key, value)]).expect_err(key);
        assert!(error.contains(expected), "{key} = {value}: {error}");
    }
    let bare = HOME.replace("signal = \"-51dbm\"\n", "");
    let error = load_text(&bare, "test.toml", Path::new(""), &[]).expect_err("no rate").to_string();
    assert!(
        error
            .contains("link.phone.signal: is missing; write signal such as \"-51dbm\", or phy_rate such as \"54mbit\"")
    );
    let two = HOME.replace("signal = \"-51dbm\"\n", "signal = \"-51dbm\"\nrate = \"1mbit\"\n");
    let error = load_text(&two, "test.toml", Path::new(""), &[]).expect_err("two transmitters").to_string();
    assert!(error.contains("link.phone.rate: cannot be set together with wifi, whose stations share the air"));
    let both = HOME.replace("signal = \"-51dbm\"\n", "signal = \"-51dbm\"\nphy_rate = \"54mbit\"\n");
    let error = load_text(&both, "test.toml", Path::new(""), &[]).expect_err("two rates").to_string();
    assert!(error.contains("test.toml:12: link.phone.phy_rate: cannot be set together with signal"), "{error}");
}

const KINDS: &str = r#"
duration = "5s"
[wifi.home]
standard = "802.11n"
[lte.city]
bandwidth = "20mhz"
[link.path]
rate = "10mbit"
delay = "5ms"
queue = { limit = "100p" }
reverse = { rate = "1mbit" }
[[flows]]
cc = "cubic"
[sweep]
kind = [
    { label = "fibre", "link.path.rate" = "1gbit" },
    { label = "lte", "link.path.lte" = "city", "link.path.cqi" = 14 },
    { label = "wifi", "link.path.wifi" = "home", "link.path.signal" = "-51dbm" },
]
"#;

fn kinds_of(text: &str, overrides: &[(&str, &str)]) -> Result<Vec<&'static str>, String> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment = load_text(text, "test.toml", Path::new(""), &overrides).map_err(|error| error.to_string())?;
    let kind = |service: &Service| match service {
        Service::Own(Transmitter::Rate(_)) => "rate",
        Service::Shared(Member::Wifi(_)) => "wifi",
        Service::Shared(Member::Lte(_)) => "lte",
        _ => "other",
    };
    Ok(experiment.points.iter().map(|cell| kind(&cell.scenario.links[0].forward.service)).collect())
}

/// A radio cell that one case uses also exists in the other cases. Setting one kind of transmitter replaces the others.
#[test]
fn cases_may_have_paths_of_different_kinds() {
    assert_eq!(kinds_of(KINDS, &[]).expect("it is right"), ["rate", "lte", "wifi"]);
    let wireless = KINDS.replace("rate = \"10mbit\"", "wifi = \"home\"\nsignal = \"-51dbm\"\nframe_errors = \"1%\"");
    let wireless = wireless.replace("reverse = { rate = \"1mbit\" }\n", "");
    assert_eq!(kinds_of(&wireless, &[]).expect("it is right"), ["rate", "lte", "wifi"]);
    let mobile = KINDS.replace("rate = \"10mbit\"", "lte = \"city\"\nsnr = \"20db\"");
    let mobile = mobile.replace("reverse = { rate = \"1mbit\" }\n", "");
    assert_eq!(kinds_of(&mobile, &[]).expect("it is right"), ["rate", "lte", "wifi"]);
}

#[test]
fn a_cell_that_no_case_uses_is_a_misspelling() {
    let text = KINDS
        .replace("\"link.path.wifi\" = \"home\", \"link.path.signal\" = \"-51dbm\"", "\"link.path.rate\" = \"1mbit\"");
    let error = kinds_of(&text, &[]).expect_err("nobody uses it");
    assert_eq!(
        error,
        "test.toml:3: wifi.home: has no user; write wifi = \"home\" for a link, or leave [wifi.home] out"
    );
    let rates = [("sweep.kind", "[{ label = \"a\", \"link.path.rate\" = \"1mbit\" }]")];
    let error = kinds_of(KINDS, &rates).expect_err("nobody uses either");
    assert!(error.contains("wifi.home: has no user") && error.contains("lte.city: has no user"), "{error}");
}
