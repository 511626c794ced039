//! BBR version 3 (draft-ietf-ccwg-bbr-06): the compiled mechanism, driven by hand.

use crate::harness::{at, builtin, change_state, compile_text, lose, socket, with_params};
use libloading::os::unix::Library;
use model::ParamValue;
use std::sync::OnceLock;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{INFINITE_SSTHRESH, RateSample, TcpSock, ca_event, ca_state};

const STARTUP: u32 = 0;
const DRAIN: u32 = 1;
const DOWN: u32 = 2;
const CRUISE: u32 = 3;
const REFILL: u32 = 4;
const UP: u32 = 5;
const PROBE_RTT: u32 = 6;
const NO_BOUND: u32 = u32::MAX;

const EXPORTS: &str = "#include \"bbr3.bpf.c\"\n\
    struct seen { __u32 state, in_long, in_short, bw_short, max_bw, min_rtt_us, wait_ms; };\n\
    struct seen see(const struct bbr3 *bbr)\n\
    {\n\
        return (struct seen){ bbr->state, bbr->inflight_long, bbr->inflight_short, bbr->bw_short,\n\
                              bbr3_max_bw(bbr), bbr->min_rtt_us, bbr->wait_ms };\n\
    }\n";

/// BBR's state of a connection: `struct seen` of [`EXPORTS`].
#[repr(C)]
struct Seen {
    state: u32,
    in_long: u32,
    in_short: u32,
    bw_short: u32,
    max_bw: u32,
    min_rtt_us: u32,
    wait_ms: u32,
}

fn see(sk: &TcpSock) -> Seen {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| compile_text("bbr3", EXPORTS));
    // SAFETY: EXPORTS declares it so.
    unsafe {
        let function = library.get::<unsafe extern "C" fn(*const u64) -> Seen>(b"see");
        function.expect("a function")(sk.inet_conn.icsk_ca_priv.as_ptr())
    }
}

/// The least RTT of the path, us.
const RTT_US: u64 = 100_000;
/// The packets of 1448 bytes that 10 Mbit/s carry in it, rounded up.
const PIPE: u32 = 87;
/// Payload of 1 Mbit/s less the pacing margin, bytes a second.
const MARGINAL: f64 = 1e6 / 8.0 * 0.99;

fn connection(control: &Control) -> TcpSock {
    let mut sk = socket(10, INFINITE_SSTHRESH);
    sk.srtt_us = 8 * RTT_US as u32;
    sk.rtt_min.s[0].v = RTT_US as u32;
    sk.rx_opt.sack_ok = 1;
    sk.delivered = 1;
    (sk.packets_out, sk.max_packets_out, sk.is_cwnd_limited) = (10, 10, 0);
    at(control, &mut sk, 1_000_000);
    sk.delivered_mstamp = sk.tcp_mstamp;
    control.init(&mut sk);
    sk
}

/// The contents of an ACK.
#[derive(Clone, Copy)]
struct Said {
    mbit: f64,
    /// Packets delivered since the acknowledged one left.
    delivered: u32,
    acked: u32,
    losses: u32,
    rtt_us: u64,
    after_us: u64,
    /// True if the newest delivered packet was sent after the previous round's last, which begins a new round.
    round: bool,
}

/// An ACK that starts a round, one least RTT after the last one.
fn at_rate(mbit: f64) -> Said {
    Said { mbit, delivered: 100, acked: 2, losses: 0, rtt_us: RTT_US, after_us: RTT_US + 1000, round: true }
}

fn ack(control: &Control, sk: &mut TcpSock, said: Said) {
    let now = sk.tcp_mstamp + said.after_us;
    at(control, sk, now);
    sk.tcp_clock_cache = now * 1000;
    let before = sk.delivered;
    sk.delivered += said.acked;
    sk.lost += said.losses;
    sk.delivered_mstamp = now;
    let sample = RateSample {
        prior_delivered: if said.round { before } else { 0 },
        delivered: said.delivered as i32,
        // A packet of 1448 bytes takes 11 584 us at 1 Mbit/s.
        interval_us: (f64::from(said.delivered) * 11_584.0 / said.mbit).round() as i64,
        rtt_us: said.rtt_us as i64,
        losses: said.losses as i32,
        acked_sacked: said.acked,
        prior_in_flight: sk.packets_in_flight(),
        ..Default::default()
    };
    let una = sk.snd_una;
    control.cong_control(sk, una, 0, &sample);
}

