//! CLPC (Jiang and Jin, 2016): its equations by number, and the compiled mechanism driven by hand.

use crate::harness::{
    acks_for_a_segment, at, builtin, compile_text, delay_ms, live, lose, one_way, socket_with_timestamps, with_params,
};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, TcpSock, ca_event, ca_state};

const ONE: u32 = 1024;
const EXPORTS: &str = "#include \"clpc.bpf.c\"\n\
    __u32 alpha(__u32 average) { return clpc_alpha(average); }\n\
    __u32 average(__u32 before, __u32 queueing) { return clpc_average(before, queueing); }\n\
    __u32 next_n(__u32 n, __u32 alpha) { return clpc_next_n(n, alpha); }\n";

/// A connection in congestion avoidance, after a delay that is the least.
fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket_with_timestamps(cwnd, 2);
    sk.srtt_us = 8 * 100_000;
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sample(control, &mut sk, 20);
    sk
}

/// Plays a delay, with an ACK of one segment that changes no window.
fn sample(control: &Control, sk: &mut TcpSock, ms: u32) {
    delay_ms(sk, ms);
    control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: 100_000, in_flight: 0 });
}

fn later(control: &Control, sk: &mut TcpSock, ms: u64) {
    let now = sk.tcp_mstamp + 1000 * ms;
    at(control, sk, now);
}

/// `struct clpc`'s N, 1/1024.
fn n(sk: &TcpSock) -> u32 {
    sk.inet_conn.icsk_ca_priv[5] as u32
}

#[test]
fn the_papers_equations() {
    let library = compile_text("clpc", EXPORTS);
    // SAFETY: EXPORTS declares them so.
    let alpha = unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>(b"alpha").expect("exported") };
    // SAFETY: as above.
    let average = unsafe { library.get::<unsafe extern "C" fn(u32, u32) -> u32>(b"average").expect("exported") };
    // SAFETY: as above.
    let next_n = unsafe { library.get::<unsafe extern "C" fn(u32, u32) -> u32>(b"next_n").expect("exported") };

    let mut q = 0;
    for (ms, share) in [(2.5, 0.1), (4.375, 0.175), (5.78125, 0.23125), (6.8359375, 0.2734375)] {
        // SAFETY: as above.
        q = unsafe { average(q, 10_000) };
        assert_eq!(f64::from(q), ms * 1000.0 * 256.0);
        // SAFETY: as above.
        assert_eq!(unsafe { alpha(q) }, (share * f64::from(ONE)) as u32);
    }
    // SAFETY: as above.
    assert_eq!(unsafe { (alpha(25_000 << 8), alpha(80_000 << 8)) }, (ONE, ONE), "not above 1");

    let steps = |mut from: u32, alpha: u32, count: usize| -> Vec<f64> {
        let step = |_| {
            // SAFETY: as above.
            from = unsafe { next_n(from, alpha) };
            f64::from(from) / f64::from(ONE)
        };
        (0..count).map(step).collect()
    };
    let fifth = steps(ONE, ONE / 5, 60);
    for (n, expected) in fifth.iter().zip([1.8, 2.44, 2.952, 3.3616, 3.68928, 3.951424]) {
        assert!((n / expected - 1.0).abs() < 0.003, "{n}, not {expected}");
    }
    assert!((fifth[59] - 5.0).abs() < 0.05, "it comes to 1 / alpha: {}", fifth[59]);
    assert_eq!(steps(ONE, 0, 10)[9], 11.0);
    assert_eq!(steps(11 * ONE, ONE / 2, 4), [6.5, 4.25, 3.125, 2.5625]);
    assert_eq!(steps(11 * ONE, ONE, 1), [1.0]);
}

/// The steps of an ACK by the paper's equations at cwnd 50 and N 11: +.22, +.016, 0, -.02.
#[test]
fn what_an_ack_changes() {
    let control = builtin("clpc");
    for (queueing, expected) in [(0, (5, 1)), (5, (63, 1)), (25, (1000, 0)), (50, (50, -1))] {
        let mut sk = connection(&control, 50);
        later(&control, &mut sk, 100);
        sample(&control, &mut sk, 20 + queueing);
        assert_eq!(n(&sk), 11 * ONE);
        assert_eq!(acks_for_a_segment(&control, &mut sk), expected, "{queueing} ms");
    }
}

#[test]
fn an_ack_of_several_segments_counts_them_and_the_rest_stays() {
    let control = builtin("clpc");
    let mut sk = connection(&control, 50);
    control.cong_avoid(&mut sk, 0, 130);
    assert_eq!(sk.snd_cwnd, 52, "2.6 segments");
    assert_eq!(acks_for_a_segment(&control, &mut sk), (22, 1), "30 of 52 were left");
}

