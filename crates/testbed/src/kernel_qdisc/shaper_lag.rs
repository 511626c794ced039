//! Keeps a simulated transmitter in step with the kernel's shaper before it.

use crate::timing::clock::Time;
use measure::Histogram;
use model::units::{Bytes, Nanos, Rate};

/// The lateness of the shaper up to which packets count as punctual: no timer is better. A tenth of a packet's
/// transmission time counts if it is longer.
const TOLERANCE: Nanos = Nanos::from_micros(200);
const TOLERANCE_SHARE: u64 = 10;

/// Returns the lateness up to which packets count as punctual, at a rate and with packets of up to `mtu` bytes.
pub fn tolerance(rate: Rate, mtu: u32) -> Nanos {
    TOLERANCE.max(Nanos(rate.time_to_send(Bytes(mtu as u64)).0 / TOLERANCE_SHARE))
}

/// Returns how late the kernel's timers may release a packet and make up for it with the next, so that the rate is
/// right. While packets wait, the shaper is ahead of the transmitter by this time, and the discipline sees shorter
/// waits. In virtual time, where timers are late by instructions only, it is a hundredth of CoDel's target.
pub fn ahead(time: Time, tolerance: Nanos) -> Nanos {
    match time {
        Time::Real => tolerance,
        Time::Virtual => Nanos::from_micros(50),
    }
}

/// Estimates how late the shaper is compared with the transmitter. Packets may be read later than the shaper releases
/// them, so the estimate is the least lateness of several packets in a row.
pub struct ShaperLag {
    tolerance: Nanos,
    seen: u32,
    least: Nanos,
}

impl ShaperLag {
    /// The length of a row: so long that at least one of its packets is read in time.
    const ROW: u32 = 16;

    /// Starts in step with the shaper, and ignores a lateness of up to `tolerance`.
    pub fn new(tolerance: Nanos) -> ShaperLag {
        ShaperLag { tolerance, seen: 0, least: Nanos::ZERO }
    }

    /// Returns when the transmitter gets a packet that was read at `now` and could have been sent from `free_at` on.
    pub fn ready(&mut self, now: Nanos, free_at: Nanos, lateness: &mut Histogram) -> Nanos {
        let Some(late) = self.late(now.since(free_at)).filter(|late| *late > self.tolerance) else { return free_at };
        lateness.record(late);
        free_at + late
    }

    /// Notes how late a packet was read. At the end of a row it returns the lateness of the shaper.
    fn late(&mut self, late: Nanos) -> Option<Nanos> {
        self.least = if self.seen == 0 { late } else { self.least.min(late) };
        self.seen = (self.seen + 1) % Self::ROW;
        (self.seen == 0).then_some(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One packet that is read late does not mean that the shaper is late; sixteen in a row do.
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
