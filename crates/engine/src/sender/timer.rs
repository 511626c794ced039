//! The sender's one timer, which stands for the retransmission timeout, the probe of a closed window, the tail loss
//! probe or RACK's reordering timer.

use model::units::Nanos;

/// What happens when the timer rings: the kernel's `ICSK_TIME_*`, with their values in `icsk_pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcskTime {
    Retrans = 1,
    Probe0 = 3,
    LossProbe = 5,
    ReoTimeout = 6,
}

/// At most one of the four is set.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    pub kind: IcskTime,
    pub at: Nanos,
}

impl Timer {
    pub fn none() -> Timer {
        Timer { kind: IcskTime::Retrans, at: Nanos::NEVER }
    }
}
