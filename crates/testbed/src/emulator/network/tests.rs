//! Tests of the emulated network with given times.

use super::*;
use crate::packet::tests::sent;

const SCENARIO: &str = r#"
duration = "1s"
[link.bottleneck]
rate = "400mbit"
delay = "60ms"
queue = { limit = "20p" }
[[flows]]
cc = "reno"
access = { rate = "1gbit" }
"#;

fn scenario(text: &str, overrides: &[(String, String)]) -> Scenario {
    scenario::load_text(text, "test", "".as_ref(), overrides).unwrap().points.remove(0).scenario
}

fn network(scenario: &Scenario, monitors: Vec<FlowMonitor>, options: &Options) -> Network {
    Network::new(scenario, Plan::new(scenario).unwrap(), monitors, Time::Real, options).unwrap()
}

/// Makes a network whose monitor watches the only flow.
fn monitored(scenario: &Scenario) -> Network {
    let interval = measure::Interval::new(scenario, None);
    let sender = measure::SenderMeter::new(interval, Nanos::ZERO);
    let monitors = vec![FlowMonitor::new(sender, measure::ReceiverMeter::new(interval), None)];
    network(scenario, monitors, &Options::default())
}

/// Sampling the links must not change what they do. At that time packets may still be on the access link that are
/// already due at the bottleneck.
#[test]
fn a_look_at_the_links_changes_nothing() {
    let scenario = &scenario(SCENARIO, &[]);
    let options = Options { series: Some(Nanos::from_millis(2)), ..Options::default() };
    let mut network = network(scenario, vec![], &options);
    for n in 0..60 {
        let mut packet = sent(1460, 0).into_boxed_slice();
        let at = Nanos(n * 30_000); // the time of one packet at 400 Mbit/s
        network.enter(End::Sender, at, 0, packet.len(), &mut packet).unwrap();
    }
    network.sample(Nanos::from_millis(2)).unwrap();
    let bottleneck = network.records().swap_remove(0);
    let waited = bottleneck.queue_delay.queue_delay_ms_max;
    assert_eq!((network.links.packets.count(), bottleneck.drops, waited), (60, 0, Some(0.0)));
}

/// Returns when two packets that are sent at once come to the receiver, and when their answers come back. The threads
/// of the two ends take turns, each of them late by `lateness`.
fn deliveries_in_virtual_time(lateness: Nanos) -> Vec<(End, Nanos)> {
    let scenario = &scenario(SCENARIO, &[]);
    let options = Options::default();
    let mut network = network(scenario, vec![], &options);
    network.time = Time::Virtual;
    let enter = |network: &mut Network, end, at| {
        let mut packet = sent(1460, 0).into_boxed_slice();
        network.enter(end, at, 0, packet.len(), &mut packet).unwrap();
    };
    enter(&mut network, End::Sender, Nanos::ZERO);
    enter(&mut network, End::Sender, Nanos::ZERO);
    let mut buffer = network.buffer();
    let mut came = vec![];
    for end in [End::Sender, End::Receiver].into_iter().cycle() {
        let next = network.next(End::Sender).min(network.next(End::Receiver));
        if next == Nanos::NEVER {
            break;
        }
        let Some(packet) = network.due(end, next + lateness, &mut buffer).unwrap() else { continue };
        came.push((packet.to, packet.due));
        if packet.to == End::Receiver {
            enter(&mut network, End::Receiver, packet.due);
        }
    }
    came
}

#[test]
fn in_virtual_time_an_answer_leaves_when_its_packet_came() {
    let punctual = deliveries_in_virtual_time(Nanos::ZERO);
    assert_eq!(punctual.len(), 4);
    assert_eq!(punctual[1].1 - punctual[0].1, Nanos::from_micros(30));
    // Later than the second packet comes.
    assert_eq!(deliveries_in_virtual_time(Nanos::from_micros(700)), punctual);
}

