//! Hosts: send buffers, transmit queues, and the order of packets there.

use crate::world::{control_with, droptail, flow, phone_of_2013, run, run_with_series, scenario};
use model::app::{App, Ping};
use model::queue::{Discipline, PfifoFast, Prio};
use model::records::{Flow, Run};
use model::units::{Bytes, Nanos, Rate};
use model::{
    Access, FlowGroup, Host, Limit, ParamValue, Queue, Scenario, SendBuffer, SendTuning, Service, Transmitter,
};
use unbloat_engine::Options;

/// Memory of a full segment in a buffer of its own, bytes.
const SEGMENT: u64 = 896 + 1448;

/// A phone of 2013: 9 Mbit/s up and 50 ms there and back, room for `packets` packets in its send buffers, no small
/// queues.
fn phone(queue: Queue, packets: u64, groups: Vec<FlowGroup>) -> Scenario {
    let mut s = scenario(30);
    s.warmup = Nanos::from_secs(10);
    s.links[0].forward.service = Service::Own(Transmitter::Rate(Rate(9_000_000)));
    s.links[0].forward.queue = queue;
    s.links[0].forward.delay = Nanos::from_millis(25);
    s.links[0].reverse.delay = Nanos::from_millis(25);
    s.hosts = vec![phone_of_2013(Bytes(packets * SEGMENT))];
    // Otherwise the window would follow the contents of the queue.
    let receive_window = Some(Bytes(4 << 20));
    s.flows = groups.into_iter().map(|group| FlowGroup { host: Some(0), receive_window, ..group }).collect();
    s
}

fn two_bands(classifier: &str, params: &[(&str, ParamValue)], mut s: Scenario) -> Scenario {
    s.links[0].forward.queue = Queue::from(Discipline::Prio(Prio { bands: 2, limit: 1000 }));
    s.hosts[0].classifier = Some(control_with(classifier, params));
    s
}

fn fifo(packets: u64) -> Queue {
    droptail(Limit::Packets(packets))
}

fn simulate(s: &Scenario) -> Run {
    run(s, &Options::default()).run
}

fn rtt_ms(flow: &Flow) -> f64 {
    flow.rtt.rtt_ms_mean.expect("samples")
}

/// The flight is the contents of the send buffer, once that has its full size. 200 packets of 1500 bytes take 267 ms at
/// 9 Mbit/s. The mean is that of a buffer between two thirds and full when all of it is on its way.
#[test]
fn the_send_buffer_bounds_what_waits_in_the_host() {
    let run = simulate(&phone(fifo(1000), 200, vec![flow("cubic")]));
    let full_ms = 200.0 * 1500.0 * 8.0 / 9000.0;
    let rtt = rtt_ms(&run.flows[0]);
    assert!(rtt > 0.66 * full_ms && rtt < full_ms + 2.0, "{rtt} ms for at most {full_ms}");
    assert_eq!((run.flows[0].lost_packets, run.links[0].drops), (0, 0));
    assert!(run.links[0].utilisation_percent > 99.9);
}

/// A queue with less room than the send buffer does not lose packets. The sender keeps those without room, and reduces
/// its window.
#[test]
fn what_finds_no_room_in_the_host_is_not_lost() {
    let run = simulate(&phone(fifo(100), 5000, vec![flow("cubic")]));
    let cubic = &run.flows[0];
    assert_eq!((cubic.lost_packets, cubic.retransmitted_packets, cubic.timeouts), (0, 0, 0));
    assert!(run.links[0].drops > 0 && run.links[0].utilisation_percent > 99.0, "{:?}", run.links[0]);
    let full_ms = 50.0 + 101.0 * 1500.0 * 8.0 / 9000.0;
    assert!(cubic.rtt.rtt_ms_max.expect("samples") <= full_ms + 2.0, "{:?} for {full_ms}", cubic.rtt);
}

/// 64 packets in the device's ring have left a queue with room for four in each of its bands, which never has more than
/// that. The queue counts a buffer of several segments as one packet.
#[test]
fn a_ring_is_no_part_of_the_queue() {
    for (ring, gso) in [(0, false), (64, false), (0, true), (64, true)] {
        let mut s = phone(Queue::from(Discipline::PfifoFast(PfifoFast { limit: 4 })), 5000, vec![flow("cubic")]);
        (s.hosts[0].ring, s.hosts[0].gso) = (ring, gso);
        let link = simulate(&s).links.remove(0);
        let percent = link.queue_percent_mean.expect("it has a limit");
        // All packets are of one of three bands.
        assert!(percent > 3.0 && percent < 33.4, "{percent} % with a ring of {ring}");
        assert!(link.queue_bytes_mean > 750.0 * (1.0 + f64::from(ring)), "{link:?}");
    }
}

