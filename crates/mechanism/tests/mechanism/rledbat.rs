//! rLEDBAT (RFC 9840): the compiled window controller driven by hand.

use crate::harness::library;
use model::{MechanismRef, MechanismSource, ParamValue};
use unbloat_mechanism::{WindowAck, WindowController, WindowFlow};

const MSS: u32 = 1000;
const BASE_MS: u32 = 120;

fn controller(slowdowns: bool) -> WindowController {
    let params = [("slowdowns".to_string(), ParamValue::Bool(slowdowns))].into();
    let source = MechanismSource::Builtin("rledbat".into());
    library().load_window(&MechanismRef::new(source, params), 1).unwrap_or_else(|error| panic!("{error}"))
}

struct Connection<'a> {
    controller: &'a WindowController,
    flow: WindowFlow,
    now_us: u64,
}

impl<'a> Connection<'a> {
    /// A connection whose first RTT is the least.
    fn new(controller: &'a WindowController) -> Connection<'a> {
        let mut connection = Connection { controller, flow: WindowFlow::new(MSS), now_us: 1_000_000 };
        connection.ack(0, BASE_MS, false);
        connection
    }

    /// An acknowledgement a millisecond later, after `packets` were read; the window in packets, rounded down.
    fn ack(&mut self, packets: u32, rtt_ms: u32, has_hole: bool) -> u32 {
        self.now_us += 1000;
        let ack = WindowAck {
            now_us: self.now_us,
            copied: packets * MSS,
            rtt_us: 1000 * rtt_ms,
            has_hole: has_hole.into(),
            no_rtts: 0,
        };
        self.controller.window(&mut self.flow, &ack) / MSS
    }

    /// A round trip in which the sender fills the window; the window after it.
    fn round(&mut self, rtt_ms: u32) -> u32 {
        let window = self.ack(0, rtt_ms, false);
        for ms in 1..rtt_ms {
            self.ack(window / rtt_ms + u32::from(ms <= window % rtt_ms), rtt_ms, false);
        }
        self.ack(0, rtt_ms, false)
    }
}

/// GAIN is one at 120 ms: slow start doubles each round trip, until the queue reaches 45 ms.
#[test]
fn slow_start_and_growth() {
    let controller = controller(false);
    let mut connection = Connection::new(&controller);
    assert_eq!(connection.ack(0, BASE_MS, false), 10);
    let grown = [connection.round(BASE_MS), connection.round(BASE_MS), connection.round(BASE_MS)];
    assert_eq!(grown, [20, 40, 80]);
    for _ in 0..4 {
        connection.ack(0, BASE_MS + 46, false);
    }
    let before = connection.ack(0, BASE_MS + 46, false);
    let after = connection.round(BASE_MS + 46);
    assert!((after - before) <= 2, "a packet a round trip: {before}, {after}");
}

/// A queue of 90 ms is half the target too long, so a window of 80 loses 80 / 2 - 1 packets at once. The next decrease
/// waits until they have arrived, and for an RTT.
#[test]
fn a_decrease_waits_for_its_effect() {
    let controller = controller(false);
    let mut connection = Connection::new(&controller);
    for _ in 0..3 {
        connection.round(BASE_MS);
    }
    for _ in 0..3 {
        connection.ack(0, BASE_MS + 90, false);
    }
    assert_eq!(connection.ack(0, BASE_MS + 90, false), 41);
    for _ in 0..38 {
        assert_eq!(connection.ack(1, BASE_MS + 90, false), 41, "39 packets are to arrive");
    }
    assert_eq!(connection.ack(1, BASE_MS + 90, false), 41);
    for _ in 0..100 {
        assert_eq!(connection.ack(1, BASE_MS + 90, false), 41, "the RTT does not show it yet");
    }
    let later = (0..200).map(|_| connection.ack(1, BASE_MS + 90, false)).min();
    assert_eq!(later, Some(21), "41 - (41 / 2 - 1), rounded down");
}

/// A hole halves the window once, however long it stays.
#[test]
fn a_loss_halves() {
    let controller = controller(false);
    let mut connection = Connection::new(&controller);
    for _ in 0..3 {
        connection.round(BASE_MS);
    }
    assert_eq!(connection.ack(0, BASE_MS, true), 40);
    for _ in 0..100 {
        assert_eq!(connection.ack(0, BASE_MS, true), 40);
    }
}

/// Two RTTs after slow start the window is two packets, for two RTTs after it has drained; then it comes back.
#[test]
fn slowdowns() {
    let controller = controller(true);
    let mut connection = Connection::new(&controller);
    for _ in 0..3 {
        connection.round(BASE_MS);
    }
    for _ in 0..4 {
        connection.ack(0, BASE_MS + 50, false);
    }
    let mut windows = Vec::new();
    for _ in 0..2000 {
        windows.push(connection.ack(1, BASE_MS, false));
    }
    let first = windows.iter().position(|&window| window == 2).expect("a slowdown");
    assert!((240..300).contains(&first), "two smoothed RTTs, which are 122 to 130 ms: {first}");
    let back = windows[first..].iter().position(|&window| window > 2).expect("its end");
    assert!((300..370).contains(&back), "it drains for 80 ms, and stays for two RTTs: {back}");
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let controller = controller(false);
    let mut connection = Connection::new(&controller);
    connection.round(BASE_MS);
    connection.round(BASE_MS);
    let before = connection.ack(0, BASE_MS, false);
    for _ in 0..1000 {
        connection.ack(0, BASE_MS, false);
    }
    for number in 0..1000 {
        connection.ack(u32::from(number % 20 == 0), BASE_MS, false);
    }
    assert_eq!(connection.ack(0, BASE_MS, false), before);
}

#[test]
fn without_timestamps_the_stack_decides() {
    let controller = controller(true);
    let mut flow = WindowFlow::new(MSS);
    let ack = WindowAck { now_us: 1_000_000, copied: 5000, no_rtts: 1, ..WindowAck::default() };
    assert_eq!(controller.window(&mut flow, &ack), 0);
}
