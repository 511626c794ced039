//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): its equations by number, and the compiled mechanism driven by hand.

use crate::harness::{acks_for_a_segment, at, builtin, change_state, lose, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, INFINITE_SSTHRESH, TcpSock, ca_event, ca_state};

/// Number of delays in the filter of the latest.
const FILTER: usize = 4;
/// TCP's smoothed RTT, us.
const RTT_US: u64 = 100_000;

/// A connection in its first slow start, with this least RTT.
fn connection(control: &Control, cwnd: u32, base_ms: u32) -> TcpSock {
    let mut sk = socket(cwnd, INFINITE_SSTHRESH);
    sk.srtt_us = 8 * RTT_US as u32;
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sk.snd_cwnd = cwnd;
    samples(control, &mut sk, 1, base_ms);
    sk
}

fn samples(control: &Control, sk: &mut TcpSock, count: usize, ms: u32) {
    for _ in 0..count {
        control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: 1000 * ms as i32, in_flight: 0 });
    }
}

/// An ACK `later_ms` later for `segments` segments of a window that is in use.
fn ack(control: &Control, sk: &mut TcpSock, later_ms: u64, segments: u32) {
    let now = sk.tcp_mstamp + 1000 * later_ms;
    at(control, sk, now);
    (sk.packets_out, sk.max_packets_out) = (sk.snd_cwnd, sk.snd_cwnd);
    control.cong_avoid(sk, 0, segments);
}

/// A connection without slowdowns whose slow start is over, with this queueing delay.
fn steady(cwnd: u32, base_ms: u32, queueing_ms: u32) -> (Control, TcpSock) {
    let control = with_params("ledbat_pp", &[("slowdowns", ParamValue::Bool(false))]);
    let mut sk = connection(&control, cwnd, base_ms);
    sk.snd_ssthresh = 2;
    samples(&control, &mut sk, FILTER, base_ms + queueing_ms);
    ack(&control, &mut sk, 0, 0);
    (control, sk)
}

/// GAIN is 1 / min(16, ceil(2 60 ms / base)): the ACKs of slow start that make a segment.
#[test]
fn the_gain() {
    for (base_ms, divisor) in [(5, 16), (10, 12), (30, 4), (59, 3), (60, 2), (119, 2), (120, 1), (600, 1)] {
        let control = builtin("ledbat_pp");
        let mut sk = connection(&control, 100, base_ms);
        assert_eq!(acks_for_a_segment(&control, &mut sk), (divisor, 1), "slow start, {base_ms} ms");
        let (control, mut sk) = steady(20, base_ms, 60);
        assert_eq!(acks_for_a_segment(&control, &mut sk), (20 * divisor, 1), "at the target, {base_ms} ms");
    }
}

/// Above the target a window of 20 changes by 1 - 20 (queueing / 60 ms - 1) in a round trip, but at least by -10.
#[test]
fn above_the_target_it_decreases_by_a_part_of_the_window() {
    for (queueing_ms, acks) in [(66, 20), (69, 10), (72, 7), (90, 3), (93, 2), (300, 2)] {
        let (control, mut sk) = steady(20, 120, queueing_ms);
        assert_eq!(acks_for_a_segment(&control, &mut sk), (acks, -1), "{queueing_ms} ms");
    }
    let (control, mut sk) = steady(2, 120, 500);
    ack(&control, &mut sk, 1, 100);
    assert_eq!(sk.snd_cwnd, 2, "two segments stay");
}

#[test]
fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
    for (queueing_ms, grown) in [(45, 110), (46, 100)] {
        let control = builtin("ledbat_pp");
        let mut sk = connection(&control, 100, 120);
        samples(&control, &mut sk, FILTER, 120 + queueing_ms);
        ack(&control, &mut sk, 1, 10);
        assert_eq!(sk.snd_cwnd, grown, "{queueing_ms} ms");
    }
}

/// Two RTTs after slow start the window is two segments for two RTTs. It comes back by slow start. The next slowdown is
/// nine times as far away as this one was long.
#[test]
fn slowdowns() {
    let control = builtin("ledbat_pp");
    let mut sk = connection(&control, 64, 120);
    samples(&control, &mut sk, FILTER, 180);
    ack(&control, &mut sk, 0, 1);
    ack(&control, &mut sk, 199, 1);
    assert_eq!(sk.snd_cwnd, 64);
    ack(&control, &mut sk, 1, 1);
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (2, 64));
    ack(&control, &mut sk, 199, 2);
    assert_eq!(sk.snd_cwnd, 2, "frozen");
    ack(&control, &mut sk, 1, 2);
    assert_eq!(sk.snd_cwnd, 4, "GAIN is one");
    for cwnd in [8, 16, 32, 64] {
        let acked = sk.snd_cwnd;
        ack(&control, &mut sk, 50, acked);
        assert_eq!(sk.snd_cwnd, cwnd);
    }
    ack(&control, &mut sk, 0, 0);
    // It took 400 ms.
    ack(&control, &mut sk, 3599, 1);
    assert!(sk.snd_cwnd >= 64, "{}", sk.snd_cwnd);
    ack(&control, &mut sk, 1, 1);
    assert_eq!(sk.snd_cwnd, 2);
}

#[test]
fn losses() {
    let (control, mut sk) = steady(20, 120, 0);
    assert_eq!(control.ssthresh(&mut sk), 10);
    sk.snd_cwnd = 3;
    assert_eq!(control.ssthresh(&mut sk), 2);

    let control = builtin("ledbat_pp");
    let mut sk = connection(&control, 64, 120);
    samples(&control, &mut sk, FILTER, 180);
    ack(&control, &mut sk, 0, 1);
    ack(&control, &mut sk, 200, 1);
    lose(&control, &mut sk, ca_state::RECOVERY);
    assert_eq!(sk.snd_ssthresh, 32, "half of the window to return to");
    sk.snd_cwnd = sk.snd_ssthresh;
    control.cwnd_event(&mut sk, ca_event::COMPLETE_CWR);
    change_state(&control, &mut sk, ca_state::OPEN);
    assert_eq!(sk.snd_cwnd, 2, "the slowdown goes on");
    ack(&control, &mut sk, 200, 10);
    assert_eq!(sk.snd_cwnd, 12);
    ack(&control, &mut sk, 1, 100);
    assert_eq!(sk.snd_cwnd, 32);
}

#[test]
fn after_a_timeout_slow_start_goes_to_the_threshold() {
    let control = builtin("ledbat_pp");
    let mut sk = connection(&control, 64, 120);
    lose(&control, &mut sk, ca_state::LOSS);
    change_state(&control, &mut sk, ca_state::OPEN);
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (1, 32));
    samples(&control, &mut sk, FILTER, 300);
    for cwnd in [2, 4, 8, 16, 32] {
        let acked = sk.snd_cwnd;
        ack(&control, &mut sk, 50, acked);
        assert_eq!(sk.snd_cwnd, cwnd, "whatever the delay");
    }
}

#[test]
fn it_starts_with_two_segments_and_grows_only_in_use() {
    let control = builtin("ledbat_pp");
    let mut sk = socket(10, INFINITE_SSTHRESH);
    control.init(&mut sk);
    assert_eq!(sk.snd_cwnd, 2);
    let (control, mut sk) = steady(20, 120, 0);
    (sk.packets_out, sk.max_packets_out, sk.is_cwnd_limited) = (5, 5, 0);
    control.cong_avoid(&mut sk, 0, 100);
    assert_eq!(sk.snd_cwnd, 20);
}
