//! Explicit congestion notification: marks, their echo, and the reaction of senders.

use crate::world::*;
use model::impairments::Outage;
use model::units::Nanos;
use model::{FlowGroup, Limit, Queue, Service, TcpProfile, Trace, Transmitter};
use std::sync::Arc;
use unbloat_engine::Options;
use unbloat_engine::packet::{Data, flag};

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
    // The sender announces its reduction to the receiver, which then ends its echo (RFC 3168, section 6.1.3).
    let told = script.sent.iter().filter(|(_, d)| d.flags & flag::CWR != 0 && is_data(d)).count();
    let ended =
        script.acks.windows(2).filter(|w| w[0].1.flags & flag::ECE != 0 && w[1].1.flags & flag::ECE == 0).count();
    assert!(ended > 0 && (ended..=2 * ended + 2).contains(&told), "{told} reductions told, {ended} echoes ended");
}

/// The sender announces its reduction. Its window may be a single segment, so the receiver does not wait for a second
/// (`tcp_ecn_accept_cwr`).
#[test]
fn a_told_reduction_is_acknowledged_at_once() {
    let mut alone = 0;
    for (cc, threshold) in ["reno", "cubic"].into_iter().flat_map(|cc| [5, 10, 15, 20, 25, 30].map(|n| (cc, n))) {
        let mut s = scenario(20);
        s.links[0].forward.queue = marking(threshold);
        s.flows[0] = FlowGroup { stack: TcpProfile { ecn: true, ..TcpProfile::LINUX }, ..flow(cc) };
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

/// A probe of new data in CWR is one of the segments that the reduction allows (`tcp_write_xmit` counts it into
/// `prr_out`).
#[test]
fn a_probe_counts_among_what_a_reduction_lets_out() {
    let mut s = scenario(2);
    let opportunities: Vec<Nanos> = (1..5000).filter(|ms| !(1000..1200).contains(ms)).map(Nanos::from_millis).collect();
    let period = *opportunities.last().unwrap();
    s.links[0].forward.service =
        Service::Own(Transmitter::Trace(Arc::new(Trace { path: "outage".into(), opportunities, period })));
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

/// DCTCP's echo is exact: it covers as many segments as have come marked (RFC 8257, section 3.2).
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

/// If the congestion control needs ECN, all packets are ECN-capable, even SYNs and pure acknowledgements
/// (`tcp_ecn_send`).
#[test]
fn every_packet_of_dctcp_can_be_marked() {
    let mut s = scenario(2);
    s.links[0].forward.queue = marking(20);
    for (cc, capable) in [("dctcp", true), ("cubic", false)] {
        s.flows[0] = FlowGroup { stack: TcpProfile { ecn: true, ..TcpProfile::LINUX }, ..flow(cc) };
        let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        assert!(script.acks.len() > 50);
        assert!(script.acks.iter().all(|(_, ack)| (ack.flags & flag::ECT != 0) == capable), "{cc}");
        let handshake = script.sent.iter().filter(|(_, data)| !is_data(data));
        assert_eq!(handshake.map(|(_, data)| data.flags & flag::ECT != 0).collect::<Vec<_>>(), [capable; 2], "{cc}");
    }
}

/// A repeated SYN does not ask for ECN (RFC 3168, section 6.1.1.1). So a connection whose first SYN was lost has none,
/// and one whose first answer was lost has it (`tcp_ecn_clear_syn`, `tcp_ecn_make_synack`).
#[test]
fn only_the_first_syn_asks_for_ecn() {
    let mut s = scenario(5);
    s.links[0].forward.queue = marking(5);
    s.flows[0].stack.ecn = true;
    for (syn_is_lost, answer_is_lost) in [(false, false), (true, false), (false, true)] {
        let outage = Outage { at: Nanos::ZERO, lasts: Nanos::from_millis(500), lose: true };
        s.links[0].reverse.impairments.outages = if answer_is_lost { vec![outage] } else { vec![] };
        let first_syn = |now, data: &Data| syn_is_lost && !is_data(data) && now < Nanos::from_millis(500);
        let (outcome, script) = watch(&s, &Options::default(), Script::new(first_syn));
        let syns = script.sent.iter().filter(|(_, data)| data.flags & flag::SYN != 0);
        let asks: Vec<bool> = syns.map(|(_, data)| data.flags & flag::ECE != 0).collect();
        let expected: &[bool] = if syn_is_lost || answer_is_lost { &[true, false] } else { &[true] };
        assert_eq!(asks, expected);
        let link = &outcome.run.links[0];
        assert_eq!(link.marks == 0, syn_is_lost, "{} marks", link.marks);
        let capable = script.sent.iter().any(|(_, data)| is_data(data) && data.flags & flag::ECT != 0);
        assert_eq!(capable, !syn_is_lost);
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
