//! Agile-SD (Alrshah et al., 2015): the compiled mechanism, driven by hand.

use crate::harness::{at, builtin, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::TcpSock;

/// A connection after a loss at 1000 segments, which left 900, with a window of `cwnd` now.
fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(1000, 2);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    assert_eq!(control.ssthresh(&mut sk), 900);
    sk.snd_cwnd = cwnd;
    sk.snd_ssthresh = 900;
    sk
}

/// The growth of an ACK in 1/1000000 segment follows from the number of ACKs for a segment.
#[test]
fn the_cards_table() {
    let control = builtin("agile_sd");
    for (cwnd, per_ack) in [(900, 3333), (934, 2119), (950, 1578), (967, 1034), (1000, 1000), (1100, 909)] {
        let mut sk = connection(&control, cwnd);
        let acks = 1_000_000_u32.div_ceil(per_ack);
        for _ in 1..acks {
            control.cong_avoid(&mut sk, 0, 1);
        }
        assert_eq!(sk.snd_cwnd, cwnd, "an ACK less");
        control.cong_avoid(&mut sk, 0, 1);
        assert_eq!(sk.snd_cwnd, cwnd + 1, "{acks} ACKs at {per_ack}");
    }
}

#[test]
fn it_may_grow_at_a_tenth() {
    let control = with_params("agile_sd", &[("slower", ParamValue::Integer(10))]);
    let mut sk = connection(&control, 900);
    for grown in [0, 1] {
        assert_eq!(sk.snd_cwnd, 900 + grown);
        // 3333 millionths an ACK, of which a segment takes ten.
        for _ in 0..3001 {
            control.cong_avoid(&mut sk, 0, 1);
        }
    }
}

#[test]
fn seventy_round_trips_to_the_window_before() {
    let control = builtin("agile_sd");
    let mut sk = connection(&control, 900);
    let mut rounds = 0;
    while sk.snd_cwnd < 1000 {
        for _ in 0..sk.snd_cwnd {
            control.cong_avoid(&mut sk, 0, 1);
        }
        rounds += 1;
    }
    assert!((68..=72).contains(&rounds), "{rounds} round trips");
}

#[test]
fn without_a_loss_it_is_reno() {
    let control = builtin("agile_sd");
    let mut sk = socket(10, 12);
    control.init(&mut sk);
    control.cong_avoid(&mut sk, 0, 2);
    assert_eq!(sk.snd_cwnd, 12, "slow start");
    for _ in 0..13 {
        control.cong_avoid(&mut sk, 0, 1);
    }
    assert_eq!(sk.snd_cwnd, 13, "one segment a round trip");
}

#[test]
fn the_modules_way_of_counting() {
    for (once_per_ack, grown) in [(false, 3), (true, 0)] {
        let control = with_params("agile_sd", &[("once_per_ack", ParamValue::Bool(once_per_ack))]);
        let mut sk = connection(&control, 900);
        control.cong_avoid(&mut sk, 0, 1000);
        assert_eq!(sk.snd_cwnd, 900 + grown);
    }
}

#[test]
fn a_loss_leaves_beta_and_an_undo_restores() {
    let control = builtin("agile_sd");
    let mut sk = connection(&control, 900);
    assert_eq!(control.undo_cwnd(&mut sk), 1000);
    sk.snd_cwnd = 1200;
    assert_eq!(control.undo_cwnd(&mut sk), 1200);
    assert_eq!(control.ssthresh(&mut socket(2, 2)), 2);
    let half = with_params("agile_sd", &[("beta", ParamValue::Text("50%".into()))]);
    assert_eq!(half.ssthresh(&mut socket(5_000_000, 2)), 2_500_000);
}
