//! The contention for the air: back-off of the distributed coordination function, and of EDCA with
//! one access category.
//!
//! Back-off counts slots in which the air is idle, so the cell counts them for all stations. Slot
//! number `slots` began, or will begin, at `idle_at`, when the air has been idle for its interframe
//! space. A station that wants to transmit does so at the start of the slot with the number `due`.
//! While the air is busy no slots pass and `due` stays the same: back-off is frozen. Each
//! transmission is therefore one event, however many slots lie between.
//!
//! All stations hear each other, and start their slots together. A station without an answer waits
//! as long as the stations that did not understand its frame. Their EIFS lasts until an answer
//! would have ended.

use crate::{Rng, rng};
use model::radio::ieee80211::{Slot, Standard, WINDOWS};
use model::stream;
use model::units::Nanos;

/// The contention state of a station.
struct Station {
    /// The slot in which the station's back-off ends.
    due: u64,
    /// The busy period in which the back-off was drawn.
    drawn_in: u64,
    /// Whether the station has data to transmit.
    wants: bool,
    /// The contention window: back-off is 0 to this many slots.
    window: u32,
    rng: Rng,
}

/// The contention of a cell's stations.
pub(super) struct Contention {
    stations: Vec<Station>,
    slot: Nanos,
    slots: u64,
    idle_at: Nanos,
    /// Number of busy periods so far.
    busy_periods: u64,
    /// Slots that a transmission takes off the back-off of other stations when it starts. Under DCF
    /// that is 0, because a slot counts when it has passed idle (IEEE 802.11-2016, 10.3.4.3). Under
    /// EDCA it is 1, since back-off is counted down where a slot begins (10.22.2.4).
    counts_busy: u64,
    next: Nanos,
}

impl Contention {
    /// Creates the contention of `stations` stations. `purpose` selects the random stream of the
    /// cell's draws.
    pub fn new(standard: Standard, slot: Slot, stations: usize, seed: u64, purpose: u64) -> Contention {
        let station = |number: u64| Station {
            due: 0,
            drawn_in: 0,
            wants: false,
            window: WINDOWS.0,
            rng: rng(seed, stream::WIFI_BACK_OFF + (purpose << 16) + number),
        };
        Contention {
            stations: (0..stations as u64).map(station).collect(),
            slot: slot.time(),
            slots: 0,
            // The air has been idle for long.
            idle_at: Nanos::ZERO,
            busy_periods: 1,
            counts_busy: (standard == Standard::N) as u64,
            next: Nanos::NEVER,
        }
    }

    /// Returns when the next transmission starts, of all stations that are
    /// [`due`](Contention::is_due) then.
    pub fn next(&self) -> Nanos {
        self.next
    }

    fn find_next(&mut self) {
        let due = self.stations.iter().filter(|station| station.wants).map(|station| station.due).min();
        self.next = due.map_or(Nanos::NEVER, |due| self.idle_at + Nanos(self.slot.0 * (due - self.slots)));
    }

    /// Reports whether a station transmits at `now`, when the next transmission starts.
    pub fn is_due(&self, station: usize, now: Nanos) -> bool {
        let Station { due, wants, .. } = self.stations[station];
        wants && self.idle_at + Nanos(self.slot.0 * (due - self.slots)) == now
    }

    /// Notes that a station has data to transmit from `now` on. If its back-off is over and the air
    /// is idle, it transmits in the next slot. If its back-off is over and the air is busy, it
    /// draws a new back-off.
    pub fn wants(&mut self, station: usize, now: Nanos) {
        let (slots, busy_period) = (self.slots, self.busy_periods);
        let is_busy = now < self.idle_at;
        let one = &mut self.stations[station];
        if one.wants {
            return;
        }
        one.wants = true;
        if is_busy {
            let is_over = one.due < slots || one.due == slots && one.drawn_in < busy_period;
            if is_over {
                self.draw(station);
            }
        } else {
            one.due = one.due.max(slots + (now - self.idle_at).0.div_ceil(self.slot.0));
        }
        self.find_next();
    }

    /// Notes that a station has no data to transmit after all.
    pub fn wants_nothing(&mut self, station: usize) {
        self.stations[station].wants = false;
        self.find_next();
    }

    fn draw(&mut self, station: usize) {
        let Contention { slots, busy_periods, .. } = *self;
        let station = &mut self.stations[station];
        station.due = slots + model::up_to(station.window.into(), &mut station.rng);
        station.drawn_in = busy_periods;
    }

    /// Starts a busy period at `now`, at the beginning of the slot in which stations transmit. They
    /// then draw their next back-off with [`draw_after`](Contention::draw_after), and
    /// [`ends_at`](Contention::ends_at) sets the end of the period.
    pub fn starts(&mut self, now: Nanos) {
        self.slots += (now - self.idle_at).0 / self.slot.0 + self.counts_busy;
        self.busy_periods += 1;
    }

    /// Draws the next back-off of a station that transmits. After success, or when it gives up, the
    /// window is the smallest; after failure it doubles. `wants` says whether the station will
    /// transmit again.
    pub fn draw_after(&mut self, station: usize, failed: bool, wants: bool) {
        let one = &mut self.stations[station];
        one.window = if failed { (2 * one.window + 1).min(WINDOWS.1) } else { WINDOWS.0 };
        one.wants = wants;
        self.draw(station);
    }

    /// Counts slots again from `idle_at` on, an interframe space after the end of the transmission.
    pub fn ends_at(&mut self, idle_at: Nanos) {
        self.idle_at = idle_at;
        self.find_next();
    }
}
