//! Segments that the receiver holds above the next in order, and the SACK blocks that report them.

use crate::packet::{Block, MAX_SACK_BLOCKS};
use crate::segment_set::SegmentSet;

/// Number of SACK blocks that is rarely exceeded (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;
const FIRST_CAPACITY: u32 = 64;

/// The segments that arrived above the next in order.
pub struct OutOfOrder {
    received: SegmentSet,
    capacity: u32,
    /// One above the highest segment received.
    top: u32,
    /// SACK blocks, of which the one that changed last is first.
    pub blocks: [Block; MAX_SACK_BLOCKS],
    pub block_count: usize,
    /// Bytes by which the last segment of a transfer, if it waits here, is shorter than a full one.
    pub short_by: u64,
}

impl OutOfOrder {
    pub fn new() -> OutOfOrder {
        OutOfOrder {
            received: SegmentSet::new(FIRST_CAPACITY),
            capacity: FIRST_CAPACITY,
            top: 0,
            blocks: [Block::default(); MAX_SACK_BLOCKS],
            block_count: 0,
            short_by: 0,
        }
    }

    /// Reports whether a segment has arrived. Segments at or above `top` have not, whatever their bit in the ring is.
    pub fn holds(&self, segment: u32) -> bool {
        segment < self.top && self.received.contains(segment)
    }

    /// Reports whether `segment` touches neither of the two blocks that changed last (`TCP_SACK_BLOCKS_EXPECTED`).
    pub fn strays(&self, segment: u32) -> bool {
        let segment = block_of(segment);
        let recent = &self.blocks[..self.block_count.min(BLOCKS_EXPECTED)];
        self.block_count >= BLOCKS_EXPECTED && !recent.iter().any(|block| touch(block, &segment))
    }

    /// Extends the block that `segment` touches, and leaves it at its place in the order. `tcp_sack_new_ofo_skb`
    /// flushes the acknowledgement between these two steps.
    pub fn extend_in_place(&mut self, segment: u32) {
        let segment = block_of(segment);
        if let Some(block) = self.blocks[..self.block_count].iter_mut().find(|block| touch(block, &segment)) {
            *block = union(block, &segment);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of segments held.
    pub fn len(&self) -> u32 {
        self.received.len()
    }

    /// Adds a segment above `next`.
    pub fn add(&mut self, segment: u32, next: u32) {
        while segment - next >= self.capacity {
            self.received = self.received.grown(self.capacity * 2, next, self.top.max(next));
            self.capacity *= 2;
        }
        self.received.insert(segment);
        self.top = self.top.max(segment + 1);
    }

    /// Updates the SACK blocks after `segment` has come, even for the second time. The block that holds it becomes the
    /// first (RFC 2018, section 4; RFC 2883, section 4). If that block has been forgotten, the new one contains the
    /// segment alone.
    pub fn report_first(&mut self, segment: u32) {
        let mut merged = block_of(segment);
        let mut kept = 0;
        for i in 0..self.block_count {
            let block = self.blocks[i];
            if touch(&block, &merged) {
                merged = union(&block, &merged);
            } else {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.block_count = (kept + 1).min(MAX_SACK_BLOCKS);
        self.blocks.copy_within(0..self.block_count - 1, 1);
        self.blocks[0] = merged;
    }

    /// Removes the run of segments that starts at `next`, and returns the segment after it.
    pub fn advance(&mut self, mut next: u32) -> u32 {
        while next < self.top && self.received.contains(next) {
            self.received.remove(next);
            next += 1;
        }
        let mut kept = 0;
        for i in 0..self.block_count {
            if self.blocks[i].start >= next {
                self.blocks[kept] = self.blocks[i];
                kept += 1;
            }
        }
        self.block_count = kept;
        next
    }
}

fn block_of(segment: u32) -> Block {
    Block { start: segment, end: segment + 1 }
}

/// Reports whether two blocks overlap, or one begins where the other ends.
fn touch(a: &Block, b: &Block) -> bool {
    a.start <= b.end && b.start <= a.end
}

fn union(a: &Block, b: &Block) -> Block {
    Block { start: a.start.min(b.start), end: a.end.max(b.end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state after these segments have come in this order.
    fn after(segments: impl IntoIterator<Item = u32>) -> OutOfOrder {
        let mut waiting = OutOfOrder::new();
        for segment in segments {
            waiting.add(segment, 0);
            waiting.report_first(segment);
        }
        waiting
    }

    fn blocks(of: &OutOfOrder) -> Vec<(u32, u32)> {
        of.blocks[..of.block_count].iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn a_segment_joins_the_blocks_on_both_sides_of_it() {
        assert_eq!(blocks(&after([2, 9, 4, 3])), [(2, 5), (9, 10)]);
    }

    /// A segment whose block was forgotten, because only four blocks fit, arrives again.
    #[test]
    fn a_segment_that_comes_again_is_reported_though_its_block_was_forgotten() {
        let mut waiting = after([2, 3, 10, 20, 30, 40]);
        assert_eq!(blocks(&waiting), [(40, 41), (30, 31), (20, 21), (10, 11)]);
        assert!(waiting.holds(3) && waiting.strays(3));
        waiting.report_first(3);
        assert_eq!(blocks(&waiting), [(3, 4), (40, 41), (30, 31), (20, 21)]);
    }

    #[test]
    fn the_block_of_a_segment_that_comes_again_goes_first() {
        let mut waiting = after([2, 3, 4, 10, 20]);
        assert!(!waiting.strays(10) && waiting.strays(3));
        waiting.report_first(3);
        assert_eq!(blocks(&waiting), [(2, 5), (20, 21), (10, 11)]);
    }

    /// A kernel's receiver showed the same: the third block has grown before the acknowledgement is flushed, and
    /// becomes the first afterwards.
    #[test]
    fn the_flushed_acknowledgement_shows_a_block_that_has_grown_in_its_place() {
        let mut waiting = after([10, 20, 30]);
        waiting.extend_in_place(9);
        assert_eq!(blocks(&waiting), [(30, 31), (20, 21), (9, 11)]);
        waiting.report_first(9);
        assert_eq!(blocks(&waiting), [(9, 11), (30, 31), (20, 21)]);
    }
}
