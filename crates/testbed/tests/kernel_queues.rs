//! The kernel's FIFO behind its shaper, and our drop-tail queue: the same flows come out the same. Needs root.

mod sound;

use scenario::records::{Link, Run};
use std::sync::Mutex;

/// Runs in real time disturb each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Overrides that make these the queues of both directions.
fn queues(kind: &str) -> [(String, String); 2] {
    ["link.bottleneck", "link.bottleneck.reverse"].map(|link| (format!("{link}.queue.kind"), kind.to_string()))
}

fn longest_ms(run: &Run) -> f64 {
    run.links.iter().filter_map(|link| link.queue_delay.queue_delay_ms_max).fold(0.0, f64::max)
}

fn scenario(seconds: u32, rate: &str, limit: &str, rest: &str) -> String {
    format!(
        r#"
        duration = "{seconds}s"
        warmup   = "2s"
        [link.bottleneck]
        rate  = "{rate}"
        delay = "4ms"
        queue = {{ kind = "", limit = "{limit}" }}
        reverse = {{ queue = {{ kind = "", limit = "{limit}" }} }}
        {rest}
        "#
    )
}

fn queue_ms(link: &Link) -> f64 {
    link.queue_delay.queue_delay_ms_mean.expect("packets passed")
}

/// Runs a scenario with both queues in both directions, and holds them against each other; a packet takes `packet_ms`, a full queue `full_ms`.
///
/// Where a packet waits longer than that, the host stood still: ours makes up for it, but the kernel's shaper does not, and what comes
/// meanwhile is dropped.
fn compare(text: &str, theirs: &str, packet_ms: f64, full_ms: f64) -> (Run, Run) {
    let _turn = ONE_AT_A_TIME.lock();
    let ours = sound::run(text, &queues("droptail"));
    let theirs = sound::run_undisturbed(text, &queues(theirs), |run| longest_ms(run) <= full_ms + packet_ms);
    eprintln!("sound: {} {:?} and {} {:?}", ours.sound, ours.lateness_us_p99, theirs.sound, theirs.lateness_us_p99);
    for (a, b) in ours.flows.iter().zip(&theirs.flows) {
        eprintln!("goodput {:.3} and {:.3} Mbit/s", a.goodput_mbps, b.goodput_mbps);
        assert!((a.goodput_mbps / b.goodput_mbps - 1.0).abs() < 0.02);
        assert!(a.lost_packets.abs_diff(b.lost_packets) <= 2 + a.lost_packets / 5, "{a:?}\n{b:?}");
    }
    for (a, b) in ours.links.iter().zip(&theirs.links) {
        eprintln!("queueing delay {:.3} and {:.3} ms, {a:?}, {b:?}", queue_ms(a), queue_ms(b));
        assert!((queue_ms(a) - queue_ms(b)).abs() < packet_ms.max(0.05 * queue_ms(a)));
        assert!(a.drops.abs_diff(b.drops) <= 2 + a.drops / 5);
        assert!(a.wire_losses.abs_diff(b.wire_losses) <= 2 + a.wire_losses / 5);
        // In points of the link's rate: the way back carries two of a hundred, and a drop more is a few acknowledgements more.
        assert!((a.utilisation_percent - b.utilisation_percent).abs() < 1.0);
        assert!((a.queue_bytes_mean - b.queue_bytes_mean).abs() < 1500.0 + 0.05 * a.queue_bytes_mean);
    }
    (ours, theirs)
}

#[test]
fn a_queue_of_packets() {
    let text = scenario(8, "2mbit", "20p", "[[flows]]\ncc = \"kernel:reno\"");
    let (_, theirs) = compare(&text, "kernel:pfifo", 6.0, 120.0);
    assert!(theirs.links[0].drops > 0 && queue_ms(&theirs.links[0]) > 60.0, "the queue was not filled: {theirs:?}");
}

/// Reno fills this queue about once a second and each time loses a packet or two: often enough for counts that mean something.
#[test]
fn a_queue_of_bytes() {
    let flow = "[[flows]]\ncc = \"kernel:reno\"\naccess = { rate = \"50mbit\", delay = \"1ms\" }";
    let text = scenario(10, "20mbit", "60kb", flow);
    let (_, theirs) = compare(&text, "kernel:bfifo", 0.6, 24.0);
    assert!(theirs.links[0].drops > 0 && theirs.flows[0].lost_packets > 0, "{theirs:?}");
}

/// Behind the kernel's queue the wire is ours, and its draws are those of the seed.
#[test]
fn random_losses() {
    let text = scenario(8, "20mbit", "60kb", "loss = \"0.5%\"\n[[flows]]\ncc = \"kernel:reno\"");
    let (_, theirs) = compare(&text, "kernel:bfifo", 0.6, 24.0);
    let link = &theirs.links[0];
    assert!(link.wire_losses > 10 && link.drops + link.wire_losses == theirs.flows[0].lost_packets, "{theirs:?}");
}
