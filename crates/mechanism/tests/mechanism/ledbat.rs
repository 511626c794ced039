//! LEDBAT (RFC 6817): its equation by number, and the compiled mechanism driven by hand.

use crate::harness::{acks_for_a_segment, at, builtin, delay_ms, live, one_way, socket_with_timestamps, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, INFINITE_SSTHRESH, TcpSock, ca_event};

const MINUTE_US: u64 = 60_000_000;
/// Number of delays in the filter of the latest.
const FILTER: usize = 4;

/// A connection with a window of 20, after a delay that is the least.
fn connection(control: &Control) -> TcpSock {
    let mut sk = socket_with_timestamps(20, INFINITE_SSTHRESH);
    at(control, &mut sk, MINUTE_US);
    control.init(&mut sk);
    sk.snd_cwnd = 20;
    samples(control, &mut sk, 1, 20);
    sk
}

fn samples(control: &Control, sk: &mut TcpSock, count: usize, ms: u32) {
    for _ in 0..count {
        delay_ms(sk, ms);
        control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: 100_000, in_flight: 0 });
    }
}

/// An ACK changes the window by the values of section "test vectors": +.05, +.0375, +.025, 0, -.025, -.05.
#[test]
fn what_an_ack_changes() {
    let control = builtin("ledbat");
    for (queueing, expected) in
        [(0, (20, 1)), (25, (27, 1)), (50, (40, 1)), (100, (1000, 0)), (150, (40, -1)), (200, (20, -1))]
    {
        let mut sk = connection(&control);
        samples(&control, &mut sk, FILTER, 20 + queueing);
        assert_eq!(acks_for_a_segment(&control, &mut sk), expected, "{queueing} ms");
    }
    let halved = with_params("ledbat", &[("gain", ParamValue::Text("50%".into()))]);
    let mut sk = connection(&halved);
    assert_eq!(acks_for_a_segment(&halved, &mut sk), (40, 1));
    let near = with_params("ledbat", &[("target", ParamValue::Text("25ms".into()))]);
    let mut sk = connection(&near);
    samples(&near, &mut sk, FILTER, 70);
    assert_eq!(acks_for_a_segment(&near, &mut sk), (20, -1), "25 ms above the target");
}

/// Slow start is for the beginning and for timeouts.
#[test]
fn a_window_that_a_queue_has_shrunk_does_not_slow_start() {
    let control = with_params("ledbat", &[("slow_start", ParamValue::Bool(true))]);
    let mut sk = connection(&control);
    sk.snd_ssthresh = 20;
    samples(&control, &mut sk, FILTER, 220);
    assert_eq!(acks_for_a_segment(&control, &mut sk), (20, -1));
    assert_eq!(acks_for_a_segment(&control, &mut sk), (19, -1), "still above the target");
}

/// The least of the latest four delays counts. A single long one does not, as of an ACK that was held back.
#[test]
fn three_long_delays_are_none() {
    let control = builtin("ledbat");
    let mut sk = connection(&control);
    samples(&control, &mut sk, FILTER - 1, 220);
    assert_eq!(acks_for_a_segment(&control, &mut sk), (20, 1));
    samples(&control, &mut sk, 1, 220);
    assert_eq!(acks_for_a_segment(&control, &mut sk).1, -1);
    samples(&control, &mut sk, 1, 20);
    assert_eq!(acks_for_a_segment(&control, &mut sk).1, 1, "one short delay is enough");
}

/// A route that became 180 ms longer is the base after ten minutes, not before.
#[test]
fn the_base_expires_after_ten_minutes() {
    let control = builtin("ledbat");
    let mut sk = connection(&control);
    for minute in 1..=10 {
        at(&control, &mut sk, MINUTE_US * (1 + minute));
        samples(&control, &mut sk, 100, 200);
        let (_, change) = acks_for_a_segment(&control, &mut sk);
        assert_eq!(change, if minute < 10 { -1 } else { 1 }, "{minute} minutes later");
    }
}

