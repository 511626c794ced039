//! Tests of flows that arrive at random, and of random sizes: their distributions, and which keys change the draws.

use model::Scenario;
use model::units::Nanos;
use model::workload::FlowArrival;
use std::path::Path;
use unbloat_scenario::load_text;

const BASE: &str = r#"
duration = "2000s"
[link.bottleneck]
rate = "20mbit"
delay = "10ms"
queue = { limit = "500kb" }
[[flows]]
cc = "cubic"
arrivals = { rate = "10/s" }
size = { kind = "pareto", mean = "100kb", shape = 1.5, most = "10mb" }
[[flows]]
cc = "cubic"
"#;

fn scenario(overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    load_text(BASE, "base.toml", Path::new(""), &overrides)
        .unwrap_or_else(|error| panic!("{error}"))
        .points
        .remove(0)
        .scenario
}

fn first_group(overrides: &[(&str, &str)]) -> Vec<FlowArrival> {
    scenario(overrides).flow_arrivals().remove(0)
}

fn sizes(arrivals: &[FlowArrival]) -> Vec<f64> {
    arrivals.iter().map(|arrival| arrival.size.unwrap().0 as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The gaps of a Poisson process are exponential: their mean and their standard deviation are both the rate's inverse.
#[test]
fn poisson_arrivals_are_as_many_and_as_irregular_as_they_should_be() {
    let arrivals = first_group(&[]);
    let expected = 20_000.0_f64;
    assert!((arrivals.len() as f64 - expected).abs() < 4.0 * expected.sqrt(), "{} flows", arrivals.len());
    let gaps: Vec<_> = arrivals.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64()).collect();
    let deviation = (mean(&gaps.iter().map(|gap| gap * gap).collect::<Vec<_>>()) - mean(&gaps).powi(2)).sqrt();
    assert!((mean(&gaps) - 0.1).abs() < 0.003 && (deviation - 0.1).abs() < 0.003, "{} s, {deviation} s", mean(&gaps));
}

#[test]
fn arrivals_lie_between_start_and_stop() {
    let between = |arrivals: &[FlowArrival], from, to| {
        arrivals.iter().all(|arrival| arrival.at >= Nanos::from_secs(from) && arrival.at < Nanos::from_secs(to))
    };
    let whole = first_group(&[]);
    assert!(between(&whole, 0, 2000));
    let part = first_group(&[("flows.0.start", "100s"), ("flows.0.stop", "140s")]);
    assert!(between(&part, 100, 140) && (300..500).contains(&part.len()), "{} flows", part.len());
}

/// Sizes have the mean of the file, with and without a bound, and no draw exceeds the bound.
#[test]
fn sizes_have_the_mean_that_is_asked_for() {
    let longer = ("duration", "20000s");
    for (size, tolerance) in [
        ("{ kind = \"pareto\", mean = \"100kb\", shape = 1.2, most = \"1mb\" }", 0.01),
        ("{ kind = \"pareto\", mean = \"100kb\", shape = 1.5, most = \"10mb\" }", 0.03),
        ("{ kind = \"pareto\", mean = \"100kb\", shape = 3.0 }", 0.02),
        ("{ kind = \"lognormal\", mean = \"100kb\", sigma = 1.0 }", 0.02),
        ("{ kind = \"exponential\", mean = \"100kb\" }", 0.01),
    ] {
        let sizes = sizes(&first_group(&[longer, ("flows.0.size", size)]));
        assert!((mean(&sizes) / 1e5 - 1.0).abs() < tolerance, "{size}: {} bytes in the mean", mean(&sizes));
        assert!(!size.contains("most") || sizes.iter().all(|size| *size <= if tolerance < 0.02 { 1e6 } else { 1e7 }));
    }
}

/// P(size > x) falls with the power `shape`: without a bound, a tenth of the flows is larger than the smallest times
/// 10^(1/shape).
#[test]
fn the_tail_of_pareto_sizes_is_a_power_law() {
    let sizes = sizes(&first_group(&[("flows.0.size", "{ kind = \"pareto\", mean = \"60kb\", shape = 1.2 }")]));
    let least: f64 = 60e3 * 0.2 / 1.2;
    assert!(sizes.iter().all(|size| *size >= least.floor()));
    for power in 1..=3 {
        let above = sizes.iter().filter(|size| **size > least * 10f64.powf(power as f64 / 1.2)).count() as f64;
        let expected = sizes.len() as f64 / 10f64.powi(power);
        assert!(
            (above - expected).abs() < 4.0 * expected.sqrt(),
            "{above} of {} above, expected {expected}",
            sizes.len()
        );
    }
}

/// Half of the sizes of a lognormal distribution are below `mean exp(-sigma^2/2)`, 84 % below that times e^sigma.
#[test]
fn lognormal_sizes_have_their_quantiles() {
    let mut sizes = sizes(&first_group(&[("flows.0.size", "{ kind = \"lognormal\", mean = \"100kb\", sigma = 2 }")]));
    sizes.sort_by(f64::total_cmp);
    let median = 1e5 * (-2f64).exp();
    for (share, expected) in [(0.5, median), (0.8413, median * 2f64.exp())] {
        let got = sizes[(share * sizes.len() as f64) as usize];
        assert!((got / expected - 1.0).abs() < 0.06, "{got} bytes at {share}, expected {expected}");
    }
}

/// Arrival times, sizes, groups and seeds each have random streams of their own.
#[test]
fn one_draw_disturbs_no_other() {
    let base = first_group(&[]);
    let faster = first_group(&[("flows.0.arrivals.rate", "20/s")]);
    assert_eq!(sizes(&base), sizes(&faster)[..base.len()]);
    assert!(
        faster[..base.len()]
            .iter()
            .zip(&base)
            .all(|(fast, slow)| fast.at.0.abs_diff(slow.at.0 / 2) <= 2 * base.len() as u64)
    );
    let plain = first_group(&[("flows.0.size", "5kb")]);
    assert!(plain.iter().zip(&base).all(|(plain, drawn)| plain.at == drawn.at));
    let beside = first_group(&[("flows.1.arrivals", "{ rate = \"5/s\" }"), ("link.bottleneck.loss", "1%")]);
    assert_eq!(base, beside);
    let both = scenario(&[("flows.1.arrivals", "{ rate = \"10/s\" }"), ("flows.1.size", "5kb")]).flow_arrivals();
    assert_ne!(both[0][0].at, both[1][0].at);
    assert_ne!(base, first_group(&[("seed", "2")]));
}

/// The draws are these numbers on every machine.
#[test]
fn draws_are_the_same_everywhere() {
    let arrivals = first_group(&[]);
    let first: Vec<_> = arrivals[..3].iter().map(|arrival| (arrival.at.0, arrival.size.unwrap().0)).collect();
    assert_eq!(first, [(111_410_372, 54_729), (142_090_968, 155_774), (289_281_380, 62_889)]);
}

/// Burst traffic, as in papers, needs no draws: flows start one after the other, until all stop.
#[test]
fn flows_in_a_row() {
    let burst =
        [("flows.0.count", "100"), ("flows.0.start", "80s"), ("flows.0.stagger", "10ms"), ("flows.0.stop", "120s")];
    let arrivals = first_group(&burst);
    assert_eq!(
        (arrivals.len(), arrivals[0].at, arrivals[99].at),
        (100, Nanos::from_secs(80), Nanos::from_millis(80_990))
    );
}

/// The keys of workloads can be axes: lists, ranges, and keys inside a table of sizes.
#[test]
fn sweeps_over_workloads() {
    let sweep = r#"
[sweep]
"flows.0.arrivals.rate" = { from = "2.5/s", to = "10/s", factor = 2 }
"flows.0.size.shape" = [1.2, 1.5]
"flows.1.reverse" = [false, true]
"link.bottleneck.reverse.queue.limit" = ["100p"]
"#;
    let experiment = load_text(&format!("{BASE}{sweep}"), "base.toml", Path::new(""), &[]).unwrap();
    assert_eq!(experiment.points.len(), 12);
    let label = |cell: usize, axis: usize| experiment.points[cell].axes[axis].1.as_str();
    assert_eq!([label(0, 0), label(4, 0), label(8, 0)], ["2.5/s", "5/s", "10/s"]);
    let flows = |cell: usize| experiment.points[cell].scenario.flow_arrivals()[0].len();
    assert!(flows(0) < flows(4) && flows(4) < flows(8));
    assert!(!experiment.points[0].scenario.flows[1].reverse && experiment.points[1].scenario.flows[1].reverse);
}
