//! The timestamps option (RFC 7323): the clocks of the two ends, their ticks, and the values that a congestion control
//! sees.

use crate::world::{self, Script, losing, run, run_with_series, watch};
use model::app::{App, Ping};
use model::units::{Bytes, Drift, Nanos, Offset, Rate};
use model::{Clock, FlowGroup, Loss, MechanismRef, MechanismSource, Scenario, TcpProfile};
use std::path::PathBuf;
use unbloat_engine::Options;

/// Uptime of the hosts when a run starts, us.
const BOOT_US: u64 = 1_000_000_000;
/// Propagation delay each way, ms.
const ONE_WAY_MS: u32 = 20;

fn scenario(seconds: u64, clock: Clock, stack: TcpProfile) -> Scenario {
    let mut s = world::scenario(seconds);
    s.flows[0] = model::FlowGroup { cc: world::fixed_window(10), clock, stack, ..world::flow("reno") };
    s
}

fn clock(offset_s: i64, drift_ppm: i64) -> Clock {
    Clock { offset: Offset(offset_s * 1_000_000_000), drift: Drift(drift_ppm * 1000) }
}

/// The data packets and acknowledgements of a scenario as they left.
fn traffic(s: &Scenario) -> Script<'static> {
    watch(s, &Options::default(), Script::new(|_, _| false)).1
}

const USEC: TcpProfile = TcpProfile { tcp_usec_ts: true, ..TcpProfile::LINUX };

/// TSval = boot + offset + (1 + drift) time, in ticks, modulo 2^32.
#[test]
fn acknowledgements_show_the_receiver_s_clock() {
    for (offset_s, drift_ppm) in [(0, 0), (3600, 0), (-3600, 0), (0, 100), (0, -100), (-999_999, 10_000)] {
        for (stack, tick_us) in [(TcpProfile::LINUX, 1000), (USEC, 1)] {
            let acks = traffic(&scenario(20, clock(offset_s, drift_ppm), stack)).acks;
            for (at, ack) in acks.iter().step_by(100) {
                let us = at.as_micros() as i64;
                let shown = BOOT_US as i64 + offset_s * 1_000_000 + us + us * drift_ppm / 1_000_000;
                let distance = ack.tsval.wrapping_sub((shown.div_euclid(tick_us)) as u32) as i32;
                // The last microsecond may be rounded either way.
                assert!(distance.abs() <= 1, "{offset_s} s, {drift_ppm} ppm: {distance} ticks of {tick_us} us");
            }
        }
    }
}

/// The echo is the sender's own, so neither an offset nor a drift of the receiver changes a stack's use of timestamps.
#[test]
fn the_receiver_s_clock_changes_nothing_for_the_stack() {
    for stack in [TcpProfile::LINUX, TcpProfile::SACK, USEC] {
        let records = |clock| {
            let mut s = scenario(20, clock, stack);
            s.links[0].forward.loss = Loss::Uniform(0.02);
            s.flows[0].cc = world::control("cubic");
            serde_json::to_string(&run(&s, &Options::default()).run).unwrap()
        };
        assert_eq!(records(clock(-7200, 5000)), records(Clock::default()));
    }
}

#[test]
fn microseconds_are_counted_at_both_ends() {
    let Script { sent, acks, .. } = traffic(&scenario(2, Clock::default(), USEC));
    for (at, data) in &sent {
        // The host that was idle read its clock up to 3 us late.
        assert!((0..4).contains(&(data.tsval as u64 - BOOT_US - at.as_micros())), "{at:?} {data:?}");
    }
    assert!(sent.len() > 50 && acks.len() > 50);
    assert!(acks.iter().all(|(at, ack)| ack.tsval as u64 == BOOT_US + at.as_micros()));
    assert!(acks.iter().all(|(_, ack)| sent.iter().any(|(_, data)| data.tsval == ack.tsecr)));
}

/// The only segment is lost once, so only its timestamp gives the round trip: 40 ms and its transmission, with a
/// probe's acknowledgement at once.
#[test]
fn a_round_trip_by_timestamp_has_the_resolution_of_the_tick() {
    let measured_ms = |stack: TcpProfile| {
        let mut s = scenario(3, Clock::default(), stack);
        s.flows[0].size = Some(Bytes(1448));
        let outcome = watch(&s, &Options::default(), Script::new(losing([(0, 1)]))).0;
        assert_eq!(outcome.run.flows[0].retransmitted_packets, 1);
        outcome.run.flows[0].rtt.rtt_ms_max.expect("one sample")
    };
    let exact_ms = 40.0 + 1500.0 * 8.0 / 10e6 * 1e3 + 52.0 * 8.0 / 1e9 * 1e3;
    let (fine, coarse) = (measured_ms(USEC), measured_ms(TcpProfile::LINUX));
    assert!((fine - exact_ms).abs() < 0.006, "{fine} ms, not {exact_ms}");
    assert!(coarse.fract() == 0.0 && (coarse - exact_ms).abs() <= 1.0, "{coarse} ms");
}

