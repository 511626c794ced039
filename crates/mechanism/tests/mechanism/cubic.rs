//! CUBIC (RFC 9438) and HyStart as tcp_cubic.c has them: the compiled mechanism, driven by hand.

use crate::harness::{ack, acknowledge, at, builtin, change_state, lose, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{HZ, INFINITE_SSTHRESH, TcpSock, ca_event, ca_state};

/// A member of `struct cubic`, by its place among the 32-bit ones.
fn state(sk: &TcpSock, place: usize) -> u32 {
    (sk.inet_conn.icsk_ca_priv[place / 2] >> (32 * (place % 2))) as u32
}
const W_MAX: usize = 1;
const EPOCH_START: usize = 7;
const W_EST: usize = 9;

fn flag(name: &str, value: bool) -> (&str, ParamValue) {
    (name, ParamValue::Bool(value))
}

/// A connection that lost at `cwnd` and has just left recovery, at one second.
fn after_loss(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(cwnd, 10);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    lose(control, &mut sk, ca_state::RECOVERY);
    change_state(control, &mut sk, ca_state::OPEN);
    sk
}

#[test]
fn a_loss_leaves_seven_tenths() {
    let control = builtin("cubic");
    let sk = after_loss(&control, 100);
    assert_eq!((state(&sk, W_MAX), sk.snd_ssthresh), (100, 70));
    assert_eq!(control.ssthresh(&mut socket(2, 10)), 2);
}

#[test]
fn fast_convergence_gives_way() {
    for (on, w_max) in [(true, 68), (false, 80)] {
        let control = with_params("cubic", &[flag("fast_convergence", on)]);
        let mut sk = after_loss(&control, 100);
        sk.snd_cwnd = 80;
        assert_eq!(control.ssthresh(&mut sk), 56);
        assert_eq!(state(&sk, W_MAX), w_max);
    }
}

#[test]
fn between_losses_the_window_follows_the_curve() {
    let control = with_params("cubic", &[flag("friendliness", false)]);
    let mut sk = after_loss(&control, 1000);
    const RTT_US: u64 = 100_000;
    for round in 0..150_u64 {
        let t = round as f64 * 0.1;
        let curve = 0.4 * (t - 9.085603_f64).powi(3) + 1000.0;
        let window = sk.snd_cwnd as f64;
        assert!((window - curve).abs() < 0.01 * curve, "{window} at {t} s, not {curve}");
        for _ in 0..10 {
            // Ten bursts of ACKs a round trip.
            let burst = sk.snd_cwnd / 10;
            sk.max_packets_out = sk.snd_cwnd;
            ack(&control, &mut sk, burst, RTT_US as i32);
            let later = sk.tcp_mstamp + RTT_US / 10;
            at(&control, &mut sk, later);
        }
    }
}

/// Growth of the window in 20 round trips of 100 ms that end beyond the curve's origin, with ten bursts of ACKs in
/// each.
fn growth_beyond_the_origin(params: &[(&str, ParamValue)]) -> u32 {
    let control = with_params("cubic", params);
    let mut sk = after_loss(&control, 1000);
    let mut before = 0;
    for burst in 0..3700_u64 {
        if burst == 3500 {
            before = sk.snd_cwnd;
        }
        sk.max_packets_out = sk.snd_cwnd;
        let acked = sk.snd_cwnd / 10;
        ack(&control, &mut sk, acked, 100_000);
        let later = sk.tcp_mstamp + 10_000;
        at(&control, &mut sk, later);
    }
    sk.snd_cwnd - before
}

#[test]
fn above_the_origin_growth_may_be_bounded() {
    let s_max = |packets| ("s_max", ParamValue::Integer(packets));
    let free = growth_beyond_the_origin(&[flag("friendliness", false)]);
    assert!(free > 20 * 80, "{free}");
    let bounded = growth_beyond_the_origin(&[flag("friendliness", false), s_max(16)]);
    assert!(bounded.abs_diff(20 * 16) <= 10, "{bounded}");
}

#[test]
fn an_ack_may_be_taken_for_more_segments() {
    let bounded = |ratio| {
        let params = [
            ("s_max", ParamValue::Integer(16)),
            ("ack_ratio", ParamValue::Integer(ratio)),
            flag("friendliness", false),
        ];
        growth_beyond_the_origin(&params) as f64
    };
    assert!((bounded(31) / bounded(16) - 31.0 / 16.0).abs() < 0.05, "{} {}", bounded(31), bounded(16));
}

#[test]
fn the_estimate_of_reno_rises_by_half_a_segment_a_round_trip() {
    let control = builtin("cubic");
    let mut sk = after_loss(&control, 100);
    for (rounds, w_est) in [(1, 70), (10, 75), (50, 96)] {
        while (sk.tcp_mstamp - 1_000_000) / 100_000 < rounds {
            for _ in 0..70 {
                ack(&control, &mut sk, 1, 100_000);
                (sk.snd_cwnd, sk.snd_cwnd_cnt) = (70, 0);
                let later = sk.tcp_mstamp + 1_429;
                at(&control, &mut sk, later);
            }
        }
        assert_eq!(state(&sk, W_EST), w_est, "after {rounds} round trips");
    }
}

#[test]
fn on_a_short_path_it_keeps_up_with_reno() {
    let grown = |friendliness| {
        let control = with_params("cubic", &[flag("friendliness", friendliness)]);
        let mut sk = after_loss(&control, 20);
        for _ in 0..100 {
            let later = sk.tcp_mstamp + 5_000;
            at(&control, &mut sk, later);
            acknowledge(&control, &mut sk, 5_000);
        }
        sk.snd_cwnd
    };
    assert!(grown(true) >= 14 + 45, "{}", grown(true));
    assert!(grown(false) <= 25, "{}", grown(false));
}

#[test]
fn a_timeout_forgets_the_curve() {
    let control = builtin("cubic");
    let mut sk = after_loss(&control, 100);
    lose(&control, &mut sk, ca_state::LOSS);
    assert_eq!((state(&sk, W_MAX), state(&sk, EPOCH_START), sk.snd_ssthresh), (0, 0, 49));
}

#[test]
fn idle_time_does_not_count() {
    let control = builtin("cubic");
    let mut sk = after_loss(&control, 100);
    acknowledge(&control, &mut sk, 20_000);
    let epoch = state(&sk, EPOCH_START);
    at(&control, &mut sk, 4_000_000);
    control.cwnd_event(&mut sk, ca_event::TX_START);
    assert_eq!(state(&sk, EPOCH_START) - epoch, 3 * HZ as u32);
}

/// A connection in slow start at a least RTT of 20 ms, after one round of ACKs `spacing_us` apart with an RTT of
/// `rtt_us`.
fn slow_start(control: &Control, cwnd: u32, rtt_us: i32, spacing_us: u64) -> TcpSock {
    let mut sk = socket(cwnd, INFINITE_SSTHRESH);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    ack(control, &mut sk, 1, 20_000);
    sk.snd_nxt = sk.snd_una.wrapping_add(100 * sk.mss_cache);
    for _ in 0..16 {
        let later = sk.tcp_mstamp + spacing_us;
        at(control, &mut sk, later);
        sk.max_packets_out = sk.snd_cwnd;
        ack(control, &mut sk, 1, rtt_us);
    }
    sk
}

#[test]
fn hystart_ends_slow_start_when_the_delay_rises() {
    let control = builtin("cubic");
    let sk = slow_start(&control, 20, 24_001, 3_000);
    assert!(sk.snd_ssthresh < 40, "{}", sk.snd_ssthresh);
    let sk = slow_start(&control, 20, 24_000, 3_000);
    assert_eq!(sk.snd_ssthresh, INFINITE_SSTHRESH, "4 ms are tolerated");
}

#[test]
fn hystart_ends_slow_start_when_a_train_is_half_the_round_trip() {
    let control = builtin("cubic");
    let sk = slow_start(&control, 20, 20_000, 1_000);
    assert!(sk.snd_ssthresh < 40, "{}", sk.snd_ssthresh);
    let sk = slow_start(&control, 20, 20_000, 600);
    assert_eq!(sk.snd_ssthresh, INFINITE_SSTHRESH, "a train of 9.6 ms is shorter than half of 20 ms");
}

#[test]
fn hystart_can_be_switched_off_and_spares_small_windows() {
    let sk = slow_start(&with_params("cubic", &[flag("hystart", false)]), 20, 40_000, 1_000);
    assert_eq!(sk.snd_ssthresh, INFINITE_SSTHRESH);
    let parts = [flag("hystart_train", false), flag("hystart_delay", false)];
    let sk = slow_start(&with_params("cubic", &parts), 20, 40_000, 1_000);
    assert_eq!(sk.snd_ssthresh, INFINITE_SSTHRESH);
    let high = [("hystart_low_window", ParamValue::Integer(1000))];
    let sk = slow_start(&with_params("cubic", &high), 20, 40_000, 1_000);
    assert_eq!(sk.snd_ssthresh, INFINITE_SSTHRESH);
}

#[test]
fn beta_and_c_are_parameters() {
    let share = |text: &str| ParamValue::Text(text.into());
    let control = with_params("cubic", &[("beta", share("80%"))]);
    assert_eq!(after_loss(&control, 1000).snd_ssthresh, 799, "819/1024");
    let grown = |c: &str| {
        let control = with_params("cubic", &[("c", share(c)), flag("friendliness", false)]);
        let mut sk = after_loss(&control, 1000);
        for _ in 0..20 {
            let later = sk.tcp_mstamp + 100_000;
            at(&control, &mut sk, later);
            acknowledge(&control, &mut sk, 100_000);
        }
        sk.snd_cwnd
    };
    assert!(grown("80%") > grown("40%"));
}
