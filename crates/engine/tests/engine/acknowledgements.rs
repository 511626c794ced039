//! Acknowledgements of a Linux receiver, as captures of Linux 6.18 show them on the same links.

use crate::world::*;
use model::impairments::Reorder;
use model::units::{Bytes, Nanos};
use model::{Limit, Loss, Scenario, TcpProfile};
use unbloat_engine::Options;
use unbloat_engine::packet::{Ack, Block, Data, flag};

/// A flow over 100 Mbit/s and 40 ms, a packet every 0.12 ms, with room for everything.
fn scenario_100m() -> Scenario {
    let mut s = scenario(2);
    s.links[0].forward = link("bottleneck", 100.0, Nanos::from_millis(20));
    s.links[0].forward.queue = droptail(Limit::Bytes(Bytes(1_000_000)));
    s
}

/// A flow over 100 Mbit/s with 400 packets in flight, more than the path holds, and a receiver whose window has widened
/// before any loss.
fn settled(stack: TcpProfile) -> Scenario {
    let mut s = scenario_100m();
    s.flows[0].cc = fixed_window(400);
    s.flows[0].receive_window = Some(Bytes(700_000));
    s.flows[0].stack = stack;
    s
}

fn acknowledgements(s: &Scenario, loses: impl FnMut(Nanos, &Data) -> bool) -> Vec<(Nanos, Ack)> {
    watch(s, &Options::default(), Script::new(loses)).1.acks
}

/// Milliseconds between consecutive acknowledgements.
fn gaps(acks: &[(Nanos, Ack)]) -> Vec<f64> {
    acks.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_millis_f64()).collect()
}

/// The window of the receiver widens by two segments with each segment, from half of its memory to the share that is
/// payload. A waiting segment takes a part of it, so each is acknowledged until then. The buffer is four times the
/// path's 1 MB.
#[test]
fn each_segment_is_acknowledged_while_the_window_widens() {
    let mut s = scenario_100m();
    s.links[0].forward.queue = droptail(Limit::Bytes(Bytes(500_000)));
    s.flows[0].cc = fixed_window(200);
    let acks = acknowledgements(&s, |_, _| false);
    let singles = acks.windows(2).take_while(|pair| pair[1].1.next - pair[0].1.next == 1).count();
    let memory: usize = 4 * (500_000 + 500_000) / 1448 * 2304;
    let widening = ((memory - 2304) * 160 / 256 - (memory / 2 - 1448)).div_ceil(2 * 1448);
    // The 16 quick acknowledgements of the start are still left then.
    assert_eq!(singles, widening + 16);
    // The first segments that were written are pushed while half of the first window lies between them.
    let rest: Vec<_> = acks[singles + 2..acks.len() - 1].iter().filter(|(_, ack)| ack.next > 400).collect();
    assert!(rest.len() > 100 && rest.windows(2).all(|pair| pair[1].1.next - pair[0].1.next == 2));
}

/// The first duplicate widens the window by the memory that it takes, and is acknowledged for that. Then come three at
/// once, and one acknowledgement for all duplicates of 1.1 ms, until the hole is filled.
#[test]
fn duplicates_are_acknowledged_a_millisecond_at_a_time() {
    let acks = acknowledgements(&settled(TcpProfile::LINUX), losing([(1000, 1)]));
    let reports = |(_, ack): &(Nanos, Ack)| ack.next == 1000 && ack.block_count > 0;
    let gaps = gaps(&acks.into_iter().filter(reports).collect::<Vec<_>>());
    assert!(gaps[..3].iter().all(|gap| (gap - 0.12).abs() < 0.001), "{gaps:?}");
    assert!(gaps.len() > 20 && gaps[3..].iter().all(|gap| (1.1..1.23).contains(gap)), "{gaps:?}");
}

#[test]
fn a_textbook_receiver_reports_each_duplicate() {
    let acks = acknowledgements(&settled(TcpProfile { quick_ack: false, ..TcpProfile::SACK }), losing([(1000, 1)]));
    let duplicates: Vec<(Nanos, Ack)> = acks.into_iter().filter(|(_, ack)| ack.next == 1000).collect();
    let prompt = gaps(&duplicates).iter().filter(|gap| (**gap - 0.12).abs() < 0.001).count();
    assert!(prompt > 150, "{prompt} of {}", duplicates.len());
}

