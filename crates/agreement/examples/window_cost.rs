//! Measures what a window controller costs per packet in the running kernel. `benches/cost-per-call` runs it; it needs
//! root.
//!
//! A download passes the programs packet by packet, so that its rounds end and its windows are lowered. Each packet is
//! timed alone. The cost of the timing is subtracted; it is that of a packet which the programs ignore.

#[path = "../tests/windows/segments.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod segments;

use kernel::WindowPrograms;
use libbpf_rs::MapCore;
use mechanism::{Library, MechanismKind};
use segments::{ACK, ALGORITHMS, Programs, RST, Segment, ends, on_a_router, read, run, timestamps, window_controller};
use std::time::Duration;

const STEPS: u32 = 100_000;
/// The number of acknowledgements after which a timestamp is echoed: the length of an RTT and of a round.
const ECHOED_AFTER: u32 = 10;
/// The bytes that an acknowledgement acknowledges.
const ACKED: u32 = 2 * MSS;
const MSS: u32 = 1448;
/// The place of `round.began_us` in `struct shown_flow` (`include/window_program.h`).
const BEGAN: std::ops::Range<usize> = 136..144;

/// The cost of a download, summed over all packets.
#[derive(Default)]
struct Cost {
    ack: Duration,
    data: Duration,
    rounds: u32,
    lowered: u32,
}

fn main() {
    let (near, far) = ends(1);
    for name in Library::open(ALGORITHMS).names_of(MechanismKind::WindowController) {
        let loaded = on_a_router(&window_controller(&name, &[("most", 20)]));
        let programs = Programs::of(&loaded);
        programs.connect(1);
        let left_alone = Segment::new(near, far, RST).frame();
        let timing = (0..STEPS).map(|_| run(&programs.egress, &left_alone, 0, 1).1).sum::<Duration>();
        let timing = timing.saturating_sub(run(&programs.egress, &left_alone, 0, STEPS).1 * STEPS);
        let Cost { ack, data, rounds, lowered } = download(&loaded, &programs);
        let each = |all: Duration| all.saturating_sub(timing).as_nanos() / u128::from(STEPS);
        let percent = |part: u32| 100.0 * f64::from(part) / f64::from(STEPS);
        println!(
            "{name:12} {:>6} ns an acknowledgement ({:.1} % end a round, {:.1} % are lowered), {:>6} ns a data segment",
            each(ack),
            percent(rounds),
            percent(lowered),
            each(data)
        );
    }
}

/// Runs a download: again and again two data segments come and an acknowledgement leaves.
fn download(loaded: &WindowPrograms, programs: &Programs) -> Cost {
    let (near, far) = ends(1);
    let (mut cost, mut began) = (Cost::default(), None);
    for step in 1..=STEPS {
        let data = Segment {
            seq: step * ACKED,
            payload: MSS as usize,
            options: timestamps(step, step.saturating_sub(ECHOED_AFTER)),
            ..Segment::new(far, near, ACK)
        };
        let ack = Segment { ack: step * ACKED, options: timestamps(step, step), ..Segment::new(near, far, ACK) };
        let (_, data) = run(&programs.ingress, &data.frame(), 0, 1);
        let (left, took) = run(&programs.egress, &ack.frame(), 0, 1);
        let begins = round_began(loaded);
        cost.data += data;
        cost.ack += took;
        cost.rounds += u32::from(begins != began);
        cost.lowered += u32::from(read(&left).expect("a segment").window < ack.window);
        began = begins;
    }
    cost
}

/// Returns when the present round of the only connection began.
fn round_began(loaded: &WindowPrograms) -> Option<Vec<u8>> {
    let map = loaded.object().maps().find(|map| map.name() == "unbloat_flows").expect("a map");
    let key = map.keys().next()?;
    let flow = map.lookup(&key, libbpf_rs::MapFlags::ANY).expect("the map answers")?;
    Some(flow[BEGAN].to_vec())
}
