//! SEARCH (draft-chung-ccwg-search-09): the compiled mechanism driven by hand.

use crate::harness::{at, builtin, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, INFINITE_SSTHRESH, TcpSock, ca_event};

const MSS: u64 = 1000;
/// A bin is 0.35 RTT.
const RTT_US: u64 = 100_000;
const BIN_US: u64 = 35_000;

fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(cwnd, INFINITE_SSTHRESH);
    sk.mss_cache = MSS as u32;
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    ack(control, &mut sk, 0, 0, RTT_US);
    sk
}

/// An ACK, with the bytes that have arrived and those that were sent since the last one.
fn ack(control: &Control, sk: &mut TcpSock, arrived: u64, sent: u64, rtt_us: u64) {
    sk.bytes_acked += arrived;
    sk.bytes_sent += sent;
    control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: rtt_us as i32, in_flight: 0 });
}

/// An ACK at the end of each of the next bins.
fn bins(control: &Control, sk: &mut TcpSock, count: u64, arrived: u64, sent: u64, rtt_us: u64) {
    for _ in 0..count {
        let now = sk.tcp_mstamp + BIN_US;
        at(control, sk, now);
        ack(control, sk, arrived, sent, rtt_us);
    }
}

/// Reports whether SEARCH has decided to leave slow start: the next ACK does not widen the window.
fn drains(control: &Control, sk: &mut TcpSock) -> bool {
    (sk.packets_out, sk.max_packets_out) = (sk.snd_cwnd, sk.snd_cwnd);
    let before = sk.snd_cwnd;
    control.cong_avoid(sk, 0, 1);
    let drains = sk.snd_cwnd <= before;
    sk.snd_cwnd = before;
    drains
}

/// Each bin brings 70 or 80 of 100 packets that were sent an RTT before: 26 % may be missing.
#[test]
fn a_quarter_that_is_missing_ends_slow_start() {
    for (arrived, expected) in [(100, false), (75, false), (74, true), (50, true)] {
        let control = builtin("cubic_search");
        let mut sk = connection(&control, 1000);
        bins(&control, &mut sk, 40, arrived * MSS, 100 * MSS, RTT_US);
        assert_eq!(drains(&control, &mut sk), expected, "{arrived} of 100");
    }
    let control = with_params("cubic_search", &[("thresh", ParamValue::Text("60%".into()))]);
    let mut sk = connection(&control, 1000);
    bins(&control, &mut sk, 40, 50 * MSS, 100 * MSS, RTT_US);
    assert!(!drains(&control, &mut sk), "half of it is less than 60 %");
}

/// The window that was sent lies 2 bins and 6/7 back, so that the thirteenth bin is the first that has one.
#[test]
fn it_waits_for_a_window_and_a_round_trip() {
    let control = builtin("cubic_search");
    let mut sk = connection(&control, 1000);
    bins(&control, &mut sk, 12, 0, 100 * MSS, RTT_US);
    assert!(!drains(&control, &mut sk));
    bins(&control, &mut sk, 1, 0, 100 * MSS, RTT_US);
    assert!(drains(&control, &mut sk));
}

/// A doubling path delivers what was sent an RTT before, not what is sent now.
#[test]
fn growth_alone_is_no_loss() {
    let control = builtin("cubic_search");
    let mut sk = connection(&control, 1000);
    for bin in 0..30 {
        let sent = |bin: i32| (1.22_f64.powi(bin) * 100.0 * MSS as f64) as u64;
        bins(&control, &mut sk, 1, sent(bin - 3), sent(bin), 3 * BIN_US);
        assert!(!drains(&control, &mut sk), "bin {bin}");
    }
}

/// An RTT of 15 bins reaches behind the first of the bins.
#[test]
fn an_rtt_that_is_too_long_says_nothing() {
    for (bins_long, expected) in [(14, true), (15, false)] {
        let control = builtin("cubic_search");
        let mut sk = connection(&control, 1000);
        bins(&control, &mut sk, 40, 10 * MSS, 100 * MSS, bins_long * BIN_US);
        assert_eq!(drains(&control, &mut sk), expected, "{bins_long} bins");
    }
}

#[test]
fn eleven_bins_without_an_ack_begin_anew() {
    for (missed, expected) in [(9, true), (11, false)] {
        let control = builtin("cubic_search");
        let mut sk = connection(&control, 1000);
        bins(&control, &mut sk, 12, 100 * MSS, 100 * MSS, RTT_US);
        let now = sk.tcp_mstamp + missed * BIN_US;
        at(&control, &mut sk, now);
        bins(&control, &mut sk, 3, 0, 100 * MSS, RTT_US);
        assert_eq!(drains(&control, &mut sk), expected, "{missed} missed");
    }
}

/// The window goes down to what three bins brought, one segment for three that arrive; then slow start is over.
#[test]
fn the_window_drains_to_what_a_round_trip_brought() {
    let control = builtin("cubic_search");
    let mut sk = connection(&control, 400);
    bins(&control, &mut sk, 13, 50 * MSS, 100 * MSS, RTT_US);
    sk.packets_out = 400;
    let mut sent = 0;
    for step in 1..=375 {
        sk.packets_out -= 1;
        control.cong_avoid(&mut sk, 0, 1);
        if sk.snd_cwnd > sk.packets_out {
            sent += sk.snd_cwnd - sk.packets_out;
            sk.packets_out = sk.snd_cwnd;
        }
        assert_eq!(sent, step / 3, "after {step}");
        if sk.snd_ssthresh != INFINITE_SSTHRESH {
            break;
        }
    }
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (150, 150), "50 segments in each of three bins");
    (sk.packets_out, sk.max_packets_out) = (150, 150);
    control.cong_avoid(&mut sk, 0, 1);
    assert_eq!(sk.snd_cwnd, 150, "CUBIC's growth");
    control.release(&mut sk);
}

#[test]
fn the_window_does_not_drain_below_the_initial_one() {
    let control = builtin("cubic_search");
    let mut sk = connection(&control, 400);
    bins(&control, &mut sk, 13, MSS, 100 * MSS, RTT_US);
    sk.packets_out = 0;
    control.cong_avoid(&mut sk, 0, 1);
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (10, 10));
}

/// A pause and a loss forget what was found.
#[test]
fn a_pause_begins_anew() {
    let control = builtin("cubic_search");
    let mut sk = connection(&control, 1000);
    bins(&control, &mut sk, 13, 0, 100 * MSS, RTT_US);
    control.cwnd_event(&mut sk, ca_event::CWND_RESTART);
    assert!(!drains(&control, &mut sk));
    ack(&control, &mut sk, 0, 0, RTT_US);
    bins(&control, &mut sk, 13, 0, 100 * MSS, RTT_US);
    assert_eq!(control.ssthresh(&mut sk), 700);
    assert!(!drains(&control, &mut sk), "a loss");
}
