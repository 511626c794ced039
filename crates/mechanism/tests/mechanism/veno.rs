//! Veno as tcp_veno.c has it: its formulae by number, and the compiled mechanism driven by hand.

use crate::harness::{at, builtin, change_state, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, TcpSock, ca_event, ca_state};

/// A connection after three samples, one of which is the least RTT. A sample counts one microsecond more than it is.
fn connection(control: &Control, cwnd: u32, base_us: i32) -> TcpSock {
    let mut sk = socket(cwnd, 2);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    for _ in 0..3 {
        control.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: base_us - 1, in_flight: 0 });
    }
    control.cong_avoid(&mut sk, 0, 0);
    sk
}

fn ack(control: &Control, sk: &mut TcpSock, rtt_us: i32, acked: u32) {
    control.pkts_acked(sk, &AckSample { pkts_acked: acked, rtt_us: rtt_us - 1, in_flight: 0 });
    control.cong_avoid(sk, 0, acked);
}

/// The backlog follows from cwnd, base and RTT. Fewer than three queued segments do not count as congestion.
#[test]
fn the_cards_table() {
    let control = builtin("veno");
    for (cwnd, base, rtt, ssthresh) in [(20, 100, 110, 16), (20, 100, 125, 10), (7, 100, 150, 5), (2, 100, 100, 2)] {
        let mut sk = connection(&control, cwnd, base);
        ack(&control, &mut sk, rtt, 0);
        assert_eq!(control.ssthresh(&mut sk), ssthresh, "cwnd {cwnd}, base {base}, rtt {rtt}");
    }
}

#[test]
fn large_windows_do_not_overflow() {
    let control = builtin("veno");
    let mut sk = connection(&control, 1 << 20, 1_000_000);
    ack(&control, &mut sk, 1_000_001, 0);
    assert_eq!(control.ssthresh(&mut sk), 838_860, "one segment is queued");
    ack(&control, &mut sk, 1_000_004, 0);
    assert_eq!(control.ssthresh(&mut sk), 1 << 19, "more than four are");
}

/// The number of ACKs of one segment until the window grows.
fn acks_for_a_segment(control: &Control, sk: &mut TcpSock, rtt_us: i32) -> u32 {
    let before = sk.snd_cwnd;
    for acks in 1..=10 * before {
        ack(control, sk, rtt_us, 1);
        if sk.snd_cwnd != before {
            assert_eq!(sk.snd_cwnd, before + 1);
            return acks;
        }
    }
    panic!("no growth within ten windows");
}

#[test]
fn a_queue_halves_the_growth() {
    let control = builtin("veno");
    let mut sk = connection(&control, 20, 100);
    assert_eq!([20, 21].map(|_| acks_for_a_segment(&control, &mut sk, 100)), [20, 21], "as Reno");
    let mut sk = connection(&control, 20, 100);
    let acks = [20, 21, 22].map(|_| acks_for_a_segment(&control, &mut sk, 150));
    assert_eq!(acks, [21, 2 * 22, 2 * 23], "every second window, with the ACK that finds it full");
}

#[test]
fn every_ack_has_its_own_rtt() {
    let control = builtin("veno");
    let mut sk = connection(&control, 20, 100);
    ack(&control, &mut sk, 200, 0);
    assert_eq!(control.ssthresh(&mut sk), 10);
    ack(&control, &mut sk, 100, 0);
    assert_eq!(control.ssthresh(&mut sk), 16);
}

#[test]
fn two_samples_and_repairs_leave_it_to_reno() {
    let control = builtin("veno");
    let mut sk = socket(20, 2);
    control.init(&mut sk);
    for rtt in [100, 300] {
        ack(&control, &mut sk, rtt, 10);
    }
    assert_eq!((sk.snd_cwnd, control.ssthresh(&mut sk)), (21, 16), "300 us are no sign yet");
    let mut sk = connection(&control, 20, 100);
    change_state(&control, &mut sk, ca_state::DISORDER);
    ack(&control, &mut sk, 300, 20);
    assert_eq!((sk.snd_cwnd, control.ssthresh(&mut sk)), (21, 16));
    change_state(&control, &mut sk, ca_state::OPEN);
    ack(&control, &mut sk, 300, 20);
    assert_eq!(control.ssthresh(&mut sk), 10);
}

#[test]
fn a_pause_forgets_the_least_rtt() {
    let control = builtin("veno");
    for event in [ca_event::CWND_RESTART, ca_event::TX_START] {
        let mut sk = connection(&control, 20, 100);
        control.cwnd_event(&mut sk, event);
        for _ in 0..4 {
            ack(&control, &mut sk, 300, 0);
        }
        assert_eq!(control.ssthresh(&mut sk), 16, "300 us are the least again");
    }
}

#[test]
fn slow_start_and_a_window_that_is_not_used_are_reno() {
    let control = builtin("veno");
    let mut sk = connection(&control, 10, 100);
    sk.snd_ssthresh = 12;
    ack(&control, &mut sk, 300, 2);
    assert_eq!(sk.snd_cwnd, 12, "slow start does not ask");
    sk.is_cwnd_limited = 0;
    ack(&control, &mut sk, 100, 100);
    assert_eq!(sk.snd_cwnd, 12);
}

#[test]
fn beta_is_a_parameter() {
    let control = with_params("veno", &[("beta", ParamValue::Integer(5))]);
    let mut sk = connection(&control, 20, 100);
    ack(&control, &mut sk, 125, 0);
    assert_eq!(control.ssthresh(&mut sk), 16, "four queued are few");
}
