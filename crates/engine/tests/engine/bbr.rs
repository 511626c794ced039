//! BBR from end to end, and the pacer it relies on.

use crate::world::*;
use model::series::{FlowSeries, Series};
use model::units::{Bytes, Nanos};
use model::{Limit, Loss, MechanismRef, MechanismSource, ParamValue, Scenario};
use std::path::PathBuf;
use unbloat_engine::packet::{Data, flag};

/// A fixed window, paced at `rate` bytes of payload a second.
fn paced_window(packets: i64, rate: i64) -> MechanismRef {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources/paced_window.bpf.c"));
    let params = [("window", packets), ("rate", rate)].map(|(name, n)| (name.to_string(), ParamValue::Integer(n)));
    MechanismRef::new(MechanismSource::File(path), params.into())
}

/// The pacing rate counts payload, as in Linux: headers come on top.
#[test]
fn a_pacing_rate_is_a_goodput() {
    let mut s = scenario(12);
    s.warmup = Nanos::from_secs(2);
    s.flows[0].cc = paced_window(100, 1_000_000);
    let run = run(&s, &Default::default()).run;
    let goodput = run.flows[0].goodput_mbps;
    assert!((goodput - 8.0).abs() < 0.01, "{goodput} Mbit/s");
    assert!(run.links[0].queue_delay.queue_delay_ms_max.is_some_and(|ms| ms < 1.0), "paced packets do not queue");
}

/// A timeout does not ask the pacer, but its packet counts: the next one waits for it as well.
#[test]
fn what_bypasses_the_pacer_is_charged() {
    let mut s = scenario(24);
    // One packet in 750 ms; when a retransmission is lost, the next goes out after twice the timeout, 480 ms.
    s.flows[0].cc = paced_window(1, 1448 * 4 / 3);
    s.flows[0].stack.tlp = false;
    let mut losses = 2;
    let script = Script::new(move |now: Nanos, _: &Data| {
        let loses = now >= Nanos::from_secs(16) && losses > 0;
        losses -= loses as u32;
        loses
    });
    let (_, script) = watch(&s, &Default::default(), script);
    let times: Vec<Nanos> = script.sent.iter().map(|(at, _)| *at).filter(|at| *at >= Nanos::from_secs(12)).collect();
    let seconds = (times[times.len() - 1] - times[0]).0 as f64 / 1e9;
    assert!(times.windows(2).any(|pair| (pair[1] - pair[0]).0 < 600_000_000), "no timeout: {times:?}");
    assert!((times.len() - 1) as f64 <= seconds / 0.75 + 0.01, "{} packets in {seconds} s", times.len());
}

/// One BBR flow over 20 Mbit/s and 50 ms, with a queue of `queue_bdp` bandwidth-delay products of 125 kB.
fn bbr(seconds: u64, queue_bdp: f64) -> Scenario {
    let mut s = scenario(seconds);
    s.links[0].forward = link("bottleneck", 20.0, Nanos::from_millis(25));
    s.links[0].reverse.delay = Nanos::from_millis(25);
    s.links[0].forward.queue = droptail(Limit::Bytes(Bytes((queue_bdp * 125_000.0) as u64)));
    s.flows[0].cc = control("bbr");
    s
}

fn between<T: Copy>(flows: &FlowSeries, column: &[T], from_s: f64, to_s: f64) -> Vec<T> {
    let inside = flows.time_s.iter().zip(column).filter(|(t, _)| **t >= from_s && **t < to_s);
    inside.map(|(_, value)| *value).collect()
}

fn greatest_queue(series: &Series, from_s: f64, to_s: f64) -> u64 {
    let links = &series.links;
    let bottleneck = links.time_s.iter().zip(&links.link).zip(&links.queue_bytes);
    let inside = bottleneck.filter(|((t, link), _)| **link == 0 && **t >= from_s && **t < to_s);
    inside.map(|(_, bytes)| *bytes).max().expect("samples")
}

