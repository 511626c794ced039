//! The rare cases of loss recovery, one by one: losses are scripted, so each test is one story.

use crate::auditor::Auditor;
use crate::world::*;
use engine::Options;
use engine::packet::{Data, flag};
use scenario::model::{
    CcSource, CongestionControl, FlowGroup, Limit, Link, Loss, ParamValue, Queue, Scenario, Service, Stack, Trace,
};
use scenario::records::{Flow, FlowSeries};
use scenario::units::{Bytes, Nanos};
use std::ops::Range;
use std::sync::Arc;

/// 40 ms there and back, with room for everything; so many segments to send.
fn transfer(segments: u64, stack: Stack) -> Scenario {
    let mut s = scenario(30);
    s.links[0].forward = link("bottleneck", 100.0, Nanos::from_millis(20));
    let header = if stack.timestamps { 52 } else { 40 };
    s.flows[0] = FlowGroup { size: Some(Bytes(segments * (1500 - header))), stack, ..flow("reno") };
    s
}

/// The record, and when which segments were sent again.
fn outcome(s: &Scenario, loses: impl FnMut(Nanos, &Data) -> bool) -> (Flow, Vec<(Nanos, u32)>) {
    let (outcome, script) = watch(s, &Options::default(), Script::new(loses));
    let flow = outcome.run.flows[0].clone();
    assert!(flow.completion_s.is_some() || s.flows[0].size.is_none(), "it never completes: {flow:?}");
    (flow, script.retransmissions())
}

fn segments(retransmissions: &[(Nanos, u32)]) -> Vec<u32> {
    retransmissions.iter().map(|(_, segment)| *segment).collect()
}

// Loss of the last segment.

/// The probe goes out after two round trips; a timeout takes 200 ms more than one.
#[test]
fn a_probe_repairs_a_lost_tail_before_the_timeout() {
    let tail = [(17, 1), (18, 1), (19, 1)];
    let (probed, again) = outcome(&transfer(20, Stack::LINUX), losing(tail));
    let (timed_out, _) = outcome(&transfer(20, Stack { tlp: false, ..Stack::LINUX }), losing(tail));
    assert_eq!((probed.timeouts, timed_out.timeouts), (0, 1));
    assert_eq!(segments(&again), [19, 17, 18], "the probe repeats the last segment, whose SACK shows the other losses");
    let (fast, slow) = (probed.completion_s.unwrap(), timed_out.completion_s.unwrap());
    assert!(fast + 0.1 < slow, "{fast} s with a probe, {slow} s without");
}

/// A lone segment may wait for a delayed acknowledgement, so the probe comes no earlier than the timeout would. It
/// still saves the window.
#[test]
fn a_probe_of_a_lone_last_segment_takes_the_place_of_the_timeout() {
    let (flow, again) = outcome(&transfer(20, Stack::LINUX), losing([(19, 1)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![19]));
    let cwnd = series_of(&transfer(20, Stack::LINUX), losing([(19, 1)])).cwnd_packets;
    assert!(cwnd.iter().all(|w| *w != 1));
}

#[test]
fn two_lost_probes_end_in_a_timeout() {
    let (flow, _) = outcome(&transfer(20, Stack::LINUX), losing([(19, 2)]));
    assert_eq!(flow.timeouts, 1);
}

/// A flow that the receiver's window limits loses a window and the probe after it. That is one loss episode: its
/// probe is settled by the timeout, and what is acknowledged afterwards is no second one.
#[test]
fn a_timeout_settles_the_probe_before_it() {
    let mut s = transfer(600, Stack::LINUX);
    // One segment of the buffer is not offered.
    s.flows[0].receive_window = Some(Bytes(21 * 1500));
    let mut plan = [(0, 1); 21];
    (100..120).zip(&mut plan).for_each(|(segment, slot)| *slot = (segment, 1));
    plan[20] = (119, 1);
    let (flow, _) = outcome(&s, losing(plan));
    assert_eq!(flow.timeouts, 1);
    let thresholds = distinct(series_of(&s, losing(plan)).ssthresh_packets.iter().flatten().copied());
    assert_eq!(thresholds.len(), 1, "ssthresh went through {thresholds:?}");
}

/// 20 segments, all that the receiver's window takes, wait 150 ms at the link; the probe, sent after two round trips,
/// is not needed.
fn needless_probe(what: Seen) -> Vec<u32> {
    let mut s = transfer(400, Stack::LINUX);
    s.links[0].forward.service = outage_of(40..190);
    s.flows[0].receive_window = Some(Bytes(21 * 1448)); // One segment of the buffer is not offered.
    s.flows[0].cc = socket_seen(30, what);
    let (flow, again) = outcome(&s, |_, _| false);
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![19]));
    distinct(series_of(&s, |_, _| false).ssthresh_packets.iter().flatten().map(|shown| shown - 1))
}

