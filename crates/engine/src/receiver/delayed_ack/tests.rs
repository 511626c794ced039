//! Tests of delays, quick acknowledgements and compressed ones.

use super::*;
use crate::receiver::window::{Announced, ReceiveWindow};
use model::skb::{ReceiveBuffer, receive_memory};
use model::units::Bytes;

const MSS: u32 = 1448;

/// A window whose buffer has the memory of this many segments.
fn of_segments(segments: u32) -> ReceiveWindow {
    let memory = receive_memory(Bytes((segments * MSS) as u64), MSS, Bytes(1500));
    let buffer = ReceiveBuffer { memory, tcp_rmem_max: None };
    let mut window = ReceiveWindow::new(buffer, Announced { mss: MSS, packet: 1500 }, MSS, true);
    window.measure_overhead();
    window
}

fn linux() -> DelayedAck {
    DelayedAck::new(&TcpProfile::LINUX, MSS)
}

/// A receiver with no quick acknowledgements left, after a handshake of `round_trip`.
fn settled(round_trip: Nanos) -> DelayedAck {
    let mut delayed = linux();
    delayed.answered_syn(Nanos::ZERO);
    delayed.heard(round_trip);
    delayed.in_order(round_trip);
    delayed.acknowledged();
    delayed
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[test]
fn a_delay_that_expires_doubles_up_to_the_round_trip() {
    let mut delayed = settled(ms(70));
    let mut now = ms(1000);
    let mut waited = vec![];
    for _ in 0..3 {
        assert!(!delayed.acknowledges_now(now, 5, false, 0));
        waited.push(delayed.deadline() - now);
        now = delayed.deadline();
        delayed.delay_expired(now);
        delayed.acknowledged();
    }
    // From one tick, 4 ms, until the tick after 10 and 18 jiffies.
    assert_eq!(waited, [ms(44), ms(76), ms(76)]);
}

/// A guest shows the same (number 809), where the second segment would make the window smaller. The timer is set for 44
/// ms, the tenth jiffy and the tick after it. A quarter of the delay is three jiffies by then.
#[test]
fn an_acknowledgement_that_is_about_to_be_due_leaves_with_the_second_segment() {
    for (gap, expected) in [(0, false), (27, false), (28, true)] {
        let mut delayed = settled(ms(70));
        delayed.ato = 10;
        assert!(!delayed.acknowledges_now(ms(1000), 1, false, 0));
        delayed.ato = 13;
        assert_eq!(delayed.acknowledges_now(ms(1000 + gap), 2, false, 0), expected, "after {gap} ms");
    }
}

#[test]
fn segments_close_together_bring_the_delay_back_to_40_ms() {
    let mut delayed = settled(ms(70));
    delayed.ato = 40;
    for n in 0..12 {
        delayed.in_order(ms(1000 + 20 * n));
    }
    assert_eq!(delayed.ato, ATO_MIN);
}

/// The timeout after a handshake of 70 ms is 270 ms, 68 jiffies; the handshake ends 2 ms after a tick.
#[test]
fn a_silence_longer_than_the_timeout_brings_quick_acknowledgements() {
    for (gap, expected) in [(273, false), (274, true)] {
        let mut delayed = settled(ms(70));
        assert_eq!(delayed.in_order(ms(70 + gap)), expected, "after {gap} ms");
    }
}

/// A buffer with memory for 9 segments offers half of it at first, which is 7 whole segments of payload.
#[test]
fn no_more_quick_acknowledgements_than_half_a_window() {
    for (segments, expected) in [(1, 2), (2, 2), (3, 1), (9, 3), (100, 16)] {
        let mut delayed = linux();
        assert!(delayed.in_order(ms(70)), "it is the first");
        delayed.acknowledge_quickly(MAX_QUICKACKS, Some(of_segments(segments).offered()));
        assert_eq!(delayed.quick, expected, "memory for {segments}");
    }
}

#[test]
fn quick_acknowledgements_are_half_of_what_was_offered_last() {
    for (held, expected) in [(0, 11), (10, 9)] {
        let mut window = of_segments(30);
        window.select(23, held, 0);
        let mut delayed = linux();
        delayed.enter_quickack_mode(MAX_QUICKACKS, Some(window.offered()));
        assert_eq!(delayed.quick, expected, "{held} wait");
    }
}

/// The number of segments acknowledged at once after the answer to a duplicate.
#[test]
fn the_answer_to_an_old_duplicate_is_none_of_the_quick_acknowledgements() {
    for (old, expected) in [(false, 15), (true, 16)] {
        let mut delayed = settled(ms(70));
        delayed.enter_quickack_mode(MAX_QUICKACKS, Some(50 * MSS));
        if old {
            delayed.next_is_not_scheduled();
        }
        delayed.acknowledged();
        let at_once = (0..50).take_while(|n| {
            let at_once = delayed.acknowledges_now(ms(500 + n), 1, false, 0);
            delayed.acknowledged();
            at_once
        });
        assert_eq!(at_once.count(), expected, "old: {old}");
    }
}

#[test]
fn what_was_not_scheduled_leaves_the_delay_as_it_is() {
    let mut delayed = settled(ms(70));
    delayed.ato = 40;
    delayed.next_is_not_scheduled();
    delayed.acknowledged();
    assert_eq!((delayed.quick, delayed.ato), (0, 40));
}

#[test]
fn while_the_window_widens_each_segment_is_acknowledged() {
    let (mut delayed, mut window) = (linux(), of_segments(100));
    let mut at_once = |n| {
        if window.widen(1) {
            delayed.window_widened();
        }
        let at_once = delayed.acknowledges_now(ms(500), n, false, 0);
        delayed.acknowledged();
        at_once
    };
    assert_eq!((0..50).filter(|n| at_once(*n)).count(), 10);
}

/// Three segments in order fill a part of a hole. While the window stays as it is, their acknowledgement does not count
/// as a duplicate. If the window shrinks, it is the first of three that leave at once.
#[test]
fn a_hole_filled_in_part_is_a_duplicate_where_the_window_shrinks() {
    for (shrinks, prompt) in [(false, 3), (true, 2)] {
        let mut delayed = settled(ms(70));
        assert!(delayed.acknowledges_now(ms(500), 8, !shrinks, 1));
        delayed.acknowledged();
        let duplicates = (0..9).filter(|_| delayed.acknowledges_now(ms(500), 8, false, 1));
        assert_eq!(duplicates.count(), prompt, "shrinks: {shrinks}");
    }
}

#[test]
fn the_fourth_duplicate_waits_a_twentieth_of_the_round_trip() {
    for (round_trip, expected) in [(ms(70), 1100), (ms(10), 600)] {
        let mut delayed = settled(round_trip);
        for _ in 0..3 {
            assert!(delayed.acknowledges_now(ms(500), 5, false, 1));
            delayed.acknowledged();
        }
        assert!(!delayed.acknowledges_now(ms(500), 5, false, 1));
        assert_eq!(delayed.deadline(), ms(500) + Nanos::from_micros(expected));
        assert!(!delayed.acknowledges_now(ms(501), 5, false, 1));
        assert_eq!(delayed.deadline(), ms(500) + Nanos::from_micros(expected), "the first one's timer");
    }
}

/// A delayed acknowledgement was due 44 ms after the segment, but a second segment came.
#[test]
fn the_timer_of_a_delayed_acknowledgement_sends_what_is_compressed() {
    for (later, expected) in [(42, 1100), (43, 1000), (44, 1100)] {
        let mut delayed = settled(ms(70));
        assert!(!delayed.acknowledges_now(ms(500), 5, false, 0));
        assert_eq!(delayed.deadline(), ms(544));
        assert!(delayed.acknowledges_now(ms(501), 6, true, 0));
        delayed.acknowledged();
        assert_eq!(delayed.deadline(), Nanos::NEVER);
        for _ in 0..3 {
            assert!(delayed.acknowledges_now(ms(502), 6, false, 1));
            delayed.acknowledged();
        }
        assert!(!delayed.acknowledges_now(ms(500 + later), 6, false, 1));
        assert_eq!(delayed.deadline(), ms(500 + later) + Nanos::from_micros(expected), "{later} ms after the segment");
    }
}

/// The timestamps of a guest show the same (tuned number 9). The packet before was the last to read the clock, unless
/// the timer of a second segment rings, here at 544 ms.
#[test]
fn what_is_compressed_shows_when_the_packet_before_it_came() {
    for (came, shown) in [(510, 510), (543, 544)] {
        let mut delayed = settled(ms(70));
        assert!(!delayed.acknowledges_now(ms(500), 5, false, 0));
        delayed.acknowledged();
        for _ in 0..3 {
            assert!(delayed.acknowledges_now(ms(502), 6, false, 1));
            delayed.acknowledged();
        }
        assert!(!delayed.acknowledges_now(ms(came), 6, false, 1));
        assert_eq!(delayed.timer_shows(delayed.deadline()), ms(shown));
        delayed.acknowledged();
        assert_eq!(delayed.timer_shows(ms(600)), ms(600), "nothing is compressed");
    }
}

#[test]
fn a_new_hole_is_reported_at_once_again() {
    let mut delayed = settled(ms(70));
    let prompt =
        |delayed: &mut DelayedAck, next| (0..9).filter(|_| delayed.acknowledges_now(ms(500), next, false, 1)).count();
    assert_eq!((prompt(&mut delayed, 5), prompt(&mut delayed, 6)), (3, 3));
}

#[test]
fn the_forty_fifth_duplicate_waits_no_longer() {
    let mut delayed = settled(ms(70));
    let now = |delayed: &mut DelayedAck| delayed.acknowledges_now(ms(500), 5, false, 1);
    let first_48: Vec<bool> = (0..48).map(|_| now(&mut delayed)).collect();
    assert_eq!(first_48.iter().filter(|at_once| **at_once).count(), 4);
    assert!(first_48[47]);
}
