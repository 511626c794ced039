//! The delay that LTE adds to a packet that meets no other packet.
//!
//! The parts of the delay are from 3GPP TR 36.881, "Study on latency reduction techniques for LTE". Table 5.2.1-1 is
//! the uplink, table 5.2.1-2 the downlink.

use super::channel::Direction;
use super::harq::Harq;
use crate::units::Nanos;

/// The unit of time that a base station schedules: two slots (TS 36.211, section 4.1).
pub const SUBFRAME: Nanos = Nanos::from_millis(1);

/// The time for the sender to process its data: from the scheduler's decision, or the end of the grant, to the block on
/// the air.
pub const PREPARATION: Nanos = Nanos::from_millis(3);

/// The time for the receiver to decode a block: from its end to its packets.
pub const DECODING: Nanos = Nanos::from_millis(3);

/// Subframes between a handset's opportunities to send a scheduling request. The standard allows 1 to 80 (TS 36.213,
/// table 10.1.5-1).
pub const REQUEST_PERIOD: u64 = 10;

/// Subframes from the start of a request to the end of its grant. The request takes 1, decoding it and making the grant
/// 3, and the grant 1.
pub const ANSWERED_AFTER: u64 = 1 + 3 + 1;

/// Returns the mean delay of a packet that fits one block and comes to an idle cell at a random time. Down, it waits
/// for the next subframe. Up, it waits for the next opportunity to request, and for the grant. Then come the block and
/// its repeats.
pub fn idle_delay(direction: Direction, harq: &Harq) -> Nanos {
    let subframes = |count: f64| Nanos((count * SUBFRAME.0 as f64) as u64);
    let wait = match direction {
        Direction::Down => subframes(0.5),
        Direction::Up => subframes(REQUEST_PERIOD as f64 / 2.0 + ANSWERED_AFTER as f64),
    };
    let repeats = subframes(Harq::ROUND_TRIP as f64 * (harq.mean_tries() - 1.0));
    wait + PREPARATION + SUBFRAME + DECODING + repeats
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report's totals are 7.5 ms down, and 17 ms up with a request every 10 ms.
    #[test]
    fn without_errors_it_is_what_the_report_adds_up() {
        let harq = Harq::new(0.0);
        assert_eq!(idle_delay(Direction::Down, &harq), Nanos::from_micros(7_500));
        assert_eq!(idle_delay(Direction::Up, &harq), Nanos::from_millis(17));
    }
}
