//! Scenarios to start from, and ways to run them.

use engine::tap::Tap;
use engine::{Options, Outcome};
use mechanism::Library;
use scenario::model::{Access, CcSource, CongestionControl, FlowGroup, Limit, Link, ParamValue, Queue, Scenario};
use scenario::model::{Service, Stack};
use scenario::units::{Bytes, Nanos, Rate};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;

static LIBRARY: LazyLock<Library> =
    LazyLock::new(|| Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms")));

/// A link without loss, mark or bound.
pub fn link(name: &str, mbit: f64, delay: Nanos) -> Link {
    Link {
        name: name.into(),
        service: Service::Rate(Rate((mbit * 1e6) as u64)),
        delay,
        queue: Queue::Droptail { limit: None, ecn_threshold: None },
        loss: 0.0,
    }
}

/// A bounded queue that never marks.
pub fn droptail(limit: Limit) -> Queue {
    Queue::Droptail { limit: Some(limit), ecn_threshold: None }
}

/// A built-in control.
pub fn control(name: &str) -> CongestionControl {
    CongestionControl { source: CcSource::Builtin(name.into()), params: Default::default() }
}

/// A built-in control with parameters.
pub fn control_with(name: &str, params: &[(&str, ParamValue)]) -> CongestionControl {
    let params = params.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
    CongestionControl { params, ..control(name) }
}

/// A control that lives among the tests.
pub fn test_control(file: &str) -> CongestionControl {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/controls")).join(file);
    CongestionControl { source: CcSource::File(path), params: Default::default() }
}

/// One endless flow of 1500-byte packets.
pub fn flow(cc: &str) -> FlowGroup {
    FlowGroup {
        cc: control(cc),
        count: 1,
        access: Access::default(),
        start: Nanos::ZERO,
        stagger: Nanos::ZERO,
        stop: None,
        size: None,
        packet: Bytes(1500),
        receive_window: None,
        stack: Stack::LINUX,
    }
}

/// One Reno flow over 10 Mbit/s and 40 ms, there and back, whose queue never drops.
pub fn scenario(seconds: u64) -> Scenario {
    Scenario {
        name: "test".into(),
        duration: Nanos::from_secs(seconds),
        warmup: Nanos::ZERO,
        seed: 1,
        bottleneck: link("bottleneck", 10.0, Nanos::from_millis(20)),
        reverse: link("bottleneck.reverse", 1000.0, Nanos::from_millis(20)),
        flows: vec![flow("reno")],
    }
}

/// Runs it, with a tap.
pub fn watch<T: Tap>(scenario: &Scenario, options: &Options, tap: T) -> (Outcome, T) {
    engine::watch(scenario, &LIBRARY, options, &mut |_| ControlFlow::Continue(()), tap)
        .unwrap_or_else(|e| panic!("{e:?}"))
}

/// Runs it.
pub fn run(scenario: &Scenario, options: &Options) -> Outcome {
    engine::run(scenario, &LIBRARY, options, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|e| panic!("{e:?}"))
}

/// Runs it for its records and a series.
pub fn run_with_series(scenario: &Scenario, step: Nanos) -> (scenario::records::Run, scenario::records::Series) {
    let outcome = run(scenario, &Options { series: Some(step), ..Options::default() });
    (outcome.run, outcome.series.expect("asked for"))
}
