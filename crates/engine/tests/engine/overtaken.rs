//! Senders that handle late and overtaken acknowledgements, and call the congestion control, as Linux does.

use crate::transfers::*;
use crate::world::*;
use model::impairments::{Outage, Reorder};
use model::units::Nanos;
use model::{MechanismRef, MechanismSource, ParamValue, Scenario, TcpProfile};
use std::path::PathBuf;
use unbloat_engine::Options;
use unbloat_engine::packet::{Ack, Data, flag};

// The handshake.

/// A scenario that loses the answers to the first three SYNs.
fn without_first_answers() -> Scenario {
    let mut s = transfer(20, TcpProfile::LINUX);
    let outage = Outage { at: Nanos::ZERO, lasts: Nanos::from_millis(2500), lose: true };
    s.links[0].reverse.impairments.outages = vec![outage];
    s
}

/// Each SYN-ACK echoes the timestamp of the first SYN (`tcp_check_req`), so the sender finds its timeouts spurious and
/// begins with ten segments (`tcp_try_undo_spurious_syn`).
#[test]
fn a_syn_ack_echoes_the_first_syn() {
    let (_, script) = watch(&without_first_answers(), &Options::default(), Script::new(|_, _| false));
    let is_syn = |data: &Data| data.flags & flag::SYN != 0;
    let syns: Vec<u32> = script.sent.iter().filter(|(_, data)| is_syn(data)).map(|(_, data)| data.tsval).collect();
    assert!(syns.len() == 4 && syns[3] > syns[0] + 3000, "{syns:?}");
    let answers = script.acks.iter().filter(|(_, ack)| ack.flags & flag::SYN != 0);
    // Some of them answer a SYN, and a timer sends the others.
    let echoes: Vec<u32> = answers.map(|(_, ack)| ack.tsecr).collect();
    assert!(echoes.len() > 4 && echoes.iter().all(|echo| *echo == syns[0]), "{echoes:?}");
    let opened = script.returned[0].0;
    let flight = script.sent.iter().filter(|(at, data)| *at == opened && is_data(data)).count();
    assert_eq!(flight, 10);
}

/// The third packet of the handshake and the data behind it are lost. The SYN-ACK comes again after a second, on the
/// tick behind 250 jiffies (`reqsk_timer_handler`). The sender answers it (`tcp_send_challenge_ack`), but once in half
/// a second.
#[test]
fn an_answer_to_a_syn_comes_again_until_its_sender_is_heard_of() {
    let deaf = Nanos::from_millis(30)..Nanos::from_millis(3500);
    let s = transfer(5, TcpProfile { tlp: false, ..TcpProfile::LINUX });
    let lose = |at: Nanos, data: &Data| data.flags & flag::SYN == 0 && deaf.contains(&at);
    let (outcome, script) = watch(&s, &Options::default(), Script::new(lose));
    assert!(outcome.run.flows[0].completion_s.is_some());
    let answers: Vec<Nanos> =
        script.acks.iter().filter(|(_, ack)| ack.flags & flag::SYN != 0).map(|(at, _)| *at).collect();
    let gaps: Vec<u64> = answers.windows(2).map(|pair| (pair[1] - pair[0]).as_micros() / 1000).collect();
    assert!(gaps.len() == 2 && (1000..1036).contains(&gaps[0]) && (2000..2260).contains(&gaps[1]), "{gaps:?}");
    let returned: Vec<Nanos> =
        script.returned.iter().filter(|(_, ack)| ack.flags & flag::SYN != 0).map(|(at, _)| *at).collect();
    assert!(bare(&script).iter().map(|(at, _)| *at).eq(returned[1..].iter().copied()));
}

// Events of a congestion control.

fn events_seen(window: i64, what: i64) -> MechanismRef {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources/events_seen.bpf.c"));
    let params = [("window", window), ("what", what)].map(|(name, n)| (name.to_string(), ParamValue::Integer(n)));
    MechanismRef::new(MechanismSource::File(path), params.into())
}

