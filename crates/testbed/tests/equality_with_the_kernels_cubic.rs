//! Our CUBIC in BPF and the running kernel's own do the same on the same link.

mod sound;

use scenario::records::Run;

const SCENARIO: &str = r#"
    duration = "12s"
    warmup   = "2s"

    [link.bottleneck]
    rate  = "20mbit"
    delay = "25ms"
    queue = { kind = "droptail", limit = "125kb" }

    [[flows]]
    cc = "cubic"
"#;

fn run(cc: &str) -> Run {
    sound::run(SCENARIO, &[("flows.0.cc".to_string(), cc.to_string())])
}

fn within(share: f64, ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= share * theirs
}

#[test]
fn the_same_goodput_queue_and_losses() {
    let (ours, theirs) = (run("cubic"), run("kernel:cubic"));
    let queue = |run: &Run| run.links[0].queue_delay.queue_delay_ms_mean.expect("packets waited");
    let goodput = |run: &Run| run.flows[0].goodput_mbps;
    eprintln!(
        "goodput {:.3} and {:.3} Mbit/s, queueing delay {:.2} and {:.2} ms, lost {} and {}",
        goodput(&ours),
        goodput(&theirs),
        queue(&ours),
        queue(&theirs),
        ours.flows[0].lost_packets,
        theirs.flows[0].lost_packets
    );
    assert!(goodput(&theirs) > 18.0 && theirs.flows[0].lost_packets > 0, "the link was not filled: {theirs:?}");
    assert!(within(0.01, goodput(&ours), goodput(&theirs)));
    assert!(within(0.05, queue(&ours), queue(&theirs)));
}