/// The silence before quick acknowledgements counts from the end of the handshake (`tcp_create_openreq_child` sets
/// `lrcvtime`). That holds if the first segment is lost, too, so segments that came out of order set the delay.
#[test]
fn a_lost_first_segment_brings_no_quick_acknowledgements() {
    let mut s = settled(TcpProfile::LINUX);
    s.flows[0].cc = fixed_window(12);
    // The window widens with the first five segments.
    s.flows[0].receive_window = Some(Bytes(80_000));
    let acks = acknowledgements(&s, losing([(0, 1)]));
    let repaired = acks.iter().position(|(_, ack)| ack.next > 0 && ack.block_count == 0).expect("it is repaired");
    let steps: Vec<u32> =
        acks[repaired..].windows(2).map(|pair| pair[1].1.next - pair[0].1.next).take_while(|step| *step > 0).collect();
    // Some of them are pushed.
    assert!(steps[..20].iter().filter(|step| **step == 2).count() >= 17, "{steps:?}");
}

/// The segment that fills the last hole is acknowledged at once, though duplicates wait (RFC 5681, section 4.2).
#[test]
fn a_filled_hole_is_acknowledged_at_once() {
    let (_, script) = watch(&settled(TcpProfile::LINUX), &Options::default(), Script::new(losing([(1000, 1)])));
    let repaired = script.retransmissions()[0].0;
    let after = script.acks.iter().find(|(_, ack)| ack.next > 1000).expect("it is repaired");
    let transit = Nanos::from_millis(20) + Nanos::from_micros(120);
    // At most the queue lies between, and no timer.
    assert!(after.0 >= repaired + transit);
    assert!(after.1.block_count == 0 && after.1.next > 1100, "{after:?}");
}

/// The window holds two segments, so the first takes half of it. The receiver announces the reading of that segment at
/// once (`tcp_cleanup_rbuf`).
#[test]
fn a_window_of_two_segments_is_offered_anew_after_each() {
    let steps = |segments: u64| {
        let mut s = settled(TcpProfile::LINUX);
        s.flows[0].receive_window = Some(Bytes((segments + 1) * 1448));
        let acks = acknowledgements(&s, |_, _| false);
        acks[10..acks.len() - 1].windows(2).map(|pair| pair[1].1.next - pair[0].1.next).collect::<Vec<_>>()
    };
    let steps_of_two = steps(2);
    assert!(steps_of_two.len() > 20 && steps_of_two.iter().all(|step| *step == 1));
    assert!(steps(4).contains(&2));
}

/// After the application has read the segments that waited for a late one, a second acknowledgement offers more. It
/// does not count as a duplicate (`FLAG_WIN_UPDATE`). Without SACK a duplicate would stand for a segment that has
/// arrived, and release another one.
#[test]
fn an_acknowledgement_that_opens_the_window_is_no_duplicate() {
    const WINDOW: u32 = 3;
    let mut s = settled(TcpProfile { sack: false, ..TcpProfile::LINUX });
    s.flows[0].cc = fixed_window(WINDOW as i64);
    s.flows[0].receive_window = Some(Bytes(5 * 1448));
    s.links[0].forward.impairments.reorder = Some(Reorder { share: 0.2, gap: 1, by: Some(Nanos::from_millis(30)) });
    let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    let mut opened = 0;
    for pair in script.returned.windows(2) {
        let [(_, before), (at, after)] = pair else { unreachable!() };
        if before.next == after.next && before.window < after.window {
            let sent = script.sent.iter().filter(|(sent, data)| sent <= at && is_data(data));
            let in_flight = sent.map(|(_, data)| data.segment + 1).max().expect("data was sent") - after.next;
            assert!(in_flight <= WINDOW, "{in_flight} in flight at {at:?}");
            opened += 1;
        }
    }
    assert!(opened > 0);
}

/// A segment that is not ECN-capable after others that were is a retransmission, and its sender is in trouble. So the
/// receiver acknowledges two segments at once, the retransmission and the next (`tcp_ecn_check_ce`).
#[test]
fn a_retransmission_among_capable_segments_is_answered_quickly() {
    let singles = |ecn| {
        let mut s = settled(TcpProfile { ecn, ..TcpProfile::LINUX });
        // The segments that wait for the hole take less than half of it. A fuller buffer has no quick acknowledgements
        // (`__tcp_select_window`).
        s.flows[0].receive_window = Some(Bytes(2_000_000));
        let acks = acknowledgements(&s, losing([(1000, 1)]));
        let repaired = acks.iter().position(|(_, ack)| ack.next > 1000).expect("it is repaired");
        let steps = acks[repaired..].windows(2).map(|pair| pair[1].1.next - pair[0].1.next);
        steps.take_while(|step| *step == 1).count()
    };
    assert_eq!((singles(true), singles(false)), (1, 0));
}

