//! The kernel's FIFO behind its shaper, and our drop-tail queue: the same flows come out the same. Needs root.

use scenario::records::Run;
use std::ops::ControlFlow;
use std::path::Path;

/// A run that the machine could not keep up with says so and is made again.
const TRIES: usize = 3;

fn run(text: &str, queue: &str) -> Run {
    let overrides = [("link.bottleneck.queue.kind".to_string(), queue.to_string())];
    let experiment = scenario::load_text(text, "fifo", Path::new(""), &overrides).expect("a scenario");
    let library = mechanism::Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
    let once = || {
        let mut go_on = |_| ControlFlow::Continue(());
        testbed::run(&experiment.cells[0].scenario, &library, &Default::default(), &mut go_on).expect("a run").run
    };
    let mut last = once();
    for _ in 1..TRIES {
        if last.sound {
            break;
        }
        last = once();
    }
    last
}

/// Runs a scenario with both queues, and holds goodput, queueing delay and losses against each other.
fn compare(text: &str, theirs: &str) {
    let (ours, theirs) = (run(text, "droptail"), run(text, theirs));
    for run in [&ours, &theirs] {
        let (link, flow) = (&run.links[0], &run.flows[0]);
        eprintln!(
            "goodput {:.3} rtt {:?} queue {:?} (max {:?}) drops {} wire {} marks {} lost {} rtx {} util {:.2} bytes {:.0} sound {:?} late {:?}",
            flow.goodput_mbps,
            flow.rtt.rtt_ms_mean,
            link.queue_delay.queue_delay_ms_mean,
            link.queue_delay.queue_delay_ms_max,
            link.drops,
            link.wire_losses,
            link.marks,
            flow.lost_packets,
            flow.retransmitted_packets,
            link.utilisation_percent,
            link.queue_bytes_mean,
            run.unsound_because,
            run.lateness_us_p99
        );
    }
}

fn scenario(rate: &str, queue: &str, cc: &str, rest: &str) -> String {
    format!(
        "duration = \"10s\"\nwarmup = \"2s\"\n[link.bottleneck]\nrate = \"{rate}\"\ndelay = \"10ms\"\nqueue = {{ kind = \"droptail\", limit = \"{queue}\" }}\n{rest}\n[[flows]]\ncc = \"{cc}\"\n"
    )
}

#[test]
fn slow() {
    compare(&scenario("2mbit", "20p", "kernel:reno", ""), "kernel:pfifo");
}
#[test]
fn medium() {
    compare(&scenario("20mbit", "125kb", "kernel:cubic", ""), "kernel:bfifo");
}
#[test]
fn fast() {
    compare(&scenario("200mbit", "250kb", "kernel:cubic", ""), "kernel:bfifo");
}
