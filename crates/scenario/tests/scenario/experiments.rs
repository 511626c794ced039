//! Tests of reading whole files: values, defaults, profiles, overrides, sweeps, places of errors.

use model::declare::{Written, table};
use model::queue::{Atm, Discipline, FqCodel, Said, Who};
use model::schema;
use model::units::{Bytes, Drift, Nanos, Offset, Rate};
use model::{
    Clock, Gemodel, Limit, Loss, LossDetection, LossRepair, MechanismSource, ParamValue, Queue, Reduction, Scenario,
    Service, TcpProfile, Transmitter,
};
use std::collections::BTreeMap;
use std::path::Path;
use unbloat_scenario::{Experiment, GridPoint, load_text};

/// A sample file without a sweep.
const SAMPLE: &str = r#"
name     = "two flows on a home line"
duration = "60s"
warmup   = "10s"
seed     = 1
profile  = "linux"

[link.bottleneck]
rate  = "20mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "500kb" }
loss  = "0%"

[[flows]]
cc     = "cubic_plus"
params = { period = "100ms", threshold = "30ms" }
count  = 2
access = { rate = "1gbit", delay = "0ms" }
start  = "0s"
"#;

fn experiment(text: &str, overrides: &[(&str, &str)]) -> Experiment {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    load_text(text, "lines/home.toml", Path::new("lines"), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn only(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let mut cells = experiment(text, overrides).points;
    assert_eq!(cells.len(), 1);
    cells.remove(0).scenario
}

fn axes(experiment: &Experiment) -> Vec<Vec<String>> {
    let labels = |cell: &GridPoint| cell.axes.iter().map(|(_, label)| label.clone()).collect();
    experiment.points.iter().map(labels).collect()
}

fn cc(scenario: &Scenario, group: usize) -> &str {
    match &scenario.flows[group].cc.source {
        MechanismSource::Builtin(name) => name,
        MechanismSource::File(path) => path.to_str().unwrap(),
        MechanismSource::Kernel(name) => panic!("kernel:{name}"),
        MechanismSource::None => "none",
    }
}

#[test]
fn the_sample_reads_as_it_says() {
    let scenario = only(SAMPLE, &[]);
    assert_eq!(scenario.name, "two flows on a home line");
    assert_eq!((scenario.duration, scenario.warmup, scenario.seed), (Nanos::from_secs(60), Nanos::from_secs(10), 1));
    assert_eq!(scenario.links[0].forward.service, Service::Own(Transmitter::Rate(Rate(20_000_000))));
    assert_eq!(scenario.links[0].forward.delay, Nanos::from_millis(10));
    let queue = Queue::Droptail { limit: Some(Limit::Bytes(Bytes(500_000))), ecn_threshold: None };
    assert_eq!(scenario.links[0].forward.queue, queue);
    let group = &scenario.flows[0];
    assert_eq!((cc(&scenario, 0), group.count), ("cubic_plus", 2));
    assert_eq!(group.cc.params["period"], ParamValue::Text("100ms".into()));
    assert_eq!((group.access.rate, group.access.delay), (Some(Rate(1_000_000_000)), Nanos::ZERO));
}

#[test]
fn the_reverse_path_is_as_the_forward_path_but_never_drops() {
    let reverse = only(SAMPLE, &[]).links.remove(0).reverse;
    assert_eq!(reverse.name, "bottleneck.reverse");
    assert_eq!(
        (reverse.service, reverse.delay),
        (Service::Own(Transmitter::Rate(Rate(20_000_000))), Nanos::from_millis(10))
    );
    assert_eq!(reverse.queue, Queue::Droptail { limit: None, ecn_threshold: None });
    let changed =
        only(SAMPLE, &[("link.bottleneck.reverse.queue.limit", "7p"), ("link.bottleneck.reverse.loss", "2%")]);
    assert_eq!(changed.links[0].reverse.queue, Queue::Droptail { limit: Some(Limit::Packets(7)), ecn_threshold: None });
    assert_eq!((changed.links[0].reverse.loss, changed.links[0].forward.loss), (Loss::Uniform(0.02), Loss::NONE));
}

/// Netem's defaults: r = 1-p, 1-h = 100 %, 1-k = 0.
#[test]
fn a_loss_model_has_netem_s_parameters_and_defaults() {
    let loss = |table: &str| only(SAMPLE, &[("link.bottleneck.loss", table)]).links[0].forward.loss;
    let bernoulli = Gemodel { p: 0.25, r: 0.75, lost_while_bad: 1.0, lost_while_good: 0.0 };
    assert_eq!(loss(r#"{ p = "25%" }"#), Loss::Gemodel(bernoulli));
    let every = Gemodel { p: 0.01, r: 0.3, lost_while_bad: 0.8, lost_while_good: 0.001 };
    let written = r#"{ kind = "gemodel", p = "1%", r = "30%", 1-h = "80%", 1-k = "0.1%" }"#;
    assert_eq!(loss(written), Loss::Gemodel(every));
    let lossy_reverse_path = only(SAMPLE, &[("link.bottleneck.reverse.loss.p", "25%")]);
    assert_eq!(
        (lossy_reverse_path.links[0].forward.loss, lossy_reverse_path.links[0].reverse.loss),
        (Loss::NONE, Loss::Gemodel(bernoulli))
    );
    let bursty = SAMPLE.replace(r#""0%""#, r#"{ p = "1%" }"#);
    let swept = experiment(&bursty, &[("sweep.link.bottleneck.loss.1-h", r#"["50%", "90%"]"#)]);
    assert_eq!(axes(&swept), [["50%"], ["90%"]]);
    let models = experiment(SAMPLE, &[("sweep.link.bottleneck.loss", r#"["25%", { p = "25%" }]"#)]);
    let losses: Vec<_> = models.points.iter().map(|cell| cell.scenario.links[0].forward.loss).collect();
    assert_eq!(losses, [Loss::Uniform(0.25), Loss::Gemodel(bernoulli)]);
}

#[test]
fn clocks_may_be_behind_and_slow() {
    let clock = |overrides: &[(&str, &str)]| only(SAMPLE, overrides).flows[0].clock;
    assert_eq!(clock(&[]), Clock::default());
    let both = clock(&[("flows.0.clock", r#"{ offset = "-3600s", drift = "-0.5ppm" }"#)]);
    assert_eq!(both, Clock { offset: Offset(-3_600_000_000_000), drift: Drift(-500) });
    assert_eq!(clock(&[("flows.0.clock.drift", "100ppm")]).drift, Drift(100_000));
    let drifting = only(SAMPLE, &[("flows.0.clock.drift", "-100ppm")]).only_in_the_simulator().unwrap();
    assert_eq!(drifting.key, "flows.0.clock.drift");
    assert_eq!(
        drifting.to_string(),
        "-100ppm is not supported on a kernel, where both ends read the same clock; leave it out, or simulate"
    );
    assert_eq!(only(SAMPLE, &[("flows.0.clock.offset", "1s")]).only_in_the_simulator(), None);
}

#[test]
fn senders_may_be_told_when_packets_leave_in_the_simulator_only() {
    let access = r#"{ rate = "10mbit", small_queues = true }"#;
    let told = only(SAMPLE, &[("flows.0.access", access)]);
    assert!(told.flows[0].access.small_queues && !only(SAMPLE, &[]).flows[0].access.small_queues);
    let refused = told.only_in_the_simulator().unwrap();
    assert_eq!(refused.key, "flows.0.access.small_queues");
    assert_eq!(
        refused.to_string(),
        "is not supported on a kernel, whose TCP sees its own device and not the emulated access link; leave it out, \
             or simulate"
    );
    assert_eq!(only(SAMPLE, &[("flows.0.access.rate", "10mbit")]).only_in_the_simulator(), None);
}

const HOST: &str = r#"
duration = "1s"
[host.pc]
[link.line]
rate = "9mbit"
delay = "25ms"
queue = { kind = "prio", bands = 2 }
[[flows]]
host = "pc"
cc = "cubic"
[[flows]]
host = "pc"
cc = "cubic"
app = "web"
[[flows]]
host = "pc"
app = "ping"
"#;

/// Names every key of hosts and applications that a kernel does not support; it supports all others.
#[test]
fn what_a_host_on_a_kernel_lacks_is_named() {
    let key = |overrides: &[(&str, &str)]| only(HOST, overrides).only_in_the_simulator().map(|refused| refused.key);
    let droptail = ("link.line.queue", r#"{ limit = "100kb" }"#);
    for had in [
        &[][..],
        &[("host.pc.small_queues", "false"), ("host.pc.classifier", "sorpc")],
        &[("host.pc.classifier", "sorpc_fair")],
        &[("host.pc.classifier", "sorpc"), ("host.pc.classifier_params", "{ no_overtake = true }")],
        &[("link.line.queue", r#"{ kind = "fq_codel" }"#), ("host.pc.tcp_wmem.max", "1mb")],
        &[droptail],
        &[("link.line.queue", r#"{ kind = "cake", diffserv = "besteffort" }"#)],
        &[("host.pc.gso", "true")],
    ] {
        assert_eq!(key(had), None, "{had:?}");
    }
    for (asked, refused) in [
        (&[("host.pc.ring", "10")][..], "host.pc.ring"),
        (&[("host.pc.tcp_wmem.tuning", "twice_cwnd")], "host.pc.tcp_wmem.tuning"),
        (&[("host.pc.small_queues", "false"), droptail], "host.pc.small_queues"),
        (&[("host.pc.small_queues", "false"), ("host.pc.classifier", "sorpc_fair")], "host.pc.classifier"),
        (
            &[
                ("host.pc.small_queues", "false"),
                ("host.pc.classifier", "sorpc"),
                ("host.pc.classifier_params", "{ no_overtake = true }"),
            ],
            "host.pc.classifier_params.no_overtake",
        ),
        (&[("link.line.queue", r#"{ kind = "pie" }"#)], "link.line.queue.kind"),
        (&[("link.line.queue", r#"{ kind = "drophead", limit = "100p" }"#)], "link.line.queue.kind"),
        (&[("link.line.queue", r#"{ ecn_threshold = "10p" }"#)], "link.line.queue.ecn_threshold"),
        (&[("link.line.rates", r#"[{ at = "1ms", rate = "1mbit" }]"#)], "link.line.rates"),
        (&[("link.line.outages", r#"[{ at = "1ms", for = "1ms" }]"#)], "link.line.outages"),
        (&[("flows.1.profile", "sack")], "flows.1.profile"),
        (&[("flows.2.app", r#"{ kind = "ping", packet = "35b" }"#)], "flows.2.app.packet"),
    ] {
        assert_eq!(key(asked).as_deref(), Some(refused));
    }
    let cell = HOST.replace(
        "[link.line]\nrate = \"9mbit\"",
        "[lte.cell]\nbandwidth = \"5mhz\"\n[link.line]\nlte = \"cell\"\ncqi = 9",
    );
    let refused = only(&cell, &[]).only_in_the_simulator().map(|refused| refused.key);
    assert_eq!(refused.as_deref(), Some("link.line.lte"));
}

#[test]
fn what_is_not_written_has_its_default() {
    let text =
        "duration = \"1s\"\n[link.bottleneck]\nrate = \"1mbit\"\ndelay = \"0s\"\nqueue = {}\n[[flows]]\ncc = \"reno\"";
    let scenario = only(text, &[]);
    assert_eq!((scenario.name.as_str(), scenario.warmup, scenario.seed), ("home", Nanos::ZERO, 1));
    assert_eq!(scenario.links[0].forward.queue, Queue::Droptail { limit: None, ecn_threshold: None });
    let group = &scenario.flows[0];
    assert_eq!((group.count, group.start, group.stagger, group.stop), (1, Nanos::ZERO, Nanos::ZERO, None));
    assert_eq!((group.size, group.packet, group.receive_window), (None, Bytes(1500), None));
    assert_eq!((group.access.rate, group.access.delay), (None, Nanos::ZERO));
    assert_eq!(group.stack, TcpProfile::LINUX);
    assert!(group.cc.params.is_empty());
}

#[test]
fn profiles_stack_up_and_sack_carries_rack() {
    let stack = |overrides: &[(&str, &str)]| only(SAMPLE, overrides).flows[0].stack;
    assert_eq!(stack(&[("profile", "newreno")]), TcpProfile::NEWRENO);
    assert_eq!(stack(&[("profile", "ns2-linux")]), TcpProfile::NS2_LINUX);
    let proportional = [("profile", "{ base = \"ns2-linux\", rate_halving = false }")];
    assert_eq!(stack(&proportional), TcpProfile { repair: LossRepair::LINUX, ..TcpProfile::NS2_LINUX });
    let halving = ("profile", "{ base = \"sack\", rate_halving = true }");
    assert_eq!(stack(&[halving]), TcpProfile { repair: LossRepair::NS2, ..TcpProfile::SACK });
    assert_eq!(stack(&[halving, ("flows.0.profile", "{ rate_halving = false }")]), TcpProfile::SACK);
    let repair = LossRepair { loss_detection: LossDetection::Rfc6675, reduction: Reduction::Halving };
    assert_eq!(stack(&[("profile", "{ base = \"ns2-linux\", sack = false }")]).repair, repair);
    assert_eq!(stack(&[("flows.0.profile", "sack")]), TcpProfile::SACK);
    let repair = LossRepair { loss_detection: LossDetection::Rfc6675, ..LossRepair::LINUX };
    let without_sack = TcpProfile { sack: false, repair, tlp: false, ..TcpProfile::LINUX };
    assert_eq!(stack(&[("profile.sack", "false")]), without_sack);
    let over_both = [("profile", "newreno"), ("flows.0.profile", "{ undo = true }"), ("flows.0.delayed_ack", "false")];
    assert_eq!(stack(&over_both), TcpProfile { undo: true, delayed_ack: false, ..TcpProfile::NEWRENO });
    let in_the_group = [("flows.0.initial_window", "3"), ("flows.0.rto_min", "1s"), ("flows.0.ecn", "true")];
    let expected = TcpProfile { initial_window: 3, rto_min: Nanos::from_secs(1), ecn: true, ..TcpProfile::LINUX };
    assert_eq!(stack(&in_the_group), expected);
}

#[test]
fn every_switch_of_the_profile_reaches_the_stack() {
    let flipped = |name: &str| {
        let of = |value| only(SAMPLE, &[("profile.base", "sack"), (&format!("profile.{name}"), value)]).flows[0].stack;
        of("true") != of("false")
    };
    let switches = schema::keys_of("profile").filter(|key| key.kind == schema::KeyType::Flag);
    let deaf: Vec<_> = switches.map(|key| key.name).filter(|name| !flipped(name)).collect();
    assert!(deaf.is_empty(), "{deaf:?} change nothing");
}

#[test]
fn a_path_starts_where_it_was_written() {
    let in_the_file = SAMPLE.replace("cubic_plus", "mine.bpf.c");
    assert_eq!(cc(&only(&in_the_file, &[]), 0), "lines/mine.bpf.c");
    assert_eq!(cc(&only(SAMPLE, &[("flows.0.cc", "./mine.bpf.c#second")]), 0), "./mine.bpf.c#second");
}

#[test]
fn the_kernel_s_own_controls_are_told_from_ours() {
    let text = SAMPLE.replace("params = {", "params.cubic_plus = {");
    let text = text + "[sweep]\n\"flows.0.cc\" = [\"cubic_plus\", \"kernel:cubic\"]\n";
    let cells = experiment(&text, &[]).points;
    assert_eq!(cells[0].scenario.flows[0].cc.source, MechanismSource::Builtin("cubic_plus".into()));
    assert_eq!(cells[1].scenario.flows[0].cc.source, MechanismSource::Kernel("cubic".into()));
    assert!(cells[1].scenario.flows[0].cc.params.is_empty());
    assert_eq!(cells[1].axes, [("flows.0.cc".to_string(), "kernel:cubic".to_string())]);
}

#[test]
fn params_of_a_name_go_to_that_control_only() {
    let text = SAMPLE.replace("threshold = \"30ms\"", "cubic_plus = { theta = 0.9, period = \"1s\" }, x = { y = 2 }");
    let of = |cc: &str| only(&text, &[("flows.*.cc", cc)]).flows[0].cc.params.clone();
    let period = |text: &str| ("period".to_string(), ParamValue::Text(text.into()));
    assert_eq!(of("reno"), [period("100ms")].into());
    assert_eq!(of("cubic_plus"), [period("1s"), ("theta".into(), ParamValue::Text("0.9".into()))].into());
    assert_eq!(of("./b/x.bpf.c"), [period("100ms"), ("y".into(), ParamValue::Integer(2))].into());
    assert_eq!(of("./b/z.bpf.c#x"), of("./b/x.bpf.c"));
}

#[test]
fn contents_of_maps_are_read_overridden_and_kept_to_their_control() {
    let maps = "maps = { rates = { 0 = 10, 0x1 = [1, -2] }, x = { rates = { 0 = 20 }, flags = { 7 = 1 } } }\n";
    let text = SAMPLE.replace("params = {", &format!("{maps}params = {{"));
    let of = |overrides: &[(&str, &str)]| only(&text, overrides).flows[0].cc.maps.clone();
    let of_all: BTreeMap<_, _> = [("0".to_string(), vec![10]), ("0x1".to_string(), vec![1, -2])].into();
    let reno = ("flows.*.cc", "reno");
    assert_eq!(of(&[reno]), [("rates".to_string(), of_all)].into());
    let of_x: BTreeMap<_, _> = [("0".to_string(), vec![20]), ("0x1".to_string(), vec![1, -2])].into();
    let flags: BTreeMap<_, _> = [("7".to_string(), vec![1])].into();
    let x = ("flows.*.cc", "./b/x.bpf.c");
    assert_eq!(of(&[x]), [("rates".to_string(), of_x), ("flags".to_string(), flags)].into());
    let most = "18446744073709551615";
    assert_eq!(of(&[reno, ("flows.0.maps.rates.0", most)])["rates"]["0"], [u64::MAX as i128]);

    let swept = format!("{text}[sweep]\n\"flows.0.maps.rates.0\" = [1, 2]\n");
    let cells = experiment(&swept, &[reno]).points;
    let rates: Vec<_> = cells.iter().map(|cell| cell.scenario.flows[0].cc.maps["rates"]["0"][0]).collect();
    assert_eq!(rates, [1, 2]);

    let cell = &experiment(&text, &[x]).points[0];
    assert!(cell.locate("flows.0.maps.flags.7").ends_with(": flows.0.maps.x.flags.7"));
    assert!(cell.locate("flows.0.maps.rates.0x1").ends_with(": flows.0.maps.rates.0x1"));
}

const SWEEP: &str = r#"
[sweep]
flows.0.cc = ["cubic", "reno"]
"link.bottleneck.queue.limit" = ["50kb", "300p"]
case = [
    { label = "near", "link.bottleneck.delay" = "1ms", flows.0.params = { period = "5ms" } },
    { label = "far", link.bottleneck.delay = "50ms", seed = 9 },
]
"#;

#[test]
fn a_sweep_is_a_grid_with_the_last_axis_fastest() {
    let experiment = experiment(&format!("{SAMPLE}{SWEEP}"), &[]);
    let expected = [
        ["cubic", "50kb", "near"],
        ["cubic", "50kb", "far"],
        ["cubic", "300p", "near"],
        ["cubic", "300p", "far"],
        ["reno", "50kb", "near"],
        ["reno", "50kb", "far"],
        ["reno", "300p", "near"],
        ["reno", "300p", "far"],
    ];
    assert_eq!(axes(&experiment), expected);
    let names: Vec<_> = experiment.points[0].axes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["flows.0.cc", "link.bottleneck.queue.limit", "case"]);
    let last = &experiment.points[7].scenario;
    assert_eq!((cc(last, 0), last.seed, last.links[0].forward.delay), ("reno", 9, Nanos::from_millis(50)));
    assert_eq!(last.links[0].forward.queue, Queue::Droptail { limit: Some(Limit::Packets(300)), ecn_threshold: None });
    // The settings of a case apply in addition to the file, and only in that case.
    assert_eq!(last.flows[0].cc.params["period"], ParamValue::Text("100ms".into()));
    let near = &experiment.points[6].scenario.flows[0].cc.params;
    assert_eq!(near["period"], ParamValue::Text("5ms".into()));
    assert_eq!(near["threshold"], ParamValue::Text("30ms".into()));
}

#[test]
fn an_override_wins_over_an_axis() {
    let text = format!("{SAMPLE}{SWEEP}");
    let of_one_axis = experiment(&text, &[("flows.*.cc", "vegas")]);
    assert_eq!(axes(&of_one_axis), [["50kb", "near"], ["50kb", "far"], ["300p", "near"], ["300p", "far"]]);
    assert!(of_one_axis.points.iter().all(|cell| cc(&cell.scenario, 0) == "vegas"));
    let within_a_case = experiment(&text, &[("seed", "3")]);
    assert_eq!(within_a_case.points.len(), 8);
    assert!(within_a_case.points.iter().all(|cell| cell.scenario.seed == 3));
}

#[test]
fn an_axis_may_come_from_the_command_line() {
    let experiment = experiment(SAMPLE, &[("sweep.flows.0.count", "[1, 5]"), ("name", "counted")]);
    assert_eq!(axes(&experiment), [["1"], ["5"]]);
    assert_eq!(experiment.name, "counted");
    assert_eq!(experiment.points[1].scenario.flows[0].count, 5);
}

/// Returns the labels of an axis with this range.
fn labels(key: &str, range: &str) -> Vec<String> {
    let experiment = experiment(SAMPLE, &[(&format!("sweep.{key}"), range)]);
    experiment.points.iter().map(|cell| cell.axes[0].1.clone()).collect()
}

#[test]
fn a_range_is_spelt_out_in_the_units_of_its_key() {
    let rate = "link.bottleneck.rate";
    assert_eq!(
        labels(rate, r#"{ from = "500kbit", to = "2mbit", step = "500kbit" }"#),
        ["500kbit", "1mbit", "1500kbit", "2mbit"]
    );
    assert_eq!(labels(rate, r#"{ from = "1mbit", to = "2mbit", step = "600kbit" }"#), ["1mbit", "1600kbit"]);
    assert_eq!(
        labels(rate, r#"{ from = "1mbit", to = "1gbit", factor = 10 }"#),
        ["1mbit", "10mbit", "100mbit", "1gbit"]
    );
    let limit = "link.bottleneck.queue.limit";
    assert_eq!(
        labels(limit, r#"{ from = "50p", to = "6400p", factor = 2 }"#),
        ["50p", "100p", "200p", "400p", "800p", "1600p", "3200p", "6400p"]
    );
    assert_eq!(labels(limit, r#"{ from = "64kib", to = "1mb", count = 2 }"#), ["64kib", "1mb"]);
    assert_eq!(labels("link.bottleneck.delay", r#"{ from = "0s", to = "1s", count = 3 }"#), ["0s", "500ms", "1s"]);
    assert_eq!(labels("flows.0.count", "{ from = 1, to = 10, step = 3 }"), ["1", "4", "7", "10"]);
    assert_eq!(labels("flows.0.params.alpha", "{ from = -1, to = 1, step = 1 }"), ["-1", "0", "1"]);
    let drift = r#"{ from = "-100ppm", to = "100ppm", step = "100ppm" }"#;
    assert_eq!(labels("flows.0.clock.drift", drift), ["-100ppm", "0ppb", "100ppm"]);
    let offset = r#"{ from = "-1s", to = "1s", count = 3 }"#;
    assert_eq!(labels("flows.0.clock.offset", offset), ["-1s", "0ns", "1s"]);
    assert_eq!(labels("flows.0.params.beta", r#"{ from = "70%", to = "90%", step = "10%" }"#), ["70%", "80%", "90%"]);
}

#[test]
fn values_between_the_ends_have_three_digits() {
    let loss = "link.bottleneck.loss";
    assert_eq!(
        labels(loss, r#"{ from = "0.001%", to = "1%", count = 7, scale = "log" }"#),
        ["0.001%", "0.00316%", "0.01%", "0.0316%", "0.1%", "0.316%", "1%"]
    );
    assert_eq!(labels(loss, r#"{ from = "0%", to = "1%", count = 4 }"#), ["0%", "0.333%", "0.667%", "1%"]);
    let rate = "link.bottleneck.rate";
    assert_eq!(
        labels(rate, r#"{ from = "1mbit", to = "10mbit", count = 4, scale = "log" }"#),
        ["1mbit", "2150kbit", "4640kbit", "10mbit"]
    );
    assert_eq!(labels(rate, r#"{ from = "10mbit", to = "11mbit", count = 4 }"#)[1..3], ["10333kbit", "10667kbit"]);
}

#[test]
fn a_range_may_be_a_table_of_its_own() {
    let experiment = experiment(&format!("{SAMPLE}[sweep.flows.0.count]\nfrom = 1\nto = 2\nstep = 1\n"), &[]);
    assert_eq!(axes(&experiment), [["1"], ["2"]]);
    assert_eq!(experiment.points[1].scenario.flows[0].count, 2);
}

#[test]
fn an_axis_from_the_command_line_replaces_the_file_s() {
    let text = format!("{SAMPLE}[sweep]\n\"flows.0.count\" = [1, 2, 3]\n");
    for value in ["[7, 8]", "{ from = 7, to = 8, step = 1 }"] {
        assert_eq!(axes(&experiment(&text, &[("sweep.flows.0.count", value)])), [["7"], ["8"]]);
    }
}

#[test]
fn a_table_on_an_axis_replaces_the_whole_table() {
    let sweep = "[sweep]\n\"flows.0.params\" = [{ a = 1 }, { b = true }]";
    let experiment = experiment(&format!("{SAMPLE}{sweep}"), &[]);
    assert_eq!(axes(&experiment), [["{ a = 1 }"], ["{ b = true }"]]);
    let params = &experiment.points[1].scenario.flows[0].cc.params;
    assert_eq!(*params, [("b".to_string(), ParamValue::Bool(true))].into());
}

#[test]
fn later_stages_can_name_the_line() {
    let text = SAMPLE.replace("threshold = \"30ms\"", "cubic_plus = { theta = 0.9 }");
    let with_sweep = experiment(&format!("{text}\n[sweep]\n\"flows.0.cc\" = [\"cubic_plus\"]\n"), &[]);
    let cell = &with_sweep.points[0];
    assert_eq!(cell.locate("flows.0.cc"), "lines/home.toml:22: flows.0.cc");
    assert_eq!(cell.locate("flows.0.stop"), "lines/home.toml:14: flows.0.stop");
    assert_eq!(cell.locate("flows.0.params.theta"), "lines/home.toml:16: flows.0.params.cubic_plus.theta");
    assert_eq!(cell.locate("flows.0.params.period"), "lines/home.toml:16: flows.0.params.period");
    let overridden = experiment(SAMPLE, &[("flows.0.cc", "reno")]);
    assert_eq!(overridden.points[0].locate("flows.0.cc"), "flows.0.cc");
}

#[test]
fn the_same_experiment_has_the_same_json_and_another_has_another() {
    let json = |overrides: &[(&str, &str)]| serde_json::to_string(&only(SAMPLE, overrides)).unwrap();
    assert_eq!(json(&[]), json(&[("link.bottleneck.rate", "20000kbit"), ("warmup", "10000ms")]));
    for change in
        [("seed", "2"), ("link.bottleneck.loss", "0.1%"), ("flows.0.params.period", "101ms"), ("profile.undo", "false")]
    {
        assert_ne!(json(&[]), json(&[change]), "{change:?}");
    }
}

#[test]
fn the_schema_has_every_key_once() {
    let mut paths: Vec<_> = schema::all().map(|key| key.path()).collect();
    let count = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), count);
}

/// The schema's defaults equal the parameters' own defaults.
#[test]
fn a_discipline_without_parameters_has_the_kernel_s() {
    let of = |kind: &str| {
        only(SAMPLE, &[("link.bottleneck.queue", &format!("{{ kind = \"{kind}\" }}"))]).links.remove(0).forward.queue
    };
    let defaults = [
        Discipline::Codel(Default::default()),
        Discipline::FqCodel(Default::default()),
        Discipline::Pie(Default::default()),
        Discipline::FqPie(Default::default()),
        Discipline::Prio(Default::default()),
        Discipline::PfifoFast(Default::default()),
        Discipline::Cake(Default::default()),
    ];
    for default in defaults {
        assert_eq!(of(default.name()), Queue::from(default));
    }
}

#[test]
fn what_is_not_said_of_red_follows_from_the_rest() {
    let of = |rest: &str| {
        only(SAMPLE, &[("link.bottleneck.queue", &format!("{{ kind = \"red\", {rest} }}"))])
            .links
            .remove(0)
            .forward
            .queue
    };
    let Queue::Managed { discipline: Discipline::Red(red), .. } = of("limit = \"120kb\"") else { panic!("RED") };
    assert_eq!((red.min, red.max, red.burst, red.probability), (Bytes(10_000), Bytes(30_000), 16, 0.02));
    let Queue::Managed { discipline: Discipline::Red(red), .. } = of("limit = \"120kb\", min = \"20kb\"") else {
        panic!("RED")
    };
    assert_eq!((red.max, red.burst), (Bytes(60_000), 33));
}

#[test]
fn cake_s_choices_are_the_kernel_s_numbers() {
    let queue = "{ kind = \"kernel:cake\", bandwidth = \"19mbit\", diffserv = \"besteffort\", flowmode \
        = \"dual-srchost\", atm = \"ptm\" }";
    let Queue::Managed { who: Who::Kernel(said), discipline } =
        only(SAMPLE, &[("link.bottleneck.queue", queue)]).links.remove(0).forward.queue
    else {
        panic!("the kernel's")
    };
    assert_eq!(discipline.attributes(said), [(2, 19_000_000 / 8), (3, 3), (5, 5), (4, 2)]);
}

/// A key that the file has comes before the keywords; those of the wire add up, but `raw` and `conservative` begin anew.
#[test]
fn cake_takes_the_keywords_of_tc() {
    let queue = |keys: &str| only(SAMPLE, &[("link.bottleneck.queue", keys)]).links.remove(0).forward.queue;
    let cake = |keywords: &str| {
        let Queue::Managed { discipline: Discipline::Cake(cake), .. } =
            queue(&format!("{{ kind = \"cake\", {keywords} }}"))
        else {
            panic!("it is CAKE")
        };
        (cake.overhead, cake.mpu, cake.atm, cake.rtt.as_micros() / 1000)
    };
    assert_eq!(cake("keywords = [\"docsis\", \"metro\"]"), (18, 64, Atm::Noatm, 10));
    assert_eq!(cake("keywords = [\"pppoe-ptm\", \"ether-vlan\"]"), (34, 0, Atm::Ptm, 100));
    assert_eq!(cake("keywords = [\"ether-vlan\", \"conservative\", \"ptm\"]"), (48, 0, Atm::Ptm, 100));
    assert_eq!(cake("keywords = [\"docsis\", \"raw\"]"), (0, 64, Atm::Noatm, 100));
    assert_eq!(cake("keywords = [\"satellite\"], overhead = 7"), (7, 0, Atm::Noatm, 1000));
    assert_eq!(cake("keywords = [\"ethernet\"], mpu = 7, rtt = \"5ms\""), (38, 7, Atm::Noatm, 5));
    let kernels = queue("{ kind = \"kernel:cake\", keywords = [\"bridged-ptm\", \"lan\"] }");
    let Queue::Managed { who: Who::Kernel(said), discipline } = &kernels else { panic!("the kernel's") };
    assert_eq!(discipline.attributes(*said), [(7, 1000), (6, 22), (4, 2)]);
    assert_eq!(queue(&table(&kernels.written())), kernels);
}

#[test]
fn a_queue_of_the_kernel_s_keeps_what_is_said() {
    let queue = "{ kind = \"kernel:fq_codel\", target = \"2ms\", flows = 16, ecn = false }";
    let scenario = only(SAMPLE, &[("link.bottleneck.queue", queue), ("flows.0.tos", "0x10")]);
    let discipline =
        Discipline::FqCodel(FqCodel { target: Nanos::from_millis(2), flows: 16, ecn: false, ..FqCodel::default() });
    let said = Said::these(discipline.keys(), &["kind", "target", "flows", "ecn"]);
    let queue = &scenario.links[0].forward.queue;
    assert_eq!(*queue, Queue::Managed { who: Who::Kernel(said), discipline });
    let written = "{ kind = \"kernel:fq_codel\", flows = 16, target = \"2ms\", ecn = false }";
    assert_eq!(table(&queue.written()), written);
    assert_eq!((scenario.links[0].forward.queue.limit(), scenario.flows[0].tos), (None, 16));
    let refused = scenario.only_in_the_kernel().unwrap();
    assert_eq!(refused.key, "link.bottleneck.queue.kind");
    assert_eq!(
        refused.to_string(),
        "kernel:fq_codel belongs to the running kernel: run it with --on kernel or --on \
                                        vm"
    );
    let netem = only(SAMPLE, &[("emulator", "netem")]);
    assert_eq!(netem.only_in_the_kernel().unwrap().key, "emulator");
}

/// Two links, with groups over one of them, over both, and over both in the opposite direction.
#[test]
fn paths_are_links_by_name() {
    const TWO: &str = r#"
        duration = "1s"
        [link.home]
        rate = "10mbit"
        delay = "5ms"
        queue = { limit = "50kb" }
        [link.home.reverse]
        queue = { limit = "50kb" }
        [link.core]
        rate = "1gbit"
        delay = "20ms"
        queue = { limit = "1mb" }
        [[flows]]
        cc = "cubic"
        [[flows]]
        cc = "cubic"
        path = ["core"]
        [[flows]]
        cc = "cubic"
        reverse = true
        path = ["core", "home"]
        reverse_path = ["home"]
    "#;
    let scenario = only(TWO, &[]);
    let names: Vec<_> = scenario.directions().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["home", "home.reverse", "core", "core.reverse"]);
    let paths: Vec<_> = scenario.flows.iter().map(|g| (g.path.clone(), g.reverse_path.clone())).collect();
    assert_eq!(paths, [(vec![0, 1], vec![1, 0]), (vec![1], vec![1]), (vec![1, 0], vec![0])]);
    let data =
        |group: usize| scenario.data_path(&scenario.flows[group]).iter().map(|l| l.name.clone()).collect::<Vec<_>>();
    assert_eq!(data(0), ["home", "core"]);
    assert_eq!(data(2), ["home.reverse"]);
    assert_eq!(scenario.propagation_rtt(&scenario.flows[0]), Nanos::from_millis(50));
    assert_eq!(scenario.bottleneck_of(&scenario.flows[0]).name, "home");
}

/// A limit that means "no limit" must not overflow to a small one: values that depend on it stay at the largest number.
#[test]
fn a_huge_limit_gives_a_huge_window() {
    for limit in ["18446744073709551615p", "5000000000000000000b"] {
        let text = format!(
            "duration = \"1s\"\n[link.bottleneck]\nrate = \"10mbit\"\ndelay = \"1ms\"\n\
                queue = {{ limit = \"{limit}\" }}\n[[flows]]\ncc = \"reno\"\n"
        );
        let experiment = load_text(&text, "huge.toml", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        let scenario = &experiment.points[0].scenario;
        assert_eq!(scenario.ample_window(&scenario.flows[0]), Bytes(u64::MAX), "{limit}");
    }
}

/// A group's name is for tables and figures. The JSON of a scenario without names does not mention them, so that its
/// hash stays.
#[test]
fn flows_may_have_names() {
    let named = only(SAMPLE, &[("flows.0.name", "backup")]);
    let scenario = only(SAMPLE, &[]);
    assert_eq!((named.flows[0].name.as_deref(), scenario.flows[0].name.as_deref()), (Some("backup"), None));
    let group = serde_json::to_value(&scenario.flows[0]).unwrap();
    assert!(!group.as_object().unwrap().contains_key("name"));
    let named: Scenario = serde_json::from_value(serde_json::to_value(&named).unwrap()).unwrap();
    assert_eq!(named.flows[0].name.as_deref(), Some("backup"));
}
