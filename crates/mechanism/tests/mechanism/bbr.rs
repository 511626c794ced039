//! BBR version 1 as tcp_bbr.c has it: the compiled mechanism, driven by hand.

use crate::harness::{at, builtin, change_state, compile_text, lose, socket, with_params};
use libloading::os::unix::Library;
use model::ParamValue;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{INFINITE_SSTHRESH, RateSample, TcpSock, ca_event, ca_state};

const STARTUP: u32 = 0;
const DRAIN: u32 = 1;
const PROBE_BW: u32 = 2;
const PROBE_RTT: u32 = 3;

const EXPORTS: &str = "#include \"bbr.bpf.c\"\n\
    struct seen { __u32 mode, phase, full_bw, full_count, min_rtt_us, policed; };\n\
    struct seen see(const struct bbr *bbr)\n\
    {\n\
        return (struct seen){ bbr->mode, bbr->cycle_idx, bbr->full_bw, bbr->full_count, bbr->min_rtt_us,\n\
                              bbr->lt.in_use };\n\
    }\n";

/// BBR's state of a connection: `struct seen` of [`EXPORTS`].
#[repr(C)]
struct Seen {
    mode: u32,
    phase: u32,
    full_bw: u32,
    full_count: u32,
    min_rtt_us: u32,
    policed: u32,
}

fn see(sk: &TcpSock) -> Seen {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| compile_text("bbr", EXPORTS));
    // SAFETY: EXPORTS declares it so.
    unsafe {
        let function = library.get::<unsafe extern "C" fn(*const u64) -> Seen>(b"see");
        function.expect("a function")(sk.inet_conn.icsk_ca_priv.as_ptr())
    }
}

/// The least RTT of the path, us.
const RTT_US: u64 = 100_000;
/// Payload of 1 Mbit/s less the pacing margin, bytes a second.
const MARGINAL: f64 = 1e6 / 8.0 * 0.99;

/// A connection over a path of 100 ms that has just been established.
fn connection(control: &Control) -> TcpSock {
    let mut sk = socket(10, INFINITE_SSTHRESH);
    sk.srtt_us = 8 * RTT_US as u32;
    sk.rtt_min.s[0].v = RTT_US as u32;
    sk.delivered = 1;
    (sk.packets_out, sk.max_packets_out) = (10, 10);
    at(control, &mut sk, 1_000_000);
    sk.delivered_mstamp = sk.tcp_mstamp;
    control.init(&mut sk);
    sk
}

/// The contents of an ACK.
#[derive(Clone, Copy)]
struct Said {
    mbit: f64,
    acked: u32,
    losses: u32,
    rtt_us: i64,
    after_us: u64,
    /// True if the newest delivered packet was sent after the previous round's last, which begins a new round.
    round: bool,
    app_limited: bool,
}

/// An ACK that starts a round, one least RTT after the last one.
fn at_rate(mbit: f64) -> Said {
    Said { mbit, acked: 2, losses: 0, rtt_us: RTT_US as i64, after_us: RTT_US + 1000, round: true, app_limited: false }
}