const IMPAIRED: &str = r#"
duration = "1s"
[link.bottleneck]
rate = "12mbit"
delay = "20ms"
queue = { limit = "100p" }
rates = [{ at = "5ms", rate = "6mbit" }]
outages = [{ at = "10ms", for = "20ms" }, { at = "32ms", for = "2ms", lose = true }]
duplicate = "100%"
[[flows]]
cc = "reno"
"#;

#[test]
fn a_packet_that_was_cut_off_is_an_error() {
    let mut network = network(&scenario(SCENARIO, &[]), vec![], &Options::default());
    let mut buffer = network.buffer();
    let packet = sent(buffer.len() - tun::HEADER - 40, 0);
    buffer.copy_from_slice(&packet);
    let refused = network.enter(End::Sender, Nanos::ZERO, 0, packet.len(), &mut buffer).unwrap_err();
    assert!(refused.to_string().contains("longer than the limit of 1520 bytes"), "{refused}");
}

/// Sends `count` packets of 1500 bytes at once. Returns when each one comes to the receiver, and its number.
fn arrivals_of_train(overrides: &[(&str, &str)], count: u8) -> Vec<(Nanos, u8)> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let scenario = &scenario(IMPAIRED, &overrides);
    let mut network = network(scenario, vec![], &Options::default());
    let packet = |number: u8| {
        let mut packet = sent(1460, 0);
        packet[tun::HEADER + 40..].fill(number);
        packet
    };
    for number in 0..count {
        network.enter(End::Sender, Nanos::ZERO, 0, packet(number).len(), &mut packet(number).into()).unwrap();
    }
    let mut buffer = network.buffer();
    let mut came = vec![];
    while network.next(End::Receiver) != Nanos::NEVER {
        let now = network.next(End::Receiver);
        let Some(delivery) = network.due(End::Receiver, now, &mut buffer).unwrap() else { continue };
        let number = buffer[delivery.length - 1];
        assert_eq!(buffer[..delivery.length], packet(number));
        came.push((delivery.due, number));
    }
    assert_eq!(network.links.packets.count(), 0);
    came
}

/// A packet takes 1 ms, and 2 ms from 5 ms on. The eighth is half out when the link goes down for 20 ms. The ninth is
/// sent while the channel loses everything. The simulator uses the same links, and its tests check more of them.
#[test]
fn rates_change_links_go_down_and_packets_come_twice() {
    let ends = [1, 2, 3, 4, 5, 7, 9, 31, 35];
    let came = arrivals_of_train(&[], 10);
    let expected = (0..).zip(ends).flat_map(|(number, end)| [(Nanos::from_millis(end + 20), number + number / 8); 2]);
    assert_eq!(came, expected.collect::<Vec<_>>());
}

const UNIMPAIRED: [(&str, &str); 2] = [("link.bottleneck.outages", "[]"), ("link.bottleneck.duplicate", "0%")];