fn acks(control: &Control, sk: &mut TcpSock, count: usize, said: Said) {
    for _ in 0..count {
        ack(control, sk, said);
    }
}

/// A connection that has found 10 Mbit/s and is in this state of its cycle.
fn cycling(control: &Control, state: u32) -> TcpSock {
    let mut sk = connection(control);
    acks(control, &mut sk, 4, at_rate(10.0));
    advance(control, &mut sk, state);
    sk
}

/// Plays rounds with a full pipe until the state is reached.
fn advance(control: &Control, sk: &mut TcpSock, state: u32) {
    for _ in 0..100 {
        sk.packets_out = PIPE;
        if see(sk).state == state {
            return;
        }
        ack(control, sk, at_rate(10.0));
    }
    panic!("state {state} never came, but {}", see(sk).state);
}

fn close(got: u64, expected: f64) {
    assert!((got as f64 - expected).abs() < 0.002 * expected, "{got}, not {expected}");
}

/// A BBR that never probes for the RTT, which the rounds of a test would not end.
fn without_probe_rtt() -> Control {
    with_params("bbr3", &[("probe_rtt_time", ParamValue::Text("0s".into()))])
}

#[test]
fn before_the_first_sample_it_paces_by_the_handshake() {
    let control = builtin("bbr3");
    let sk = connection(&control);
    assert_eq!((see(&sk).state, see(&sk).min_rtt_us, see(&sk).in_long), (STARTUP, RTT_US as u32, NO_BOUND));
    assert_eq!(sk.inet_conn.sk.sk_pacing_status, 1);
    close(sk.inet_conn.sk.sk_pacing_rate, 10.0 * 1448.0 * 10.0 * 2.77 * 0.99);
}

#[test]
fn startup_ends_when_three_rounds_bring_no_quarter_more() {
    let control = builtin("bbr3");
    let mut sk = connection(&control);
    for mbit in [2.0, 4.0, 8.0, 10.0] {
        ack(&control, &mut sk, at_rate(mbit));
        assert_eq!(see(&sk).state, STARTUP, "{mbit}");
        close(sk.inet_conn.sk.sk_pacing_rate, 2.77 * mbit.max(1.1584) * MARGINAL);
    }
    sk.packets_out = 200;
    acks(&control, &mut sk, 2, at_rate(12.4));
    assert_eq!(see(&sk).state, STARTUP);
    ack(&control, &mut sk, at_rate(12.4));
    assert_eq!((see(&sk).state, sk.snd_ssthresh), (DRAIN, 108), "12.4 Mbit/s carry 107.04 packets in 100 ms");
    close(sk.inet_conn.sk.sk_pacing_rate, 0.5 * 12.4 * MARGINAL);
    acks(&control, &mut sk, 3, at_rate(12.4));
    assert_eq!(see(&sk).state, DRAIN);
    ack(&control, &mut sk, at_rate(12.4));
    assert_eq!(see(&sk).state, DOWN, "the fourth round of DRAIN is the last");
    sk.packets_out = 108;
    ack(&control, &mut sk, at_rate(12.4));
    assert_eq!(see(&sk).state, CRUISE);
}