/// With small queues two segments, or those that leave in a millisecond, wait in the host. The window is the path's
/// own.
#[test]
fn small_queues_leave_the_host_empty() {
    let mut s = phone(fifo(1000), 1000, vec![flow("cubic")]);
    s.hosts[0].small_queues = true;
    s.warmup = Nanos::from_secs(2);
    let run = simulate(&s);
    assert!(run.links[0].queue_delay.queue_delay_ms_max.expect("packets") < 10.0, "{:?}", run.links[0].queue_delay);
    assert!(run.links[0].utilisation_percent > 99.0);
}

/// The queue holds the packets that leave in 2^-4 s at the pacing rate, which is 1.2 times the link's rate
/// (`tcp_update_pacing_rate`). It counts memory: a packet of 1500 bytes has 1448 of payload and 896 of overhead.
#[test]
fn small_queues_are_as_long_as_the_pacing_shift_says() {
    let mut s = phone(fifo(1000), 1000, vec![flow("cubic")]);
    (s.hosts[0].small_queues, s.hosts[0].pacing_shift) = (true, Some(4));
    s.warmup = Nanos::from_secs(2);
    let run = simulate(&s);
    let delay_ms = run.links[0].queue_delay.queue_delay_ms_mean.expect("packets");
    let expected_ms = 1.2 * 1000.0 / 16.0 * 1500.0 / (1448.0 + 896.0);
    assert!((delay_ms / expected_ms - 1.0).abs() < 0.02, "{delay_ms} ms, not {expected_ms}");
}

/// An upload runs when a transfer of 9 packets comes, which a buffer for 20 packets takes at once. With SORPC the
/// transfer ends in two round trips, and in one queue it waits for the upload. The upload goes on.
#[test]
fn sorpc_lets_a_short_transfer_pass() {
    let short = || FlowGroup { start: Nanos::from_secs(15), size: Some(Bytes(9 * 1448)), ..flow("cubic") };
    let pair = || phone(fifo(1000), 800, vec![flow("cubic"), short()]);
    let (one, sorted) = (simulate(&pair()), simulate(&two_bands("sorpc", &[], pair())));
    let completion = |run: &Run| run.flows[1].completion_s.expect("it ends");
    assert!(completion(&one) > 1.5, "{} s behind 800 packets", completion(&one));
    assert!(completion(&sorted) < 0.13, "{} s ahead of them", completion(&sorted));
    assert!(rtt_ms(&sorted.flows[0]) > 700.0, "the upload still waits for itself");
    assert!(sorted.links[0].utilisation_percent > 99.9);
}

/// Acknowledgements of a download wait behind the upload in one queue, and pass it with SORPC.
#[test]
fn acknowledgements_of_downloads_pass_an_upload() {
    let mut s = phone(fifo(1000), 800, vec![flow("cubic"), FlowGroup { reverse: true, ..flow("cubic") }]);
    s.links[0].reverse.service = Service::Own(Transmitter::Rate(Rate(100_000_000)));
    s.links[0].reverse.queue = droptail(Limit::Packets(1000));
    let (one, sorted) = (simulate(&s), simulate(&two_bands("sorpc", &[], s.clone())));
    assert!(rtt_ms(&one.flows[1]) > 300.0, "{} ms", rtt_ms(&one.flows[1]));
    let full_ms = 50.0 + 1000.0 * 1500.0 * 8.0 / 100_000.0;
    assert!(rtt_ms(&sorted.flows[1]) < full_ms + 5.0, "{} ms behind its own data", rtt_ms(&sorted.flows[1]));
    assert!(sorted.flows[1].goodput_mbps > 90.0, "{}", sorted.flows[1].goodput_mbps);
}

/// One band for all packets behaves as one queue, packet by packet.
#[test]
fn one_band_is_one_queue() {
    let pair = || phone(fifo(1000), 800, vec![flow("cubic"), FlowGroup { start: Nanos::from_secs(5), ..flow("reno") }]);
    let (fifo, single) = (simulate(&pair()), simulate(&two_bands("single", &[], pair())));
    assert_eq!(fifo.flows, single.flows);
}

/// An application that never waits fills its buffer to between two thirds and all of it. So SORPC takes it for a file
/// transfer at any threshold up to that. While the buffer grows it holds twice the window.
#[test]
fn an_upload_fills_its_send_buffer() {
    let flow = simulate(&phone(fifo(1000), 800, vec![flow("cubic")])).flows.remove(0);
    let stats = flow.send_buffer.expect("it is on a host");
    assert!(stats.occupancy.sndbuf_percent_p10.expect("packets") >= 66.0, "{stats:?}");
    assert_eq!(stats.sndbuf_half_full_percent, Some(100.0));
    assert!(stats.sndbuf_half_full_after_s.expect("it is") < 0.2, "{stats:?}");
}

