//! Flows that arrive at random, and sizes that are drawn.

use crate::auditor::{Auditor, mss};
use crate::world::*;
use model::units::{Bytes, Frequency, Nanos};
use model::workload::{Arrivals, Pareto, Poisson, Sizes};
use model::{FlowGroup, Scenario};
use unbloat_engine::Options;

/// Short flows beside a long one, at 40 % of the link.
fn short_flows() -> Scenario {
    let mut s = scenario(60);
    let arrivals = Some(Arrivals::Poisson(Poisson { rate: Frequency(10_000_000) }));
    let sizes = Some(Sizes::Pareto(Pareto { mean: Bytes(50_000), shape: 1.2, most: Some(Bytes(1_000_000)) }));
    s.flows = vec![flow("cubic"), FlowGroup { arrivals, sizes, ..flow("cubic") }];
    s.links[0].forward.queue = droptail(model::Limit::Packets(50));
    s
}

/// Each flow has its row, opens at its drawn time, and delivers its drawn size. A flow that the end of the run cuts off
/// has no completion time.
#[test]
fn every_drawn_flow_is_run() {
    let s = short_flows();
    let arrivals = s.flow_arrivals().concat();
    let (outcome, auditor) = watch(&s, &Options::default(), Auditor::new(&s));
    assert_eq!((outcome.run.flows.len(), auditor.flows.len()), (arrivals.len(), arrivals.len()));
    assert!(arrivals.len() > 500);
    let mut unfinished = 0;
    for (arrival, (record, flow)) in arrivals.iter().zip(outcome.run.flows.iter().zip(&auditor.flows)).skip(1) {
        let size = arrival.size.expect("a size was drawn").0;
        match record.completion_s {
            Some(_) => assert_eq!(flow.delivered_bytes(), size),
            None => unfinished += 1,
        }
        assert!(record.completion_s.is_none_or(|s| s < (outcome.run.duration_s - arrival.at.as_secs_f64())));
    }
    assert!((1..20).contains(&unfinished), "{unfinished} flows did not come to their end");
}

/// The time at which each flow's SYN leaves.
#[test]
fn flows_open_when_they_were_drawn_to() {
    let s = short_flows();
    let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    for (number, arrival) in s.flow_arrivals().concat().iter().enumerate() {
        let first = script.sent.iter().find(|(_, data)| data.flow == number as u32).expect("it opens");
        assert_eq!(first.0, arrival.at, "flow {number}");
    }
}

/// On a link with room for all, a flow of one segment takes two round trips, whatever other flows there are.
#[test]
fn a_flow_of_one_segment_takes_two_round_trips() {
    let mut s = scenario(30);
    s.links[0].forward = link("bottleneck", 1000.0, Nanos::from_millis(20));
    let group = FlowGroup { size: Some(Bytes(1000)), ..flow("reno") };
    s.flows = vec![FlowGroup { arrivals: Some(Arrivals::Poisson(Poisson { rate: Frequency(30_000_000) })), ..group }];
    assert!(mss(&s.flows[0]) > 1000);
    let completions = run(&s, &Options::default()).run.flows.into_iter().filter_map(|flow| flow.completion_s);
    let completions: Vec<_> = completions.collect();
    assert!(completions.len() > 700);
    assert!(completions.iter().all(|s| (0.080..0.0802).contains(s)), "{completions:?}");
}

/// The rows of a flow that arrives at random begin and end with it, and show all that it delivered. The long flow has
/// rows until the end.
#[test]
fn series_of_many_flows_end_with_them() {
    let s = short_flows();
    let step = Nanos::from_millis(100);
    let (run, series) = run_with_series(&s, step);
    let rows = &series.flows;
    let of = |flow: u32| (0..rows.time_s.len()).filter(move |row| rows.flow[*row] == flow);
    assert_eq!(of(0).count(), 600);
    for (number, arrival) in s.flow_arrivals().concat().iter().enumerate().skip(1) {
        let Some(completion) = run.flows[number].completion_s else { continue };
        let end = arrival.at.as_secs_f64() + completion;
        assert!(
            of(number as u32).all(|row| rows.time_s[row] >= arrival.at.as_secs_f64() && rows.time_s[row] <= end + 0.1)
        );
        let delivered: f64 = of(number as u32).map(|row| rows.goodput_mbps[row] * 1e6 / 8.0 * 0.1).sum();
        let size = arrival.size.expect("a size was drawn").0 as f64;
        assert!((delivered - size).abs() < 1.0 || end > 59.9, "flow {number}: {delivered} of {size} bytes");
    }
}
