//! What a window controller costs a packet in the running kernel. Called by `benches/cost-per-call`; needs root.

#[path = "../tests/windows/segments.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod segments;

use mechanism::{Kind, Library};
use segments::{ACK, ALGORITHMS, Programs, Segment, ends, on_a_router, receiver, run, timestamps};

const REPEATS: u32 = 1_000_000;

fn main() {
    let (near, far) = ends(1);
    for name in Library::open(ALGORITHMS).names_of(Kind::WindowController) {
        let loaded = on_a_router(&receiver(&name, &[]));
        let programs = Programs::of(&loaded);
        programs.connect(1);
        let ack = Segment { ack: 9_000_000, options: timestamps(5, 1), ..Segment::new(near, far, ACK) };
        let data = Segment { payload: 1448, options: timestamps(5, 5), ..Segment::new(far, near, ACK) };
        let (_, ack) = run(&programs.egress, &ack.frame(), 0, REPEATS);
        let (_, data) = run(&programs.ingress, &data.frame(), 0, REPEATS);
        println!("{name:12} {:>6} ns an acknowledgement, {:>6} ns a data segment", ack.as_nanos(), data.as_nanos());
    }
}