/// The first flight is a start, and so is the retransmission of each timeout: `tcp_event_data_sent` sees nothing in
/// flight.
#[test]
fn sending_starts_with_each_timeout() {
    let mut s = transfer(20, TcpProfile { tlp: false, ..TcpProfile::LINUX });
    s.flows[0].cc = events_seen(20, 0);
    assert_eq!(last_seen(&s, |_, _| false), 1);
    // The last segment is lost, and once or twice more.
    assert_eq!(last_seen(&s, losing([(19, 1)])), 2);
    assert_eq!(last_seen(&s, losing([(19, 3)])), 4);
}

/// In 6.12.117, `in_ack_event` sees the segments that its acknowledgement delivered as counted, SACKed or not.
#[test]
fn an_ack_event_finds_what_was_delivered_counted() {
    let mut s = transfer(100, TcpProfile::LINUX);
    s.flows[0].cc = events_seen(20, 1);
    let missed = series_of(&s, losing([(40, 1)])).ssthresh_packets;
    let shown: Vec<_> = missed.iter().flatten().filter(|shown| **shown != i32::MAX as u32).collect();
    assert!(!shown.is_empty() && shown.iter().all(|shown| **shown == 1), "{missed:?}");
}

// Acknowledgements that others have overtaken.

/// A path on which a tenth of the acknowledgements comes 10 ms late.
fn reordering(stack: TcpProfile) -> Script<'static> {
    let mut s = transfer(3000, stack);
    s.flows[0].cc = fixed_window(40);
    s.links[0].reverse.impairments.reorder = Some(Reorder { share: 0.1, gap: 1, by: Some(Nanos::from_millis(10)) });
    watch(&s, &Options::default(), Script::new(|_, _| false)).1
}

/// Overtaken acknowledgements, each with the highest number and the newest timestamp that came before.
fn overtaken(script: &Script) -> Vec<(Nanos, Ack, u32, u32)> {
    let (mut next, mut tsval) = (0, 0);
    let mut found = vec![];
    for (at, ack) in &script.returned {
        if ack.next < next {
            found.push((*at, *ack, next, tsval));
        }
        (next, tsval) = (next.max(ack.next), tsval.max(ack.tsval));
    }
    found
}

fn bare(script: &Script) -> Vec<(Nanos, Data)> {
    script.sent.iter().filter(|(_, data)| data.flags & flag::BARE != 0).skip(1).copied().collect()
}

/// The sender drops an overtaken acknowledgement and answers it (RFC 7323, section 5.3; `tcp_validate_incoming`). The
/// answer has the next sequence number and the newest timestamp; there is one in half a second.
#[test]
fn an_overtaken_acknowledgement_is_answered() {
    let script = reordering(TcpProfile::LINUX);
    let overtaken: Vec<_> =
        overtaken(&script).into_iter().filter(|(_, ack, _, newest)| ack.tsval + 1 < *newest).collect();
    let answers = bare(&script);
    assert!(overtaken.len() > 2 * answers.len() && answers.len() > 2, "{} of {}", answers.len(), overtaken.len());
    for (at, answer) in &answers {
        let (_, _, _, newest) = overtaken.iter().find(|(came, ..)| came == at).expect("it answers one");
        let sent =
            script.sent.iter().filter(|(sent, data)| sent < at && is_data(data)).map(|(_, data)| data.segment + 1);
        assert_eq!((Some(answer.segment), answer.tsecr), (sent.max(), *newest));
    }
    // 125 jiffies.
    assert!(answers.windows(2).all(|pair| (pair[1].0 - pair[0].0) > Nanos::from_millis(496)), "{answers:?}");
    // The receiver does not answer them.
    let last = script.acks.last().unwrap().1.next;
    assert_eq!(last, 3000);
}

/// No segment echoes an old timestamp.
#[test]
fn the_newest_timestamp_is_echoed() {
    let script = reordering(TcpProfile::LINUX);
    assert!(script.sent.iter().map(|(_, data)| data.tsecr).is_sorted());
}

#[test]
fn without_timestamps_no_acknowledgement_is_too_old() {
    let script = reordering(TcpProfile { timestamps: false, ..TcpProfile::LINUX });
    assert!(overtaken(&script).len() > 10);
    assert_eq!(bare(&script).len(), 0);
}
