//! DTPA: its period against equation 4.6 of the dissertation, and the compiled mechanism driven by hand.

use crate::harness::{ack, at, change_state, compile_text, lose, socket, with_params};
use libloading::os::unix::Library;
use model::ParamValue;
use std::sync::OnceLock;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{INFINITE_SSTHRESH, RateSample, TcpSock, ca_state};

const EXPORTS: &str = "#include \"dtpa_period.h\"\n\
    __u32 period(__u32 sent, __u32 losses, __u32 rtt_us, __u32 c) { return dtpa_period_us(sent, losses, rtt_us, c); }\n\
    __u32 of_window(__u32 cwnd, __u32 rtt_us, __u32 c) { return dtpa_window_period_us(cwnd, rtt_us, c); }\n";
const UNLIMITED: u64 = u64::MAX;

fn exports() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| compile_text("dtpa", EXPORTS))
}

fn period(sent: u32, losses: u32, rtt_us: u32, c: u32) -> u32 {
    // SAFETY: EXPORTS declares it so.
    unsafe {
        let function = exports().get::<unsafe extern "C" fn(u32, u32, u32, u32) -> u32>(b"period");
        function.expect("a function")(sent, losses, rtt_us, c)
    }
}

pub fn period_of_window(cwnd: u32, rtt_us: u32, c: u32) -> u32 {
    // SAFETY: EXPORTS declares it so.
    unsafe {
        let function = exports().get::<unsafe extern "C" fn(u32, u32, u32) -> u32>(b"of_window");
        function.expect("a function")(cwnd, rtt_us, c)
    }
}

/// Equation 4.6 in real numbers, us.
fn equation(p: f64, rtt_us: f64, c: f64) -> f64 {
    (1.5_f64.sqrt() / (c * p.sqrt()) * 1e6 - rtt_us).max(0.0)
}

#[test]
fn periods_worked_out_by_hand() {
    for (one_in, rtt_ms, c, period_us) in [
        (100, 500, 2, 5_623_724.0),
        (25, 1000, 2, 2_061_862.0),
        (4, 2000, 2, 0.0),
        (100, 500, 5, 1_949_490.0),
        (10, 3000, 1, 872_983.0),
        (50, 800, 2, 3_530_127.0),
    ] {
        let got = f64::from(period(one_in, 1, rtt_ms * 1000, c * 1000));
        let turn = period_us + f64::from(rtt_ms) * 1000.0;
        assert!((got - period_us).abs() <= 0.005 * turn, "1 in {one_in}, {rtt_ms} ms, c {c}: {got} us");
        assert!((equation(1.0 / f64::from(one_in), f64::from(rtt_ms) * 1e3, f64::from(c)) - period_us).abs() < 1.0);
    }
}

#[test]
fn the_equation_holds_for_all_counts() {
    for sent in [1, 2, 7, 100, 1000, 65_535, 1_000_000, u32::MAX] {
        for losses in [1, 3, 10, 1000, 1_000_000].into_iter().filter(|losses| *losses <= sent) {
            for c in [1, 100, 770, 2000, 1_000_000] {
                let p = (f64::from(losses) / f64::from(sent)).max(1e-4);
                let expected = equation(p, 250_000.0, f64::from(c) / 1000.0).min(30e6);
                let got = f64::from(period(sent, losses, 250_000, c));
                assert!((got - expected).abs() <= 0.005 * (expected + 250_000.0), "{losses} of {sent}, c {c}: {got}");
            }
        }
    }
}

/// With four segments and an RTT of half a second, a c of one a second leaves 3.5 s, and of eight a second nothing.
#[test]
fn a_window_in_its_turn() {
    for (cwnd, rtt_us, c, period_us) in [
        (4, 500_000, 1000, 3_500_000),
        (4, 500_000, 1180, 2_889_830),
        (4, 500_000, 8000, 0),
        (4, 500_000, 7999, 62),
        (1, 0, 3000, 333_333),
        (1, 0, 1, 1_000_000_000),
        (5, 0, 1, u32::MAX),
        (u32::MAX, 999_000_000, u32::MAX, 1_000_000),
        (0, 0, 1, 0),
    ] {
        assert_eq!(period_of_window(cwnd, rtt_us, c), period_us, "{cwnd} segments, {rtt_us} us, c {c}");
    }
}

#[test]
fn without_a_loss_there_is_no_wait_and_no_wait_is_endless() {
    assert_eq!(period(1000, 0, 500_000, 2000), 0);
    assert_eq!(period(0, 0, 500_000, 2000), 0);
    assert_eq!(period(0, 1, 0, 2000), 0);
    assert_eq!(period(u32::MAX, 1, 0, 1), 30_000_000);
    assert!(period(1, u32::MAX, 0, 2000) < 3000, "more losses than segments");
}

fn control(c: i64, memory: i64) -> Control {
    with_params("dtpa", &[("c", ParamValue::Integer(c)), ("memory", ParamValue::Integer(memory))])
}

/// A connection in congestion avoidance with an RTT of half a second and 64 bytes a segment.
fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(cwnd, 2);
    sk.mss_cache = 64;
    sk.srtt_us = 8 * 500_000;
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sk
}

fn period_of(sk: &TcpSock) -> u32 {
    sk.sim.period_us
}

