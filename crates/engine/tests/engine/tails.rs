//! The rare cases of loss recovery, one by one: losses are scripted, so each test is one story.

use crate::auditor::Auditor;
use crate::transfers::*;
use crate::world::*;
use model::units::{Bytes, Nanos};
use model::{Limit, Loss, LossRepair, Reduction, TcpProfile};
use unbloat_engine::Options;
use unbloat_engine::packet::{Data, flag};

// Loss of the last segment.

/// The probe goes out after two round trips; a timeout takes 200 ms more than one.
#[test]
fn a_probe_repairs_a_lost_tail_before_the_timeout() {
    let tail = [(17, 1), (18, 1), (19, 1)];
    let (probed, again) = outcome(&transfer(20, TcpProfile::LINUX), losing(tail));
    let (timed_out, _) = outcome(&transfer(20, TcpProfile { tlp: false, ..TcpProfile::LINUX }), losing(tail));
    assert_eq!((probed.timeouts, timed_out.timeouts), (0, 1));
    assert_eq!(segments(&again), [19, 17, 18], "the probe repeats the last segment, whose SACK shows the other losses");
    let (fast, slow) = (probed.completion_s.unwrap(), timed_out.completion_s.unwrap());
    assert!(fast + 0.1 < slow, "{fast} s with a probe, {slow} s without");
}

/// A lone segment may wait for a delayed acknowledgement, so the probe comes no earlier than the timeout would. The
/// probe still saves the window.
#[test]
fn a_probe_of_a_lone_last_segment_takes_the_place_of_the_timeout() {
    let (flow, again) = outcome(&transfer(20, TcpProfile::LINUX), losing([(19, 1)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![19]));
    let cwnd = series_of(&transfer(20, TcpProfile::LINUX), losing([(19, 1)])).cwnd_packets;
    assert!(!cwnd.is_empty() && cwnd.iter().all(|w| *w != 1));
}

#[test]
fn two_lost_probes_end_in_a_timeout() {
    let (flow, _) = outcome(&transfer(20, TcpProfile::LINUX), losing([(19, 2)]));
    assert_eq!(flow.timeouts, 1);
}

/// A flow that the receiver's window limits loses a window and the probe after it. That is one loss episode: the
/// timeout settles its probe, and later acknowledgements do not begin a second one.
#[test]
fn a_timeout_settles_the_probe_before_it() {
    let mut s = transfer(600, TcpProfile::LINUX);
    // A segment that is not read yet takes of the window.
    s.flows[0].receive_window = Some(Bytes(21 * 1500));
    let mut plan = [(0, 1); 21];
    (100..120).zip(&mut plan).for_each(|(segment, slot)| *slot = (segment, 1));
    plan[20] = (119, 1);
    let (flow, _) = outcome(&s, losing(plan));
    assert_eq!(flow.timeouts, 1);
    let thresholds = distinct(series_of(&s, losing(plan)).ssthresh_packets.iter().flatten().copied());
    assert_eq!(thresholds.len(), 1, "ssthresh went through {thresholds:?}");
}

/// The values of `what` when a probe is not needed. 20 segments, the whole window of the receiver, wait 150 ms at the
/// link, and the probe leaves after two round trips.
fn needless_probe(what: Seen) -> Vec<u32> {
    let mut s = transfer(400, TcpProfile::LINUX);
    s.links[0].forward.service = outage_of(40..190);
    s.flows[0].receive_window = Some(Bytes(36_500)); // The handshake offers half of its memory, 58 078 bytes.
    s.flows[0].cc = socket_seen(30, what);
    let (flow, again) = outcome(&s, |_, _| false);
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![19]));
    distinct(series_of(&s, |_, _| false).ssthresh_packets.iter().flatten().map(|shown| shown - 1))
}

/// A timer sent the probe, and no reordering misled RACK, so RACK's window stays (RFC 8985, section 7.4.2;
/// `tcp_dsack_seen`).
#[test]
fn a_needless_probe_does_not_widen_the_reordering_window() {
    assert_eq!(needless_probe(Seen::ReorderingSteps), [1]);
}

/// The count has the SYN, 400 segments, and the one that arrived twice.
#[test]
fn what_arrives_twice_is_delivered_twice() {
    assert_eq!(needless_probe(Seen::Delivered).last(), Some(&402));
}

