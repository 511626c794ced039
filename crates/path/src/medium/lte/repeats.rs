//! Transport blocks that will be retransmitted, and the resource blocks that they will take.

use model::radio::lte::{Harq, Tries};

/// A block that was not decoded at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The user that the block belongs to.
    pub user: usize,
    /// Resource blocks that the block takes.
    pub blocks: u32,
    /// The subframe of its last try.
    last: u64,
}

/// The blocks of one direction that wait for their next try. Each is repeated eight subframes later
/// in the same resource blocks, so the repeats of a subframe always fit.
#[derive(Debug, Default)]
pub struct Repeats {
    /// Blocks by the subframe of their next try, modulo the round trip.
    processes: [Vec<Repeat>; Harq::ROUND_TRIP as usize],
}

impl Repeats {
    fn process(&mut self, subframe: u64) -> &mut Vec<Repeat> {
        &mut self.processes[(subframe % Harq::ROUND_TRIP) as usize]
    }

    /// Returns the blocks that are repeated in a subframe.
    pub fn of(&mut self, subframe: u64) -> &[Repeat] {
        let process = self.process(subframe);
        process.retain(|repeat| repeat.last >= subframe);
        process
    }

    /// Adds a block that is first sent in `subframe`, and is sent `tries.count` times in all.
    pub fn add(&mut self, subframe: u64, user: usize, blocks: u32, tries: Tries) {
        if tries.count > 1 {
            let last = subframe + Harq::ROUND_TRIP * u64::from(tries.count - 1);
            self.process(subframe).push(Repeat { user, blocks, last });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_every_eight_subframes() {
        let mut repeats = Repeats::default();
        repeats.add(3, 1, 40, Tries { count: 3, lost: false });
        repeats.add(3, 2, 60, Tries { count: 1, lost: false });
        let mut again =
            |subframe| repeats.of(subframe).iter().map(|repeat| (repeat.user, repeat.blocks)).collect::<Vec<_>>();
        assert_eq!([4, 11, 12, 19, 27].map(&mut again), [vec![], vec![(1, 40)], vec![], vec![(1, 40)], vec![]]);
    }
}