/// It was a timer that sent the probe, not reordering that misled RACK, so its window stays (RFC 8985, section 7.4.2;
/// `tcp_dsack_seen`).
#[test]
fn a_needless_probe_does_not_widen_the_reordering_window() {
    assert_eq!(needless_probe(Seen::ReorderingSteps), [1]);
}

/// The SYN, 400 segments, and the one that arrived twice.
#[test]
fn what_arrives_twice_is_delivered_twice() {
    assert_eq!(needless_probe(Seen::Delivered).last(), Some(&402));
}

/// What a control saw last.
fn last_seen(s: &Scenario, loses: impl FnMut(Nanos, &Data) -> bool) -> u32 {
    series_of(s, loses).ssthresh_packets.iter().flatten().last().expect("it shows something") - 1
}

/// An acknowledgement may be a delayed one only if it is for a lone segment that is not full: full ones are what the
/// next waits for.
#[test]
fn only_a_lone_runt_may_have_been_acknowledged_late() {
    let mut s = transfer(10, Stack::LINUX);
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
    let mut s = transfer(20, Stack::LINUX);
    s.flows[0].cc = socket_seen(10, Seen::RetransmittedSamples);
    assert_eq!((last_seen(&s, losing([(19, 1)])), last_seen(&s, |_, _| false)), (1, 0));
}

/// The last of 20 segments is short; the probe repeats it.
#[test]
fn bytes_are_counted_as_they_are() {
    let mut s = transfer(20, Stack::LINUX);
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
    let (flow, again) = outcome(&transfer(400, Stack::LINUX), losing([(50, 2)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![50, 50]));
}

#[test]
fn without_rack_the_loss_of_a_retransmission_takes_a_timeout() {
    let (flow, _) = outcome(&transfer(400, Stack::SACK), losing([(50, 2)]));
    assert_eq!(flow.timeouts, 1);
}

// Several losses in a window.

/// NewReno repairs one hole each round trip (RFC 6582), SACK all of them in one.
#[test]
fn newreno_repairs_one_hole_each_round_trip() {
    let plan = [(50, 1), (55, 1), (60, 1)];
    let (newreno, holes) = outcome(&transfer(400, Stack::NEWRENO), losing(plan));
    assert_eq!((newreno.timeouts, segments(&holes)), (0, vec![50, 55, 60]));
    for pair in holes.windows(2) {
        let apart = (pair[1].0 - pair[0].0).as_millis_f64();
        assert!((40.0..45.0).contains(&apart), "{apart} ms between two repairs");
    }
    let (sack, holes) = outcome(&transfer(400, Stack::SACK), losing(plan));
    assert_eq!((sack.timeouts, segments(&holes)), (0, vec![50, 55, 60]));
    let all = (holes[2].0 - holes[0].0).as_millis_f64();
    assert!(all < 40.0, "{all} ms for three repairs");
}

#[test]
fn one_window_of_losses_halves_the_window_once() {
    for stack in [Stack::LINUX, Stack::SACK, Stack::NEWRENO] {
        let series = series_of(&transfer(600, stack), losing([(100, 1), (104, 1), (109, 1)]));
        let before = *series.cwnd_packets.iter().max().unwrap();
        let thresholds: Vec<u32> = distinct(series.ssthresh_packets.iter().flatten().copied());
        assert_eq!(thresholds.len(), 1, "ssthresh went through {thresholds:?}");
        assert!(thresholds[0].abs_diff(before / 2) <= before / 8, "from {before} to {}", thresholds[0]);
    }
}

fn series_of(s: &Scenario, loses: impl FnMut(Nanos, &Data) -> bool) -> FlowSeries {
    let options = Options { series: Some(Nanos::from_millis(1)), ..Options::default() };
    watch(s, &options, Script::new(loses)).0.series.expect("asked for").flows
}

fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut all: Vec<u32> = values.collect();
    all.dedup();
    all
}

