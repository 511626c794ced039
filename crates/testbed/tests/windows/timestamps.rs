//! What timestamps tell the programs, and what they do without.

use super::segments::{ACK, ALGORITHMS, Programs, Segment, ends, on_a_router, read, receiver};
use mechanism::{Kind, Library};

/// The window of a megabyte and more that the stack offers, in steps of 128 bytes.
const OFFERED: u16 = 10_000;

/// Only what needs no round-trip time holds back a connection that has none, wherever in the stream it is.
#[test]
fn a_connection_without_timestamps_keeps_its_window() {
    let (near, far) = ends(1);
    for name in Library::open(ALGORITHMS).names_of(Kind::WindowController) {
        let loaded = on_a_router(&receiver(&name, &[]));
        let programs = Programs::of(&loaded);
        programs.connect(1);
        let mut lowered = 0;
        for number in 0..2000 {
            let at = number * 1448;
            programs.comes(&Segment { seq: at, payload: 1448, ..Segment::new(far, near, ACK) }.frame(), 0);
            let ack = Segment { ack: at + 1448, window: OFFERED, ..Segment::new(near, far, ACK) };
            lowered += u32::from(read(&programs.leaves(&ack.frame())).expect("a segment").window < OFFERED);
        }
        assert_eq!(lowered > 0, name == "static", "{name} lowers {lowered} windows");
    }
}
