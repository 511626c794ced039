//! Reno: RFC 5681 in whole segments as tcp_reno_cong_avoid has it, through the compiled mechanism.

use crate::harness::{builtin, socket};

#[test]
fn slow_start_leaves_the_rest_to_congestion_avoidance() {
    let (control, mut sk) = (builtin("reno"), socket(10, 12));
    control.cong_avoid(&mut sk, 0, 5);
    assert_eq!((sk.snd_cwnd, sk.snd_cwnd_cnt), (12, 3));
}

#[test]
fn one_more_segment_for_each_window_acknowledged() {
    let (control, mut sk) = (builtin("reno"), socket(10, 5));
    sk.snd_cwnd_cnt = 8;
    control.cong_avoid(&mut sk, 0, 2);
    assert_eq!((sk.snd_cwnd, sk.snd_cwnd_cnt), (11, 0));
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let (control, mut sk) = (builtin("reno"), socket(10, 12));
    sk.is_cwnd_limited = 0;
    for (ssthresh, max_packets_out) in [(12, 5), (5, 5), (5, 10)] {
        (sk.snd_ssthresh, sk.max_packets_out) = (ssthresh, max_packets_out);
        control.cong_avoid(&mut sk, 0, 10);
        assert_eq!(sk.snd_cwnd, 10, "ssthresh {ssthresh}, {max_packets_out} packets out");
    }
}

/// A window that limited the sender grows in slow start too, however few packets were out (`tcp_is_cwnd_limited` of
/// Linux since 6.1).
#[test]
fn a_window_that_held_the_sender_back_grows() {
    let (control, mut sk) = (builtin("reno"), socket(10, 12));
    (sk.max_packets_out, sk.is_cwnd_limited) = (5, 1);
    control.cong_avoid(&mut sk, 0, 1);
    assert_eq!(sk.snd_cwnd, 11);
}

#[test]
fn a_loss_halves_and_leaves_two() {
    let control = builtin("reno");
    assert_eq!(control.ssthresh(&mut socket(25, 5)), 12);
    assert_eq!(control.ssthresh(&mut socket(3, 5)), 2);
}

#[test]
fn undo_restores_the_window_before() {
    let (control, mut sk) = (builtin("reno"), socket(12, 12));
    sk.prior_cwnd = 25;
    assert_eq!(control.undo_cwnd(&mut sk), 25);
    sk.snd_cwnd = 30;
    assert_eq!(control.undo_cwnd(&mut sk), 30);
}
