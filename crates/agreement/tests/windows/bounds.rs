//! Thousands of connections in a map of fixed size.

use super::segments::{ACK, Programs, Segment, ends, on_a_router, read, timestamps, window_controller};
use kernel::WindowPrograms;
use libbpf_rs::MapCore;

/// The number of entries of the map `unbloat_flows`.
const ROOM: usize = 16_384;
const MANY: u16 = 10_000;

/// Opens connection `number`, lets a data segment come, and acknowledges it. Returns the window of the last
/// acknowledgement.
fn talk(programs: &Programs, number: u16) -> u16 {
    let (near, far) = ends(number);
    programs.connect(number);
    programs.comes(&Segment { payload: 1448, options: timestamps(1, 1), ..Segment::new(far, near, ACK) }.frame(), 0);
    answer(programs, number, 1);
    answer(programs, number, 1 + (0xffff << 7))
}

/// Lets an acknowledgement leave and returns its window.
fn answer(programs: &Programs, number: u16, ack: u32) -> u16 {
    let (near, far) = ends(number);
    let frame = Segment { ack, options: timestamps(1, 1), ..Segment::new(near, far, ACK) }.frame();
    read(&programs.leaves(&frame)).expect("a segment").window
}

fn entries(programs: &WindowPrograms) -> usize {
    programs.object().maps().find(|map| map.name() == "unbloat_flows").expect("a map").keys().count()
}

#[test]
fn ten_thousand_connections_are_remembered_and_forty_thousand_take_no_more_room() {
    let loaded = on_a_router(&window_controller("static", &[("most", 10)]));
    let programs = Programs::of(&loaded);
    // 10 segments of 1448 bytes, in steps of 128.
    let lowered = (10_u16 * 1448).div_ceil(128);
    for number in 0..MANY {
        assert_eq!(talk(&programs, number), lowered, "connection {number}");
    }
    assert_eq!(entries(&loaded), usize::from(MANY));
    for number in 0..MANY {
        let again = answer(&programs, number, 1 + (0xffff << 7) + 14_480);
        assert_eq!(again, lowered, "connection {number} was forgotten");
    }
    for number in MANY..4 * MANY {
        assert_eq!(talk(&programs, number), lowered, "connection {number}");
    }
    let left = entries(&loaded);
    assert!(left <= ROOM && left > ROOM / 2, "{left} entries");
}
