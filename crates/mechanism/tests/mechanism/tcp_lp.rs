//! TCP-LP (Kuzmanovic and Knightly, 2006): its formulae by number, and the compiled mechanism driven by hand.

use crate::harness::{at, builtin, compile_text, delay_ms, live, one_way, socket_with_timestamps, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, TcpSock};

const EXPORTS: &str = "#include \"tcp_lp.bpf.c\"\n\
    static struct tcp_lp state;\n\
    void sample(__u32 delay) { tcp_lp_sample(&state, delay); }\n\
    __u32 average(void) { return state.average; }\n\
    __u32 largest(void) { return state.largest; }\n\
    bool congested(__u32 tick) { return tcp_lp_is_congested(&state, tick); }\n";
const RTT_US: i32 = 80_000;

/// A connection after its first loss, in congestion avoidance.
fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket_with_timestamps(cwnd, 2);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    control.ssthresh(&mut sk);
    sk
}

fn sample(control: &Control, sk: &mut TcpSock, ms: u32) {
    delay_ms(sk, ms);
    control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: RTT_US, in_flight: 0 });
}

fn later(control: &Control, sk: &mut TcpSock, us: u64) {
    let now = sk.tcp_mstamp + us;
    at(control, sk, now);
}

/// A connection that knows delays of 50 to 150 ms, with an average below the threshold, 65 ms, and an unchanged window.
fn with_range(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = connection(control, cwnd);
    for ms in [50, 150, 150] {
        sample(control, &mut sk, ms);
    }
    for _ in 0..40 {
        sample(control, &mut sk, 50);
    }
    later(control, &mut sk, 10_000_000);
    sample(control, &mut sk, 50);
    sk.snd_cwnd = cwnd;
    sk
}

/// With a least delay of 50 and a largest of 150 the threshold is 65 ms, and a tick of 1 ms more.
#[test]
fn the_cards_threshold_and_average() {
    let library = compile_text("tcp_lp", EXPORTS);
    // SAFETY: EXPORTS declares them so, and nothing else calls them.
    unsafe {
        let sample = library.get::<unsafe extern "C" fn(u32)>(b"sample").expect("exported");
        let average = library.get::<unsafe extern "C" fn() -> u32>(b"average").expect("exported");
        let largest = library.get::<unsafe extern "C" fn() -> u32>(b"largest").expect("exported");
        let congested = library.get::<unsafe extern "C" fn(u32) -> bool>(b"congested").expect("exported");
        let above_least = |us: f64| (8.0 * (us - 50_000.0)) as u32;
        sample(50_000);
        for expected in [55_000.0, 59_375.0] {
            sample(90_000);
            assert_eq!(average(), above_least(expected));
        }
        assert_eq!(largest(), 40_000, "the second confirms the first");
        sample(150_000);
        assert_eq!(largest(), 40_000, "once is not enough");
        sample(150_000);
        assert_eq!(largest(), 100_000);
        while average() > above_least(66_000.0) {
            assert!(congested(1000));
            sample(50_000);
        }
        assert!(!congested(1000) && (congested(1) || average() <= above_least(65_001.0)));
        sample(30_000);
        assert_eq!(largest(), 120_000, "a new least moves the others away");
    }
}

/// With a cwnd of 40 and an RTT of 80 ms, congestion leaves 20, and 1 if it still shows a round trip later. The
/// inference lasts 240 ms.
#[test]
fn congestion_halves_then_leaves_one_segment() {
    let control = builtin("tcp_lp");
    let mut sk = with_range(&control, 40);
    while sk.snd_cwnd == 40 {
        sample(&control, &mut sk, 90);
    }
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (20, 20), "no slow start follows");
    later(&control, &mut sk, 79_000);
    sample(&control, &mut sk, 90);
    assert_eq!(sk.snd_cwnd, 20, "that was sent before");
    later(&control, &mut sk, 1_000);
    sample(&control, &mut sk, 90);
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (1, 20), "slow start leads back to the half");
}