#[test]
fn it_fills_the_link_and_keeps_the_queue_short() {
    let mut s = bbr(24, 4.0);
    s.warmup = Nanos::from_secs(2);
    let (run, series) = run_with_series(&s, Nanos::from_millis(10));
    assert!(run.links[0].utilisation_percent > 95.0, "{} %", run.links[0].utilisation_percent);
    assert_eq!(run.flows[0].lost_packets, 0);
    assert!(run.links[0].queue_bytes_mean < 0.2 * 125_000.0, "{} bytes", run.links[0].queue_bytes_mean);
    // STARTUP overshoots to a window of 2.89 bandwidth-delay products, and DRAIN drains the queue.
    let overshoot = greatest_queue(&series, 0.0, 1.0) as f64 / 125_000.0;
    assert!((1.7..2.3).contains(&overshoot), "{overshoot} bandwidth-delay products");
    let later = greatest_queue(&series, 1.2, 24.0) as f64 / 125_000.0;
    assert!(later < 0.5, "{later} bandwidth-delay products");
}

#[test]
fn startup_doubles_each_round() {
    let (_, series) = run_with_series(&bbr(1, 4.0), Nanos::from_millis(1));
    let flows = &series.flows;
    // The handshake and the first round end at 50 and 100 ms; a round then takes 51.5 ms, the spacing of two packets
    // included.
    let at_round = |round: u32| {
        let end_s = 0.1005 + 0.0515 * round as f64;
        between(flows, &flows.cwnd_packets, end_s, end_s + 0.0015)[0] as f64
    };
    for round in 1..4 {
        let growth = at_round(round + 1) / at_round(round);
        assert!((1.7..2.3).contains(&growth), "round {round}: {} to {}", at_round(round), at_round(round + 1));
    }
    assert!((20.0..24.0).contains(&at_round(1)), "{}", at_round(1));
}

#[test]
fn every_ten_seconds_it_probes_the_rtt_with_four_packets() {
    let (_, series) = run_with_series(&bbr(24, 4.0), Nanos::from_millis(10));
    let flows = &series.flows;
    let small: Vec<f64> =
        flows.time_s.iter().zip(&flows.cwnd_packets).filter(|(_, cwnd)| **cwnd == 4).map(|(t, _)| *t).collect();
    assert!(small.iter().all(|t| (10.0..10.5).contains(t) || (20.0..21.0).contains(t)), "{small:?}");
    for probe in [10.0, 20.0] {
        let samples = small.iter().filter(|t| (probe..probe + 1.0).contains(*t)).count();
        // The time until four are in flight, then 200 ms and at most a round.
        assert!((22..=33).contains(&samples), "{samples} samples of 10 ms from {probe} s on");
    }
    let before = between(flows, &flows.cwnd_packets, 9.5, 10.0)[0];
    let after = between(flows, &flows.cwnd_packets, 10.6, 11.0)[0];
    assert!(before.abs_diff(after) <= 4, "{before} before, {after} after");
}

#[test]
fn random_loss_does_not_slow_it_down() {
    let mut s = bbr(12, 1.0);
    s.warmup = Nanos::from_secs(2);
    s.links[0].forward.loss = Loss::Uniform(0.01);
    let run = run(&s, &Default::default()).run;
    assert!(run.links[0].utilisation_percent > 93.0, "{} %", run.links[0].utilisation_percent);
    assert!(run.flows[0].goodput_mbps > 0.99 * 0.93 * 20.0 * 1448.0 / 1500.0, "{}", run.flows[0].goodput_mbps);
}

/// The application wakes as soon as half of its unsent limit is left, even if the pacer sends that one packet at a
/// time. So it writes 46 segments each time and pushes the last, as captures of Linux 6.12 show. In the first window of
/// 65 535 bytes it also pushes each half.
#[test]
fn an_application_that_waits_for_the_pacer_writes_as_much_each_time() {
    let mut s = scenario(6);
    s.links[0].forward = link("bottleneck", 10.0, Nanos::from_millis(75));
    s.links[0].reverse.delay = Nanos::from_millis(75);
    s.links[0].forward.queue = droptail(Limit::Packets(250));
    s.flows[0].cc = control("bbr");
    let (_, script) = watch(&s, &Default::default(), Script::new(|_, _| false));
    let pushed: Vec<u32> =
        script.sent.iter().filter(|(_, data)| data.flags & flag::PSH != 0).map(|(_, data)| data.segment).collect();
    assert_eq!(pushed[..5], [22, 45, 68, 91, 100]);
    assert!(pushed[4..].windows(2).all(|pair| pair[1] == pair[0] + 46), "{pushed:?}");
    assert!(pushed.len() > 50);
}