/// A cycle: CRUISE for 2 to 3 s, REFILL for a round, UP for three rounds without growth, DOWN.
#[test]
fn a_cycle() {
    let control = builtin("bbr3");
    let mut sk = cycling(&control, CRUISE);
    close(sk.inet_conn.sk.sk_pacing_rate, 10.0 * MARGINAL);
    let (began, wait_us) = (sk.tcp_mstamp, 1000 * u64::from(see(&sk).wait_ms));
    assert!((2_000_000..=3_000_000).contains(&wait_us));
    advance(&control, &mut sk, REFILL);
    let lasted = sk.tcp_mstamp - began;
    assert!(lasted.abs_diff(wait_us) <= 2 * (RTT_US + 1000), "{lasted} of {wait_us}");
    close(sk.inet_conn.sk.sk_pacing_rate, 10.0 * MARGINAL);
    ack(&control, &mut sk, at_rate(10.0));
    assert_eq!(see(&sk).state, UP);
    close(sk.inet_conn.sk.sk_pacing_rate, 12.5 * MARGINAL);
    acks(&control, &mut sk, 2, at_rate(10.0));
    assert_eq!(see(&sk).state, UP);
    sk.packets_out = 200;
    ack(&control, &mut sk, at_rate(10.0));
    assert_eq!(see(&sk).state, DOWN);
    close(sk.inet_conn.sk.sk_pacing_rate, 9.0 * MARGINAL);
    acks(&control, &mut sk, 3, at_rate(10.0));
    assert_eq!(see(&sk).state, DOWN, "more is in flight than the pipe holds");
    advance(&control, &mut sk, CRUISE);
}

/// On a short path the next probe comes after as many rounds as the pipe has packets.
#[test]
fn a_small_pipe_is_probed_as_often_as_reno_would() {
    let control = with_params("bbr3", &[("probe_wait", ParamValue::Integer(60_000))]);
    let mut sk = cycling(&control, CRUISE);
    sk.snd_cwnd = 87;
    let rounds = (1..200)
        .find(|_| {
            sk.packets_out = 50;
            ack(&control, &mut sk, Said { after_us: 20_000, ..at_rate(10.0) });
            see(&sk).state == REFILL
        })
        .expect("a probe");
    assert!((60..=63).contains(&rounds), "at most 63: {rounds}");
}

/// More than 2 % of the packets of a probe are lost: `long` is what was in flight, and the probe is over.
#[test]
fn a_probe_that_loses_too_much_sets_the_bound() {
    let control = builtin("bbr3");
    for (losses, state, bound) in [(2, UP, NO_BOUND), (3, DOWN, 103)] {
        let mut sk = cycling(&control, UP);
        sk.packets_out = 150;
        ack(&control, &mut sk, Said { losses, round: false, ..at_rate(10.0) });
        assert_eq!((see(&sk).state, see(&sk).in_long), (state, bound), "{losses} of 100");
    }
    let mut sk = cycling(&control, UP);
    sk.snd_cwnd = 174;
    ack(&control, &mut sk, Said { losses: 10, delivered: 20, round: false, ..at_rate(10.0) });
    assert_eq!(see(&sk).in_long, 60, "at least seven tenths of the pipe");
    let mut blind = cycling(&control, UP);
    blind.packets_out = 150;
    blind.rx_opt.sack_ok = 0;
    ack(&control, &mut blind, Said { losses: 1, round: false, ..at_rate(10.0) });
    assert_eq!(see(&blind).state, DOWN, "without SACK one loss is enough");
}

/// CRUISE leaves 15 % of `long` free.
#[test]
fn headroom() {
    let control = builtin("bbr3");
    let mut sk = cycling(&control, UP);
    sk.snd_cwnd = 174;
    ack(&control, &mut sk, Said { losses: 3, round: false, ..at_rate(10.0) });
    acks(&control, &mut sk, 2, at_rate(10.0));
    assert_eq!((see(&sk).state, sk.snd_cwnd), (CRUISE, 88), "103 less 15");
}

/// After a probe that lost too much the next one ends with `long` in flight. It loses nothing, and so another follows.
#[test]
fn a_probe_after_one_that_lost_is_cautious() {
    let control = without_probe_rtt();
    let mut sk = cycling(&control, UP);
    ack(&control, &mut sk, Said { losses: 3, round: false, ..at_rate(10.0) });
    acks(&control, &mut sk, 2, at_rate(10.0));
    advance(&control, &mut sk, UP);
    sk.packets_out = 103;
    ack(&control, &mut sk, Said { round: false, ..at_rate(10.0) });
    assert_eq!(see(&sk).state, DOWN);
    ack(&control, &mut sk, at_rate(10.0));
    assert_eq!(see(&sk).state, REFILL, "a round later");
    ack(&control, &mut sk, at_rate(10.0));
    ack(&control, &mut sk, Said { round: false, ..at_rate(10.0) });
    assert_eq!(see(&sk).state, UP, "with 103 in flight");
}