/// An acknowledgement may be a delayed one only if it is for a lone segment that is not full. Full segments are those
/// that the next acknowledgement waits for.
#[test]
fn only_a_lone_runt_may_have_been_acknowledged_late() {
    let mut s = transfer(10, TcpProfile::LINUX);
    s.flows[0].cc = socket_seen(1, Seen::DelayedSamples);
    s.flows[0].size = Some(Bytes(9 * 1448));
    assert_eq!(last_seen(&s, |_, _| false), 0);
    s.flows[0].size = Some(Bytes(9 * 1448 + 44));
    assert_eq!(last_seen(&s, |_, _| false), 1);
    // Ten segments together: the runt is not alone.
    s.flows[0].cc = socket_seen(10, Seen::DelayedSamples);
    assert_eq!(last_seen(&s, |_, _| false), 0);
}

/// The probe repairs the tail: its rate sample comes from a segment that was sent twice.
#[test]
fn the_sample_of_a_probe_is_one_of_a_retransmission() {
    let mut s = transfer(20, TcpProfile::LINUX);
    s.flows[0].cc = socket_seen(10, Seen::RetransmittedSamples);
    assert_eq!((last_seen(&s, losing([(19, 1)])), last_seen(&s, |_, _| false)), (1, 0));
}

/// The last of 20 segments is short; the probe repeats it.
#[test]
fn bytes_are_counted_as_they_are() {
    let mut s = transfer(20, TcpProfile::LINUX);
    let size = 19 * 1448 + 44;
    s.flows[0].size = Some(Bytes(size));
    s.flows[0].cc = socket_seen(10, Seen::BytesAcked);
    assert_eq!(last_seen(&s, losing([(19, 1)])) as u64, 1 + size, "the SYN counts as one");
    s.flows[0].cc = socket_seen(10, Seen::BytesRetransmitted);
    assert_eq!(last_seen(&s, losing([(19, 1)])), 44);
}

// Loss of a retransmission.

#[test]
fn rack_repairs_the_loss_of_a_retransmission_without_a_timeout() {
    for stack in [TcpProfile::LINUX, TcpProfile::NS2_LINUX] {
        let (flow, again) = outcome(&transfer(400, stack), losing([(50, 2)]));
        assert_eq!((flow.timeouts, segments(&again)), (0, vec![50, 50]));
    }
}

#[test]
fn without_rack_the_loss_of_a_retransmission_takes_a_timeout() {
    let (flow, _) = outcome(&transfer(400, TcpProfile::SACK), losing([(50, 2)]));
    assert_eq!(flow.timeouts, 1);
}

// Several losses in a window.

/// NewReno repairs one hole each round trip (RFC 6582), SACK all of them in one.
#[test]
fn newreno_repairs_one_hole_each_round_trip() {
    let plan = [(50, 1), (55, 1), (60, 1)];
    let (newreno, holes) = outcome(&transfer(400, TcpProfile::NEWRENO), losing(plan));
    assert_eq!((newreno.timeouts, segments(&holes)), (0, vec![50, 55, 60]));
    for pair in holes.windows(2) {
        let apart = (pair[1].0 - pair[0].0).as_millis_f64();
        assert!((40.0..45.0).contains(&apart), "{apart} ms between two repairs");
    }
    let (sack, holes) = outcome(&transfer(400, TcpProfile::SACK), losing(plan));
    assert_eq!((sack.timeouts, segments(&holes)), (0, vec![50, 55, 60]));
    let all = (holes[2].0 - holes[0].0).as_millis_f64();
    assert!(all < 40.0, "{all} ms for three repairs");
}

#[test]
fn one_window_of_losses_halves_the_window_once() {
    for stack in [TcpProfile::LINUX, TcpProfile::SACK, TcpProfile::NEWRENO, TcpProfile::NS2_LINUX] {
        let series = series_of(&transfer(600, stack), losing([(100, 1), (104, 1), (109, 1)]));
        let before = *series.cwnd_packets.iter().max().unwrap();
        let thresholds: Vec<u32> = distinct(series.ssthresh_packets.iter().flatten().copied());
        assert_eq!(thresholds.len(), 1, "ssthresh went through {thresholds:?}");
        assert!(thresholds[0].abs_diff(before / 2) <= before / 8, "from {before} to {}", thresholds[0]);
    }
}