/// PRR lets seven tenths (CUBIC) of what is delivered go out, evenly; without it the sender falls silent until the
/// pipe has drained.
#[test]
fn prr_spreads_the_reduction_over_a_round_trip() {
    let longest_silence = |stack: Stack| {
        let s = transfer(3000, stack);
        let (_, script) = watch(&s, &Options::default(), Script::new(losing([(600, 1)])));
        let repair = script.retransmissions()[0].0;
        let end = repair + Nanos::from_millis(38);
        let sent = script.sent.iter().map(|(at, _)| *at).filter(|at| *at >= repair && *at < end);
        let times: Vec<Nanos> = sent.chain([end]).collect();
        times.windows(2).map(|w| (w[1] - w[0]).as_millis_f64()).fold(0.0, f64::max)
    };
    let spread = longest_silence(Stack::LINUX);
    let at_once = longest_silence(Stack { prr: false, ..Stack::LINUX });
    assert!(spread * 4.0 < at_once, "silent for {spread} ms with PRR, {at_once} ms without");
}

// RFC 6675, NextSeg, where there is no new data to send.

/// Rule (3): one SACKed segment above does not prove the loss of 18, but there is room and nothing else to send.
#[test]
fn a_hole_that_is_not_proven_lost_is_filled_when_nothing_else_can_be_sent() {
    let (flow, again) = outcome(&transfer(20, Stack::SACK), losing([(14, 1), (18, 1)]));
    // 19 is the rescue of rule (4): when the recovery began, 18 was not below a SACKed segment yet.
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![14, 19, 18]));
}

