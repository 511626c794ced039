//! Tests of a scenario's JSON, which another process reads again.

use model::{Portable, Scenario, Service, Trace, Transmitter};
use serde_json::Value;
use std::path::Path;

const LTE: &str = "../../scenarios/traces/lte-small.down";

const EVERYTHING: &str = r#"
    duration = "10s"
    seed = 5

    [link.bottleneck]
    rate = "8mbit"
    delay = "10ms"
    loss = "0.1%"
    queue = { kind = "kernel:fq_codel", target = "7ms" }
    reverse = { trace = "TRACE", queue = { limit = "20p", ecn_threshold = "10p" } }

    [[flows]]
    cc = "kernel:vegas"
    count = 3
    access = { rate = "5mbit", delay = "3ms" }

    [[flows]]
    cc = "cubic_plus"
    params = { threshold = "25ms" }
    profile = { base = "linux", rto_min = "1s" }
    size = "1mb"

    [[flows]]
    cc = "/elsewhere/mine.bpf.c#second"
    params = { gain = 7, gentle = true }
    maps = { rates = { 0 = 18446744073709551615, 1 = [-9223372036854775808, 2] } }
"#;

fn read() -> Scenario {
    let text = EVERYTHING.replace("TRACE", LTE);
    unbloat_scenario::load_text(&text, "everything.toml", Path::new(""), &[])
        .expect("a scenario")
        .points
        .remove(0)
        .scenario
}

fn written(scenario: &Scenario) -> Value {
    serde_json::to_value(Portable(scenario.clone())).expect("JSON")
}

fn read_again(json: Value) -> Result<Scenario, serde_json::Error> {
    serde_json::from_value(json).map(|Portable(scenario)| scenario)
}

#[test]
fn it_is_the_same_scenario() {
    let mut written = read();
    let read = read_again(self::written(&written)).expect("a scenario");
    // A trace is identified by its name and its content, not by its folder.
    let Service::Own(Transmitter::Trace(trace)) = &written.links[0].reverse.service else { panic!("a trace") };
    let without_folder = Trace { path: "lte-small.down".into(), ..Trace::clone(trace) };
    written.links[0].reverse.service = Service::Own(Transmitter::Trace(without_folder.into()));
    assert_eq!(read, written);
}

#[test]
fn what_is_not_known_here_is_refused() {
    let mut json = written(&read());
    json["scenario"]["links"][0]["forward"]["queue"]["discipline"] = "sfq".into();
    let error = read_again(json).expect_err("no such queue");
    assert!(error.to_string().starts_with("unknown variant `sfq`"), "{error}");

    let mut json = written(&read());
    json["texts"][0] = "5\n3\n".into();
    let error = read_again(json).expect_err("no such trace");
    assert!(error.to_string().contains("times in a trace must not decrease"), "{error}");
}

#[test]
fn so_is_one_with_a_discipline_of_our_own() {
    for queue in [
        "drophead\", limit = \"200kb",
        "red\", limit = \"200kb",
        "codel",
        "fq_codel",
        "pie",
        "fq_pie",
        "prio",
        "pfifo_fast",
        "cake\", flowmode = \"dual-srchost",
    ] {
        let text = EVERYTHING.replace("kernel:fq_codel\", target = \"7ms", queue).replace("TRACE", LTE);
        let cells = unbloat_scenario::load_text(&text, "own.toml", Path::new(""), &[]).expect("a scenario").points;
        let written = &cells[0].scenario;
        let read = read_again(self::written(written)).expect("a scenario");
        assert_eq!(read.links[0].forward.queue, written.links[0].forward.queue);
    }
}

#[test]
fn errors_name_the_key_alone() {
    let cell = unbloat_scenario::GridPoint::resolved(read());
    assert_eq!(cell.locate("flows.0.cc"), "?: flows.0.cc");
    assert_eq!(cell.locate("flows.1.params.threshold"), "?: flows.1.params.threshold");
}