/// The buffer follows the window as in Linux, and `TCP_NOTSENT_LOWAT` keeps it nearly empty.
#[test]
fn linux_buffers_grow_and_a_low_watermark_keeps_them_short() {
    let mut s = phone(fifo(1000), 800, vec![flow("cubic")]);
    s.hosts[0].send_buffer = SendBuffer { max: Bytes(4 << 20), tuning: SendTuning::Linux, ..s.hosts[0].send_buffer };
    s.hosts[0].small_queues = true;
    let full = simulate(&s).flows.remove(0);
    s.hosts[0].send_buffer.notsent_lowat = Some(Bytes(16_384));
    let low = simulate(&s).flows.remove(0);
    let windows =
        |flow: &Flow| flow.send_buffer.expect("it is on a host").buffered.buffered_windows_mean.expect("packets");
    assert!(windows(&full) > 1.5, "{}", windows(&full));
    assert!(windows(&low) < 1.3, "{}", windows(&low));
    assert!((low.goodput_mbps / full.goodput_mbps - 1.0).abs() < 0.02, "{} of {}", low.goodput_mbps, full.goodput_mbps);
}

/// The second of two uploads starts 10 s after the first. The test takes Jain's index of their rates in the 10 s after
/// that. Im measured 0.64 with SORPC (section 3.4.4), and left the problem open.
#[test]
fn sorpc_fair_gives_a_later_upload_its_share_within_10_s() {
    let later = || FlowGroup { start: Nanos::from_secs(10), ..flow("cubic") };
    let short = || FlowGroup { start: Nanos::from_secs(15), size: Some(Bytes(9 * 1448)), ..flow("cubic") };
    for rate in [5_000_000, 9_000_000, 25_000_000] {
        let with = |classifier| {
            let mut s = two_bands(classifier, &[], phone(fifo(1000), 1092, vec![flow("cubic"), later(), short()]));
            s.links[0].forward.service = Service::Own(Transmitter::Rate(Rate(rate)));
            s.duration = Nanos::from_secs(20);
            simulate(&s)
        };
        let jain = |run: &Run| {
            let [x, y] = [run.flows[0].goodput_mbps, run.flows[1].goodput_mbps];
            (x + y).powi(2) / (2.0 * (x * x + y * y))
        };
        let (sorpc, fair) = (with("sorpc"), with("sorpc_fair"));
        assert!(jain(&fair) > 0.95 && jain(&fair) > jain(&sorpc), "{} for {}", jain(&fair), jain(&sorpc));
        assert!(fair.links[0].utilisation_percent > 99.0, "{}", fair.links[0].utilisation_percent);
        assert!(fair.flows[2].completion_s.expect("it ends") < 0.13, "{:?}", fair.flows[2].completion_s);
        assert_eq!(fair.flows.iter().map(|flow| flow.lost_packets).sum::<u64>(), 0);
    }
}

/// CAKE distinguishes hosts from flows: here one host has one flow, and another has three. While one flow recovers from
/// a drop its queue runs dry, and the others take its turns.
#[test]
fn cake_shares_a_link_between_hosts_as_its_mode_says() {
    for (mode, shares) in [("dual-srchost", 0.4..=0.5), ("flows", 0.22..=0.28)] {
        let text = format!(
            r#"
duration = "10s"
warmup = "2s"
[host.pc]
[link.lan]
rate = "1gbit"
delay = "0ms"
queue = {{}}
[link.line]
rate = "10mbit"
delay = "10ms"
queue = {{ kind = "cake", flowmode = "{mode}" }}
[[flows]]
path = ["line"]
cc = "cubic"
[[flows]]
host = "pc"
cc = "cubic"
count = 3
"#
        );
        let s = scenario::load_text(&text, "test", "".as_ref(), &[]).unwrap().points.remove(0).scenario;
        let goodputs: Vec<_> = simulate(&s).flows.iter().map(|flow| flow.goodput_mbps).collect();
        let lone = goodputs[0] / goodputs.iter().sum::<f64>();
        assert!(shares.contains(&lone), "{mode}: {goodputs:?}");
    }
}

/// A present host with small queues, a ring, and `uploads` uploads whose windows exceed the limit of the host.
fn today(uploads: u32, gso: bool, byte_queue_limits: bool) -> (f64, f64) {
    let mut s = phone(fifo(1000), 400, vec![FlowGroup { count: uploads, ..flow("cubic") }]);
    s.hosts[0] = Host { small_queues: true, ring: 238, byte_queue_limits, gso, ..s.hosts[0].clone() };
    s.hosts[0].send_buffer.tuning = SendTuning::Linux;
    let links = run_with_series(&s, Nanos::from_millis(100)).1.links;
    let of_uplink = |column: &dyn Fn(usize) -> Option<f64>| {
        let rows = (0..links.link.len()).filter(|row| links.link[*row] == 0 && links.time_s[*row] > 10.0);
        let values: Vec<_> = rows.map(|row| column(row).expect("it has a ring")).collect();
        values.iter().sum::<f64>() / values.len() as f64 / 1500.0
    };
    // The numbers in the device, and in all. The packet under way is in the device, and no longer waits.
    let in_device = of_uplink(&|row| links.ring_bytes[row].map(|bytes| bytes as f64));
    (in_device, of_uplink(&|row| Some(links.queue_bytes[row] as f64)) + 1.0)
}

