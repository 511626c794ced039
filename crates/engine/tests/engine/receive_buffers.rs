//! Auto-tuned receive buffers, and applications that read slowly.

use crate::world::{Script, flow, is_data, link, scenario, watch};
use model::impairments::{Distribution, Jitter};
use model::units::{Bytes, Nanos, Rate};
use model::{Scenario, TcpProfile, TcpRmem};
use unbloat_engine::packet::{Ack, Data};
use unbloat_engine::{Options, Outcome};

type Sent<Packet> = Vec<(Nanos, Packet)>;

const TUNED: TcpRmem = TcpRmem { default: Bytes(131_072), max: Bytes(6 << 20) };

/// The outcome of a run, the data sent, and the acknowledgements.
fn watched(s: &Scenario) -> (Outcome, Sent<Data>, Sent<Ack>) {
    let (outcome, script) = watch(s, &Options::default(), Script::new(|_, _| false));
    let edges: Vec<_> = script.acks.iter().map(|(_, ack)| ack.next as u64 * 1448 + ack.window as u64).collect();
    assert!(edges.is_sorted(), "what was offered is taken back");
    (outcome, script.sent, script.acks)
}

/// A path of 100 Mbit/s and 50 ms, which holds 625 kB.
fn long_path(tcp_rmem: TcpRmem) -> Scenario {
    let mut s = scenario(20);
    s.warmup = Nanos::from_secs(5);
    s.links[0].forward = link("bottleneck", 100.0, Nanos::from_millis(25));
    s.links[0].reverse = link("bottleneck.reverse", 100.0, Nanos::from_millis(25));
    s.flows[0].tcp_rmem = Some(tcp_rmem);
    s
}

/// A path of 10 Mbit/s and 40 ms, and a reader with a rate of `rate`.
fn read_at(rate: u64, seconds: u64) -> Scenario {
    let mut s = scenario(seconds);
    s.flows[0] = flow("cubic");
    s.flows[0].read_rate = Some(Rate(rate));
    s
}

#[test]
fn a_buffer_that_may_grow_fills_a_long_path() {
    for timestamps in [true, false] {
        let mut s = long_path(TUNED);
        s.flows[0].stack = TcpProfile { timestamps, ..TcpProfile::LINUX };
        let (outcome, _, acks) = watched(&s);
        let goodput = outcome.run.flows[0].goodput_mbps;
        assert!(goodput > 0.99 * 100.0 * 1448.0 / 1500.0, "timestamps {timestamps}: {goodput} Mbit/s");
        let largest = acks.iter().map(|(_, ack)| ack.window).max().unwrap();
        assert!(largest > 2 * 625_000, "timestamps {timestamps}: offers {largest}");
        // 6 MiB of memory, of which 160/256 are offered.
        assert!(largest <= 6 * (160 << 12) + 128, "timestamps {timestamps}: offers {largest}");
    }
}

/// The receiver offers 81 920 bytes of 131 072, 56 segments; 55 beside the acknowledged one.
#[test]
fn a_buffer_that_may_not_grow_limits_the_rate() {
    let (outcome, _, acks) = watched(&long_path(TcpRmem { max: TUNED.default, ..TUNED }));
    let goodput = outcome.run.flows[0].goodput_mbps;
    let expected = 55.0 * 1448.0 * 8.0 / 0.05 / 1e6;
    assert!((goodput / expected - 1.0).abs() < 0.02, "{goodput} of {expected} Mbit/s");
    assert!(acks.len() > 50 && acks.iter().all(|(_, ack)| ack.window <= 81_920));
}

/// In slow start the receiver does not limit the sender for long: the window grows faster than twofold a round trip.
#[test]
fn a_growing_buffer_stays_ahead_of_slow_start() {
    let mut tuned = long_path(TUNED);
    tuned.flows[0].size = Some(Bytes(4_000_000));
    let mut ample = tuned.clone();
    ample.flows[0].tcp_rmem = None;
    let seconds = |s: &Scenario| watched(s).0.run.flows[0].completion_s.expect("it ends");
    let (tuned, ample) = (seconds(&tuned), seconds(&ample));
    assert!(tuned <= ample + 2.0 * 0.05, "{tuned} s, with an ample buffer {ample} s");
}