/// PRR sends seven tenths (CUBIC) of the delivered segments, evenly. Without it the sender falls silent until the pipe
/// has drained.
#[test]
fn prr_spreads_the_reduction_over_a_round_trip() {
    let longest_silence = |stack: TcpProfile| {
        let s = transfer(3000, stack);
        let (_, script) = watch(&s, &Options::default(), Script::new(losing([(600, 1)])));
        let repair = script.retransmissions()[0].0;
        let end = repair + Nanos::from_millis(38);
        let sent = script.sent.iter().map(|(at, _)| *at).filter(|at| *at >= repair && *at < end);
        let times: Vec<Nanos> = sent.chain([end]).collect();
        times.windows(2).map(|w| (w[1] - w[0]).as_millis_f64()).fold(0.0, f64::max)
    };
    let spread = longest_silence(TcpProfile::LINUX);
    let repair = LossRepair { reduction: Reduction::AtOnce, ..LossRepair::LINUX };
    let at_once = longest_silence(TcpProfile { repair, ..TcpProfile::LINUX });
    assert!(spread * 4.0 < at_once, "silent for {spread} ms with PRR, {at_once} ms without");
}

// RFC 6675, NextSeg, where there is no new data to send.

/// Rule (3): one SACKed segment above does not prove the loss of 18, but there is room and nothing else to send.
#[test]
fn a_hole_that_is_not_proven_lost_is_filled_when_nothing_else_can_be_sent() {
    let (flow, again) = outcome(&transfer(20, TcpProfile::SACK), losing([(14, 1), (18, 1)]));
    // 19 is the rescue of rule (4): when the recovery began, 18 was not below a SACKed segment yet.
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![14, 19, 18]));
}