/// A guest with a device that takes one packet at a time shows the same (Linux 6.12). An upload has two packets in its
/// host. Eight have sixteen, of which a limit of bytes leaves three in the device.
#[test]
fn each_upload_of_today_has_two_packets_in_its_host() {
    let [one, eight, eight_unlimited] =
        [(1, true), (8, true), (8, false)].map(|(uploads, limits)| today(uploads, false, limits));
    assert_eq!((one, eight.1, eight_unlimited), ((2.0, 2.0), 16.0, (16.0, 16.0)));
    assert!(eight.0 > 2.5 && eight.0 <= 3.0, "{}", eight.0);
}

/// With two segments in a buffer the host has twice as many: two buffers of each upload, of which one may have left in
/// part. The guest has 3 to 5, and about 32.
#[test]
fn buffers_of_two_segments_hold_twice_as_much() {
    let (one, eight) = (today(1, true, true), today(8, true, true));
    assert!((4.0..5.0).contains(&one.1) && (3.0..=5.0).contains(&one.0), "{one:?}");
    assert!((32.0..33.0).contains(&eight.1) && (3.0..4.0).contains(&eight.0), "{eight:?}");
}

/// Packets of a sender with small queues pass another host's device on their way. The sender's own host reports the
/// departure of each packet once.
#[test]
fn a_host_is_told_of_its_own_packets_only() {
    let mut s = phone(fifo(100), 200, vec![flow("cubic")]);
    s.links.push(s.links[0].clone());
    s.links[1].forward.name = "first".into();
    s.links[1].reverse.name = "first.reverse".into();
    let access = Access { rate: Some(Rate(5_000_000)), small_queues: true, ..Access::default() };
    s.flows.push(FlowGroup { path: vec![1, 0], reverse_path: vec![0, 1], access, ..flow("cubic") });
    let run = simulate(&s);
    assert!(run.flows.iter().all(|flow| flow.goodput_mbps > 1.0), "{:?}", run.flows);
}

/// Two hosts. Packets of the second pass its own link, and then the device of the first, whose link is a phone's.
fn behind_a_phone(mut s: Scenario, group: FlowGroup) -> Scenario {
    s.links.push(s.links[0].clone());
    s.links[1].forward.name = "first".into();
    s.links[1].reverse.name = "first.reverse".into();
    s.hosts.push(Host { name: "second".into(), uplink: 1, ..s.hosts[0].clone() });
    s.flows.push(FlowGroup { path: vec![1, 0], reverse_path: vec![0, 1], host: Some(1), ..group });
    s
}

/// The second host gives its ping the first band, and the phone gives its upload the second. No header carries the
/// ping's band to the phone, which uses the ping's type of service. So the ping waits behind the upload, whatever its
/// host chose.
#[test]
fn bands_are_those_of_the_packets_own_host() {
    let ping = || FlowGroup {
        app: Some(App::Ping(Ping { every: Nanos::from_millis(100), packet: Bytes(100) })),
        ..flow("reno")
    };
    let rtt = |classifier: Option<&str>| {
        let upload = two_bands("sorpc", &[], phone(fifo(1000), 200, vec![flow("cubic")]));
        let mut s = behind_a_phone(upload, ping());
        s.hosts[1].classifier = classifier.map(|name| control_with(name, &[]));
        rtt_ms(&simulate(&s).flows[1])
    };
    let [plain, single, sorted] = [None, Some("single"), Some("sorpc")].map(rtt);
    assert!(plain > 150.0, "{plain} ms");
    assert_eq!((single, sorted), (plain, plain));
}

/// Segments of a buffer come to the phone 12 ms apart. The phone sends each at once, and does not wait for another
/// segment of the other host's buffer, which may be lost by then.
#[test]
fn a_buffer_ends_at_its_own_device() {
    let mut s = behind_a_phone(phone(fifo(1000), 200, vec![]), flow("cubic"));
    s.hosts.iter_mut().for_each(|host| host.gso = true);
    s.links[1].forward.service = Service::Own(Transmitter::Rate(Rate(1_000_000)));
    let run = simulate(&s);
    assert!(run.flows[0].goodput_mbps > 0.9, "{:?}", run.flows);
    assert_eq!(run.links[0].queue_delay.queue_delay_ms_max, Some(0.0), "{:?}", run.links[0]);
}