fn ack(control: &Control, sk: &mut TcpSock, said: Said) {
    let now = sk.tcp_mstamp + said.after_us;
    at(control, sk, now);
    sk.tcp_clock_cache = now * 1000;
    let before = sk.delivered;
    sk.delivered += said.acked;
    sk.lost += said.losses;
    sk.delivered_mstamp = now;
    // 1250 segments of 1448 bytes in 1.448 s are 10 Mbit/s.
    let sample = RateSample {
        prior_delivered: if said.round { before } else { 0 },
        delivered: 1250,
        interval_us: (14_480_000.0 / said.mbit).round() as i64,
        rtt_us: said.rtt_us,
        losses: said.losses as i32,
        acked_sacked: said.acked,
        prior_in_flight: sk.packets_in_flight(),
        is_app_limited: said.app_limited as u8,
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

/// A connection that has found 10 Mbit/s and is in this phase of PROBE_BW, with one pipe in flight.
fn cruising(control: &Control, phase: u32) -> TcpSock {
    let mut sk = connection(control);
    acks(control, &mut sk, 4, at_rate(10.0));
    assert_eq!(see(&sk).mode, PROBE_BW, "the ten in flight fit the pipe");
    sk.packets_out = 87;
    for _ in 0..20 {
        sk.packets_out = if see(&sk).phase == 0 { 150 } else { 87 };
        if see(&sk).phase == phase {
            return sk;
        }
        ack(control, &mut sk, at_rate(10.0));
    }
    panic!("phase {phase} never came");
}

fn close(got: u64, expected: f64) {
    assert!((got as f64 - expected).abs() < 0.002 * expected, "{got}, not {expected}");
}

#[test]
fn before_the_first_sample_it_paces_by_the_handshake() {
    let control = builtin("bbr");
    let sk = connection(&control);
    assert_eq!((see(&sk).mode, see(&sk).min_rtt_us, sk.inet_conn.sk.sk_pacing_status), (STARTUP, RTT_US as u32, 1));
    // 10 packets in 100 ms, times 2.887.
    close(sk.inet_conn.sk.sk_pacing_rate, 739.0 / 256.0 * 10.0 * 1448.0 / 0.1 * 0.99);
    let mut without_rtt = socket(10, INFINITE_SSTHRESH);
    control.init(&mut without_rtt);
    close(without_rtt.inet_conn.sk.sk_pacing_rate, 739.0 / 256.0 * 10.0 * 1448.0 / 0.001 * 0.99);
    assert_eq!((control.sndbuf_expand(&mut without_rtt), control.min_tso_segs(&mut without_rtt)), (Some(3), Some(2)));
    without_rtt.inet_conn.sk.sk_pacing_rate = 149_999;
    assert_eq!(control.min_tso_segs(&mut without_rtt), Some(1));
}

#[test]
fn before_linux_4_13_only_the_qdisc_fq_paces() {
    let sk = connection(&with_params("bbr", &[("paces", ParamValue::Bool(false))]));
    assert_eq!(sk.inet_conn.sk.sk_pacing_status, 0);
    assert!(sk.inet_conn.sk.sk_pacing_rate > 0, "it still tells its rate");
}

#[test]
fn a_full_pipe_shows_in_three_rounds_of_little_growth() {
    let control = builtin("bbr");
    let mut sk = connection(&control);
    sk.packets_out = 2000;
    for (mbit, count, after) in
        [(100.0, 0, STARTUP), (130.0, 0, STARTUP), (140.0, 1, STARTUP), (150.0, 2, STARTUP), (155.0, 3, DRAIN)]
    {
        ack(&control, &mut sk, at_rate(mbit));
        assert_eq!((see(&sk).full_count, see(&sk).mode), (count, after), "{mbit} Mbit/s");
        // ACKs within the round, and samples that the application limited, decide nothing.
        ack(&control, &mut sk, Said { round: false, after_us: 10, ..at_rate(mbit) });
        ack(&control, &mut sk, Said { app_limited: true, after_us: 10, ..at_rate(1.0) });
        assert_eq!((see(&sk).full_count, see(&sk).mode), (count, after), "{mbit} Mbit/s");
    }
    close(sk.inet_conn.sk.sk_pacing_rate, 155.0 * MARGINAL * 88.0 / 256.0);
    assert!(sk.snd_ssthresh < INFINITE_SSTHRESH);
}

#[test]
fn startup_grows_by_what_is_acknowledged_and_never_paces_slower() {
    let control = builtin("bbr");
    let mut sk = connection(&control);
    ack(&control, &mut sk, Said { acked: 10, ..at_rate(1.0) });
    assert_eq!(sk.snd_cwnd, 20);
    close(sk.inet_conn.sk.sk_pacing_rate, 739.0 / 256.0 * 144_800.0 * 0.99);
    ack(&control, &mut sk, Said { acked: 20, ..at_rate(2.0) });
    assert_eq!(sk.snd_cwnd, 40);
    close(sk.inet_conn.sk.sk_pacing_rate, 739.0 / 256.0 * 2.0 * MARGINAL);
}

#[test]
fn drain_ends_when_one_pipe_is_in_flight() {
    let control = builtin("bbr");
    let mut sk = connection(&control);
    sk.packets_out = 250;
    acks(&control, &mut sk, 4, at_rate(10.0));
    assert_eq!(see(&sk).mode, DRAIN);
    // 87 and three bursts of two, even.
    for (in_flight, after) in [(95, DRAIN), (94, PROBE_BW)] {
        sk.packets_out = in_flight;
        ack(&control, &mut sk, Said { round: false, after_us: 10, ..at_rate(10.0) });
        assert_eq!(see(&sk).mode, after, "{in_flight}");
    }
}

#[test]
fn probing_begins_anywhere_but_where_it_drains() {
    let control = builtin("bbr");
    let phases: BTreeSet<u32> = (0..200)
        .map(|_| {
            let mut sk = connection(&control);
            acks(&control, &mut sk, 4, at_rate(10.0));
            see(&sk).phase
        })
        .collect();
    assert_eq!(phases, BTreeSet::from([0, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn eight_phases_pace_at_their_gains_and_twice_the_pipe_is_the_window() {
    let control = with_params("bbr", &[("extra_acked_gain", ParamValue::Integer(0))]);
    let mut sk = cruising(&control, 0);
    for (phase, mbit) in [(0, 12.5), (1, 7.5), (2, 10.0), (3, 10.0), (4, 10.0), (5, 10.0), (6, 10.0), (7, 10.0)] {
        assert_eq!(see(&sk).phase, phase);
        close(sk.inet_conn.sk.sk_pacing_rate, mbit * MARGINAL);
        sk.packets_out = if phase == 0 { 150 } else { 100 };
        ack(&control, &mut sk, Said { acked: 200, ..at_rate(10.0) });
        // 173 and three bursts of two, even; two more in the phase that probes.
        let expected = if phase == 7 { 182 } else { 180 };
        assert_eq!(sk.snd_cwnd, expected, "after phase {phase}");
    }
    assert_eq!(see(&sk).phase, 0);
}

#[test]
fn a_phase_lasts_a_round_trip_unless_the_queue_says_otherwise() {
    let control = builtin("bbr");
    let early = Said { after_us: RTT_US / 2, ..at_rate(10.0) };
    for (phase, in_flight, losses, said, next) in [
        (0, 100, 0, at_rate(10.0), 0), // no queue yet: go on
        (0, 150, 0, early, 0),
        (0, 150, 0, at_rate(10.0), 1),
        (0, 100, 1, at_rate(10.0), 1),
        (1, 150, 0, early, 1),
        (1, 90, 0, early, 2), // drained before time
        (1, 150, 0, at_rate(10.0), 2),
        (2, 10, 0, early, 2),
        (2, 10, 0, at_rate(10.0), 3),
    ] {
        let mut sk = cruising(&control, phase);
        sk.packets_out = in_flight;
        ack(&control, &mut sk, Said { losses, ..said });
        assert_eq!(see(&sk).phase, next, "phase {phase}, {in_flight} in flight, {losses} lost, {} us", said.after_us);
    }
}

#[test]
fn the_rate_of_ten_rounds_ago_is_forgotten() {
    let control = builtin("bbr");
    let mut sk = cruising(&control, 2);
    let rate = |sk: &TcpSock| {
        let gain = [1.25, 0.75].get(see(sk).phase as usize).copied().unwrap_or(1.0);
        sk.inet_conn.sk.sk_pacing_rate as f64 / MARGINAL / gain
    };
    for round in 1..=10 {
        ack(&control, &mut sk, at_rate(5.0));
        assert!((rate(&sk) - 10.0).abs() < 0.05, "round {round}: {}", rate(&sk));
    }
    ack(&control, &mut sk, at_rate(5.0));
    assert!((rate(&sk) - 5.0).abs() < 0.05, "{}", rate(&sk));
    ack(&control, &mut sk, Said { app_limited: true, ..at_rate(4.0) });
    ack(&control, &mut sk, Said { app_limited: true, ..at_rate(8.0) });
    assert!((rate(&sk) - 8.0).abs() < 0.05, "more than the estimate counts even if the application limited it");
}

#[test]
fn ten_seconds_without_a_smaller_rtt_make_it_probe_with_four_packets() {
    let control = builtin("bbr");
    let mut sk = cruising(&control, 2);
    let queued = Said { rtt_us: 120_000, ..at_rate(10.0) };
    while see(&sk).mode != PROBE_RTT {
        ack(&control, &mut sk, queued);
        assert!(sk.tcp_mstamp < 12_000_000);
    }
    assert!(sk.tcp_mstamp > 11_000_000, "{}", sk.tcp_mstamp);
    assert_eq!((see(&sk).min_rtt_us, sk.snd_cwnd), (120_000, 4), "the newest RTT stands in");
    assert_eq!(sk.app_limited, sk.delivered + sk.packets_out);
    close(sk.inet_conn.sk.sk_pacing_rate, 10.0 * MARGINAL);
    let step = Said { after_us: 90_000, rtt_us: 100_000, app_limited: true, ..at_rate(0.4) };
    sk.packets_out = 4;
    acks(&control, &mut sk, 3, step);
    assert_eq!((see(&sk).mode, sk.snd_cwnd), (PROBE_RTT, 4), "180 ms");
    ack(&control, &mut sk, step);
    assert_eq!((see(&sk).mode, see(&sk).min_rtt_us), (PROBE_BW, 100_000));
    assert!(sk.snd_cwnd > 170, "{}", sk.snd_cwnd);
    acks(&control, &mut sk, 90, queued);
    assert_eq!(see(&sk).mode, PROBE_BW, "not for another ten seconds");
    let never = with_params("bbr", &[("probe_rtt_time", ParamValue::Integer(0))]);
    let mut sk = cruising(&never, 2);
    acks(&never, &mut sk, 150, queued);
    assert_eq!(see(&sk).mode, PROBE_BW);
}

#[test]
fn a_recovery_conserves_packets_for_a_round_and_restores_the_window() {
    let control = builtin("bbr");
    let mut sk = cruising(&control, 2);
    sk.snd_cwnd = 170;
    sk.prior_cwnd = 170;
    control.ssthresh(&mut sk);
    change_state(&control, &mut sk, ca_state::RECOVERY);
    (sk.packets_out, sk.lost_out) = (120, 20);
    let within = Said { round: false, after_us: 100, ..at_rate(10.0) };
    ack(&control, &mut sk, Said { losses: 20, ..within });
    assert_eq!(sk.snd_cwnd, 102, "in flight and acknowledged");
    (sk.packets_out, sk.lost_out) = (110, 20);
    ack(&control, &mut sk, Said { losses: 5, ..within });
    assert_eq!(sk.snd_cwnd, 97, "less the lost");
    ack(&control, &mut sk, Said { after_us: 100, acked: 3, ..at_rate(10.0) });
    assert_eq!(sk.snd_cwnd, 100, "after the first round it grows with what is acknowledged");
    change_state(&control, &mut sk, ca_state::OPEN);
    sk.lost_out = 0;
    ack(&control, &mut sk, within);
    assert!(sk.snd_cwnd >= 170, "{}", sk.snd_cwnd);
    close(sk.inet_conn.sk.sk_pacing_rate, 10.0 * MARGINAL);
}

#[test]
fn a_timeout_searches_the_full_pipe_again_and_an_undo_forgets_the_search() {
    let control = builtin("bbr");
    let mut sk = connection(&control);
    sk.packets_out = 200;
    acks(&control, &mut sk, 3, at_rate(10.0));
    assert_eq!((see(&sk).full_count, see(&sk).full_bw > 0), (2, true));
    let cwnd = sk.snd_cwnd;
    lose(&control, &mut sk, ca_state::LOSS);
    assert_eq!(see(&sk).full_bw, 0);
    (sk.packets_out, sk.lost_out) = (1, 0);
    ack(&control, &mut sk, Said { round: false, ..at_rate(10.0) });
    assert_eq!(sk.snd_cwnd, 4, "grown from one, at least four");
    change_state(&control, &mut sk, ca_state::OPEN);
    ack(&control, &mut sk, Said { round: false, ..at_rate(10.0) });
    assert!(sk.snd_cwnd >= cwnd, "{} of {cwnd}", sk.snd_cwnd);
    assert_eq!(control.undo_cwnd(&mut sk), sk.snd_cwnd);
    assert_eq!((see(&sk).full_count, see(&sk).full_bw), (0, 0));
}

#[test]
fn a_policer_is_found_believed_and_dropped_again() {
    let lossy = Said { acked: 100, losses: 30, ..at_rate(10.0) };
    let control = builtin("bbr");
    let mut sk = cruising(&control, 2);
    acks(&control, &mut sk, 8, lossy);
    assert_eq!(see(&sk).policed, 1);
    // 100 packets in 101 ms.
    let passed = 100.0 * 1448.0 / 0.101 * 0.99;
    let clean = Said { losses: 0, ..lossy };
    for _ in 0..47 {
        ack(&control, &mut sk, clean);
        close(sk.inet_conn.sk.sk_pacing_rate, passed);
    }
    ack(&control, &mut sk, clean);
    assert_eq!(see(&sk).policed, 0);

    let few = Said { losses: 15, ..lossy };
    let limited = Said { app_limited: true, ..lossy };
    for (said, why) in [(few, "15 % is not enough"), (limited, "the application limits"), (clean, "no loss")] {
        let mut sk = cruising(&control, 2);
        acks(&control, &mut sk, 12, said);
        assert_eq!(see(&sk).policed, 0, "{why}");
    }
    let blind = with_params("bbr", &[("find_policer", ParamValue::Bool(false))]);
    let mut sk = cruising(&blind, 2);
    acks(&blind, &mut sk, 12, lossy);
    assert_eq!(see(&sk).policed, 0);
}

#[test]
fn aggregated_acknowledgements_get_room() {
    let control = builtin("bbr");
    let mut sk = cruising(&control, 2);
    // A round of two packets does not count as a clump, because far more were due.
    let settled = at_rate(10.0);
    sk.snd_cwnd = 500;
    acks(&control, &mut sk, 12, settled);
    let window = sk.snd_cwnd;
    // After the two, 60 packets come at once when none was due. At most 100 ms of the rate are granted, here 86.
    ack(&control, &mut sk, Said { acked: 60, round: false, after_us: 0, ..settled });
    assert_eq!(sk.snd_cwnd, window + 60);
    ack(&control, &mut sk, Said { acked: 60, round: false, after_us: 0, ..settled });
    assert!((84..=86).contains(&(sk.snd_cwnd - window)), "{window} before, {} after", sk.snd_cwnd);
    acks(&control, &mut sk, 12, settled);
    assert!(sk.snd_cwnd.abs_diff(window) <= 2, "ten rounds later it is forgotten: {}", sk.snd_cwnd);
}

#[test]
fn after_a_pause_it_goes_on_at_the_rate_it_knows_and_does_not_probe_the_rtt() {
    let control = builtin("bbr");
    let mut sk = cruising(&control, 1);
    close(sk.inet_conn.sk.sk_pacing_rate, 7.5 * MARGINAL);
    control.cwnd_event(&mut sk, ca_event::TX_START);
    close(sk.inet_conn.sk.sk_pacing_rate, 7.5 * MARGINAL);
    sk.app_limited = 1;
    let later = sk.tcp_mstamp + 15_000_000;
    at(&control, &mut sk, later);
    control.cwnd_event(&mut sk, ca_event::TX_START);
    close(sk.inet_conn.sk.sk_pacing_rate, 10.0 * MARGINAL);
    ack(&control, &mut sk, Said { rtt_us: 130_000, ..at_rate(10.0) });
    assert_eq!((see(&sk).mode, see(&sk).min_rtt_us), (PROBE_BW, 130_000), "the pause has drained the queue");
}

#[test]
fn without_a_rate_sample_nothing_moves() {
    let control = builtin("bbr");
    let mut sk = cruising(&control, 2);
    let (rate, cwnd) = (sk.inet_conn.sk.sk_pacing_rate, sk.snd_cwnd);
    let nothing = RateSample { delivered: -1, interval_us: -1, rtt_us: -1, ..Default::default() };
    let una = sk.snd_una;
    control.cong_control(&mut sk, una, 0, &nothing);
    assert_eq!((sk.inet_conn.sk.sk_pacing_rate, sk.snd_cwnd), (rate, cwnd));
}