#[test]
fn it_waits_from_the_first_loss_on() {
    let control = control(2000, 0);
    let mut sk = connection(&control, 4);
    sk.data_segs_out = 99;
    ack(&control, &mut sk, 1, 500_000);
    assert_eq!((period_of(&sk), sk.inet_conn.sk.sk_pacing_rate), (0, UNLIMITED));
    lose(&control, &mut sk, ca_state::RECOVERY);
    sk.data_segs_out = 100;
    change_state(&control, &mut sk, ca_state::OPEN);
    ack(&control, &mut sk, 1, 500_000);
    assert_eq!(period_of(&sk), period(100, 1, 500_000, 2000));
    // A window in TXP + RTT, 6.12 s.
    let window = f64::from(sk.snd_cwnd * 64);
    assert!((sk.inet_conn.sk.sk_pacing_rate as f64 - window / 6.123).abs() < 1.0);
}

#[test]
fn timeouts_duplicates_and_marks_count_each_time() {
    let control = control(1000, 0);
    let mut sk = connection(&control, 8);
    for (number, state) in (1..).zip([ca_state::RECOVERY, ca_state::LOSS, ca_state::LOSS, ca_state::CWR]) {
        change_state(&control, &mut sk, state);
        sk.data_segs_out = 1000;
        ack(&control, &mut sk, 1, 500_000);
        assert_eq!(period_of(&sk), period(1000, number, 500_000, 1000), "loss {number}");
    }
    change_state(&control, &mut sk, ca_state::DISORDER);
    ack(&control, &mut sk, 1, 500_000);
    assert_eq!(period_of(&sk), period(1000, 4, 500_000, 1000), "disorder is no loss");
}

#[test]
fn an_ack_without_an_rtt_keeps_the_period() {
    let control = control(2000, 0);
    let mut sk = connection(&control, 4);
    change_state(&control, &mut sk, ca_state::LOSS);
    sk.data_segs_out = 100;
    let sample = RateSample { acked_sacked: 1, rtt_us: -1, ..Default::default() };
    control.cong_control(&mut sk, 0, 0, &sample);
    assert_eq!(period_of(&sk), 0);
    control.cong_control(&mut sk, 0, 0, &RateSample { rtt_us: 500_000, ..sample });
    assert!(period_of(&sk) > 0);
}

#[test]
fn with_a_memory_both_counts_are_halved() {
    let control = control(2000, 1000);
    let mut sk = connection(&control, 4);
    change_state(&control, &mut sk, ca_state::LOSS);
    sk.data_segs_out = 1000;
    ack(&control, &mut sk, 1, 500_000);
    assert_eq!(period_of(&sk), period(1000, 1, 500_000, 2000));
    for _ in 0..3 {
        change_state(&control, &mut sk, ca_state::LOSS);
    }
    sk.data_segs_out = 1200;
    ack(&control, &mut sk, 1, 500_000);
    assert_eq!(period_of(&sk), period(600, 2, 500_000, 2000));
}

/// A window that waits is in use though little of it is in flight; the window of an application that pauses is not.
#[test]
fn the_window_grows_as_renos() {
    let control = control(2000, 0);
    let mut sk = connection(&control, 4);
    change_state(&control, &mut sk, ca_state::LOSS);
    change_state(&control, &mut sk, ca_state::OPEN);
    sk.data_segs_out = 100;
    ack(&control, &mut sk, 1, 500_000);
    (sk.is_cwnd_limited, sk.packets_out, sk.max_packets_out, sk.snd_cwnd_cnt) = (0, 1, 1, 0);
    let before = sk.snd_cwnd;
    let sample = RateSample { acked_sacked: 1, rtt_us: 500_000, ..Default::default() };
    let acked = |sk: &mut TcpSock, sample: &RateSample| {
        for _ in 0..=before {
            sk.snd_una = sk.snd_una.wrapping_add(64);
            control.cong_control(sk, 0, 0, sample);
        }
        sk.snd_cwnd
    };
    assert_eq!(acked(&mut sk, &RateSample { is_app_limited: 1, ..sample }), before);
    assert_eq!(acked(&mut sk, &sample), before + 1);
}

/// Duplicates leave half the window, which the first repair may exceed; a timeout leaves the window to the stack.
#[test]
fn a_loss_leaves_half() {
    let control = control(2000, 0);
    let mut sk = connection(&control, 8);
    sk.sacked_out = 3;
    sk.lost_out = 1;
    lose(&control, &mut sk, ca_state::RECOVERY);
    let sample = RateSample { acked_sacked: 1, rtt_us: 500_000, ..Default::default() };
    control.cong_control(&mut sk, 0, 0, &sample);
    assert_eq!((sk.snd_ssthresh, sk.snd_cwnd), (4, 5), "4 are in flight, and one may be repaired");
    sk.prr_out = 1;
    control.cong_control(&mut sk, 0, 0, &sample);
    assert_eq!(sk.snd_cwnd, 4);
    change_state(&control, &mut sk, ca_state::OPEN);
    assert_eq!(sk.snd_cwnd, 4);
}

/// Without SACK the state stays for one more acknowledgement after a reduction is undone. A flow that had no loss
/// before then has an endless threshold: `tools/invariants 1 877744` had a window of as many segments.
#[test]
fn a_reduction_that_was_undone_leaves_the_window_that_was() {
    let control = control(2000, 0);
    let mut sk = connection(&control, 8);
    lose(&control, &mut sk, ca_state::RECOVERY);
    sk.snd_cwnd = control.undo_cwnd(&mut sk);
    sk.snd_ssthresh = INFINITE_SSTHRESH;
    sk.prr_out = 1;
    control.cong_control(&mut sk, 0, 0, &RateSample { acked_sacked: 1, rtt_us: 500_000, ..Default::default() });
    assert_eq!(sk.snd_cwnd, 8);
}
