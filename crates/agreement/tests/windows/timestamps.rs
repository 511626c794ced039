//! What window controllers learn from timestamps, and how they behave without them.

use super::segments::{
    ACK, ALGORITHMS, Programs, Segment, ends, on_a_router, read, recording_on_a_router, timestamps, window_controller,
};
use mechanism::{Library, MechanismKind};
use std::time::Duration;
use unbloat_agreement::recording::window_events;

/// The window that the stack advertises, in steps of 128 bytes: more than a megabyte.
const OFFERED: u16 = 10_000;
/// A pause of more than a tick.
const WAIT: Duration = Duration::from_millis(20);

/// A connection without timestamps has no round-trip times. Only window controllers that need none may lower its
/// windows.
#[test]
fn a_connection_without_timestamps_keeps_its_window() {
    let (near, far) = ends(1);
    for name in Library::open(ALGORITHMS).names_of(MechanismKind::WindowController) {
        let loaded = on_a_router(&window_controller(&name, &[]));
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

/// Two acknowledgements leave within a tick of the timestamp clock. The RTT counts from the first one, also before any
/// echo, and whatever the clock's first value.
#[test]
fn an_rtt_counts_from_the_first_packet_of_a_tick() {
    for clock in [5, 0xf000_0000_u32] {
        let loaded = recording_on_a_router(&window_controller("rtac", &[]));
        let programs = Programs::of(&loaded);
        programs.connect(1);
        let (near, far) = ends(1);
        let comes = |echo| {
            let options = timestamps(1, echo);
            programs.comes(&Segment { payload: 1448, options, ..Segment::new(far, near, ACK) }.frame(), 0)
        };
        let leaves =
            |clock| programs.leaves(&Segment { options: timestamps(clock, 1), ..Segment::new(near, far, ACK) }.frame());
        comes(0);
        leaves(clock);
        std::thread::sleep(WAIT);
        leaves(clock);
        comes(clock);
        leaves(clock + 1);
        let events = window_events(loaded.object()).expect("it records");
        let rtt = Duration::from_micros(events.last().expect("three").ack.rtt_us.into());
        assert!(rtt >= WAIT, "{rtt:?} with a clock at {clock}");
    }
}
