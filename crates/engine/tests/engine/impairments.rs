//! Impaired links: properties of any of them, and figures that can be calculated.

use crate::auditor::Auditor;
use crate::invariants::capacity_bytes;
use crate::properties::{config, transfers_complete};
use crate::random;
use crate::world::*;
use model::app::{App, Udp};
use model::declare::Packets;
use model::impairments::{DelayChange, Distribution, Jitter, Outage, Policer, Rates, Reorder, Slot};
use model::quantity::Between;
use model::queue::{Discipline, Drophead};
use model::script::{Action, Scripted};
use model::units::{Bytes, Nanos, Rate};
use model::{FlowGroup, Limit, Queue, Scenario, Service, Transmitter};
use proptest::prelude::*;
use unbloat_engine::Options;
use unbloat_engine::packet::{Data, flag};

proptest! {
    #![proptest_config(config(200))]

    /// Packets are conserved, copies included. None is faster than its path, and they are in order if the path keeps
    /// it. Windows are respected, and reassembly is right. The records of the links contain the packets that queues
    /// drop and channels lose or double, and no link exceeds its capacity.
    #[test]
    fn every_event_is_one_that_tcp_and_a_network_may_show(mut scenario in random::impaired()) {
        scenario.warmup = Nanos::ZERO;
        let (outcome, auditor) = watch(&scenario, &Options::default(), Auditor::new(&scenario));
        for (record, flow) in outcome.run.flows.iter().zip(&auditor.flows) {
            prop_assert_eq!(record.sent_packets, flow.sent);
            prop_assert_eq!(record.retransmitted_packets, flow.retransmitted);
            prop_assert_eq!(record.lost_packets, flow.lost);
            prop_assert!(flow.delivered_bytes() <= flow.fresh_bytes);
        }
        let links = &outcome.run.links;
        prop_assert_eq!(links.iter().map(|link| link.drops).sum::<u64>(), auditor.dropped);
        prop_assert_eq!(links.iter().map(|link| link.wire_losses).sum::<u64>(), auditor.lost_on_the_wire);
        // The records already count copies whose first one is still under way at the end.
        prop_assert!(links.iter().filter_map(|link| link.duplicates).sum::<u64>() >= auditor.duplicated);
        for (record, link) in links.iter().zip(scenario.directions()) {
            prop_assert!((0.0..=100.0 + 1e-6).contains(&record.utilisation_percent), "{}", record.utilisation_percent);
            prop_assert!(record.queue_percent_mean.is_none_or(|p| (0.0..=100.0).contains(&p)));
            prop_assert_eq!(record.duplicates.is_some(), link.impairments.duplicates());
        }
        let groups = || scenario.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
        for link in scenario.directions() {
            let crosses = |group: &FlowGroup| scenario.data_path(group).iter().any(|passed| passed.name == link.name);
            let flows = auditor.flows.iter().zip(groups()).filter(|(_, group)| crosses(group));
            let carried: u64 = flows.map(|(flow, _)| flow.fresh_bytes).sum();
            let most = capacity_bytes(&link.service, scenario.duration);
            prop_assert!(carried as f64 <= most, "{carried} bytes over {}", link.name);
        }
    }

    /// Counts go by the time of sending, and no copy counts.
    #[test]
    fn sent_and_lost_speak_of_the_same_packets(scenario in random::impaired()) {
        let (outcome, auditor) = watch(&scenario, &Options::default(), Auditor::new(&scenario));
        for (record, flow) in outcome.run.flows.iter().zip(&auditor.flows) {
            prop_assert_eq!((record.sent_packets, record.lost_packets), (flow.sent, flow.lost));
            prop_assert!(record.loss_percent <= Some(100.0), "{:?} %", record.loss_percent);
        }
    }

    /// One seed always gives the same events and records.
    #[test]
    fn a_run_repeats_itself(scenario in random::impaired()) {
        let record = || {
            let series = Some(Nanos(scenario.duration.0 / 50));
            let (outcome, events) = fingerprint(&scenario, &Options { series, ..Options::default() });
            let records = serde_json::to_string(&(&outcome.run, &outcome.series)).unwrap();
            (events, records)
        };
        prop_assert_eq!(record(), record());
    }

    /// No queue ever exceeds its limit, not even in an outage.
    #[test]
    fn all_queues_stay_within_their_limits(scenario in random::impaired()) {
        let (_, series) = run_with_series(&scenario, Nanos(scenario.duration.0 / 500));
        let limits: Vec<_> = scenario.directions().map(|link| link.queue.limit()).collect();
        let links = &series.links;
        for (row, number) in links.link.iter().enumerate() {
            // Access links follow, which have no limit.
            match limits.get(*number as usize).copied().flatten() {
                None => {}
                Some(Limit::Packets(most)) => prop_assert!(links.queue_packets[row] <= most),
                Some(Limit::Bytes(Bytes(most))) => prop_assert!(links.queue_bytes[row] <= most),
            }
        }
    }

    /// The records of the links have as many copies as the auditor saw.
    #[test]
    fn finite_transfers_complete_with_exactly_their_size(scenario in random::impaired()) {
        let (outcome, auditor) = transfers_complete(scenario)?;
        let duplicates: u64 = outcome.run.links.iter().filter_map(|link| link.duplicates).sum();
        prop_assert_eq!(duplicates, auditor.duplicated);
    }
}