/// Rule (4): nothing at all shows the loss of the last segment.
#[test]
fn a_recovery_sends_the_end_of_what_is_outstanding_once_more() {
    let (flow, again) = outcome(&transfer(20, TcpProfile::SACK), losing([(12, 1), (19, 1)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![12, 19]));
    // The rescue happens once: if it is lost too, the timer finds the loss.
    let (flow, _) = outcome(&transfer(20, TcpProfile::SACK), losing([(12, 1), (19, 2)]));
    assert_eq!(flow.timeouts, 1);
}

/// A segment that rule (3) sent again may turn out to be lost afterwards; its repair is on the way already.
#[test]
fn what_was_sent_on_suspicion_is_not_sent_a_third_time() {
    let (flow, again) = outcome(&transfer(20, TcpProfile::SACK), losing([(11, 1), (15, 1), (16, 1)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![11, 19, 15, 16]));
}

/// IsLost by bytes: two full segments and a byte are more than two times the MSS.
#[test]
fn the_third_sacked_segment_counts_though_it_is_short() {
    let mut s = transfer(20, TcpProfile::SACK);
    s.flows[0].size = Some(Bytes(19 * 1448 + 1));
    let (flow, again) = outcome(&s, losing([(16, 1)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![16]));
}

// Fewer than three duplicates.

/// A window of three loses its first segment, which gives two duplicates. RFC 3042's new segments bring the third.
#[test]
fn limited_transmit_finds_the_third_duplicate() {
    let stack = TcpProfile { initial_window: 3, ..TcpProfile::NEWRENO };
    let (with, _) = outcome(&transfer(20, stack), losing([(0, 1)]));
    let (without, _) = outcome(&transfer(20, TcpProfile { limited_transmit: false, ..stack }), losing([(0, 1)]));
    assert_eq!((with.timeouts, without.timeouts), (0, 1));
}

// Acknowledgements lost.

#[test]
fn lost_acknowledgements_cost_no_data() {
    for (seed, stack) in
        (1..=10).flat_map(|seed| [TcpProfile::LINUX, TcpProfile::SACK, TcpProfile::NEWRENO].map(|stack| (seed, stack)))
    {
        let mut s = transfer(500, stack);
        s.seed = seed;
        s.duration = Nanos::from_secs(600);
        s.links[0].reverse.loss = Loss::Uniform(0.3);
        let (outcome, auditor) = watch(&s, &Options::default(), Auditor::new(&s));
        assert!(outcome.run.flows[0].completion_s.is_some(), "seed {seed}, {stack:?}");
        assert_eq!(auditor.flows[0].delivered_bytes(), s.flows[0].size.unwrap().0);
        assert_eq!(outcome.run.links[0].drops, 0);
    }
}

// The application.

#[test]
fn after_a_stop_only_what_is_out_is_delivered() {
    let mut s = scenario(10);
    s.links[0].forward.queue = droptail(Limit::Packets(30));
    let stop = Nanos::from_secs(3);
    s.flows[0].stop = Some(stop);
    let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    let new_after = script.sent.iter().filter(|(at, d)| *at > stop && d.flags & flag::RETRANSMISSION == 0).count();
    assert_eq!(new_after, 0);
    let written = script.sent.iter().map(|(_, d)| d.segment + 1).max().unwrap();
    assert_eq!(script.returned.last().unwrap().1.next, written);
    assert!(script.returned.last().unwrap().0 < stop + Nanos::from_secs(1));
}

/// A short last segment stays short when the application stops behind it.
#[test]
fn a_stop_behind_a_short_last_segment_changes_nothing() {
    let mut s = transfer(10, TcpProfile::LINUX);
    s.flows[0].size = Some(Bytes(9 * 1448 + 44));
    // All have left after the handshake's round trip; the first acknowledgement is another one away.
    s.flows[0].stop = Some(Nanos::from_millis(60));
    let (_, auditor) = watch(&s, &Options::default(), Auditor::new(&s));
    assert_eq!(auditor.flows[0].delivered_bytes(), 9 * 1448 + 44);
}

/// A short last segment that waits for a hole before it counts for its own bytes.
#[test]
fn a_short_last_segment_out_of_order_counts_its_own_bytes() {
    let mut s = transfer(10, TcpProfile::LINUX);
    let size = 9 * 1448 + 44;
    s.flows[0].size = Some(Bytes(size));
    let (flow, _) = outcome(&s, losing([(8, 1)]));
    let delivered = flow.goodput_mbps * 1e6 / 8.0 * flow.completion_s.unwrap();
    assert!((delivered - size as f64).abs() < 1e-3, "{delivered} bytes of {size}");
}

/// A whole window is lost and leaves again after the timeout. Without RACK three SACKs above do not prove that loss a
/// second time.
#[test]
fn what_a_timeout_sent_again_is_not_given_up_for_its_first_loss() {
    let mut sent = 0;
    let first_window = move |_, data: &Data| {
        sent += is_data(data) as u32;
        is_data(data) && (sent <= 10 || sent == 12)
    };
    let (flow, again) = outcome(&transfer(30, TcpProfile::SACK), first_window);
    assert_eq!(flow.timeouts, 2, "the second for the repair that was lost");
    let twice = (0..10).filter(|n| segments(&again).iter().filter(|s| *s == n).count() > 1).count();
    assert_eq!(twice, 1, "{:?}", segments(&again));
}

/// RFC 6582 repairs the next hole at every partial acknowledgement. Linux leaves that to PRR: it waits while more is in
/// flight than `ssthresh` allows (`tcp_newreno_mark_lost`, `tcp_cwnd_reduction`). Five of the first ten segments fit
/// into this queue and onto its link.
#[test]
fn without_sack_linux_repairs_within_the_window() {
    let wait_for_second_repair = |stack| {
        let mut s = transfer(40, stack);
        s.links[0].forward = link("bottleneck", 1.137, Nanos::from_micros(3871));
        s.links[0].forward.queue = droptail(Limit::Packets(4));
        let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        let repairs_of = |n| script.sent.iter().filter(move |(_, data)| is_data(data) && data.segment == n).skip(1);
        let first = (0..40).find(|n| repairs_of(*n).next().is_some()).expect("a repair");
        let partial = script.returned.iter().find(|(_, ack)| ack.next == first + 1).expect("a partial one");
        let (repaired, _) = repairs_of(first + 1).next().expect("a second repair");
        *repaired - partial.0
    };
    assert_eq!(wait_for_second_repair(TcpProfile::NEWRENO), Nanos::ZERO);
    assert!(wait_for_second_repair(TcpProfile { sack: false, ..TcpProfile::LINUX }) > Nanos::from_millis(1));
}