/// A new block beyond the second would push an older one out of the list, so the receiver first reports the waiting
/// blocks.
#[test]
fn a_third_block_sends_what_waits() {
    let holes = [(1000, 1), (1010, 1), (1020, 1)];
    let acks = acknowledgements(&settled(TcpProfile::LINUX), losing(holes));
    let at = |first_of_new_block: u32| {
        acks.iter().position(|(_, ack)| ack.blocks().first().is_some_and(|b| b.start == first_of_new_block))
    };
    let third = at(1021).expect("a third block");
    let (before, ack) = (acks[third - 1].1.blocks()[0], &acks[third]);
    assert_eq!(before.end, 1020, "all below the third hole has been reported");
    assert!((acks[third].0 - acks[third - 1].0).as_millis_f64() > 0.5, "{ack:?}: the third block itself may wait");
}

/// The segment that releases the waiting acknowledgement counts as acknowledged itself. So if each segment begins a new
/// block, every second one is acknowledged.
#[test]
fn a_segment_that_sends_what_waits_does_not_wait_itself() {
    let acks = acknowledgements(
        &settled(TcpProfile::LINUX),
        losing(std::array::from_fn::<_, 50, _>(|n| (1000 + 2 * n as u32, 1))),
    );
    let reports: Vec<u32> = acks
        .iter()
        .filter_map(|(_, ack)| ack.blocks().first().filter(|_| ack.next == 1000).map(|newest| newest.end))
        .filter(|end| (1020..1100).contains(end))
        .collect();
    assert!(reports.len() > 15 && reports.windows(2).all(|pair| pair[1] - pair[0] == 4), "{reports:?}");
}

/// One acknowledgement that reports two blocks at once, the newer first, does not show reordering. The sender repairs
/// each loss when it is reported, as Linux does.
#[test]
fn blocks_that_come_together_are_no_reordering() {
    let mut s = scenario_100m();
    s.flows[0].receive_window = Some(Bytes(300_000));
    let holes = [(150, 1), (160, 1), (170, 1), (171, 1), (190, 1)];
    let (_, script) = watch(&s, &Options::default(), Script::new(losing(holes)));
    let again = script.retransmissions();
    assert_eq!(again.iter().map(|(_, segment)| *segment).collect::<Vec<_>>(), [150, 160, 170, 171, 190]);
    let spread = (again[4].0 - again[0].0).as_millis_f64();
    // 40 packets of 0.12 ms, and one wait for the timer.
    assert!(spread < 6.1, "{spread} ms from the first to the last");
}

/// The sender's application writes until 128 KiB are unsent, and pushes the last segment each time (`tcp_push`). The
/// receiver's application reads everything, so a pushed segment is acknowledged by itself (`tcp_measure_rcv_mss` since
/// Linux 6.6, and in 6.1). Captures of 6.1 show the same.
#[test]
fn a_pushed_segment_is_acknowledged_at_once() {
    let mut s = settled(TcpProfile::LINUX);
    s.duration = Nanos::from_secs(6);
    s.flows[0].cc = fixed_window(10);
    let mut pushed = vec![];
    let acks = acknowledgements(&s, |_, data| {
        if data.flags & flag::PSH != 0 {
            pushed.push(data.segment);
        }
        false
    });
    // During the first window of 65 535 bytes each half of it is pushed as well.
    assert_eq!(pushed[..8], [22, 45, 68, 91, 100, 146, 192, 239]);
    let settled_from = 260;
    for segment in
        pushed.iter().filter(|segment| **segment > settled_from && **segment + 4 < acks.last().unwrap().1.next)
    {
        assert!(acks.iter().any(|(_, ack)| ack.next == segment + 1), "segment {segment}");
    }
    let single = |pair: &[(Nanos, Ack)]| pair[0].1.next > settled_from && pair[1].1.next == pair[0].1.next + 1;
    let singles = acks.windows(2).filter(|pair| single(pair)).count();
    assert!(singles > 2 && singles <= pushed.len(), "{singles} of {}", pushed.len());
}

/// A short last segment is pushed, too, so it does not wait for a delayed acknowledgement.
#[test]
fn a_short_last_segment_is_acknowledged_at_once() {
    // The segments pushed before decide whether one is the first or the second of two.
    for (before, tail) in [(333, 100), (334, 100), (333, 1448), (334, 1448)] {
        let mut s = settled(TcpProfile::LINUX);
        s.flows[0].cc = fixed_window(10);
        s.flows[0].size = Some(Bytes(before * 1448 + tail));
        let acks = acknowledgements(&s, |_, _| false);
        let [.., last_but_one, last] = &acks[..] else { panic!("there are hundreds") };
        assert_eq!(last.1.next as u64, before + 1);
        let waited = last.0 - last_but_one.0;
        assert!(waited < Nanos::from_millis(1), "{before} segments and {tail} bytes: {waited:?}");
    }
}