/// The bucket has room for six of the ten packets. The first is being sent, and the queue holds the newest three of the
/// others.
#[test]
fn a_policer_is_in_front_of_a_queue_that_drops_its_oldest() {
    let policer = ("link.bottleneck.policer", r#"{ rate = "1mbit", burst = "9kb" }"#);
    let queue = ("link.bottleneck.queue", r#"{ kind = "drophead", limit = "3p" }"#);
    let came = arrivals_of_train(&[&UNIMPAIRED[..], &[policer, queue]].concat(), 10);
    assert_eq!(came.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [0, 3, 4, 5]);
}

#[test]
fn packets_leave_the_order_only_where_they_may() {
    let arrivals = |more: &[(&str, &str)]| arrivals_of_train(&[&UNIMPAIRED, more].concat(), 100);
    let order = |came: &[(Nanos, u8)]| came.iter().map(|(_, number)| *number).collect::<Vec<_>>();
    let jitter = ("link.bottleneck.jitter", "20ms");
    let (late, overtaking) = (arrivals(&[jitter]), arrivals(&[jitter, ("link.bottleneck.jitter_reorder", "true")]));
    assert!(order(&late).is_sorted() && !order(&overtaking).is_sorted());
    let ahead = arrivals(&[("link.bottleneck.reorder", "10%")]);
    let held_back = arrivals(&[("link.bottleneck.reorder", "10%"), ("link.bottleneck.reorder_by", "7ms")]);
    for came in [&late, &overtaking, &ahead, &held_back] {
        assert_eq!(came.len(), 100);
    }
    let usual = arrivals(&[]);
    let moved = |came: &[(Nanos, u8)]| {
        let mut by_number = came.to_vec();
        by_number.sort_by_key(|(_, number)| *number);
        let pairs = by_number.into_iter().zip(&usual).filter(|(a, b)| a != *b);
        pairs.map(|((at, number), (usual, _))| (number, at.0 as i64 - usual.0 as i64)).collect::<Vec<_>>()
    };
    let (ahead, held_back) = (moved(&ahead), moved(&held_back));
    assert!(!ahead.is_empty() && ahead.iter().all(|(_, by)| *by == -20_000_000));
    assert_eq!(held_back, ahead.iter().map(|(number, _)| (*number, 7_000_000)).collect::<Vec<_>>());
}

/// A packet that a timer sent is seen 24 us after a tick. In virtual time it arrives as if sent at the tick, in real
/// time 24 us later.
#[test]
fn what_a_timer_sends_in_virtual_time_leaves_with_its_tick() {
    let scenario = &scenario(SCENARIO, &[]);
    let came = |time, seen_at| {
        let mut network = monitored(scenario);
        network.time = time;
        let mut packet = sent(1460, 0).into_boxed_slice();
        network.enter_unasked(End::Sender, seen_at, 0, packet.len(), &mut packet).unwrap();
        let mut buffer = network.buffer();
        network.due(End::Receiver, Nanos::from_secs(1), &mut buffer).unwrap().expect("it has come").due
    };
    let tick = Nanos::from_millis(8);
    let seen_at = tick + Nanos::from_micros(24);
    assert_eq!(came(Time::Virtual, seen_at), came(Time::Real, tick));
    assert_eq!(came(Time::Real, seen_at), came(Time::Real, tick) + Nanos::from_micros(24));
}

const WARM_UP: &str = r#"
duration = "1s"
warmup = "250ms"
[link.bottleneck]
rate = "1mbit"
delay = "5ms"
queue = { limit = "1p" }
[[flows]]
cc = "reno"
access = { delay = "100ms" }
"#;

/// Packets leave 50 ms before the end of the warm-up and meet a full queue 50 ms after it. They do not count as lost.
#[test]
fn what_was_sent_in_the_warm_up_is_not_lost_after_it() {
    let scenario = &scenario(WARM_UP, &[]);
    let mut network = monitored(scenario);
    let enter = |network: &mut Network, at: u64, mut packet: Vec<u8>| {
        let length = packet.len();
        packet.resize(network.buffer().len(), 0);
        network.enter(End::Sender, Nanos::from_millis(at), 0, length, &mut packet.into()).unwrap();
    };
    let mut opening = sent(0, 0);
    opening[tun::HEADER + 27] -= 1; // the sequence number before that of the data
    opening[tun::HEADER + 33] = 2; // SYN
    enter(&mut network, 0, opening);
    for (at, lost) in [(200, 0), (300, 18)] {
        (0..20).for_each(|_| enter(&mut network, at, sent(1460, 0)));
        let mut buffer = network.buffer();
        while network.due(End::Receiver, Nanos::from_millis(at + 150), &mut buffer).unwrap().is_some() {}
        assert_eq!(network.around.monitors[0].lost, lost);
    }
    assert_eq!(network.around.monitors[0].sender.sent, 20);
}
