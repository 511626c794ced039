//! Slots in which a link delivers packets in bursts, as `slot` of tc-netem(8).
//!
//! A packet that finds no slot acquires one, and waits for it. Packets that are sent until then leave
//! in the same slot, as many as it takes; others acquire the next. The kernel's `netem_dequeue()`
//! does so too, with the time of a packet's arrival in place of its last bit.

use crate::Rng;
use model::impairments::Slot;
use model::quantity::Start;
use model::units::Nanos;

/// The slots of a channel.
pub(crate) struct Slots {
    wait: Start,
    /// Most packets of a slot.
    most: u32,
    rng: Rng,
    /// When the latest slot is.
    at: Nanos,
    /// How many packets it still takes.
    left: u32,
}

impl Slots {
    pub fn new(slot: &Slot, rng: Rng) -> Slots {
        let most = slot.most.map_or(u32::MAX, |most| most.0);
        Slots { wait: slot.wait, most, rng, at: Nanos::ZERO, left: 0 }
    }

    /// Returns the slot of a packet whose last bit is sent at `end`, which never decreases between
    /// calls.
    pub fn of(&mut self, end: Nanos) -> Nanos {
        if end > self.at || self.left == 0 {
            self.at = self.at.max(end) + self.wait.draw(&mut self.rng);
            self.left = self.most;
        }
        self.left -= 1;
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;
    use model::declare::Packets;
    use model::quantity::Between;
    use proptest::prelude::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[test]
    fn packets_share_a_slot_until_it_is_full() {
        let slot = Slot { wait: Between::only(MS(10)), most: Some(Packets(3)) };
        let mut slots = Slots::new(&slot, rng(1, 1));
        let of: Vec<_> = [5, 6, 7, 8, 14, 25, 40].map(|ms| slots.of(MS(ms))).into();
        assert_eq!(of, [15, 15, 15, 25, 25, 25, 50].map(MS));
    }

    proptest! {
        /// No packet leaves before it is sent, none overtakes another, and none waits longer than
        /// for its slot if all fit.
        #[test]
        fn slots_keep_the_order(
            gaps in prop::collection::vec(0u64..20, 1..200), from in 0u64..10, more in 0u64..10,
            most in prop::option::of(1u32..5),
        ) {
            let slot = Slot { wait: Between { from: MS(from), until: MS(from + more) }, most: most.map(Packets) };
            let (mut slots, mut end, mut latest) = (Slots::new(&slot, rng(1, 1)), Nanos::ZERO, Nanos::ZERO);
            let mut together = 0;
            for gap in gaps {
                end += MS(gap);
                let at = slots.of(end);
                prop_assert!(at >= end && at >= latest);
                prop_assert!(most.is_some() || at - end <= slot.wait.until);
                together = if at == latest { together + 1 } else { 1 };
                prop_assert!(most.is_none_or(|most| from == 0 || together <= most));
                latest = at;
            }
        }
    }
}
