//! Elastic-TCP (Alrshah et al., 2019): its weighting function by number, and the compiled mechanism driven by hand.

use crate::harness::{ack, at, builtin, change_state, compile_text, lose, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, TcpSock, ca_state};

const EXPORTS: &str = "#define ELASTIC_AS_BASE\n#include \"elastic.bpf.c\"\n\
    __u32 wwf(__u32 cwnd, __u32 rtt_max, __u32 rtt_cur) { return elastic_wwf(cwnd, rtt_max, rtt_cur); }\n";

/// A connection in congestion avoidance, after a sample of `rtt_max` and one of `rtt_cur`. A sample counts one
/// microsecond more than it is.
fn connection(control: &Control, cwnd: u32, rtt_max: i32, rtt_cur: i32) -> TcpSock {
    let mut sk = socket(cwnd, 2);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    for rtt in [rtt_max, rtt_cur] {
        control.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: rtt - 1, in_flight: 0 });
    }
    sk
}

/// The number of ACKs of one segment until the window grows.
fn acks_for_a_segment(control: &Control, sk: &mut TcpSock) -> u32 {
    let before = sk.snd_cwnd;
    for acks in 1..=2 * before {
        control.cong_avoid(sk, 0, 1);
        if sk.snd_cwnd != before {
            assert_eq!(sk.snd_cwnd, before + 1);
            return acks;
        }
    }
    panic!("no growth within two windows");
}

/// Section 8 has the weighted window, and the growth of an ACK.
#[test]
fn the_cards_table() {
    let library = compile_text("elastic", EXPORTS);
    // SAFETY: EXPORTS declares it so.
    let wwf = unsafe { library.get::<unsafe extern "C" fn(u32, u32, u32) -> u32>(b"wwf").expect("exported") };
    let control = builtin("elastic");
    for (cwnd, rtt_max, rtt_cur, expected, per_ack) in [
        (100, 160, 100, 12.649, 0.126491),
        (10_000, 160, 100, 126.491, 0.0126491),
        (10_000, 100, 100, 100.0, 0.01),
        (25_000, 255, 204, 176.777, 0.00707107),
        (25_000, 255, 255, 158.114, 0.00632456),
    ] {
        // SAFETY: as above.
        let in_32nds = unsafe { wwf(cwnd, rtt_max, rtt_cur) };
        assert_eq!(in_32nds, (expected * 32.0_f64 + 0.001).floor() as u32, "cwnd {cwnd}, {rtt_max}/{rtt_cur}");
        let mut sk = connection(&control, cwnd, rtt_max as i32, rtt_cur as i32);
        let acks = acks_for_a_segment(&control, &mut sk);
        let fixed = cwnd as f64 * 32.0 / f64::from(in_32nds);
        assert_eq!(acks, fixed.ceil() as u32);
        assert!((f64::from(acks) * per_ack - 1.0).abs() < 1.0 / f64::from(acks) + 0.003, "{acks} ACKs at {per_ack}");
    }
}

/// With the windows and RTTs of section 5 the product needs more than 32 bits.
#[test]
fn large_windows_and_rtts_do_not_overflow() {
    let control = builtin("elastic");
    let mut sk = connection(&control, 1 << 20, 10_000_000, 100_000);
    let wwf = (f64::from(1 << 20) * 100.0).sqrt();
    assert_eq!(acks_for_a_segment(&control, &mut sk), (f64::from(1 << 20) / wwf).ceil() as u32);
    let mut sk = connection(&control, 1 << 29, 100_000_000, 16_000_000);
    control.cong_avoid(&mut sk, 0, 1 << 16);
    let wwf = (f64::from(1 << 29) * f64::from((1 << 24) - 1) / 16e6).sqrt();
    assert_eq!(sk.snd_cwnd - (1 << 29), (f64::from(1 << 16) * wwf / f64::from(1 << 29)) as u32);
}

/// Section 8 has the round trips from the window after a loss to the window before it, at D = 1.
#[test]
fn the_climb_after_a_loss() {
    let control = builtin("elastic");
    for (beta, rounds) in [(0.5, 92.4), (0.875, 20.4), (0.9, 16.2)] {
        let mut sk = connection(&control, (24_900.0 * beta) as u32, 204_000, 204_000);
        let mut climbed = 0;
        while sk.snd_cwnd < 24_900 {
            let cwnd = sk.snd_cwnd;
            for _ in 0..cwnd {
                control.cong_avoid(&mut sk, 0, 1);
            }
            climbed += 1;
        }
        assert!((f64::from(climbed) - rounds).abs() < 1.2, "beta {beta}: {climbed} round trips");
    }
}

#[test]
fn an_ack_of_several_segments_counts_them_and_the_rest_stays() {
    let control = builtin("elastic");
    let (mut one, mut many) = (connection(&control, 100, 100, 100), connection(&control, 100, 100, 100));
    for _ in 0..35 {
        control.cong_avoid(&mut one, 0, 1);
    }
    control.cong_avoid(&mut many, 0, 35);
    assert_eq!((one.snd_cwnd, many.snd_cwnd), (103, 103), "3.5 segments, by ones a little less");
    for _ in 0..6 {
        control.cong_avoid(&mut many, 0, 1);
    }
    assert_eq!(many.snd_cwnd, 104, "what was left of the 35 counts");
}

#[test]
fn a_loss_leaves_beta_and_no_fraction() {
    let control = builtin("elastic");
    let mut sk = connection(&control, 100, 100, 100);
    control.cong_avoid(&mut sk, 0, 9);
    assert_eq!(control.ssthresh(&mut sk), 50);
    assert_eq!(acks_for_a_segment(&control, &mut sk), 10, "not the one that was left");
    assert_eq!(control.ssthresh(&mut socket(3, 2)), 2);
    let gentle = with_params("elastic", &[("beta", ParamValue::Text("87.5%".into()))]);
    assert_eq!(gentle.ssthresh(&mut socket(24_900, 2)), 21_787);
}

/// `horizon` decides which reductions forget the largest RTT. The largest was 400 us and the RTT is 100 us now, which
/// takes half the ACKs while the largest is known.
#[test]
fn the_horizon_of_the_largest_rtt() {
    for (horizon, after_loss, after_timeout) in [(0, true, true), (1, true, false), (2, false, false)] {
        let control = with_params("elastic", &[("horizon", ParamValue::Integer(horizon))]);
        for (state, known) in [(ca_state::RECOVERY, after_loss), (ca_state::LOSS, after_timeout)] {
            let mut sk = connection(&control, 200, 400, 100);
            lose(&control, &mut sk, state);
            change_state(&control, &mut sk, ca_state::OPEN);
            sk.snd_cwnd = 100;
            sk.snd_ssthresh = 100;
            let acks = acks_for_a_segment(&control, &mut sk);
            assert_eq!(acks, if known { 5 } else { 10 }, "horizon {horizon}, state {state}");
        }
    }
}

#[test]
fn slow_start_and_a_window_that_is_not_used_are_reno() {
    let control = builtin("elastic");
    let mut sk = connection(&control, 10, 160, 100);
    sk.snd_ssthresh = 12;
    ack(&control, &mut sk, 2, 100);
    assert_eq!(sk.snd_cwnd, 12);
    sk.is_cwnd_limited = 0;
    ack(&control, &mut sk, 100, 100);
    assert_eq!(sk.snd_cwnd, 12);
    sk.is_cwnd_limited = 1;
    sk.snd_cwnd_clamp = 13;
    ack(&control, &mut sk, 100, 100);
    assert_eq!(sk.snd_cwnd, 13, "never above the clamp");
}