/// The window falls with the queue, but not below two segments.
#[test]
fn the_window_keeps_two_segments() {
    let control = builtin("clpc");
    let mut sk = connection(&control, 3);
    sample(&control, &mut sk, 500);
    control.cong_avoid(&mut sk, 0, 1000);
    assert_eq!(sk.snd_cwnd, 2);
}

/// Below the threshold that a loss has left, an ACK would grow the window by a segment.
#[test]
fn a_window_that_a_queue_has_shrunk_does_not_slow_start() {
    let control = builtin("clpc");
    let mut sk = connection(&control, 50);
    sk.snd_ssthresh = 50;
    sample(&control, &mut sk, 70);
    assert_eq!(acks_for_a_segment(&control, &mut sk), (50, -1));
    assert_eq!(acks_for_a_segment(&control, &mut sk), (49, -1), "still above the target");
    sample(&control, &mut sk, 45);
    assert_eq!(acks_for_a_segment(&control, &mut sk), (1000, 0), "at the target");
}

#[test]
fn a_queue_within_eps_is_none() {
    for (eps, expected) in [("1ms", 5), ("0ms", 53)] {
        let control = with_params("clpc", &[("eps", ParamValue::Text(eps.into()))]);
        let mut sk = connection(&control, 50);
        later(&control, &mut sk, 100);
        sample(&control, &mut sk, 21);
        assert_eq!(acks_for_a_segment(&control, &mut sk), (expected, 1), "eps {eps}");
    }
}

#[test]
fn n_may_count_with_a_queue() {
    for (n_always, expected) in [(false, 63), (true, 6)] {
        let control = with_params("clpc", &[("n_always", ParamValue::Bool(n_always))]);
        let mut sk = connection(&control, 50);
        later(&control, &mut sk, 100);
        sample(&control, &mut sk, 25);
        assert_eq!(acks_for_a_segment(&control, &mut sk), (expected, 1), "0.016 or 0.176 an ACK");
        sample(&control, &mut sk, 70);
        sk.snd_cwnd = 50;
        assert_eq!(acks_for_a_segment(&control, &mut sk).1, -1);
        assert_eq!(acks_for_a_segment(&control, &mut sk), (49, -1), "a window shrinks without N");
    }
}

/// A route that became 50 ms longer has no queue for a congestion control that forgets.
#[test]
fn the_least_delay_may_be_forgotten() {
    for (history, known) in [("0s", [true; 4]), ("60s", [true, true, false, false])] {
        let control = with_params("clpc", &[("history", ParamValue::Text(history.into()))]);
        let mut sk = connection(&control, 50);
        for (minutes, known) in known.into_iter().enumerate() {
            sample(&control, &mut sk, 70);
            assert_eq!(control.ssthresh(&mut sk), if known { 25 } else { 40 }, "{history}: {minutes} minutes later");
            later(&control, &mut sk, 60_000);
        }
    }
}

/// A queue of 5 ms makes alpha 1/5, and N approaches 5, whether it is updated every period or seldom.
#[test]
fn n_changes_once_in_a_period() {
    for step_ms in [1, 5, 35] {
        let control = builtin("clpc");
        let mut sk = connection(&control, 50);
        for _ in 0..1400 / step_ms {
            later(&control, &mut sk, step_ms);
            sample(&control, &mut sk, 25);
        }
        assert!((f64::from(n(&sk)) / f64::from(ONE) - 5.0).abs() < 0.05, "every {step_ms} ms: {}", n(&sk));
    }
    let control = builtin("clpc");
    let mut sk = connection(&control, 500);
    later(&control, &mut sk, 405);
    sample(&control, &mut sk, 20);
    assert_eq!(n(&sk), 41 * ONE, "a round trip without an ACK");
    later(&control, &mut sk, 5);
    sample(&control, &mut sk, 20);
    assert_eq!(n(&sk), 42 * ONE, "what was left of the period counts");
    later(&control, &mut sk, 1_000_000);
    sample(&control, &mut sk, 20);
    assert_eq!(n(&sk), 106 * ONE, "a silence counts as 64 periods");
}

#[test]
fn n_stays_below_its_bound_and_the_window() {
    for (cwnd, n_max, expected) in [(50, 1024, 50), (50, 7, 7)] {
        let control = with_params("clpc", &[("n_max", ParamValue::Integer(n_max))]);
        let mut sk = connection(&control, cwnd);
        later(&control, &mut sk, 640);
        sample(&control, &mut sk, 20);
        assert_eq!(n(&sk), expected * ONE);
    }
}