/// A fixed window over 10 Mbit/s and 40 ms there and back, never limited by the queue.
fn steady(seconds: u64, window: i64) -> Scenario {
    let mut s = scenario(seconds);
    s.flows[0].cc = fixed_window(window);
    s
}

/// The arrival time of each data packet, and its number.
fn arrivals(s: &Scenario) -> Vec<(Nanos, u32)> {
    let (_, script) = watch(s, &Options::default(), Script::new(|_, _| false));
    script.arrived.iter().filter(|(_, data)| is_data(data)).map(|(at, data)| (*at, data.segment)).collect()
}

const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// Packets of 12 000 bits leave back to back. The packet at a change sends its rest at the new rate, to the nanosecond.
#[test]
fn a_change_of_the_rate_is_exact_for_the_packet_under_way() {
    let mut s = steady(4, 200);
    let steady_state = arrivals(&s);
    let (old, new) = (Rate(10_000_000), Rate(3_000_000));
    let change = Nanos(2_000_000_123);
    s.links[0].forward.service = Service::Own(Transmitter::Rates(Rates::new(old, &[(change, new)], s.duration)));
    let changed = arrivals(&s);
    // The end of a transmission is an arrival without the delay.
    let delay = s.links[0].forward.delay;
    let across = steady_state.iter().position(|(at, _)| *at - delay > change).expect("it goes on");
    assert_eq!(steady_state[..across], changed[..across]);
    let start = steady_state[across - 1].0 - delay;
    let left = 12_000 * 1_000_000_000u128 - u128::from((change - start).0) * u128::from(old.0);
    let end = change + Nanos(left.div_ceil(u128::from(new.0)) as u64);
    assert_eq!(changed[across].0, end + delay);
    assert!(changed[across].0 > steady_state[across].0 + Nanos::from_micros(100));
    // From then on one each 4 ms.
    assert!(changed.len() > across + 20);
    assert!(changed[across..].windows(2).all(|pair| pair[1].0 - pair[0].0 == MS(4)));
}

/// The delay falls from 20 to 5 ms. Later packets wait for the 13 under way, or with `jitter_reorder` overtake them.
#[test]
fn a_shorter_delay_lets_packets_overtake_only_if_asked() {
    for reorder in [false, true] {
        let mut s = steady(4, 200);
        let at = MS(2000);
        s.links[0].forward.impairments.delays = vec![DelayChange { at, delay: MS(5) }];
        let jitter = Jitter { spread: Nanos::ZERO, distribution: Distribution::Uniform, reorder };
        s.links[0].forward.impairments.jitter = reorder.then_some(jitter);
        let arrived = arrivals(&s);
        assert_eq!(arrived.windows(2).all(|pair| pair[0].1 < pair[1].1), !reorder);
        let at_once = arrived.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max();
        assert_eq!(at_once.is_some_and(|packets| packets > 10), !reorder, "{at_once:?}");
        let late = arrived.iter().filter(|(time, _)| *time > at + MS(21)).map(|(time, _)| *time).collect::<Vec<_>>();
        assert!(late.windows(2).all(|pair| pair[1] - pair[0] == Nanos::from_micros(1200)));
    }
}