#[test]
fn a_slow_reader_sets_the_rate() {
    for (rate, buffer) in [(2_000_000, None), (500_000, Some(TUNED))] {
        let mut s = read_at(rate, 60);
        s.warmup = Nanos::from_secs(10);
        s.flows[0].tcp_rmem = buffer;
        s.flows[0].receive_window = buffer.is_none().then_some(Bytes(100_000));
        let (outcome, _, acks) = watched(&s);
        let flow = &outcome.run.flows[0];
        let expected = rate as f64 / 1e6;
        assert!((flow.goodput_mbps / expected - 1.0).abs() < 0.01, "{} of {expected} Mbit/s", flow.goodput_mbps);
        assert_eq!((flow.timeouts, flow.retransmitted_packets), (0, 0));
        // The bytes that the reader takes in a round trip, and the two segments of an acknowledgement.
        let least = acks.iter().map(|(_, ack)| ack.window).min().unwrap() as f64;
        assert!(least <= rate as f64 * 0.045 / 8.0 + 2.0 * 1448.0, "{rate} bit/s: {least} bytes are offered at least");
    }
}

/// A closed window reopens in large steps: a sixteenth of the buffer, and twice the rest (`tcp_cleanup_rbuf`,
/// `__tcp_select_window`; RFC 9293, section 3.8.6.2.2).
#[test]
fn a_closed_window_opens_by_more_than_a_segment() {
    let mut s = read_at(1_000_000, 30);
    s.flows[0].receive_window = Some(Bytes(100_000));
    let (_, _, acks) = watched(&s);
    let is_update = |pair: &&[(Nanos, Ack)]| pair[0].1.next == pair[1].1.next && pair[1].1.window > pair[0].1.window;
    let updates: Vec<_> = acks.windows(2).filter(is_update).collect();
    assert!(updates.len() > 50, "{} window updates", updates.len());
    let grows_too_little = |pair: &&&[(Nanos, Ack)]| pair[1].1.window < (2 * pair[0].1.window).max(1448);
    assert_eq!(updates.iter().filter(grows_too_little).count(), 0);
}

/// A reader of 10 kbit/s takes 1.2 s for 1448 bytes, longer than a probe waits.
#[test]
fn a_window_that_stays_closed_is_probed() {
    let mut s = read_at(10_000, 100);
    s.flows[0].receive_window = Some(Bytes(20_000));
    let (outcome, sent, _) = watched(&s);
    let probes = sent.iter().filter(|(_, data)| data.is_probe()).count();
    assert!(probes > 5, "{probes} probes");
    let flow = &outcome.run.flows[0];
    assert_eq!((flow.timeouts, flow.retransmitted_packets), (0, 0));
    assert!((flow.goodput_mbps / 0.01 - 1.0).abs() < 0.05, "{} Mbit/s", flow.goodput_mbps);
}

/// The first window is half of the buffer in whole segments, which need not be a multiple of 128 bytes, the unit of the
/// scale. Later windows are multiples of it (`tcp_select_initial_window`, `tcp_select_window`).
#[test]
fn the_window_of_the_handshake_is_not_rounded() {
    let (_, _, acks) = watched(&long_path(TcpRmem { default: Bytes(100_000), ..TUNED }));
    assert_eq!(acks[0].1.window, 34 * 1448);
    assert!(acks.len() > 50);
    assert!(acks[1..].iter().all(|(_, ack)| ack.window.is_multiple_of(128)));
}

/// Jitter lets packets catch up with each other. None waits to be read when the next comes, so the second is
/// acknowledged, even with a window that shrinks (`tcp_cleanup_rbuf`).
#[test]
fn segments_that_come_at_once_are_read_one_by_one() {
    let mut s = long_path(TcpRmem { max: TUNED.default, ..TUNED });
    let jitter = Jitter { spread: Nanos::from_millis(10), distribution: Distribution::Uniform, reorder: false };
    s.links[0].forward.impairments.jitter = Some(jitter);
    let (outcome, _, acks) = watched(&s);
    assert_eq!(outcome.run.flows[0].retransmitted_packets, 0);
    let most = acks.windows(2).map(|pair| pair[1].1.next - pair[0].1.next).max();
    assert_eq!(most, Some(2));
}

/// A receiver that never offers two segments gets halves of the one that it offers (`tcp_bound_to_half_wnd`). They are
/// 724 bytes a round trip, as Linux 6.12 sends them.
#[test]
fn segments_are_cut_to_half_of_a_small_window() {
    let mut s = scenario(8);
    s.links[0].forward = link("bottleneck", 5.0, Nanos::from_millis(20));
    s.flows[0].receive_window = Some(Bytes(2000));
    let (outcome, script) = watch(&s, &Options::default(), Script::new(|_, _| false));
    let data: Vec<&Data> = script.sent.iter().map(|(_, data)| data).filter(|data| is_data(data)).collect();
    assert!(data.len() > 150 && data.iter().all(|data| data.bytes == 724 + 52));
    assert!(script.acks.iter().all(|(_, ack)| ack.window <= 1448));
    let goodput = outcome.run.flows[0].goodput_mbps;
    assert!((goodput - 0.140).abs() < 0.002, "{goodput} Mbit/s");
}