/// cwnd 50 and 100 ms: 10 ms of queueing are 5 packets, 4 ms are 2.
#[test]
fn a_loss_without_a_queue_costs_little() {
    let control = builtin("clpc");
    for (queueing, left) in [(10, 25), (6, 40), (4, 40), (0, 40)] {
        let mut sk = connection(&control, 50);
        sample(&control, &mut sk, 20 + queueing);
        assert_eq!(control.ssthresh(&mut sk), left, "{queueing} ms");
    }
    let mut sk = connection(&control, 2);
    assert_eq!(control.ssthresh(&mut sk), 2);
}

#[test]
fn the_largest_delay_of_a_round_trip_may_judge() {
    for (judge_by_largest, left) in [(false, [40, 40, 40]), (true, [25, 25, 40])] {
        let control = with_params("clpc", &[("judge_by_largest", ParamValue::Bool(judge_by_largest))]);
        let mut sk = connection(&control, 50);
        sample(&control, &mut sk, 30);
        sample(&control, &mut sk, 20);
        for (round, left) in left.into_iter().enumerate() {
            assert_eq!(control.ssthresh(&mut sk), left, "{judge_by_largest}, {round} round trips later");
            sk.snd_una = sk.snd_nxt.wrapping_add(1);
            sk.snd_nxt = sk.snd_una.wrapping_add(1000);
            sample(&control, &mut sk, 20);
        }
    }
}

#[test]
fn marks_and_timeouts_are_congestion() {
    let control = builtin("clpc");
    let mut sk = connection(&control, 50);
    sk.delivered_ce += 1;
    sample(&control, &mut sk, 20);
    assert_eq!(control.ssthresh(&mut sk), 25, "marked");
    sample(&control, &mut sk, 20);
    assert_eq!(control.ssthresh(&mut sk), 40, "no longer");
    later(&control, &mut sk, 100);
    sample(&control, &mut sk, 20);
    lose(&control, &mut sk, ca_state::LOSS);
    assert_eq!((sk.snd_ssthresh, n(&sk)), (25, ONE));
}

#[test]
fn a_pause_resets_n_and_keeps_the_least_delay() {
    let control = builtin("clpc");
    let mut sk = connection(&control, 50);
    later(&control, &mut sk, 100);
    sample(&control, &mut sk, 20);
    control.cwnd_event(&mut sk, ca_event::CWND_RESTART);
    sample(&control, &mut sk, 70);
    assert_eq!(n(&sk), ONE);
    assert_eq!(acks_for_a_segment(&control, &mut sk), (50, -1), "50 ms above the least");
}

/// An ACK that the receiver held back says nothing about the queue, unless it always acknowledges one segment.
#[test]
fn a_held_back_ack_does_not_count() {
    let control = builtin("clpc");
    let mut sk = connection(&control, 50);
    let two = |sk: &mut TcpSock, ms| {
        delay_ms(sk, ms);
        control.pkts_acked(sk, &AckSample { pkts_acked: 2, rtt_us: 100_000, in_flight: 0 });
    };
    two(&mut sk, 20);
    sample(&control, &mut sk, 60);
    assert_eq!(control.ssthresh(&mut sk), 40, "a single segment after two");
    sk.packets_out = 0;
    sample(&control, &mut sk, 60);
    assert_eq!(control.ssthresh(&mut sk), 25, "nothing else was on its way");
    sk.packets_out = 50;
    two(&mut sk, 20);
    for _ in 0..8 {
        sample(&control, &mut sk, 60);
    }
    assert_eq!(control.ssthresh(&mut sk), 40);
    sample(&control, &mut sk, 60);
    assert_eq!(control.ssthresh(&mut sk), 25, "this receiver does not hold back");
}

#[test]
fn it_begins_without_slow_start_unless_wanted() {
    for (slow_start, grown) in [(false, 0), (true, 8)] {
        let control = with_params("clpc", &[("slow_start", ParamValue::Bool(slow_start))]);
        let mut sk = socket_with_timestamps(10, unbloat_mechanism::sock::INFINITE_SSTHRESH);
        control.init(&mut sk);
        sample(&control, &mut sk, 20);
        control.cong_avoid(&mut sk, 0, 8);
        assert_eq!(sk.snd_cwnd, 10 + grown);
    }
}

#[test]
fn a_window_that_is_not_in_use_shrinks_only() {
    let control = builtin("clpc");
    for (ms, change) in [(20, 0), (70, -1)] {
        let mut sk = connection(&control, 50);
        sk.is_cwnd_limited = 0;
        sample(&control, &mut sk, ms);
        assert_eq!(acks_for_a_segment(&control, &mut sk).1, change);
    }
}

#[test]
fn without_timestamps_it_is_reno() {
    assert_eq!(live(&builtin("clpc")), live(&builtin("reno")));
}

#[test]
fn clocks_count_by_their_differences_only() {
    one_way::same_by_clocks_of_either_kind(&builtin("clpc"));
    one_way::same_whatever_the_clocks_show(&builtin("clpc"));
}