/// Packets of 1.2 ms that are sent in a slot's wait of 10 ms arrive together. Of a slot of at most four, the others
/// wait for the next.
#[test]
fn a_slot_delivers_a_burst() {
    for most in [None, Some(Packets(4))] {
        let mut s = steady(4, 200);
        s.links[0].forward.impairments.slot = Some(Slot { wait: Between::only(MS(10)), most });
        let arrived = arrivals(&s);
        let mut bursts: Vec<(Nanos, usize)> = vec![];
        for (at, _) in arrived.iter().skip(500) {
            match bursts.last_mut() {
                Some((time, count)) if time == at => *count += 1,
                _ => bursts.push((*at, 1)),
            }
        }
        let inner = &bursts[1..bursts.len() - 1];
        assert!(inner.len() > 20);
        match most {
            None => assert!(inner.iter().all(|(_, count)| (9..=10).contains(count)), "{inner:?}"),
            Some(_) => {
                assert!(inner.iter().all(|(_, count)| *count == 4), "{inner:?}");
                assert!(inner.windows(2).all(|pair| pair[1].0 - pair[0].0 == MS(10)), "{inner:?}");
            }
        }
    }
}

/// Packets 1 and 2 of the direction are the SYN and the acknowledgement of its answer. Data begins with number 3.
#[test]
fn a_script_chooses_packets_by_their_number() {
    let rule = |action, from, until| Scripted {
        action,
        packets: Some(Between { from, until }),
        flow: Some(0),
        from: Nanos::ZERO,
        to: None,
        time: (action == Action::Hold).then_some(MS(30)),
    };
    let mut s = steady(4, 10);
    s.flows[0].size = Some(Bytes(400_000));
    let plain = arrivals(&s);
    s.links[0].forward.impairments.script =
        vec![rule(Action::Lose, 50, 51), rule(Action::Duplicate, 100, 100), rule(Action::Hold, 150, 150)];
    let (outcome, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    let (link, flow) = (&outcome.run.links[0], &outcome.run.flows[0]);
    assert_eq!((link.wire_losses, link.duplicates, flow.lost_packets), (2, Some(1), 2));
    assert!(flow.completion_s.is_some());
    let lost: Vec<_> = script.retransmissions().iter().map(|(_, segment)| *segment).collect();
    assert_eq!(lost[..2], [plain[47].1, plain[48].1]);
    let mut marked = s;
    marked.flows[0].stack.ecn = true;
    marked.links[0].forward.impairments.script = vec![rule(Action::Mark, 50, 50)];
    let link = &run(&marked, &Options::default()).run.links[0];
    assert_eq!((link.marks, link.wire_losses), (1, 0));
}

/// Packets that wait in an outage leave when it is over. The bits of the packet under way that were sent before stay
/// sent.
#[test]
fn packets_wait_for_the_end_of_an_outage() {
    let mut s = steady(4, 200);
    let before = arrivals(&s);
    let (at, lasts) = (Nanos(2_000_000_123), MS(30));
    s.links[0].forward.impairments.outages = vec![Outage { at, lasts, lose: false }];
    let after = arrivals(&s);
    let delay = s.links[0].forward.delay;
    let across = before.iter().position(|(arrival, _)| *arrival - delay > at).expect("it goes on");
    assert_eq!(before[..across], after[..across]);
    assert_eq!(after[across].0, before[across].0 + lasts);
    assert_eq!(after[across + 1].0 - after[across].0, Nanos::from_micros(1200));
    assert!(run(&s, &Options::default()).run.flows[0].lost_packets == 0);
}

/// An outage with losses loses the packets whose last bit leaves in it.
#[test]
fn packets_are_lost_in_an_outage_that_loses() {
    let mut s = steady(4, 200);
    s.flows[0].size = Some(Bytes(2_000_000));
    let (from, lasts) = (MS(1000), MS(60));
    s.links[0].forward.impairments.outages = vec![Outage { at: from, lasts, lose: true }];
    let run = run(&s, &Options::default()).run;
    // One each 1.2 ms.
    assert_eq!((run.links[0].wire_losses, run.flows[0].lost_packets), (50, 50));
    assert!(run.flows[0].completion_s.is_some());
}

/// The queue counts in an outage, too. The link's utilisation refers to the time in which it is up.
#[test]
fn an_outage_is_no_idle_time() {
    let mut s = steady(10, 200);
    s.warmup = MS(1000);
    s.links[0].forward.impairments.outages = vec![Outage { at: MS(3000), lasts: MS(2000), lose: false }];
    let record = &run(&s, &Options::default()).run.links[0];
    assert!(record.utilisation_percent > 99.9, "{} %", record.utilisation_percent);
    assert!(record.queue_delay.queue_delay_ms_max.unwrap() > 2000.0);
}

/// Datagrams of 16 Mbit/s meet a policer of 8 Mbit/s. Until the last of them comes at 9.9995 s, it passes the 150 kB of
/// its full bucket and 9999 kB more. None waits.
#[test]
fn a_policer_passes_its_burst_and_its_rate() {
    let mut s = scenario(10);
    let udp = App::Udp(Udp { rate: Rate(16_000_000), packet: Bytes(1000) });
    s.flows = vec![FlowGroup { app: Some(udp), ..flow("reno") }];
    s.links[0].forward.service = Rate(100_000_000).into();
    s.links[0].forward.impairments.policer = Some(Policer { rate: Rate(8_000_000), burst: Bytes(150_000) });
    let run = run(&s, &Options::default()).run;
    let (link, flow) = (&run.links[0], &run.flows[0]);
    assert_eq!((flow.sent_packets, flow.lost_packets, link.drops), (20_000, 9851, 9851));
    assert_eq!(link.queue_delay.queue_delay_ms_max, Some(0.0));
}

/// A full queue holds 50 packets of 1.2 ms. The hole that its tail leaves reaches the receiver behind them, and the hole
/// that its head leaves at once.
#[test]
fn a_drop_at_the_head_is_seen_a_queue_earlier() {
    let first_hole = |queue: Queue| {
        let mut s = steady(4, 200);
        s.links[0].forward.queue = queue;
        let (outcome, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        assert!(outcome.run.links[0].drops > 0);
        let hole = script.acks.iter().find(|(_, ack)| !ack.blocks().is_empty()).expect("a loss is reported");
        hole.0
    };
    let limit = Limit::Packets(50);
    let (head, tail) = (first_hole(Discipline::Drophead(Drophead { limit }).into()), first_hole(droptail(limit)));
    assert_eq!(tail.since(head), Nanos::from_micros(50 * 1200));
}

/// Over a minute of 400 packets a second, each second copy makes the receiver report a duplicate.
#[test]
fn duplicates_are_seen_by_the_receiver_and_reported() {
    let mut s = steady(60, 30);
    s.links[0].forward.impairments.duplicate = 0.02;
    let (outcome, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    let (record, flow) = (&outcome.run.links[0], &outcome.run.flows[0]);
    let (copies, expected) = (record.duplicates.unwrap() as f64, 0.02 * flow.sent_packets as f64);
    assert!((copies - expected).abs() < 4.0 * (expected * 0.98).sqrt(), "{copies} copies, not {expected}");
    assert!((flow.lost_packets, flow.retransmitted_packets) == (0, 0), "{flow:?}");
    let reports =
        script.acks.iter().filter(|(_, ack)| ack.blocks().first().is_some_and(|block| block.start < ack.next));
    assert_eq!(reports.count() as u64, record.duplicates.unwrap());
    let arrived = script.arrived.iter().filter(|(_, data)| is_data(data)).count() as u64;
    let on_the_way = flow.sent_packets + record.duplicates.unwrap() - arrived;
    assert!(on_the_way <= 30 + 2, "{on_the_way}");
}

/// Numbers of the packets, in the order of sending, sorted by their arrival.
fn order_of_arrival(s: &Scenario) -> Vec<u32> {
    arrivals(s).iter().map(|(_, segment)| *segment).collect()
}

#[test]
fn jitter_reorders_only_where_it_is_told_to() {
    for reorder in [false, true] {
        let mut s = steady(5, 40);
        let jitter = Jitter { spread: MS(10), distribution: Distribution::Uniform, reorder };
        s.links[0].forward.impairments.jitter = Some(jitter);
        assert_eq!(order_of_arrival(&s).is_sorted(), !reorder);
    }
}

/// Packets that are sent ahead save the whole delay of the link; those held back come later by the given time.
#[test]
fn reordered_packets_come_ahead_or_late() {
    let delay = MS(20);
    for by in [None, Some(MS(5))] {
        let mut s = steady(20, 10);
        s.links[0].forward.delay = delay;
        s.links[0].forward.impairments.reorder = Some(Reorder { share: 0.05, gap: 1, by });
        let (outcome, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        let order: Vec<_> =
            script.arrived.iter().filter(|(_, data)| is_data(data)).map(|(_, data)| data.segment).collect();
        assert!(!order.is_sorted());
        let transits = script.arrived.iter().filter(|(_, data)| is_data(data)).map(|(at, data)| {
            let sent =
                script.sent.iter().rfind(|(left, sent)| sent.segment == data.segment && left < at && is_data(sent));
            *at - sent.expect("it was sent").0
        });
        let least = transits.clone().min().unwrap();
        let most = transits.max().unwrap();
        match by {
            None => assert!(least < delay),
            Some(by) => assert!(least >= delay && most >= delay + by),
        }
        assert_eq!(outcome.run.links[0].wire_losses, 0);
    }
}

/// Flows start at the time that was drawn, not before.
#[test]
fn flows_start_at_random() {
    let mut s = scenario(5);
    s.flows[0] =
        FlowGroup { count: 20, start: MS(500), start_spread: MS(1000), size: Some(Bytes(1000)), ..flow("reno") };
    let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    let arrivals: Vec<_> = s.flow_arrivals()[0].iter().map(|arrival| arrival.at).collect();
    let first = |flow: u32| script.sent.iter().find(|(_, data)| data.flow == flow).expect("it started").0;
    assert_eq!((0..20).map(first).collect::<Vec<_>>(), arrivals);
    assert!(arrivals.iter().all(|at| (MS(500)..=MS(1500)).contains(at)) && !arrivals.is_sorted());
}

/// A copy of the SYN comes to an established connection. A challenge answers it, which is not a SYN-ACK (RFC 9293,
/// section 3.10.7.4), and at most one in half a second. One SYN before it had its SYN-ACK.
#[test]
fn a_late_syn_is_answered_by_a_challenge() {
    let mut challenges = 0;
    for seed in 1..=60 {
        let mut s = Scenario { seed, ..scenario(5) };
        let forward = &mut s.links[0].forward;
        forward.delay = MS(200);
        forward.impairments.jitter =
            Some(Jitter { spread: MS(200), distribution: Distribution::Uniform, reorder: true });
        forward.impairments.duplicate = 1.0;
        s.links[0].reverse.delay = MS(1);
        s.flows[0].size = Some(Bytes(1000));
        let (_, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
        let stands = script.arrived.iter().find(|(_, data)| data.flags & flag::SYN == 0).expect("it gets through").0;
        let answer_to = |at: Nanos| script.acks.iter().find(|(left, _)| *left == at);
        let is_syn = |data: &Data| data.flags & flag::SYN != 0;
        let handshake = || script.arrived.iter().filter(|(_, data)| data.is_handshake());
        for (at, _) in handshake().filter(|(at, data)| is_syn(data) && *at < stands) {
            assert!(answer_to(*at).is_some_and(|(_, ack)| ack.flags & flag::SYN != 0 && ack.next == 0), "seed {seed}");
        }
        // The receiver also answers late bare acknowledgements of the handshake, unless no data came before.
        let mut last: Option<Nanos> = None;
        for (at, data) in handshake().filter(|(at, _)| *at > stands) {
            let is_limited = last.is_some_and(|last| *at - last < MS(500));
            let answer = answer_to(*at);
            assert!(!(is_limited && answer.is_some()), "seed {seed}: two answers in half a second");
            assert!(is_limited || !is_syn(data) || answer.is_some(), "seed {seed}: no answer to a SYN at {at:?}");
            if let Some((_, ack)) = answer {
                assert_eq!(ack.flags & flag::SYN, 0, "seed {seed}: a SYN-ACK of {} segments", ack.next);
                (last, challenges) = (Some(*at), challenges + is_syn(data) as u32);
            }
        }
    }
    assert!(challenges > 10, "{challenges}");
}
