//! Windows that open, stay unused, or are paced.

use crate::transfers::*;
use crate::world::*;
use model::units::{Bytes, Nanos};
use model::{FlowGroup, MechanismRef, MechanismSource, ParamValue, TcpProfile};
use unbloat_engine::Options;
use unbloat_engine::packet::Data;

/// A flow that the receiver's window limits does not grow a congestion window that it does not use (RFC 7661).
#[test]
fn an_unused_window_does_not_grow() {
    let peak = |cwnd_validation| {
        let mut s = scenario(20);
        s.flows[0].receive_window = Some(Bytes(20 * 1500));
        s.flows[0].stack = TcpProfile { cwnd_validation, ..TcpProfile::LINUX };
        let (_, series) = run_with_series(&s, Nanos::from_millis(100));
        *series.flows.cwnd_packets.iter().max().unwrap()
    };
    let (with, without) = (peak(true), peak(false));
    assert!(with <= 2 * 20, "grew to {with} while 20 could be used");
    assert!(without > 1000, "grew to {without} only, although every acknowledgement counts");
}

/// As in Linux, one lost SYN does not change the window; two show that the path is congested. The first four timeouts
/// are a second each, then they double.
#[test]
fn two_lost_syns_leave_a_window_of_one() {
    for (lost, opening_s, window) in [(1, 1.0, 10), (2, 2.0, 1), (5, 5.0, 1), (6, 7.0, 1), (7, 11.0, 1)] {
        let mut syns = 0;
        let first_syns = move |_, data: &Data| {
            syns += !is_data(data) as u32;
            !is_data(data) && syns <= lost
        };
        let (_, script) = watch(&transfer(10, TcpProfile::LINUX), &Options::default(), Script::new(first_syns));
        let opening = script.sent.iter().find(|(_, d)| is_data(d)).unwrap().0;
        let together = script.sent.iter().filter(|(at, d)| is_data(d) && *at == opening).count();
        assert_eq!((opening.as_secs_f64().floor(), together), (opening_s, window), "{lost} SYNs lost");
    }
}

/// Only timestamps show which of two SYNs was answered. Without them, the sender has no round-trip time yet, and so no
/// minimum of zero.
#[test]
fn a_connection_without_a_sample_has_no_minimum() {
    let mut s = transfer(10, TcpProfile { timestamps: false, ..TcpProfile::LINUX });
    let first_syn = || {
        let mut syns = 0;
        move |_, data: &Data| {
            syns += !is_data(data) as u32;
            !is_data(data) && syns == 1
        }
    };
    s.flows[0].cc = socket_seen(10, Seen::NoMinimum);
    assert_eq!((last_seen(&s, first_syn()), last_seen(&s, |_, _| false)), (1, 0));
    s.flows[0] = FlowGroup { cc: control("bbr"), size: None, ..s.flows[0].clone() };
    (s.duration, s.warmup) = (Nanos::from_secs(8), Nanos::from_secs(3));
    s.links[0].forward = link("bottleneck", 10.0, Nanos::from_millis(20));
    let (flow, _) = outcome(&s, first_syn());
    assert!(flow.goodput_mbps > 8.0, "BBR sends {} of 10 Mbit/s", flow.goodput_mbps);
}

// Pacing.

/// A timer runs from when the pacer releases the next segment (`tcp_reset_xmit_timer`), here a second after each.
#[test]
fn timers_wait_for_the_pacer() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources/paced_window.bpf.c");
    let params = [("window", 1), ("rate", 1448)];
    let params = params.map(|(name, value)| (name.to_string(), ParamValue::Integer(value))).into();
    let mut s = transfer(20, TcpProfile::LINUX);
    s.flows[0].cc = MechanismRef::new(MechanismSource::File(path.into()), params);
    let (_, script) = watch(&s, &Options::default(), Script::new(losing([(15, 1)])));
    let sent = script.sent.iter().find(|(_, data)| is_data(data) && data.segment == 15).expect("it was sent").0;
    let again = script.retransmissions();
    assert_eq!(segments(&again), [15]);
    assert!(again[0].0 >= sent + Nanos::from_secs(1), "sent again {:?} after {sent:?}", again[0].0);
}

#[test]
fn pacing_spreads_a_window_over_the_round_trip() {
    let bursts = |pacing| {
        let mut s = scenario(10);
        s.links[0].forward = link("bottleneck", 1000.0, Nanos::from_millis(20));
        s.flows[0].cc = fixed_window(100);
        s.flows[0].stack.pacing = pacing;
        let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        let times: Vec<Nanos> = script.sent.iter().skip(100).map(|(at, _)| *at).collect();
        let most = times.chunk_by(|a, b| a == b).map(<[Nanos]>::len).max().unwrap();
        let gaps: Vec<u64> = times.windows(2).map(|w| (w[1] - w[0]).0).collect();
        (most, *gaps.iter().max().unwrap() as f64 / 1e6)
    };
    let (together, silence) = bursts(true);
    let (unpaced, unpaced_silence) = bursts(false);
    assert_eq!(together, 1, "paced segments leave one by one");
    assert!(unpaced > 1);
    // The first 10 of 100 leave at once, the others at 1.2 windows a round trip: a quarter of it is left.
    assert!(silence < 10.1 && unpaced_silence > 20.0, "longest silence {silence} ms, unpaced {unpaced_silence} ms");
}