/// Within a minute only the least delay counts, at any place.
#[test]
fn a_minute_keeps_its_least_delay() {
    let control = builtin("ledbat");
    let mut sk = connection(&control);
    for (minute, ms) in [(10, 90), (10, 50), (10, 70), (19, 70), (19, 60)] {
        at(&control, &mut sk, MINUTE_US * minute);
        samples(&control, &mut sk, 9, ms);
    }
    for later in 20..=28 {
        at(&control, &mut sk, MINUTE_US * later);
        samples(&control, &mut sk, 9, 150);
    }
    // 20 ms have left, the eleventh from the end; 60 ms are the least of the tenth.
    samples(&control, &mut sk, FILTER, 160);
    assert_eq!(acks_for_a_segment(&control, &mut sk), (1000, 0), "100 ms above 60");
}

#[test]
fn a_pause_forgets_the_latest_and_keeps_the_base() {
    let control = builtin("ledbat");
    let mut sk = connection(&control);
    control.cwnd_event(&mut sk, ca_event::CWND_RESTART);
    samples(&control, &mut sk, 1, 220);
    assert_eq!(acks_for_a_segment(&control, &mut sk), (20, -1), "one delay is all there is, 200 ms above the base");
}

#[test]
fn the_window_stays_near_what_was_in_flight() {
    for (allowed, largest) in [(1, 13), (5, 17)] {
        let control = with_params("ledbat", &[("allowed_increase", ParamValue::Integer(allowed))]);
        let mut sk = connection(&control);
        (sk.packets_out, sk.max_packets_out) = (11, 10);
        control.cong_avoid(&mut sk, 0, 1);
        assert_eq!(sk.snd_cwnd, largest, "11 are in flight, and one was until this ACK");
        sk.max_packets_out = 18;
        sk.snd_cwnd = 20;
        control.cong_avoid(&mut sk, 0, 1);
        assert_eq!(sk.snd_cwnd, (18 + allowed as u32).min(20), "the last round had more");
    }
}

#[test]
fn a_loss_halves_and_two_segments_stay() {
    let control = builtin("ledbat");
    let mut sk = connection(&control);
    assert_eq!(control.ssthresh(&mut sk), 10);
    sk.snd_cwnd = 3;
    assert_eq!(control.ssthresh(&mut sk), 2);
    samples(&control, &mut sk, FILTER, 500);
    control.cong_avoid(&mut sk, 0, 100);
    assert_eq!(sk.snd_cwnd, 2);
}

#[test]
fn it_starts_with_two_segments_and_without_slow_start() {
    for (slow_start, grown) in [(false, 2), (true, 4)] {
        let control = with_params("ledbat", &[("slow_start", ParamValue::Bool(slow_start))]);
        let mut sk = socket_with_timestamps(10, INFINITE_SSTHRESH);
        control.init(&mut sk);
        assert_eq!(sk.snd_cwnd, 2);
        samples(&control, &mut sk, 1, 20);
        control.cong_avoid(&mut sk, 0, if slow_start { 2 } else { 1 });
        assert_eq!(sk.snd_cwnd, grown);
    }
    let wide = with_params("ledbat", &[("initial_window", ParamValue::Integer(1000))]);
    let mut sk = socket_with_timestamps(10, INFINITE_SSTHRESH);
    wide.init(&mut sk);
    assert_eq!(sk.snd_cwnd, 10, "no more than the stack gives");
}

#[test]
fn without_timestamps_it_is_reno() {
    assert_eq!(live(&builtin("ledbat")), live(&builtin("reno")));
}

#[test]
fn clocks_count_by_their_differences_only() {
    one_way::same_by_clocks_of_either_kind(&builtin("ledbat"));
    one_way::same_whatever_the_clocks_show(&builtin("ledbat"));
}