/// Rule (4): nothing at all shows the loss of the last segment.
#[test]
fn a_recovery_sends_the_end_of_what_is_outstanding_once_more() {
    let (flow, again) = outcome(&transfer(20, Stack::SACK), losing([(12, 1), (19, 1)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![12, 19]));
    // Once: if that is lost too, the timer has to find out.
    let (flow, _) = outcome(&transfer(20, Stack::SACK), losing([(12, 1), (19, 2)]));
    assert_eq!(flow.timeouts, 1);
}

/// What rule (3) sent again may turn out to be lost afterwards: its repair is on the way already.
#[test]
fn what_was_sent_on_suspicion_is_not_sent_a_third_time() {
    let (flow, again) = outcome(&transfer(20, Stack::SACK), losing([(11, 1), (15, 1), (16, 1)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![11, 19, 15, 16]));
}

/// IsLost by bytes: two full segments and a byte are more than two times the MSS.
#[test]
fn the_third_sacked_segment_counts_though_it_is_short() {
    let mut s = transfer(20, Stack::SACK);
    s.flows[0].size = Some(Bytes(19 * 1448 + 1));
    let (flow, again) = outcome(&s, losing([(16, 1)]));
    assert_eq!((flow.timeouts, segments(&again)), (0, vec![16]));
}

// Duplicates too few for three.

/// A window of three loses its first: two duplicates. RFC 3042's new segments bring the third.
#[test]
fn limited_transmit_finds_the_third_duplicate() {
    let stack = Stack { initial_window: 3, ..Stack::NEWRENO };
    let (with, _) = outcome(&transfer(20, stack), losing([(0, 1)]));
    let (without, _) = outcome(&transfer(20, Stack { limited_transmit: false, ..stack }), losing([(0, 1)]));
    assert_eq!((with.timeouts, without.timeouts), (0, 1));
}

// Acknowledgements lost.

#[test]
fn lost_acknowledgements_cost_no_data() {
    for (seed, stack) in
        (1..=10).flat_map(|seed| [Stack::LINUX, Stack::SACK, Stack::NEWRENO].map(|stack| (seed, stack)))
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

// Timeouts without cause: the link falls silent for a second, and loses nothing.

/// Ten opportunities each millisecond, but none from 1 s to 2 s.
fn outage() -> Service {
    outage_of(1000..2000)
}

/// The same with none in these milliseconds.
fn outage_of(silent: Range<u64>) -> Service {
    let working = (1..5000).filter(|ms| !silent.contains(ms));
    let opportunities: Vec<Nanos> = working.flat_map(|ms| [Nanos::from_millis(ms); 10]).collect();
    let period = *opportunities.last().unwrap();
    Service::Trace(Arc::new(Trace { path: "outage".into(), opportunities, period }))
}

/// A window of up to 200 packets meets the outage. The window half a second after it, and how many segments were sent
/// again.
fn after_an_outage(stack: Stack) -> (u32, u64, u64) {
    let mut s = scenario(4);
    s.links[0].forward = Link { service: outage(), ..link("bottleneck", 1.0, Nanos::from_millis(20)) };
    s.flows[0].receive_window = Some(Bytes(200 * 1500));
    s.flows[0].stack = stack;
    let options = Options { series: Some(Nanos::from_millis(10)), ..Options::default() };
    let (outcome, _) = watch(&s, &options, Auditor::new(&s));
    let series = outcome.series.unwrap().flows;
    let later = series.time_s.iter().position(|t| *t >= 2.5).unwrap();
    let flow = &outcome.run.flows[0];
    assert_eq!(flow.lost_packets, 0);
    (series.cwnd_packets[later], flow.timeouts, flow.retransmitted_packets)
}

const NO_UNDO: Stack = Stack { frto: false, undo: false, tlp: false, ..Stack::LINUX };

#[test]
fn without_undo_a_spurious_timeout_costs_the_window_and_repeats_it() {
    let (_, timeouts, again) = after_an_outage(NO_UNDO);
    assert!(timeouts >= 1);
    assert!(again > 50, "{again} segments sent again");
}

#[test]
fn frto_finds_a_spurious_timeout_without_timestamps() {
    let (window, timeouts, again) = after_an_outage(Stack { frto: true, undo: true, timestamps: false, ..NO_UNDO });
    assert!(timeouts >= 1);
    assert!(window >= 190, "window {window} after the outage");
    assert!(again <= timeouts + 2, "{again} segments sent again in {timeouts} timeouts");
}

#[test]
fn eifel_finds_a_spurious_timeout_by_its_timestamp() {
    for tcp_usec_ts in [false, true] {
        let (window, timeouts, again) = after_an_outage(Stack { undo: true, tcp_usec_ts, ..NO_UNDO });
        assert!(timeouts >= 1);
        assert!(window >= 190, "window {window} after the outage");
        assert!(again <= timeouts + 2, "{again} segments sent again in {timeouts} timeouts");
    }
}

/// The timeout gives all up and is undone. One of the segments was lost indeed: RACK finds that as it would have
/// without the timeout.
#[test]
fn a_real_loss_among_those_of_a_spurious_timeout_takes_no_second_timeout() {
    for stack in [Stack { undo: true, ..NO_UNDO }, Stack { frto: true, undo: true, timestamps: false, ..NO_UNDO }] {
        let mut s = scenario(4);
        s.links[0].forward = Link { service: outage(), ..link("bottleneck", 1.0, Nanos::from_millis(20)) };
        s.flows[0].receive_window = Some(Bytes(200 * 1500));
        s.flows[0].stack = stack;
        let run = |losses: u32| {
            let mut left = losses;
            let one = move |now, data: &Data| {
                let lost = left > 0 && is_data(data) && now >= Nanos::from_millis(1020);
                left -= lost as u32;
                lost
            };
            let (flow, again) = outcome(&s, one);
            (flow.timeouts, again.len())
        };
        let (timeouts, again) = run(0);
        assert!(timeouts >= 1);
        let (timeouts_with_loss, again_with_loss) = run(1);
        assert_eq!(timeouts_with_loss, timeouts, "{stack:?}");
        // Without timestamps the timeout's retransmission misleads RACK, which then takes segments of one burst for
        // lost.
        assert!(
            !stack.timestamps || again_with_loss == again + 1,
            "{again_with_loss} sent again, {again} without a loss"
        );
    }
}

#[test]
fn duplicate_sacks_take_a_reduction_back() {
    // Neither F-RTO nor timestamps: all segments go out twice, and each second copy is reported as a duplicate.
    let (with, timeouts, _) = after_an_outage(Stack { undo: true, timestamps: false, ..NO_UNDO });
    let (without, _, _) = after_an_outage(Stack { timestamps: false, ..NO_UNDO });
    assert!(timeouts >= 1);
    assert!(with >= without, "window {with} with undo, {without} without");
}

// ECN.

fn marking(threshold: u64) -> Queue {
    Queue::Droptail { limit: Some(Limit::Packets(1000)), ecn_threshold: Some(Limit::Packets(threshold)) }
}

#[test]
fn a_mark_reduces_the_window_without_a_loss() {
    let mut s = scenario(20);
    s.links[0].forward.queue = marking(30);
    s.flows[0].stack.ecn = true;
    let (outcome, script) =
        watch(&s, &Options { series: Some(Nanos::from_millis(10)), ..Options::default() }, Script::new(|_, _| false));
    let (flow, link) = (&outcome.run.flows[0], &outcome.run.links[0]);
    assert!(link.marks > 0);
    assert_eq!((link.drops, flow.retransmitted_packets, flow.timeouts), (0, 0, 0));
    let cwnd = outcome.series.unwrap().flows.cwnd_packets;
    // The segment that carries CWR meets the queue still above its threshold and is marked itself: two reductions
    // follow each other.
    let (least, most) = (cwnd[500..].iter().min().unwrap(), cwnd[500..].iter().max().unwrap());
    assert!(*least >= 15 && *most <= 66, "{least} to {most}: from pipe and threshold down to a quarter of them");
    // A reduction is told to the receiver, which then ends its echo (RFC 3168, section 6.1.3).
    let told = script.sent.iter().filter(|(_, d)| d.flags & flag::CWR != 0 && is_data(d)).count();
    let ended =
        script.acks.windows(2).filter(|w| w[0].1.flags & flag::ECE != 0 && w[1].1.flags & flag::ECE == 0).count();
    assert!(ended > 0 && (ended..=2 * ended + 2).contains(&told), "{told} reductions told, {ended} echoes ended");
}

/// The sender tells its reduction: its window may be a single segment, so the receiver does not wait for a second
/// (`tcp_ecn_accept_cwr`).
#[test]
fn a_told_reduction_is_acknowledged_at_once() {
    let mut alone = 0;
    for (cc, threshold) in ["reno", "cubic"].into_iter().flat_map(|cc| [5, 10, 15, 20, 25, 30].map(|n| (cc, n))) {
        let mut s = scenario(20);
        s.links[0].forward.queue = marking(threshold);
        s.flows[0] = FlowGroup { stack: Stack { ecn: true, ..Stack::LINUX }, ..flow(cc) };
        let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        for (at, data) in script.arrived.iter().filter(|(_, data)| is_data(data) && data.flags & flag::CWR != 0) {
            let answer = script.acks.iter().find(|(_, ack)| ack.next > data.segment).expect("it is acknowledged");
            assert_eq!(answer.0, *at, "segment {} waits with {cc}", data.segment);
            // The first of two, and not marked itself, which would also be a reason not to wait.
            let all_before = script.acks.iter().any(|(_, ack)| ack.next == data.segment);
            alone += (all_before && data.flags & flag::CE == 0) as u32;
        }
    }
    assert!(alone > 3, "{alone} that would have waited");
}

/// A probe of new data that is sent in CWR is one of the segments that the reduction lets out (`tcp_write_xmit`
/// counts it into `prr_out`).
#[test]
fn a_probe_counts_among_what_a_reduction_lets_out() {
    let mut s = scenario(2);
    let opportunities: Vec<Nanos> = (1..5000).filter(|ms| !(1000..1200).contains(ms)).map(Nanos::from_millis).collect();
    let period = *opportunities.last().unwrap();
    s.links[0].forward.service = Service::Trace(Arc::new(Trace { path: "outage".into(), opportunities, period }));
    s.links[0].forward.queue = marking(1);
    s.flows[0].stack.ecn = true;
    s.flows[0].cc = socket_seen(60, Seen::PrrOut);
    let options = Options { series: Some(Nanos::from_micros(100)), ..Options::default() };
    let (outcome, script) = watch(&s, &options, Script::new(|_, _| false));
    let silence = script.returned.windows(2).find(|pair| pair[1].0 - pair[0].0 > Nanos::from_millis(150));
    let (last, first) = silence.map(|pair| (pair[0].0, pair[1].0)).expect("the link falls silent");
    let sent = script.sent.iter().filter(|(at, data)| is_data(data) && (last..first).contains(at)).count();
    let probes = script.sent.iter().filter(|(at, _)| *at > last && *at < first).count();
    let flows = outcome.series.unwrap().flows;
    let shown = |from: Nanos| {
        let after = flows.time_s.iter().position(|t| *t >= from.as_secs_f64()).expect("the run goes on");
        flows.ssthresh_packets[after].expect("it shows something") as usize
    };
    assert_eq!((probes, shown(first)), (1, shown(last) + sent));
}

/// DCTCP's echo is exact: as many segments are acknowledged with it as have come marked (RFC 8257, section 3.2).
#[test]
fn dctcp_echoes_as_many_marks_as_there_were() {
    let mut s = scenario(20);
    s.links[0].forward.queue = marking(20);
    s.flows[0].cc = control("dctcp");
    let (outcome, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    assert_eq!(outcome.run.flows[0].retransmitted_packets, 0);
    let echoed: u32 =
        script.acks.windows(2).filter(|w| w[1].1.flags & flag::ECE != 0).map(|w| w[1].1.next - w[0].1.next).sum();
    let acknowledged = script.acks.last().expect("there are some").1.next;
    let marked = script
        .arrived
        .iter()
        .filter(|(_, d)| is_data(d) && d.flags & flag::CE != 0 && d.segment < acknowledged)
        .count();
    assert!(marked > 100);
    assert_eq!(echoed as usize, marked);
}

/// All packets of a control that needs ECN are capable of it, SYNs and pure acknowledgements too (`tcp_ecn_send`).
#[test]
fn every_packet_of_dctcp_can_be_marked() {
    let mut s = scenario(2);
    s.links[0].forward.queue = marking(20);
    for (cc, capable) in [("dctcp", true), ("cubic", false)] {
        s.flows[0] = FlowGroup { stack: Stack { ecn: true, ..Stack::LINUX }, ..flow(cc) };
        let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        assert!(script.acks.iter().all(|(_, ack)| (ack.flags & flag::ECT != 0) == capable), "{cc}");
        let handshake = script.sent.iter().filter(|(_, data)| !is_data(data));
        assert_eq!(handshake.map(|(_, data)| data.flags & flag::ECT != 0).collect::<Vec<_>>(), [capable; 2], "{cc}");
    }
}

#[test]
fn without_ecn_the_same_queue_is_filled() {
    let mut s = scenario(20);
    s.links[0].forward.queue = marking(30);
    let run = run(&s, &Options::default()).run;
    assert_eq!(run.links[0].marks, 0);
    assert!(run.links[0].drops > 0);
}

#[test]
fn dctcp_keeps_the_queue_at_its_threshold() {
    let mut s = scenario(20);
    s.warmup = Nanos::from_secs(5);
    s.links[0].forward = link("bottleneck", 100.0, Nanos::from_millis(1));
    s.links[0].reverse = link("bottleneck.reverse", 1000.0, Nanos::from_millis(1));
    s.links[0].forward.queue = marking(20);
    s.flows = vec![FlowGroup { count: 2, ..flow("dctcp") }];
    let run = run(&s, &Options::default()).run;
    let link = &run.links[0];
    let waiting = link.queue_bytes_mean / 1500.0;
    assert!((10.0..30.0).contains(&waiting), "{waiting} packets wait on average");
    assert!(link.utilisation_percent > 99.0, "{} % used", link.utilisation_percent);
    assert_eq!((link.drops, run.flows[0].retransmitted_packets), (0, 0));
}

// Windows.

/// A flow that the receiver's window holds back does not grow a window that it does not use (RFC 7661).
#[test]
fn an_unused_window_does_not_grow() {
    let peak = |cwnd_validation| {
        let mut s = scenario(20);
        s.flows[0].receive_window = Some(Bytes(20 * 1500));
        s.flows[0].stack = Stack { cwnd_validation, ..Stack::LINUX };
        let (_, series) = run_with_series(&s, Nanos::from_millis(100));
        *series.flows.cwnd_packets.iter().max().unwrap()
    };
    let (with, without) = (peak(true), peak(false));
    assert!(with <= 2 * 20, "grew to {with} while 20 could be used");
    assert!(without > 1000, "grew to {without} only, although every acknowledgement counts");
}

/// One lost SYN is forgiven, as Linux does it; two say that the path is congested. The first four timeouts are a
/// second each, then they double.
#[test]
fn two_lost_syns_leave_a_window_of_one() {
    for (lost, opening_s, window) in [(1, 1.0, 10), (2, 2.0, 1), (5, 5.0, 1), (6, 7.0, 1), (7, 11.0, 1)] {
        let mut syns = 0;
        let first_syns = move |_, data: &Data| {
            syns += !is_data(data) as u32;
            !is_data(data) && syns <= lost
        };
        let (_, script) = watch(&transfer(10, Stack::LINUX), &Options::default(), Script::new(first_syns));
        let opening = script.sent.iter().find(|(_, d)| is_data(d)).unwrap().0;
        let together = script.sent.iter().filter(|(at, d)| is_data(d) && *at == opening).count();
        assert_eq!((opening.as_secs_f64().floor(), together), (opening_s, window), "{lost} SYNs lost");
    }
}

/// Without timestamps nothing tells which of two SYNs was answered, so that there is no round-trip time yet: not a
/// minimum of zero.
#[test]
fn a_connection_without_a_sample_has_no_minimum() {
    let mut s = transfer(10, Stack { timestamps: false, ..Stack::LINUX });
    let first_syn = || {
        let mut syns = 0;
        move |_, data: &Data| {
            syns += !is_data(data) as u32;
            !is_data(data) && syns == 1
        }
    };
    s.flows[0].cc = socket_seen(10, Seen::NoMinimum);
    assert_eq!((last_seen(&s, first_syn()), last_seen(&s, |_, _| false)), (1, 0));
    s.flows[0] = FlowGroup { cc: control("bbr"), size: None, ..s.flows[0].clone() };
    (s.duration, s.warmup) = (Nanos::from_secs(8), Nanos::from_secs(3));
    s.links[0].forward = link("bottleneck", 10.0, Nanos::from_millis(20));
    let (flow, _) = outcome(&s, first_syn());
    assert!(flow.goodput_mbps > 8.0, "BBR sends {} of 10 Mbit/s", flow.goodput_mbps);
}

// Pacing.

/// A timer runs from when the pacer lets the next segment go (`tcp_reset_xmit_timer`): here a second after each.
#[test]
fn timers_wait_for_the_pacer() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources/paced_window.bpf.c");
    let params = [("window", 1), ("rate", 1448)];
    let params = params.map(|(name, value)| (name.to_string(), ParamValue::Integer(value))).into();
    let mut s = transfer(20, Stack::LINUX);
    s.flows[0].cc = CongestionControl { source: CcSource::File(path.into()), params };
    let (_, script) = watch(&s, &Options::default(), Script::new(losing([(15, 1)])));
    let sent = script.sent.iter().find(|(_, data)| is_data(data) && data.segment == 15).expect("it was sent").0;
    let again = script.retransmissions();
    assert_eq!(segments(&again), [15]);
    assert!(again[0].0 >= sent + Nanos::from_secs(1), "sent again {:?} after {sent:?}", again[0].0);
}

#[test]
fn pacing_spreads_a_window_over_the_round_trip() {
    let bursts = |pacing| {
        let mut s = scenario(10);
        s.links[0].forward = link("bottleneck", 1000.0, Nanos::from_millis(20));
        s.flows[0].cc = fixed_window(100);
        s.flows[0].stack.pacing = pacing;
        let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        let times: Vec<Nanos> = script.sent.iter().skip(100).map(|(at, _)| *at).collect();
        let most = times.chunk_by(|a, b| a == b).map(<[Nanos]>::len).max().unwrap();
        let gaps: Vec<u64> = times.windows(2).map(|w| (w[1] - w[0]).0).collect();
        (most, *gaps.iter().max().unwrap() as f64 / 1e6)
    };
    let (together, silence) = bursts(true);
    let (unpaced, unpaced_silence) = bursts(false);
    assert_eq!(together, 1, "paced segments leave one by one");
    assert!(unpaced > 1);
    // The first 10 of 100 leave at once, the others at 1.2 windows a round trip: a quarter of it is left.
    assert!(silence < 10.1 && unpaced_silence > 20.0, "longest silence {silence} ms, unpaced {unpaced_silence} ms");
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

/// A last segment that is not full stays so when the application stops behind it.
#[test]
fn a_stop_behind_a_short_last_segment_changes_nothing() {
    let mut s = transfer(10, Stack::LINUX);
    s.flows[0].size = Some(Bytes(9 * 1448 + 44));
    // All have left after the handshake's round trip; the first acknowledgement is another one away.
    s.flows[0].stop = Some(Nanos::from_millis(60));
    let (_, auditor) = watch(&s, &Options::default(), Auditor::new(&s));
    assert_eq!(auditor.flows[0].delivered_bytes(), 9 * 1448 + 44);
}

/// A short last segment that waits for a hole before it counts for what it carries.
#[test]
fn a_short_last_segment_out_of_order_counts_its_own_bytes() {
    let mut s = transfer(10, Stack::LINUX);
    let size = 9 * 1448 + 44;
    s.flows[0].size = Some(Bytes(size));
    let (flow, _) = outcome(&s, losing([(8, 1)]));
    let delivered = flow.goodput_mbps * 1e6 / 8.0 * flow.completion_s.unwrap();
    assert!((delivered - size as f64).abs() < 1e-3, "{delivered} bytes of {size}");
}

/// A whole window is lost and goes out again after the timeout. Without RACK three SACKs above do not prove that loss
/// a second time.
#[test]
fn what_a_timeout_sent_again_is_not_given_up_for_its_first_loss() {
    let mut sent = 0;
    let first_window = move |_, data: &Data| {
        sent += is_data(data) as u32;
        is_data(data) && (sent <= 10 || sent == 12)
    };
    let (flow, again) = outcome(&transfer(30, Stack::SACK), first_window);
    assert_eq!(flow.timeouts, 2, "the second for the repair that was lost");
    let twice = (0..10).filter(|n| segments(&again).iter().filter(|s| *s == n).count() > 1).count();
    assert_eq!(twice, 1, "{:?}", segments(&again));
}