/// Window that the buffer offers in the end. It has 540 994 bytes of memory, of which a segment takes 2304.
const BUFFER: Bytes = Bytes(340_000);
/// The largest window: 160/256 of the memory left beside the acknowledged segment, in units of 8 bytes.
const LARGEST_WINDOW: u32 = ((540_994 - 2304) * 160 / 256_u32).next_multiple_of(8);

/// An unread segment takes a part of the offered window, as segments above a hole do. The receiver takes no offer back.
#[test]
fn the_window_is_what_the_buffer_has_left() {
    let mut s = settled(TcpProfile::LINUX);
    s.flows[0].receive_window = Some(BUFFER);
    s.flows[0].cc = fixed_window(60);
    let acks = acknowledgements(&s, losing([(1000, 1)]));
    let windows = |next: std::ops::Range<u32>| acks.iter().filter(move |(_, ack)| next.contains(&ack.next));
    assert_eq!(acks[0].1.window, 65_535);
    assert!(windows(500..990).count() > 50 && windows(1000..1001).count() > 0);
    assert!(windows(500..990).all(|(_, ack)| ack.window == LARGEST_WINDOW));
    assert!(windows(1000..1001).all(|(_, ack)| ack.window >= LARGEST_WINDOW), "the right edge stays");
    let filled = windows(1001..2000).next().unwrap().1;
    let edge = |ack: &Ack| ack.next as u64 * 1448 + ack.window as u64;
    assert!(filled.window < LARGEST_WINDOW && edge(&filled) >= 1000 * 1448 + LARGEST_WINDOW as u64);
    assert!(acks.iter().map(|(_, ack)| edge(ack)).is_sorted());
}

/// Without a window of its own a receiver has four times the path's packets, and with one just that window.
#[test]
fn a_receive_window_widens_as_far_as_the_group_says() {
    let mut s = scenario_100m();
    s.links[0].forward = link("bottleneck", 3.0, Nanos::from_millis(4));
    s.links[0].forward.queue = droptail(Limit::Packets(4));
    s.flows[0].cc = fixed_window(4);
    s.flows[0].receive_window = Some(BUFFER);
    let acks = acknowledgements(&s, |_, _| false);
    assert_eq!(acks.last().unwrap().1.window, LARGEST_WINDOW);
}

/// Five segments are the whole window. When a retransmission has filled a hole before four others, the window is closed
/// until the application has read. The acknowledgement that reopens it is lost now and then, so the sender asks after a
/// timeout (RFC 9293, section 3.8.6.1; `tcp_send_probe0`).
#[test]
fn a_closed_window_is_probed() {
    let mut s = scenario(600);
    s.flows[0].stack = TcpProfile::LINUX;
    // Five segments of 4352 bytes of memory.
    s.flows[0].packet = Bytes(2279);
    s.flows[0].receive_window = Some(Bytes(12_542));
    s.flows[0].size = Some(Bytes(3_000_000));
    s.links[0].forward.loss = Loss::Uniform(0.05);
    s.links[0].reverse.loss = Loss::Uniform(0.3);
    let (outcome, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    assert!(outcome.run.flows[0].completion_s.is_some());
    let is_probe = Data::is_probe;
    let probes: Vec<_> = script.sent.iter().filter(|(_, data)| is_probe(data)).collect();
    assert!(probes.len() > 2, "{} probes", probes.len());
    for (at, probe) in probes {
        let (heard, last) = script.returned.iter().rfind(|(heard, _)| heard < at).unwrap();
        assert_eq!((last.next, last.window), (probe.segment, 0));
        assert!(*at - *heard > Nanos::from_millis(200));
    }
}

/// A path that delays some packets by more than a retransmission takes. It loses some, and every third retransmission,
/// and doubles some.
fn overtaking(stack: TcpProfile) -> Script<'static> {
    let mut s = settled(stack);
    let impairments = &mut s.links[0].forward.impairments;
    impairments.reorder = Some(Reorder { share: 0.05, gap: 1, by: Some(Nanos::from_millis(120)) });
    impairments.duplicate = 0.05;
    let mut sent_again = std::collections::HashSet::new();
    let loses = move |_, data: &Data| match data.flags & flag::RETRANSMISSION != 0 {
        true => data.segment.is_multiple_of(3) && sent_again.insert(data.segment),
        false => is_data(data) && data.segment % 96 == 1,
    };
    watch(&s, &Options::default(), Script::new(loses)).1
}

