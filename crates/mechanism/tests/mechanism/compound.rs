//! Compound TCP (Tan et al., 2006): the compiled mechanism, driven by hand.

use crate::harness::{at, builtin, change_state, lose, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, TcpSock, ca_event, ca_state};

const BASE_US: i32 = 100_000;
const EIGHTHS: u32 = 8;

/// A connection in congestion avoidance, at the start of a round, with a least RTT of 100 ms.
fn connection(control: &Control, win: u32) -> TcpSock {
    let mut sk = socket(win, 2);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sample(control, &mut sk, BASE_US);
    end_round(control, &mut sk);
    sk
}

/// Plays an RTT sample, which counts one microsecond more than it is.
fn sample(control: &Control, sk: &mut TcpSock, rtt_us: i32) {
    control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: rtt_us - 1, in_flight: 0 });
}

/// Plays an ACK beyond the round's end that covers nothing, so that Reno's part does not grow.
fn end_round(control: &Control, sk: &mut TcpSock) {
    sk.snd_una = sk.snd_nxt.wrapping_add(1);
    sk.snd_nxt = sk.snd_una.wrapping_add(1000);
    let una = sk.snd_una;
    control.cong_avoid(sk, una, 0);
}

fn round(control: &Control, sk: &mut TcpSock, rtt_us: i32) {
    for _ in 0..3 {
        sample(control, sk, rtt_us);
    }
    end_round(control, sk);
}

/// `struct compound` holds the delay window as its fifth number.
fn dwnd(sk: &TcpSock) -> u32 {
    sk.inet_conn.icsk_ca_priv[2] as u32
}

fn with_dwnd(mut sk: TcpSock, segments: u32) -> TcpSock {
    sk.inet_conn.icsk_ca_priv[2] = u64::from(segments * EIGHTHS);
    sk
}

/// The growth in real numbers is w^(3/4) / 8 - 1; this one is less than an eighth of a segment below it.
#[test]
fn an_empty_queue_lets_the_delay_window_grow() {
    let control = builtin("compound");
    for (win, growth) in [
        (16, 0.0),
        (17, 0.0465),
        (38, 0.9131),
        (41, 1.0253),
        (100, 2.9528),
        (256, 7.0),
        (1000, 21.2285),
        (10_000, 124.0),
    ] {
        let growth = if win < 38 { 0.0 } else { growth }; // the draft's low window
        let mut sk = connection(&control, win);
        round(&control, &mut sk, BASE_US);
        let in_eighths = f64::from(dwnd(&sk)) / f64::from(EIGHTHS);
        assert!(in_eighths <= growth && growth - in_eighths < 0.125, "win {win}: {in_eighths}, not {growth}");
        assert_eq!(sk.snd_cwnd, win + dwnd(&sk) / EIGHTHS);
    }
}

#[test]
fn a_queue_takes_back_what_it_holds() {
    let control = builtin("compound");
    let mut sk = with_dwnd(connection(&control, 300), 50);
    round(&control, &mut sk, 112_000);
    assert_eq!((dwnd(&sk), sk.snd_cwnd), (143, 250 + 17), "50 - 32.14 = 17.86");
    let mut sk = with_dwnd(connection(&control, 300), 20);
    round(&control, &mut sk, 112_000);
    assert_eq!((dwnd(&sk), sk.snd_cwnd), (0, 280), "not below zero");
    let mut sk = with_dwnd(connection(&control, 300), 50);
    round(&control, &mut sk, 111_000);
    assert!(dwnd(&sk) > 50 * EIGHTHS, "29.7 queued are fewer than gamma");
}

#[test]
fn a_loss_halves_both_windows() {
    let control = builtin("compound");
    let mut sk = with_dwnd(connection(&control, 200), 80);
    lose(&control, &mut sk, ca_state::RECOVERY);
    assert_eq!((sk.snd_ssthresh, dwnd(&sk)), (100, 40 * EIGHTHS));
    sk.snd_cwnd = control.undo_cwnd(&mut sk);
    assert_eq!((sk.snd_cwnd, dwnd(&sk)), (200, 80 * EIGHTHS), "a loss that was none");
    assert_eq!(control.ssthresh(&mut socket(3, 2)), 2);
}

#[test]
fn a_timeout_and_a_pause_end_the_delay_window() {
    let control = builtin("compound");
    let mut sk = with_dwnd(connection(&control, 200), 80);
    change_state(&control, &mut sk, ca_state::LOSS);
    assert_eq!(dwnd(&sk), 0);
    let mut sk = with_dwnd(connection(&control, 200), 80);
    control.cwnd_event(&mut sk, ca_event::CWND_RESTART);
    assert_eq!(dwnd(&sk), 0);
}

#[test]
fn renos_part_grows_as_reno() {
    let control = builtin("compound");
    let mut sk = with_dwnd(connection(&control, 20), 5);
    let una = sk.snd_una;
    control.cong_avoid(&mut sk, una, 19);
    assert_eq!(sk.snd_cwnd, 20);
    control.cong_avoid(&mut sk, una, 1);
    assert_eq!((sk.snd_cwnd, dwnd(&sk)), (21, 5 * EIGHTHS), "one segment for a whole window");
    sk.snd_ssthresh = 30;
    control.cong_avoid(&mut sk, una, 5);
    assert_eq!((sk.snd_cwnd, dwnd(&sk)), (26, 0), "slow start has no delay window");
}

#[test]
fn a_round_with_few_samples_says_nothing_and_the_clamp_holds() {
    let control = builtin("compound");
    let mut sk = connection(&control, 1000);
    sample(&control, &mut sk, BASE_US);
    sample(&control, &mut sk, BASE_US);
    end_round(&control, &mut sk);
    assert_eq!(sk.snd_cwnd, 1000);
    sk.snd_cwnd_clamp = 1010;
    round(&control, &mut sk, BASE_US);
    assert_eq!((sk.snd_cwnd, dwnd(&sk)), (1010, 10 * EIGHTHS));
}

/// gamma goes halfway to three quarters of the packets that Reno's part had queued: 20 packets give 22.5, then 18.75.
#[test]
fn gamma_follows_what_reno_had_queued() {
    for (tune, shrinks) in [(true, true), (false, false)] {
        let control = with_params("compound", &[("tune_gamma", ParamValue::Bool(tune))]);
        let mut sk = connection(&control, 200);
        round(&control, &mut sk, 111_111);
        control.ssthresh(&mut sk);
        let mut sk = with_dwnd(sk, 10);
        sk.snd_cwnd = 240;
        round(&control, &mut sk, 111_111);
        assert_eq!(dwnd(&sk) < 10 * EIGHTHS, shrinks, "24 queued against 22.5 or 30");
    }
    let control = with_params("compound", &[("gamma", ParamValue::Integer(23))]);
    let mut sk = with_dwnd(connection(&control, 240), 10);
    round(&control, &mut sk, 111_111);
    assert_eq!(dwnd(&sk), 0, "gamma is a parameter");
}