/// While `long` limits a probe it grows by 1, 2, 4, ... packets for each window acknowledged.
#[test]
fn the_bound_grows_ever_faster() {
    let control = without_probe_rtt();
    let mut sk = cycling(&control, UP);
    ack(&control, &mut sk, Said { losses: 3, round: false, ..at_rate(10.0) });
    acks(&control, &mut sk, 2, at_rate(10.0));
    // A cautious probe first; the one after it may grow.
    advance(&control, &mut sk, UP);
    sk.packets_out = 103;
    ack(&control, &mut sk, Said { round: false, ..at_rate(10.0) });
    acks(&control, &mut sk, 2, at_rate(10.0));
    assert_eq!((see(&sk).state, see(&sk).in_long), (UP, 103));
    let mut grown = Vec::new();
    for _ in 0..4 {
        sk.is_cwnd_limited = 1;
        sk.snd_cwnd = see(&sk).in_long;
        ack(&control, &mut sk, Said { acked: 0, round: false, ..at_rate(10.0) });
        let (before, acked) = (see(&sk).in_long, sk.snd_cwnd);
        ack(&control, &mut sk, Said { acked, ..at_rate(10.0) });
        grown.push(see(&sk).in_long - before);
    }
    assert_eq!(grown, [1, 2, 4, 8]);
    assert_eq!(see(&sk).state, UP, "it is not over while the bound limits it");
}

/// Losses in CRUISE bound the rate and the packets in flight, once a round: by the latest, or by seven tenths.
#[test]
fn losses_that_no_probe_explains() {
    let control = builtin("bbr3");
    let mut sk = cycling(&control, CRUISE);
    sk.snd_cwnd = 174;
    let max_bw = see(&sk).max_bw;
    ack(&control, &mut sk, Said { losses: 1, round: false, delivered: 80, ..at_rate(8.0) });
    assert_eq!((see(&sk).bw_short, see(&sk).in_short), (NO_BOUND, NO_BOUND), "the round has not ended");
    let seven_tenths = sk.snd_cwnd * 717 / 1024;
    // The largest rate of the round is the 10 Mbit/s with which it began.
    ack(&control, &mut sk, Said { losses: 0, delivered: 80, ..at_rate(8.0) });
    assert_eq!((see(&sk).bw_short, see(&sk).in_short), (max_bw, seven_tenths), "and the latest rate");
    ack(&control, &mut sk, Said { losses: 1, delivered: 50, ..at_rate(5.0) });
    ack(&control, &mut sk, Said { losses: 0, delivered: 50, ..at_rate(5.0) });
    let bw = f64::from(see(&sk).bw_short) / f64::from(max_bw);
    assert!((bw - 0.8).abs() < 0.01, "8 Mbit/s in the round before: {bw}");
    advance(&control, &mut sk, REFILL);
    assert_eq!((see(&sk).bw_short, see(&sk).in_short), (NO_BOUND, NO_BOUND), "a probe forgets them");
}

/// Five seconds without a lower RTT: half a pipe for 200 ms and a round.
#[test]
fn probe_rtt() {
    let control = builtin("bbr3");
    let mut sk = cycling(&control, CRUISE);
    let longer = Said { rtt_us: RTT_US + 5000, ..at_rate(10.0) };
    let rounds = (1..100)
        .find(|_| {
            sk.packets_out = PIPE;
            ack(&control, &mut sk, longer);
            see(&sk).state == PROBE_RTT
        })
        .expect("PROBE_RTT");
    assert!((40..=51).contains(&rounds), "{rounds} rounds of 101 ms");
    assert_eq!(sk.snd_cwnd, 44, "half of 87");
    sk.packets_out = 44;
    ack(&control, &mut sk, longer);
    ack(&control, &mut sk, longer);
    assert_eq!((see(&sk).state, sk.snd_cwnd), (PROBE_RTT, 44), "101 ms later");
    ack(&control, &mut sk, longer);
    assert_eq!(see(&sk).state, CRUISE);
    assert!(sk.snd_cwnd > PIPE, "the window is back: {}", sk.snd_cwnd);
    let never = with_params("bbr3", &[("probe_rtt_time", ParamValue::Text("0s".into()))]);
    let mut sk = cycling(&never, CRUISE);
    for _ in 0..200 {
        sk.packets_out = PIPE;
        ack(&never, &mut sk, longer);
        assert_ne!(see(&sk).state, PROBE_RTT);
    }
}