/// The receiver's answer to a segment, the timestamp that it echoed before, and whether the segment had come before
/// with a new enough timestamp.
struct Answer {
    segment: u32,
    tsval: u32,
    echoed: u32,
    is_known: bool,
    acks: Vec<Ack>,
}

impl Answer {
    fn is_outdated(&self) -> bool {
        self.echoed > self.tsval + 1
    }
}

fn answers(script: &Script) -> Vec<Answer> {
    let mut known = std::collections::HashSet::new();
    let mut answers = vec![];
    for (at, data) in script.arrived.iter().filter(|(_, data)| is_data(data)) {
        let before = script.acks.partition_point(|(sent, _)| sent < at);
        let after = script.acks.partition_point(|(sent, _)| sent <= at);
        let answer = Answer {
            segment: data.segment,
            tsval: data.tsval,
            echoed: script.acks[before - 1].1.tsecr,
            is_known: known.contains(&data.segment),
            acks: script.acks[before..after].iter().map(|(_, ack)| *ack).collect(),
        };
        if !answer.is_outdated() {
            known.insert(data.segment);
        }
        answers.push(answer);
    }
    answers
}

fn holds(block: &Block, segment: u32) -> bool {
    (block.start..block.end).contains(&segment)
}

/// A segment left before a retransmission, and comes after it has brought a newer timestamp. The receiver acknowledges
/// that segment, but does not take it (RFC 7323, section 5.3; `tcp_paws_discard`).
#[test]
fn a_segment_with_an_old_timestamp_is_dropped() {
    let answers = answers(&overtaking(TcpProfile::LINUX));
    let dropped: Vec<&Answer> = answers.iter().filter(|answer| answer.is_outdated() && !answer.is_known).collect();
    assert!(!dropped.is_empty());
    for Answer { segment, acks, .. } in dropped {
        let [ack] = acks[..] else { panic!("{} acknowledgements of {segment}", acks.len()) };
        let reported = *segment < ack.next || ack.blocks().iter().any(|block| holds(block, *segment));
        assert!(!reported, "{segment}: {ack:?}");
    }
}

/// Without timestamps the receiver cannot see that a segment is old.
#[test]
fn without_timestamps_no_segment_is_too_old() {
    let answers = answers(&overtaking(TcpProfile { timestamps: false, sack_compression: false, ..TcpProfile::LINUX }));
    let above = |answer: &&Answer| answer.acks.first().is_some_and(|ack| answer.segment > ack.next);
    let new: Vec<&Answer> = answers.iter().filter(|answer| !answer.is_known).filter(above).collect();
    assert!(!new.is_empty());
    assert!(new.iter().all(|answer| answer.acks[0].blocks().iter().any(|block| holds(block, answer.segment))));
}

/// The second SACK block holds the one that reports a duplicate (RFC 2883, section 4), however long ago it came first.
#[test]
fn the_second_block_holds_what_came_twice() {
    let answers = answers(&overtaking(TcpProfile { sack_compression: false, ..TcpProfile::LINUX }));
    let mut twice = 0;
    for Answer { segment, acks, .. } in answers.iter().filter(|answer| answer.is_known && !answer.is_outdated()) {
        // Both may come in the same instant.
        if let Some(ack) = acks.last().filter(|ack| *segment > ack.next) {
            assert!(ack.blocks()[..2].iter().all(|block| holds(block, *segment)), "{segment}: {ack:?}");
            twice += 1;
        }
    }
    assert!(twice > 10, "{twice}");
}

/// A window of 64 segments is acknowledged in eighths while data flows. Before, each segment widens the receiver's window,
/// so that it is acknowledged at once (`tcp_grow_window`).
#[test]
fn every_nth_segment_is_acknowledged() {
    let mut s = scenario(10);
    s.flows[0].cc = fixed_window(64);
    s.flows[0].stack.ack_every = 8;
    let (outcome, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    let numbers: Vec<_> = script.acks.iter().map(|(_, ack)| ack.next).skip_while(|next| *next < 4000).collect();
    assert!(numbers.len() > 400);
    assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] == 8), "{:?}", &numbers[..20]);
    assert_eq!((outcome.run.flows[0].lost_packets, outcome.run.flows[0].timeouts), (0, 0));
    assert!(outcome.run.flows[0].throughput_mbps > 9.9);
}
