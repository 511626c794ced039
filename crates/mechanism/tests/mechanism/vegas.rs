//! Vegas as tcp_vegas.c has it: the compiled mechanism, driven by hand.

use crate::harness::{ack, at, builtin, change_state, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{TcpSock, ca_event, ca_state};

/// Plays one round with three samples, then the ACK that ends it. Samples count one microsecond more than they are.
fn round(control: &Control, sk: &mut TcpSock, rtt_us: i32) {
    sk.snd_nxt = sk.snd_una.wrapping_add(1000 * sk.mss_cache);
    control.set_state(sk, ca_state::OPEN);
    for _ in 0..3 {
        control.pkts_acked(sk, &unbloat_mechanism::sock::AckSample { pkts_acked: 1, rtt_us: rtt_us - 1, in_flight: 0 });
    }
    sk.snd_una = sk.snd_nxt.wrapping_add(1);
    let una = sk.snd_una;
    control.cong_avoid(sk, una, 1);
}

/// A connection whose least RTT is `base_us`.
fn connection(control: &Control, cwnd: u32, ssthresh: u32, base_us: i32) -> TcpSock {
    let mut sk = socket(cwnd, ssthresh);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    ack(control, &mut sk, 0, base_us - 1);
    (sk.snd_cwnd, sk.snd_cwnd_cnt) = (cwnd, 0);
    sk
}

#[test]
fn two_to_four_queued_segments_hold_the_window() {
    let control = builtin("vegas");
    for (cwnd, base, rtt, after) in [
        (20, 100, 110, 20),
        (20, 100, 120, 20),
        (20, 100, 130, 19),
        (100, 50_000, 51_000, 100),
        (10, 100, 100, 11),
        (10_000, 100_000, 500_000, 9_999),
    ] {
        let mut sk = connection(&control, cwnd, 5, base);
        round(&control, &mut sk, rtt);
        assert_eq!(sk.snd_cwnd, after, "cwnd {cwnd}, base {base}, rtt {rtt}");
    }
}

#[test]
fn more_than_gamma_queued_ends_slow_start_at_what_fits() {
    let control = builtin("vegas");
    for (rtt, after) in [(110, 19), (120, 17), (130, 16)] {
        let mut sk = connection(&control, 20, 1000, 100);
        round(&control, &mut sk, rtt);
        assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (after, after.max(sk.snd_ssthresh)), "rtt {rtt}");
        assert!(sk.snd_ssthresh <= 20);
    }
    let mut sk = connection(&control, 20, 1000, 100);
    round(&control, &mut sk, 101);
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (21, 1000), "nothing queued: slow start goes on");
}

#[test]
fn few_samples_and_repairs_leave_it_to_reno() {
    let control = builtin("vegas");
    let mut sk = connection(&control, 20, 5, 100);
    sk.snd_cwnd_cnt = 19;
    sk.snd_una = sk.snd_nxt.wrapping_add(1);
    let una = sk.snd_una;
    control.cong_avoid(&mut sk, una, 1);
    assert_eq!(sk.snd_cwnd, 21, "one sample only");
    change_state(&control, &mut sk, ca_state::DISORDER);
    sk.snd_cwnd_cnt = 20;
    control.cong_avoid(&mut sk, una, 1);
    assert_eq!(sk.snd_cwnd, 22, "not while the state is not open");
}

#[test]
fn a_pause_forgets_the_least_rtt() {
    let control = builtin("vegas");
    let mut sk = connection(&control, 20, 5, 100);
    control.cwnd_event(&mut sk, ca_event::TX_START);
    round(&control, &mut sk, 130);
    assert_eq!(sk.snd_cwnd, 21, "130 us are the least again");
}

#[test]
fn a_loss_halves() {
    assert_eq!(builtin("vegas").ssthresh(&mut socket(25, 5)), 12);
}

#[test]
fn alpha_and_beta_are_parameters() {
    let control = with_params("vegas", &[("alpha", ParamValue::Integer(1)), ("beta", ParamValue::Integer(3))]);
    let mut sk = connection(&control, 20, 5, 100);
    round(&control, &mut sk, 120);
    assert_eq!(sk.snd_cwnd, 19, "four queued are too many");
}

#[test]
fn the_estimate_of_the_paper_takes_the_share_of_the_rtt() {
    // 5 and 4.2 segments by the two estimates: more than four, and not.
    for (over_rtt, after) in [(false, 24), (true, 25)] {
        let control = with_params("vegas", &[("queued_over_rtt", ParamValue::Bool(over_rtt))]);
        let mut sk = connection(&control, 25, 5, 100);
        round(&control, &mut sk, 120);
        assert_eq!(sk.snd_cwnd, after);
    }
}

#[test]
fn slow_start_can_rest_in_every_second_round() {
    let control = with_params("vegas", &[("slow_start_every_second", ParamValue::Bool(true))]);
    let mut sk = connection(&control, 20, 1000, 100);
    let windows: Vec<_> = (0..4)
        .map(|_| {
            round(&control, &mut sk, 100);
            sk.snd_cwnd
        })
        .collect();
    assert_eq!(windows, [20, 21, 21, 22]);
}

#[test]
fn a_loss_leaves_what_is_wanted() {
    for (kept, left) in [("50%", 12), ("75%", 18), ("1%", 2)] {
        let control = with_params("vegas", &[("kept", ParamValue::Text(kept.into()))]);
        assert_eq!(control.ssthresh(&mut socket(25, 5)), left);
    }
}
