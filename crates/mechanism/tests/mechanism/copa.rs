//! Copa (NSDI 2018): its equations by number, and the compiled mechanism driven by hand.

use crate::harness::{at, builtin, change_state, compile_text, lose, socket, with_params};
use libloading::os::unix::Library;
use model::ParamValue;
use std::sync::OnceLock;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{INFINITE_SSTHRESH, RateSample, TcpSock, ca_state};

const EXPORTS: &str = "#include \"copa.bpf.c\"\n\
    struct seen { __u32 velocity, inverse, slow_start, queueing_us; };\n\
    struct seen see(const struct copa *ca)\n\
    {\n\
        return (struct seen){ ca->velocity, ca->inverse, ca->slow_start, copa_queueing_us(ca) };\n\
    }\n";

/// Copa's state of a connection: `struct seen` of [`EXPORTS`].
#[repr(C)]
struct Seen {
    velocity: u32,
    inverse: u32,
    slow_start: u32,
    queueing_us: u32,
}

fn see(sk: &TcpSock) -> Seen {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| compile_text("copa", EXPORTS));
    // SAFETY: EXPORTS declares it so.
    unsafe {
        let function = library.get::<unsafe extern "C" fn(*const u64) -> Seen>(b"see");
        function.expect("a function")(sk.inet_conn.icsk_ca_priv.as_ptr())
    }
}

/// The least RTT of the path, ms.
const BASE_MS: u64 = 98;

fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(cwnd, INFINITE_SSTHRESH);
    sk.srtt_us = 8 * 1000 * BASE_MS as u32;
    sk.delivered = 1;
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    ack(control, &mut sk, BASE_MS, Said { acked: 0, ..WITHIN });
    sk
}

/// What the stack reports about an ACK.
#[derive(Clone, Copy)]
struct Said {
    acked: u32,
    losses: i32,
    /// It acknowledges a packet of a new round.
    round: bool,
}

const WITHIN: Said = Said { acked: 1, losses: 0, round: false };
const ROUND: Said = Said { round: true, ..WITHIN };

fn ack(control: &Control, sk: &mut TcpSock, rtt_ms: u64, said: Said) {
    let prior_delivered = if said.round { sk.delivered } else { sk.delivered.wrapping_sub(1000) };
    sk.delivered += said.acked;
    (sk.packets_out, sk.max_packets_out) = (sk.snd_cwnd, sk.snd_cwnd);
    let sample = RateSample {
        delivered: said.acked as i32,
        acked_sacked: said.acked,
        losses: said.losses,
        rtt_us: 1000 * rtt_ms as i64,
        prior_delivered,
        ..Default::default()
    };
    let una = sk.snd_una;
    control.cong_control(sk, una, 0, &sample);
}

/// A connection whose slow start is over, with this queueing delay.
fn steering(control: &Control, cwnd: u32, queueing_ms: u64) -> TcpSock {
    let mut sk = connection(control, cwnd);
    let started = sk.tcp_mstamp;
    ack(control, &mut sk, 10 * BASE_MS, WITHIN);
    at(control, &mut sk, started + 1000 * BASE_MS);
    ack(control, &mut sk, 10 * BASE_MS, WITHIN);
    at(control, &mut sk, started + 2000 * BASE_MS);
    ack(control, &mut sk, BASE_MS + queueing_ms, Said { acked: 0, ..WITHIN });
    sk.snd_cwnd = cwnd;
    assert_eq!((see(&sk).slow_start, see(&sk).queueing_us), (0, 1000 * queueing_ms as u32));
    sk
}

/// The number of ACKs until the window changes, and the change.
fn acks_for_a_segment(control: &Control, sk: &mut TcpSock, rtt_ms: u64) -> (u32, i64) {
    let before = sk.snd_cwnd;
    for acks in 1..=1000 {
        ack(control, sk, rtt_ms, WITHIN);
        if sk.snd_cwnd != before {
            return (acks, i64::from(sk.snd_cwnd) - i64::from(before));
        }
    }
    (1000, 0)
}

/// The rate cwnd / 100 ms is at most 1 / (delta 2 ms) up to 100 segments where delta is a half. An ACK moves the window
/// by 1 / (delta cwnd) = 0.02 segments.
#[test]
fn the_target_rate() {
    let control = builtin("copa");
    for (cwnd, queueing, change) in [(100, 2, 1), (101, 2, -1), (50, 4, 1), (52, 4, -1), (1000, 0, 1)] {
        let mut sk = steering(&control, cwnd, queueing);
        let (acks, moved) = acks_for_a_segment(&control, &mut sk, BASE_MS + queueing);
        assert_eq!(moved, change, "{cwnd} segments, {queueing} ms");
        assert!(acks.abs_diff(cwnd / 2) <= 2, "{acks} ACKs, {cwnd} segments");
    }
    let tenth = with_params("copa", &[("inverse_delta", ParamValue::Integer(10))]);
    let mut sk = steering(&tenth, 101, 2);
    let (acks, moved) = acks_for_a_segment(&tenth, &mut sk, BASE_MS + 2);
    assert!((11..=12).contains(&acks) && moved == 1, "ten packets in the queue: {acks} ACKs, {moved}");
}

#[test]
fn packets_are_paced_at_twice_the_rate() {
    let control = builtin("copa");
    let mut sk = steering(&control, 100, 2);
    ack(&control, &mut sk, BASE_MS + 2, WITHIN);
    assert_eq!(sk.inet_conn.sk.sk_pacing_rate, 2 * 100 * 1448 * 10);
    assert_eq!(sk.inet_conn.sk.sk_pacing_status, 1);
}

