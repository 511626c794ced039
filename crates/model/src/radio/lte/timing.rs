//! How long LTE takes for a packet that meets no other.
//!
//! The parts are those of 3GPP TR 36.881, "Study on latency reduction techniques for LTE", tables 5.2.1-1 (uplink) and
//! 5.2.1-2 (downlink).

use super::channel::Direction;
use super::harq::Harq;
use crate::units::Nanos;

/// What a base station schedules at a time (TS 36.211, section 4.1: two slots).
pub const SUBFRAME: Nanos = Nanos::from_millis(1);

/// From the scheduler's decision, or from the end of the grant, to the block on the air: the sender processes its data.
pub const PREPARATION: Nanos = Nanos::from_millis(3);

/// From the end of a block to its packets: the receiver decodes it.
pub const DECODING: Nanos = Nanos::from_millis(3);

/// Subframes from one opportunity of a handset to send a scheduling request to its next (TS 36.213, table 10.1.5-1
/// allows 1 to 80).
pub const REQUEST_PERIOD: u64 = 10;

/// Subframes from the start of a request to the end of the grant that answers it: the request 1, decoding it and making
/// the grant 3, the grant 1.
pub const ANSWERED_AFTER: u64 = 1 + 3 + 1;

/// The mean delay of a packet that comes to an idle cell at any time of a subframe, and fits one block: the wait for
/// the next subframe, or for the next opportunity to request and for the answer; then the block and its repeats.
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

    /// The report's totals: 7.5 ms down, and 17 ms up with a request every 10 ms.
    #[test]
    fn without_errors_it_is_what_the_report_adds_up() {
        let harq = Harq::new(0.0);
        assert_eq!(idle_delay(Direction::Down, &harq), Nanos::from_micros(7_500));
        assert_eq!(idle_delay(Direction::Up, &harq), Nanos::from_millis(17));
    }
}