/// During the inference the window does not grow; after that it does, and congestion halves it again.
#[test]
fn the_inference_lasts_three_round_trips() {
    for (round_trips, inferring_us) in [(3, 240_000), (1, 80_000)] {
        let control = with_params("tcp_lp", &[("inference", ParamValue::Integer(round_trips))]);
        let mut sk = with_range(&control, 40);
        while sk.snd_cwnd == 40 {
            sample(&control, &mut sk, 90);
        }
        for _ in 0..10 {
            sample(&control, &mut sk, 50);
        }
        later(&control, &mut sk, inferring_us - 1);
        sample(&control, &mut sk, 50);
        control.cong_avoid(&mut sk, 0, 20);
        assert_eq!(sk.snd_cwnd, 20, "it only looks");
        later(&control, &mut sk, 1);
        sample(&control, &mut sk, 50);
        control.cong_avoid(&mut sk, 0, 20);
        assert_eq!(sk.snd_cwnd, 21, "it grows as Reno");
        while sk.snd_cwnd == 21 {
            sample(&control, &mut sk, 90);
        }
        assert_eq!(sk.snd_cwnd, 10);
    }
}

/// On a path without a queue a clock that ticks every millisecond shows no congestion.
#[test]
fn one_tick_is_no_congestion() {
    let control = builtin("tcp_lp");
    let mut sk = connection(&control, 40);
    for ms in [20, 21, 21, 20, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21] {
        sample(&control, &mut sk, ms);
        assert_eq!(sk.snd_cwnd, 40);
    }
}

fn two_segments(control: &Control, sk: &mut TcpSock, ms: u32) {
    delay_ms(sk, ms);
    control.pkts_acked(sk, &AckSample { pkts_acked: 2, rtt_us: RTT_US, in_flight: 0 });
}

/// Two segments that one ACK covers show that this receiver delays ACKs; eight single ones in a row that it does not.
#[test]
fn a_held_back_ack_is_no_congestion() {
    let control = builtin("tcp_lp");
    let mut sk = connection(&control, 40);
    two_segments(&control, &mut sk, 20);
    for _ in 0..8 {
        sample(&control, &mut sk, 60);
        assert_eq!(sk.snd_cwnd, 40);
    }
    sample(&control, &mut sk, 60);
    assert_eq!(sk.snd_cwnd, 20);
}

/// The path cannot be slower than a late ACK shows.
#[test]
fn a_held_back_ack_lowers_the_average() {
    let control = builtin("tcp_lp");
    for (singles, congested) in [(0, true), (7, false)] {
        let mut sk = with_range(&control, 40);
        two_segments(&control, &mut sk, 150);
        two_segments(&control, &mut sk, 150);
        sk.snd_cwnd = 40;
        later(&control, &mut sk, 10_000_000);
        for _ in 0..singles {
            sample(&control, &mut sk, 50);
        }
        assert_eq!(sk.snd_cwnd, 40);
        two_segments(&control, &mut sk, 60);
        assert_eq!(sk.snd_cwnd < 40, congested, "{singles} single ones in between");
    }
}

#[test]
fn the_range_is_learnt_up_to_the_first_loss() {
    for (learn_range, halved) in [(true, false), (false, true)] {
        let control = with_params("tcp_lp", &[("learn_range", ParamValue::Bool(learn_range))]);
        let mut sk = socket_with_timestamps(40, 1000);
        control.init(&mut sk);
        sample(&control, &mut sk, 20);
        sample(&control, &mut sk, 60);
        assert_eq!(sk.snd_cwnd == 20, halved);
        control.ssthresh(&mut sk);
        sample(&control, &mut sk, 60);
        assert_eq!(sk.snd_cwnd, 20);
    }
}

#[test]
fn delta_is_a_parameter() {
    for (delta, reduced) in [("15%", true), ("90%", false)] {
        let control = with_params("tcp_lp", &[("delta", ParamValue::Text(delta.into()))]);
        let mut sk = with_range(&control, 40);
        for _ in 0..50 {
            sample(&control, &mut sk, 120);
        }
        assert_eq!(sk.snd_cwnd < 40, reduced, "{delta}");
    }
}

#[test]
fn a_loss_halves() {
    let control = builtin("tcp_lp");
    let mut sk = connection(&control, 25);
    assert_eq!(control.ssthresh(&mut sk), 12);
}

#[test]
fn without_timestamps_it_is_reno() {
    assert_eq!(live(&builtin("tcp_lp")), live(&builtin("reno")));
}

#[test]
fn clocks_count_by_their_differences_only() {
    one_way::same_whatever_the_clocks_show(&builtin("tcp_lp"));
}