/// In a recovery a round of STARTUP with six ACKs that report losses, more than 2 % in all, ends it.
#[test]
fn startup_ends_when_a_round_loses_much() {
    let control = builtin("bbr3");
    for (events, state) in [(5, STARTUP), (6, DRAIN)] {
        let mut sk = connection(&control);
        ack(&control, &mut sk, at_rate(10.0));
        control.ssthresh(&mut sk);
        change_state(&control, &mut sk, ca_state::RECOVERY);
        sk.packets_out = 400;
        ack(&control, &mut sk, at_rate(20.0));
        let within = Said { losses: 2, round: false, after_us: 100, ..at_rate(20.0) };
        acks(&control, &mut sk, events, within);
        ack(&control, &mut sk, Said { losses: 0, ..within });
        assert_eq!(see(&sk).state, STARTUP, "the round has not ended");
        ack(&control, &mut sk, at_rate(40.0));
        assert_eq!(see(&sk).state, state, "{events} ACKs with losses");
        if state == DRAIN {
            assert!(see(&sk).in_long >= 100, "{}", see(&sk).in_long);
            change_state(&control, &mut sk, ca_state::OPEN);
            sk.snd_cwnd = control.undo_cwnd(&mut sk);
            assert_eq!((see(&sk).state, see(&sk).in_long), (STARTUP, NO_BOUND), "the losses were none");
        }
    }
}

#[test]
fn an_undo_returns_to_the_probe() {
    let control = builtin("bbr3");
    let mut sk = cycling(&control, UP);
    let cwnd = sk.snd_cwnd;
    sk.packets_out = 150;
    ack(&control, &mut sk, Said { losses: 3, round: false, ..at_rate(10.0) });
    assert_eq!(see(&sk).state, DOWN);
    assert!(control.undo_cwnd(&mut sk) >= cwnd);
    assert_eq!((see(&sk).state, see(&sk).in_long), (REFILL, NO_BOUND));
}

#[test]
fn after_a_timeout_the_window_comes_back() {
    let control = builtin("bbr3");
    let mut sk = cycling(&control, CRUISE);
    let cwnd = sk.snd_cwnd;
    lose(&control, &mut sk, ca_state::LOSS);
    sk.packets_out = 1;
    ack(&control, &mut sk, Said { round: false, ..at_rate(10.0) });
    assert_eq!(sk.snd_cwnd, 4, "at least four");
    change_state(&control, &mut sk, ca_state::OPEN);
    ack(&control, &mut sk, Said { round: false, ..at_rate(10.0) });
    assert!(sk.snd_cwnd >= cwnd.min(PIPE), "{} of {cwnd}", sk.snd_cwnd);
}

#[test]
fn after_a_pause_it_goes_on_at_the_rate_it_knows() {
    let control = builtin("bbr3");
    let mut sk = cycling(&control, UP);
    sk.app_limited = 1;
    let later = sk.tcp_mstamp + 15_000_000;
    at(&control, &mut sk, later);
    control.cwnd_event(&mut sk, ca_event::TX_START);
    close(sk.inet_conn.sk.sk_pacing_rate, 10.0 * MARGINAL);
    ack(&control, &mut sk, Said { rtt_us: 130_000, ..at_rate(10.0) });
    assert_ne!(see(&sk).state, PROBE_RTT, "the pause has drained the queue");
    assert_eq!(see(&sk).min_rtt_us, 130_000);
}