/// The window grows by a segment an ACK, until the rate first exceeds the target.
#[test]
fn slow_start() {
    let control = builtin("copa");
    let mut sk = connection(&control, 10);
    for grown in 1..=50 {
        ack(&control, &mut sk, BASE_MS + 2, WITHIN);
        assert_eq!((sk.snd_cwnd, see(&sk).slow_start), (10 + grown, 1));
    }
    let later = sk.tcp_mstamp + 1000 * BASE_MS;
    at(&control, &mut sk, later);
    ack(&control, &mut sk, BASE_MS + 20, WITHIN);
    assert_eq!((sk.snd_cwnd, see(&sk).slow_start), (60, 0), "12 segments would be the target");
}

/// The velocity doubles from the third round trip in one direction on, and a turn makes it one again.
#[test]
fn the_velocity() {
    let control = builtin("copa");
    let mut sk = steering(&control, 100, 0);
    let mut round = |rtt_ms: u64| {
        let now = sk.tcp_mstamp + 1000 * BASE_MS;
        at(&control, &mut sk, now);
        ack(&control, &mut sk, rtt_ms, ROUND);
        for _ in 0..100 {
            ack(&control, &mut sk, rtt_ms, WITHIN);
        }
        see(&sk).velocity
    };
    assert_eq!(round(BASE_MS), 1);
    assert_eq!((0..5).map(|_| round(BASE_MS)).collect::<Vec<_>>(), [1, 1, 2, 4, 8]);
    let up = round(BASE_MS + 60);
    assert_eq!(up, 16, "the round before still went up");
    assert_eq!((0..4).map(|_| round(BASE_MS + 60)).collect::<Vec<_>>(), [1, 1, 2, 4]);
}

/// A window at most doubles in a round trip: v / delta is at most the window.
#[test]
fn a_small_window_does_not_jump() {
    let control = builtin("copa");
    let mut sk = steering(&control, 4, 0);
    for _ in 0..12 {
        let (now, before) = (sk.tcp_mstamp + 1000 * BASE_MS, sk.snd_cwnd);
        at(&control, &mut sk, now);
        ack(&control, &mut sk, BASE_MS, ROUND);
        for _ in 1..before {
            ack(&control, &mut sk, BASE_MS, WITHIN);
        }
        assert!(sk.snd_cwnd <= 2 * before, "{} of {before}", sk.snd_cwnd);
    }
    assert!(sk.snd_cwnd > 100);
}

/// Rounds of a hundred milliseconds with these queueing delays, the last of which has the losses; 1 / delta after it.
fn inverse_after(control: &Control, sk: &mut TcpSock, queueing_ms: &[u64], losses: i32) -> u32 {
    for (number, &ms) in queueing_ms.iter().enumerate() {
        let now = sk.tcp_mstamp + 1000 * BASE_MS;
        at(control, sk, now);
        let last = number + 1 == queueing_ms.len();
        ack(control, sk, BASE_MS + ms, Said { losses: if last { losses } else { 0 }, ..ROUND });
    }
    see(sk).inverse
}

#[test]
fn beside_a_flow_that_fills_the_queue_it_competes() {
    let control = builtin("copa");
    let mut sk = connection(&control, 100);
    assert_eq!(inverse_after(&control, &mut sk, &[50, 80, 100, 50, 80], 0), 2);
    assert_eq!(inverse_after(&control, &mut sk, &[100, 50, 80], 0), 5, "the sixth, seventh and eighth round trip");
    assert_eq!(inverse_after(&control, &mut sk, &[100, 50, 80, 100, 50], 1), 4, "a loss halves nine");
    assert_eq!(inverse_after(&control, &mut sk, &[80], 1), 2, "but two are left");
    assert_eq!(inverse_after(&control, &mut sk, &[80, 80, 80], 0), 5);
    assert_eq!(inverse_after(&control, &mut sk, &[0], 0), 2, "the queue has been empty");
    let alone = with_params("copa", &[("competes", ParamValue::Bool(false))]);
    let mut sk = connection(&alone, 100);
    assert_eq!(inverse_after(&alone, &mut sk, &[50, 80, 100, 50, 80, 100, 50, 80], 0), 2);
}

/// In the default mode a loss changes nothing.
#[test]
fn losses_and_timeouts() {
    let control = builtin("copa");
    let mut sk = steering(&control, 100, 0);
    assert_eq!(control.ssthresh(&mut sk), sk.snd_ssthresh);
    change_state(&control, &mut sk, ca_state::RECOVERY);
    ack(&control, &mut sk, BASE_MS, Said { losses: 20, ..WITHIN });
    assert_eq!((sk.snd_cwnd, see(&sk).velocity), (100, 1));
    lose(&control, &mut sk, ca_state::LOSS);
    assert_eq!((sk.snd_cwnd, see(&sk).slow_start), (1, 1));
    ack(&control, &mut sk, BASE_MS, Said { acked: 1, ..WITHIN });
    assert_eq!(sk.snd_cwnd, 2);
}

#[test]
fn a_window_that_is_not_in_use_does_not_grow() {
    let control = builtin("copa");
    let mut sk = steering(&control, 100, 0);
    let sample =
        RateSample { delivered: 1, acked_sacked: 80, rtt_us: 98_000, prior_delivered: 0, ..Default::default() };
    (sk.packets_out, sk.max_packets_out, sk.is_cwnd_limited) = (10, 10, 0);
    let una = sk.snd_una;
    control.cong_control(&mut sk, una, 0, &sample);
    assert_eq!(sk.snd_cwnd, 100);
}
