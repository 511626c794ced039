//! Wait and transmit: a sender that waits before each of its windows, as DTPA's dissertation describes it. A control
//! says how long; what it forwards, and what it sends again, does not wait.
//!
//! A round begins with the first new segment that is sent while none of the round before is outstanding. From its first
//! acknowledgement on no new segment is sent, and when all are acknowledged the sender waits. So it sends one window in
//! the time of a round trip and of the wait.

use model::units::Nanos;

/// Whether new segments may be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// As the window allows.
    #[default]
    Open,
    /// Not before all segments below this are acknowledged.
    Closed(u32),
    /// Not before this time.
    Waiting(Nanos),
}

impl Gate {
    /// An acknowledgement has come at `now`: the segments below `una` are acknowledged, those below `nxt` are sent, and
    /// the control asks for `wait`.
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
