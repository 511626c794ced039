//! Wait and transmit: a sender that waits before each of its windows, as DTPA's dissertation describes it. The
//! congestion control sets the wait. Segments that it forwards or sends again do not wait.
//!
//! A round begins with the first new segment that is sent while no segment of the round before is outstanding. From the
//! first acknowledgement of the round on, the sender sends no new segment. When all segments are acknowledged it waits.
//! So it sends one window in the time of a round trip and of the wait.

use model::units::Nanos;

/// The state that decides whether the sender may send new segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// The sender sends new segments as the window allows.
    #[default]
    Open,
    /// The sender sends none before all segments below this one are acknowledged.
    Closed(u32),
    /// The sender sends none before this time.
    Waiting(Nanos),
}

impl Gate {
    /// The state after an acknowledgement at `now`: the segments below `una` are acknowledged, those below `nxt` are
    /// sent, and the congestion control asks for `wait`.
    pub fn acknowledged(self, una: u32, nxt: u32, wait: Nanos, now: Nanos) -> Gate {
        match self {
            _ if wait == Nanos::ZERO => Gate::Open,
            Gate::Open if una == nxt => Gate::Waiting(now + wait),
            Gate::Open => Gate::Closed(nxt),
            Gate::Closed(end) if una >= end => Gate::Waiting(now + wait),
            closed => closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Nanos = Nanos::from_millis(500);

    #[test]
    fn a_round_ends_with_its_last_segment() {
        let now = Nanos::from_secs(1);
        let gate = Gate::Open.acknowledged(1, 4, WAIT, now);
        assert_eq!(gate, Gate::Closed(4));
        assert_eq!(gate.acknowledged(3, 4, WAIT, now), Gate::Closed(4));
        assert_eq!(gate.acknowledged(4, 4, WAIT, now), Gate::Waiting(now + WAIT));
    }

    #[test]
    fn one_segment_is_a_round_too() {
        assert_eq!(Gate::Open.acknowledged(1, 1, WAIT, Nanos::ZERO), Gate::Waiting(WAIT));
    }

    #[test]
    fn without_a_wait_there_is_no_gate() {
        for gate in [Gate::Open, Gate::Closed(4), Gate::Waiting(WAIT)] {
            assert_eq!(gate.acknowledged(2, 4, Nanos::ZERO, Nanos::ZERO), Gate::Open);
        }
    }
}
