//! Illinois as tcp_illinois.c has it: its formulae by number, and the compiled mechanism driven by hand.

use crate::harness::{at, builtin, change_state, compile_text, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, TcpSock, ca_state};

const EXPORTS: &str = "#include \"illinois.bpf.c\"\n\
    __u32 alpha(__u32 delay, __u32 most) { struct illinois ca = {0}; return illinois_alpha(&ca, delay, most); }\n\
    __u32 beta(__u32 delay, __u32 most) { return illinois_beta(delay, most); }\n";

const BASE_US: i32 = 100_000;
/// Growth of 100 segments by a thousand ACKs where alpha is 10. It would be sqrt(100^2 + 2 10 1000) - 100 = 73, but
/// Linux forgets a part of an ACK with each segment.
const FASTEST: u32 = 71;

/// The paper's curves where the largest delay is 100 ms: alpha from 10 down to 0.3, beta from 1/8 up to 1/2.
#[test]
fn the_papers_curves() {
    let library = compile_text("illinois", EXPORTS);
    // SAFETY: EXPORTS declares both so.
    let [alpha, beta] = unsafe {
        ["alpha", "beta"].map(|name| library.get::<unsafe extern "C" fn(u32, u32) -> u32>(name.as_bytes()).expect(name))
    };
    for (delay_ms, expected_alpha, expected_beta) in
        [(0, 1280, 8), (1, 1280, 8), (10, 322, 8), (15, 227, 9), (45, 82, 20), (80, 47, 32), (100, 38, 32)]
    {
        // SAFETY: as above.
        let found = unsafe { (alpha(delay_ms * 1000, 100_000), beta(delay_ms * 1000, 100_000)) };
        assert_eq!(found, (expected_alpha, expected_beta), "{delay_ms} ms");
    }
    // SAFETY: as above.
    let (longest, none) = unsafe { (alpha(3_355_000, 3_355_443), beta(1, 1)) };
    assert_eq!((longest, none), (38, 32), "no product overflows, and a delay of a microsecond divides by nothing");
}

fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(cwnd, 2);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sk
}

fn sample(control: &Control, sk: &mut TcpSock, delay_ms: i32) {
    control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: BASE_US + 1000 * delay_ms, in_flight: 0 });
}

/// Ends a round that had these delays, without an acknowledged segment.
fn round(control: &Control, sk: &mut TcpSock, delays_ms: &[i32]) {
    for &delay_ms in delays_ms {
        sample(control, sk, delay_ms);
    }
    let end = sk.snd_nxt.wrapping_add(1);
    sk.snd_nxt = end.wrapping_add(1000);
    sk.is_cwnd_limited = 0;
    sk.max_packets_out = 0;
    control.cong_avoid(sk, end, 1);
    sk.is_cwnd_limited = 1;
    sk.max_packets_out = sk.snd_cwnd;
}

/// The segments that a thousand ACKs of one segment add.
fn growth(control: &Control, sk: &TcpSock) -> u32 {
    let mut sk = sk.clone();
    for _ in 0..1000 {
        sk.packets_out = sk.snd_cwnd;
        sk.max_packets_out = sk.snd_cwnd;
        control.cong_avoid(&mut sk, 0, 1);
    }
    sk.snd_cwnd - 100
}

#[test]
fn it_grows_by_alpha_and_a_loss_takes_beta() {
    let control = builtin("illinois");
    let mut sk = connection(&control, 100);
    assert_eq!(growth(&control, &sk), FASTEST, "alpha is 10");
    round(&control, &mut sk, &[0, 100, 35]);
    assert_eq!(control.ssthresh(&mut sk), 69, "a delay of 45 ms takes 20 of 64");
    assert!((5..=6).contains(&growth(&control, &sk)), "alpha is 0.64");
    round(&control, &mut sk, &[100, 100]);
    assert_eq!(control.ssthresh(&mut sk), 50);
    assert!((2..=3).contains(&growth(&control, &sk)), "alpha is 0.3");
}

/// Five rounds with a short delay bring alpha back to its largest value, and others between them do not matter.
#[test]
fn after_a_queue_alpha_returns_with_the_fifth_short_round() {
    for rounds in [5, 2] {
        let control = with_params("illinois", &[("rounds", ParamValue::Integer(rounds))]);
        let mut sk = connection(&control, 100);
        round(&control, &mut sk, &[0, 100]);
        let slow = growth(&control, &sk);
        for short in 1..=rounds {
            assert_eq!(growth(&control, &sk), slow, "after {} of {rounds}", short - 1);
            round(&control, &mut sk, &[50]);
            round(&control, &mut sk, &[0]);
            assert_eq!(control.ssthresh(&mut sk), 88, "a short delay takes an eighth at once");
        }
        assert_eq!(growth(&control, &sk), FASTEST);
    }
}

#[test]
fn below_its_window_it_is_reno() {
    let control = builtin("illinois");
    for (cwnd, left) in [(14, 7), (15, 14)] {
        let mut sk = connection(&control, cwnd);
        round(&control, &mut sk, &[0, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(control.ssthresh(&mut sk), left, "{cwnd}");
    }
    let always = with_params("illinois", &[("window", ParamValue::Integer(0))]);
    let mut sk = connection(&always, 8);
    round(&always, &mut sk, &[0]);
    assert_eq!(always.ssthresh(&mut sk), 7, "an empty queue leaves seven eighths");
}

#[test]
fn a_timeout_makes_it_reno_until_the_round_ends() {
    let control = builtin("illinois");
    let mut sk = connection(&control, 100);
    round(&control, &mut sk, &[0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(control.ssthresh(&mut sk), 88);
    change_state(&control, &mut sk, ca_state::LOSS);
    assert_eq!(control.ssthresh(&mut sk), 50);
    assert_eq!(growth(&control, &sk), 9, "a segment a round trip");
    round(&control, &mut sk, &[0]);
    assert_eq!(growth(&control, &sk), FASTEST, "the timeout forgot the queue");
}

/// A round without an RTT keeps what the last one found, and a sample of four seconds counts as 3.36.
#[test]
fn samples_that_say_nothing() {
    let control = builtin("illinois");
    let mut sk = connection(&control, 100);
    round(&control, &mut sk, &[0, 100, 35]);
    round(&control, &mut sk, &[]);
    control.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: -1, in_flight: 0 });
    round(&control, &mut sk, &[]);
    assert_eq!(control.ssthresh(&mut sk), 69);
    round(&control, &mut sk, &[100_000]);
    assert_eq!(control.ssthresh(&mut sk), 50);
    round(&control, &mut sk, &[325]);
    assert_eq!(control.ssthresh(&mut sk), 88, "a tenth of 3.255 s");
}
