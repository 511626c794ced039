//! How a transmitter of ours keeps in step with the kernel's shaper before it.

use crate::timing::clock::Time;
use measure::Histogram;
use model::units::{Bytes, Nanos, Rate};

/// How late packets may come out of the shaper and count as punctual: what no timer is better than, or where that is
/// more a tenth of a packet's transmission.
const TOLERANCE: Nanos = Nanos::from_micros(200);
const TOLERANCE_SHARE: u64 = 10;

/// That lateness at a rate, with packets of up to `mtu` bytes.
pub fn tolerance(rate: Rate, mtu: u32) -> Nanos {
    TOLERANCE.max(Nanos(rate.time_to_send(Bytes(mtu as u64)).0 / TOLERANCE_SHARE))
}

/// How late the kernel's timers may let a packet go and make up for it with the next, so that the rate holds. By as
/// much the shaper is ahead of the transmitter while packets wait, and the discipline sees them wait the less: in
/// virtual time, where timers are late by instructions only, it is a hundredth of what CoDel aims at.
pub fn ahead(time: Time, tolerance: Nanos) -> Nanos {
    match time {
        Time::Real => tolerance,
        Time::Virtual => Nanos::from_micros(50),
    }
}

/// How late the shaper is against the transmitter that it is to be in step with, told from packets that are read later
/// than it lets them go: the least lateness of a row of them.
pub struct ShaperLag {
    tolerance: Nanos,
    seen: u32,
    least: Nanos,
}

impl ShaperLag {
    /// So many in a row are never all read late.
    const ROW: u32 = 16;

    /// In step, as long as the shaper is not later than that.
    pub fn new(tolerance: Nanos) -> ShaperLag {
        ShaperLag { tolerance, seen: 0, least: Nanos::ZERO }
    }

    /// When the packet that was read at `now` is the transmitter's, which could have begun with it at `free_at`.
    pub fn ready(&mut self, now: Nanos, free_at: Nanos, lateness: &mut Histogram) -> Nanos {
        let Some(late) = self.late(now.since(free_at)).filter(|late| *late > self.tolerance) else { return free_at };
        lateness.record(late);
        free_at + late
    }

    /// Takes note of how late a packet was seen; at the end of a row the shaper's own lateness.
    fn late(&mut self, late: Nanos) -> Option<Nanos> {
        self.least = if self.seen == 0 { late } else { self.least.min(late) };
        self.seen = (self.seen + 1) % Self::ROW;
        (self.seen == 0).then_some(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet that is read late was not let go late; sixteen in a row were.
    #[test]
    fn the_transmitter_follows_a_shaper_that_is_late_and_no_reader_that_is() {
        let ms = Nanos::from_millis;
        let mut lateness = Histogram::default();
        let mut lag = ShaperLag::new(TOLERANCE);
        let mut ready = |late: u64| lag.ready(ms(100 + late), ms(100), &mut lateness);
        let once: Vec<_> = (0..16).map(|n| ready(if n == 7 { 5 } else { 0 })).collect();
        assert_eq!(once, [ms(100); 16]);
        let always: Vec<_> = (0..16).map(|_| ready(3)).collect();
        assert_eq!((always[..15] == [ms(100); 15], always[15]), (true, ms(103)));
    }
}
