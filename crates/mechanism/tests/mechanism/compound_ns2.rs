//! Compound TCP as ns-2.35 has it: the compiled mechanism, driven by hand.

use crate::harness::{at, builtin, change_state, lose, socket};
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, INFINITE_SSTHRESH, TcpSock, ca_state};

const BASE_US: i32 = 100_000;

/// `struct compound_ns2` holds Reno's part and the delay window as its sixth and seventh number.
fn parts(sk: &TcpSock) -> (u32, u32) {
    ((sk.inet_conn.icsk_ca_priv[2] >> 32) as u32, sk.inet_conn.icsk_ca_priv[3] as u32)
}

fn connection(control: &Control, win: u32, ssthresh: u32) -> TcpSock {
    let mut sk = socket(win, ssthresh);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sample(control, &mut sk, BASE_US);
    sk
}

/// Plays an RTT sample, which counts one microsecond more than it is.
fn sample(control: &Control, sk: &mut TcpSock, rtt_us: i32) {
    control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: rtt_us - 1, in_flight: 0 });
}

/// Plays the ACK of the last segment of a round trip in which `segments` were sent after it.
fn end_round(control: &Control, sk: &mut TcpSock, segments: u32, rtt_us: i32) {
    for _ in 0..3 {
        sample(control, sk, rtt_us);
    }
    sk.snd_una = sk.snd_nxt.wrapping_add(1);
    sk.snd_nxt = sk.snd_una.wrapping_add(segments * sk.mss_cache);
    sk.max_packets_out = sk.snd_cwnd;
    let una = sk.snd_una;
    control.cong_avoid(sk, una, 1);
}

/// The growth is that of whole numbers: win^(3/4) / 8 - 1 of the data of the last round trip.
#[test]
fn an_empty_queue_lets_the_delay_window_grow() {
    let control = builtin("compound_ns2");
    for (sent, growth) in [(16, 0), (100, 2), (1000, 21), (10_000, 124)] {
        let mut sk = connection(&control, 10_000, 2);
        end_round(&control, &mut sk, sent, BASE_US);
        let (_, before) = parts(&sk);
        end_round(&control, &mut sk, 1, BASE_US);
        assert_eq!(parts(&sk).1 - before, growth, "{sent}");
    }
}

#[test]
fn a_queue_takes_what_it_holds() {
    let control = builtin("compound_ns2");
    let mut sk = connection(&control, 10_000, 2);
    for _ in 0..3 {
        end_round(&control, &mut sk, 10_000, BASE_US);
    }
    // Of 10 000 segments at 1.01 times the least RTT 99.5 are queued, at 1.002 times 20.
    let (_, before) = parts(&sk);
    end_round(&control, &mut sk, 10_000, BASE_US / 100 * 101);
    assert_eq!(parts(&sk).1, before - 100);
    end_round(&control, &mut sk, 10_000, BASE_US / 1000 * 1002);
    assert_eq!(parts(&sk).1, before - 100 + 124);
}

/// The delay window has no slow start of its own: it is on top of Reno's, which ends by Reno's part.
#[test]
fn slow_start_is_renos_part_s() {
    let control = builtin("compound_ns2");
    let mut sk = connection(&control, 1000, INFINITE_SSTHRESH);
    end_round(&control, &mut sk, 1000, BASE_US);
    end_round(&control, &mut sk, 1000, BASE_US);
    assert!(parts(&sk).1 > 0);
    let (reno, dwnd) = parts(&sk);
    sk.snd_ssthresh = reno + 1;
    for grown in [1, 2, 2, 2] {
        sk.max_packets_out = sk.snd_cwnd;
        let una = sk.snd_una;
        control.cong_avoid(&mut sk, una, 1);
        assert_eq!((parts(&sk), sk.snd_cwnd), ((reno + grown, dwnd), reno + grown + dwnd));
    }
}

#[test]
fn a_loss_leaves_a_quarter_from_which_slow_start_returns_to_half() {
    let control = builtin("compound_ns2");
    let mut sk = connection(&control, 1000, 2);
    lose(&control, &mut sk, ca_state::RECOVERY);
    assert_eq!((sk.snd_ssthresh, sk.sim.min_cwnd), (500, 250));
    sk.snd_cwnd = 500;
    change_state(&control, &mut sk, ca_state::OPEN);
    assert_eq!(sk.snd_cwnd, 250);
    for _ in 0..300 {
        sk.max_packets_out = sk.snd_cwnd;
        let una = sk.snd_una;
        control.cong_avoid(&mut sk, una, 1);
    }
    assert_eq!(sk.snd_cwnd, 501);
}

/// A stack with rate halving knows the data in flight.
#[test]
fn a_stack_that_goes_down_to_the_quarter_itself_decides_where_it_ends() {
    let control = builtin("compound_ns2");
    let mut sk = connection(&control, 1000, 2);
    sk.sim.rate_halving = 1;
    lose(&control, &mut sk, ca_state::RECOVERY);
    sk.snd_cwnd = 400;
    change_state(&control, &mut sk, ca_state::OPEN);
    assert_eq!(sk.snd_cwnd, 400);
}

#[test]
fn after_a_timeout_and_repair_the_window_is_not_lowered_again() {
    let control = builtin("compound_ns2");
    let mut sk = connection(&control, 100, 2);
    lose(&control, &mut sk, ca_state::LOSS);
    sk.snd_cwnd = 40;
    change_state(&control, &mut sk, ca_state::OPEN);
    assert_eq!(sk.snd_cwnd, 40);
}
