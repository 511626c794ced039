//! A transfer with scripted losses, and its observations.

use crate::world::*;
use model::records::Flow;
use model::series::FlowSeries;
use model::units::{Bytes, Nanos};
use model::{FlowGroup, Scenario, Service, TcpProfile, Trace, Transmitter};
use std::ops::Range;
use std::sync::Arc;
use unbloat_engine::Options;
use unbloat_engine::packet::Data;

/// A transfer of `segments` segments over 40 ms there and back, with room for everything.
pub fn transfer(segments: u64, stack: TcpProfile) -> Scenario {
    let mut s = scenario(30);
    s.links[0].forward = link("bottleneck", 100.0, Nanos::from_millis(20));
    let header = if stack.timestamps { 52 } else { 40 };
    s.flows[0] = FlowGroup { size: Some(Bytes(segments * (1500 - header))), stack, ..flow("reno") };
    s
}

/// The record of the flow, and time and number of each retransmission.
pub fn outcome(s: &Scenario, loses: impl FnMut(Nanos, &Data) -> bool) -> (Flow, Vec<(Nanos, u32)>) {
    let (outcome, script) = watch(s, &Options::default(), Script::new(loses));
    let flow = outcome.run.flows[0].clone();
    assert!(flow.completion_s.is_some() || s.flows[0].size.is_none(), "it never completes: {flow:?}");
    (flow, script.retransmissions())
}

/// The segments that were sent again.
pub fn segments(retransmissions: &[(Nanos, u32)]) -> Vec<u32> {
    retransmissions.iter().map(|(_, segment)| *segment).collect()
}

/// The value that a congestion control saw last.
pub fn last_seen(s: &Scenario, loses: impl FnMut(Nanos, &Data) -> bool) -> u32 {
    series_of(s, loses).ssthresh_packets.iter().flatten().last().expect("it shows something") - 1
}

/// The series of the flow, with a row each millisecond.
pub fn series_of(s: &Scenario, loses: impl FnMut(Nanos, &Data) -> bool) -> FlowSeries {
    let options = Options { series: Some(Nanos::from_millis(1)), ..Options::default() };
    watch(s, &options, Script::new(loses)).0.series.expect("asked for").flows
}

/// The values without consecutive repetitions.
pub fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut all: Vec<u32> = values.collect();
    all.dedup();
    all
}

/// A link with ten opportunities each millisecond, but none in these milliseconds.
pub fn outage_of(silent: Range<u64>) -> Service {
    let working = (1..5000).filter(|ms| !silent.contains(ms));
    let opportunities: Vec<Nanos> = working.flat_map(|ms| [Nanos::from_millis(ms); 10]).collect();
    let period = *opportunities.last().unwrap();
    Service::Own(Transmitter::Trace(Arc::new(Trace { path: "outage".into(), opportunities, period })))
}