/// Every loss is real here, and a retransmission's echo is never older than the retransmission itself, so there is
/// nothing to undo.
#[test]
fn no_real_loss_is_taken_for_a_spurious_one() {
    for (seed, stack) in (1..=10).flat_map(|seed| [(seed, USEC), (seed, TcpProfile::LINUX)]) {
        let records = |undo| {
            let mut s = scenario(60, Clock::default(), TcpProfile { undo, ..stack });
            s.seed = seed;
            s.links[0].forward.loss = Loss::Uniform(0.02);
            s.flows[0].cc = world::control("reno");
            serde_json::to_string(&run(&s, &Options::default()).run).unwrap()
        };
        assert_eq!(records(true), records(false), "seed {seed}, microseconds: {}", stack.tcp_usec_ts);
    }
}

fn seen() -> MechanismRef {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources/timestamps_seen.bpf.c"));
    MechanismRef::new(MechanismSource::File(path), Default::default())
}

/// The values that the congestion control saw last at equal steps: windows, and ticks from TSecr to TSval.
fn told(clock: Clock, stack: TcpProfile) -> (Vec<u32>, Vec<u32>) {
    let mut s = scenario(4, clock, stack);
    s.flows[0].cc = seen();
    let series = run_with_series(&s, Nanos::from_millis(100)).1.flows;
    assert!(series.cwnd_packets.len() > 20);
    (series.cwnd_packets, series.ssthresh_packets.into_iter().map(|seen| seen.expect("finite") - 1).collect())
}

#[test]
fn a_control_sees_the_option_from_the_syn_ack_on() {
    // Ten segments wait for each other; the acknowledgement may be held back for 40 ms.
    let most_ms = ONE_WAY_MS + 10 * 2 + 40;
    for (offset_s, ahead_ms) in [(0, 0), (1000, 1_000_000)] {
        let (windows, ticks) = told(clock(offset_s, 0), TcpProfile::LINUX);
        assert!(windows.iter().all(|window| *window == 10));
        let one_way: Vec<_> = ticks.iter().map(|ticks| ticks - ahead_ms).collect();
        assert!(one_way.iter().all(|ms| (ONE_WAY_MS..most_ms).contains(ms)), "{one_way:?}");
        let (_, ticks) = told(clock(offset_s, 0), USEC);
        let one_way: Vec<_> = ticks.iter().map(|ticks| ticks - 1000 * ahead_ms).collect();
        assert!(one_way.iter().all(|us| (1000 * ONE_WAY_MS..1000 * most_ms).contains(us)), "{one_way:?}");
    }
}

#[test]
fn a_control_sees_that_there_is_no_option() {
    let (windows, ticks) = told(clock(3600, 0), TcpProfile { timestamps: false, ..TcpProfile::LINUX });
    assert!(windows.iter().all(|window| *window == 11));
    assert!(ticks.iter().all(|ticks| *ticks == 0));
}

/// A drift of 1000 ppm makes 4 ms in 4 s.
#[test]
fn a_control_sees_the_drift() {
    for (ppm, gained_us) in [(1000, 4000), (-1000, -4000)] {
        let at_the_end = |drift| *told(clock(0, drift), USEC).1.last().unwrap() as i32;
        let gained = at_the_end(ppm) - at_the_end(0);
        assert!((gained - gained_us).abs() < 60, "{gained} us, not {gained_us}");
    }
}

/// A path of `delay` each way, on which a ping runs beside a flow with a write now and then.
fn long_path(delay: Nanos, microseconds: bool) -> Scenario {
    let mut s = world::scenario(50_000);
    (s.links[0].forward.delay, s.links[0].reverse.delay) = (delay, delay);
    s.flows = vec![FlowGroup { write_rate: Some(Rate(100)), ..world::flow("reno") }, world::flow("reno")];
    s.flows[0].stack.tcp_usec_ts = microseconds;
    let ping = Ping { every: Nanos::from_secs(600), packet: Bytes(1000) };
    s.flows[1].app = Some(App::Ping(ping));
    s
}

/// From 35 minutes on Linux has no sample of an RTT, and 32 bits do not hold the microseconds of 72 minutes. The record
/// has none then, rather than a wrong one. Measurements of programs are right for any length.
#[test]
fn no_long_round_trip_is_recorded_as_a_short_one() {
    for (seconds, microseconds) in [(300, false), (300, true), (3600, false), (3600, true), (3000, true)] {
        let rtt_ms = 2000.0 * seconds as f64;
        let mut s = long_path(Nanos::from_secs(seconds), microseconds);
        s.warmup = Nanos::from_secs(4 * seconds);
        let outcome = run(&s, &Options { series: Some(Nanos::from_secs(100)), ..Options::default() });
        let [flow, ping] = &outcome.run.flows[..] else { panic!("two flows") };
        let close = |ms: Option<f64>| ms.is_some_and(|ms| ms >= rtt_ms && ms < rtt_ms + 500.0);
        assert!(close(ping.rtt.rtt_ms_min) && close(ping.rtt.rtt_ms_max), "{ping:?}");
        assert!(flow.sent_packets > 0, "{flow:?}");
        let (least, most) = (flow.rtt.rtt_ms_min, flow.rtt.rtt_ms_max);
        if seconds > 1000 {
            assert_eq!((least, most), (None, None), "{seconds} s one way");
        } else {
            assert!(close(least) && close(most), "{flow:?}");
        }
        // Ten minutes are too long for the smoothed estimate, which counts eighths of microseconds.
        let series = outcome.series.expect("asked for").flows;
        assert!(series.srtt_ms.iter().flatten().all(|ms| *ms >= rtt_ms), "{:?}", series.srtt_ms);
    }
}
