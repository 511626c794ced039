//! Hosts that are stations of a Wi-Fi cell, or users of an LTE cell.

use crate::world::{library, run};
use model::records::Run;
use scenario::load_text;
use std::path::Path;
use unbloat_engine::Options;

const WIFI: &str = r#"
[wifi.cell]
standard = "802.11g"
[link.air]
wifi = "cell"
phy_rate = "6mbit"
"#;
const LTE: &str = r#"
[lte.cell]
bandwidth = "5mhz"
error_rate = "0%"
[link.air]
lte = "cell"
cqi = 9
"#;
/// A phone whose upload begins at once, while it pings; its packets pass the air and then a line.
const PHONE: &str = r#"
delay = "0ms"
queue = { kind = "prio", bands = 2, limit = "300p" }
[link.air.reverse]
queue = { limit = "300p" }
[link.line]
rate = "100mbit"
delay = "10ms"
queue = { limit = "1000p" }
[link.line.reverse]
queue = { limit = "1000p" }
[host.phone]
small_queues = false
classifier = "single"
[[flows]]
cc = "cubic"
host = "phone"
[[flows]]
app = "ping"
host = "phone"
"#;

fn simulate(cell: &str, changes: &[(&str, &str)]) -> Run {
    let text = format!("duration = \"20s\"\nwarmup = \"8s\"\n{cell}{PHONE}");
    let changes: Vec<_> = changes.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment = load_text(&text, "phone.toml", Path::new(""), &changes).unwrap_or_else(|error| panic!("{error}"));
    assert!(!library().names().is_empty());
    run(&experiment.points[0].scenario, &Options::default()).run
}

const SORPC: (&str, &str) = ("host.phone.classifier", "sorpc");
const SMALL: (&str, &str) = ("host.phone.small_queues", "true");

fn ping_ms(run: &Run) -> f64 {
    run.flows[1].rtt.rtt_ms_mean.expect("answers")
}

/// Packets without room in the phone stay with TCP, which the phone informs. The queue before the air is full of the
/// upload, so the ping waits behind it, unless SORPC sorts.
#[test]
fn an_upload_fills_the_phone_and_sorpc_lets_others_pass() {
    for cell in [WIFI, LTE] {
        let (one, sorted) = (simulate(cell, &[]), simulate(cell, &[SORPC]));
        for run in [&one, &sorted] {
            let upload = &run.flows[0];
            assert_eq!((upload.lost_packets, upload.retransmitted_packets), (0, 0), "{cell}");
            assert!(run.links[0].drops > 0, "{cell}: {:?}", run.links[0]);
            assert!(upload.send_buffer.expect("it is on a host").sndbuf_half_full_percent > Some(90.0), "{cell}");
        }
        let queue_ms = one.links[0].queue_delay.queue_delay_ms_mean.expect("packets");
        assert!(queue_ms > 200.0 && ping_ms(&one) > queue_ms, "{cell}: {} ms in {queue_ms}", ping_ms(&one));
        // A frame of the upload, a scheduling request, and the way.
        assert!(ping_ms(&sorted) < 70.0, "{cell}: {} ms", ping_ms(&sorted));
        let goodputs = (one.flows[0].goodput_mbps, sorted.flows[0].goodput_mbps);
        assert!((goodputs.0 / goodputs.1 - 1.0).abs() < 0.03, "{cell}: {goodputs:?}");
    }
}

/// The phone reports to the sender when the air or the modem has finished with a packet, and the sender keeps the next
/// until then. On Wi-Fi 8 ms of packets may be in the phone, at least two. A modem needs some for the next grant.
#[test]
fn small_queues_leave_the_phone_empty() {
    for (cell, ring) in [(WIFI, "0"), (LTE, "20")] {
        let (full, small) = (simulate(cell, &[]), simulate(cell, &[SMALL, ("host.phone.ring", ring)]));
        let longest = small.links[0].queue_delay.queue_delay_ms_max.expect("packets");
        assert!(longest < 60.0, "{cell}: {longest} ms");
        assert_eq!((small.flows[0].lost_packets, small.links[0].drops), (0, 0), "{cell}");
        let (full, small) = (full.flows[0].goodput_mbps, small.flows[0].goodput_mbps);
        assert!(small > 0.9 * full && small < 1.1 * full, "{cell}: {small} of {full} Mbit/s");
    }
}

/// The classifier does not sort packets that the device has taken: a ping waits for the packets in the ring, all of
/// them full.
#[test]
fn a_ring_is_ahead_of_what_is_urgent() {
    for cell in [WIFI, LTE] {
        let [none, ring] = ["0", "40"].map(|ring| simulate(cell, &[SORPC, ("host.phone.ring", ring)]));
        let packet_ms = 1448.0 * 8.0 / none.flows[0].goodput_mbps / 1000.0;
        let more = ping_ms(&ring) - ping_ms(&none);
        assert!((more / (40.0 * packet_ms) - 1.0).abs() < 0.15, "{cell}: {more} ms for 40 times {packet_ms}");
    }
}

/// A host with one queue sends as a station without a host does, if neither knows the packets in the host. The window
/// has room in the queue.
#[test]
fn without_back_pressure_a_host_is_any_station() {
    let window = ("flows.0.receive_window", "60kb");
    let phone = simulate(WIFI, &[window]);
    let text = format!("duration = \"20s\"\nwarmup = \"8s\"\n{WIFI}{PHONE}");
    // The station's data goes against the link's direction.
    let station = text
        .replace("[host.phone]\nsmall_queues = false\nclassifier = \"single\"\n", "")
        .replace("host = \"phone\"", "reverse = true\npath = [\"line\", \"air\"]");
    let change = [(window.0.to_string(), window.1.to_string())];
    let experiment = load_text(&station, "station.toml", Path::new(""), &change).unwrap_or_else(|e| panic!("{e}"));
    let other = run(&experiment.points[0].scenario, &Options::default()).run;
    let (host, other) = (&phone.flows[0], &other.flows[0]);
    assert!((host.goodput_mbps / other.goodput_mbps - 1.0).abs() < 0.02, "{host:?} {other:?}");
    let rtts = [host, other].map(|flow| flow.rtt.rtt_ms_mean.expect("samples"));
    assert!((rtts[0] / rtts[1] - 1.0).abs() < 0.05, "{rtts:?}");
}
