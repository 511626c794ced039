//! The choice of the receiver to which a station transmits next.

use crate::medium::member::MemberId;
use model::units::Nanos;
use std::collections::VecDeque;

/// Air time that each turn gives a receiver, in ns (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
const QUANTUM_NS: i64 = 256_000;

/// Deficit round robin over air time, as Linux's mac80211 divides it between stations
/// (`ieee80211_next_txq`, `ieee80211_txq_may_transmit`). A receiver without waiting packets leaves
/// the round.
#[derive(Debug)]
pub(super) struct Turns {
    round: VecDeque<MemberId>,
    /// Air time that each receiver has left, in nanoseconds, by the number of its member.
    deficits: Vec<i64>,
}

impl Turns {
    /// Creates the turns of `members` members of a medium.
    pub fn new(members: usize) -> Turns {
        Turns { round: VecDeque::new(), deficits: vec![QUANTUM_NS; members] }
    }

    /// Adds a receiver that has a packet waiting.
    pub fn join(&mut self, member: MemberId) {
        if !self.round.contains(&member) {
            self.round.push_back(member);
        }
    }

    /// Returns the receiver whose turn it is, among those for which `waits` holds.
    pub fn next(&mut self, waits: impl Fn(MemberId) -> bool) -> Option<MemberId> {
        self.round.retain(|member| waits(*member));
        if self.round.is_empty() {
            return None;
        }
        // Rounds in which no receiver may transmit pass at once.
        let lacks = self.round.iter().map(|member| -self.deficits[*member as usize]).min().unwrap_or_default();
        let rounds = if lacks > 0 { (lacks - 1) / QUANTUM_NS } else { 0 };
        for member in &self.round {
            self.deficits[*member as usize] += rounds * QUANTUM_NS;
        }
        loop {
            let first = *self.round.front()?;
            let deficit = &mut self.deficits[first as usize];
            if *deficit >= 0 {
                return Some(first);
            }
            *deficit += QUANTUM_NS;
            self.round.rotate_left(1);
        }
    }

    /// Charges a receiver for a transmission from or to it.
    pub fn charge(&mut self, member: MemberId, time: Nanos) {
        self.deficits[member as usize] -= time.0 as i64;
    }
}
