//! What the receiver holds above the next segment in order, and the SACK blocks that say so.

use crate::bits::SegmentSet;
use crate::packet::{Block, MAX_SACK_BLOCKS};

/// More SACK blocks than this are rare.
const BLOCKS_EXPECTED: usize = 2;
const FIRST_CAPACITY: u32 = 64;

/// What arrived above the next segment in order.
pub struct OutOfOrder {
    received: SegmentSet,
    capacity: u32,
    /// One above the highest segment received.
    top: u32,
    /// SACK blocks, the one that changed last first.
    pub blocks: [Block; MAX_SACK_BLOCKS],
    pub block_count: usize,
    /// Payload that the last segment of a transfer, if it waits here, lacks to a full one: it leaves when all have
    /// left.
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

    /// Segments at or above `top` have not arrived, wherever their bit would stand.
    pub fn holds(&self, segment: u32) -> bool {
        segment < self.top && self.received.contains(segment)
    }

    /// True if `segment` touches neither of the two blocks that changed last (`TCP_SACK_BLOCKS_EXPECTED`).
    pub fn strays(&self, segment: u32) -> bool {
        let recent = &self.blocks[..self.block_count.min(BLOCKS_EXPECTED)];
        self.block_count >= BLOCKS_EXPECTED && !recent.iter().any(|b| b.end == segment || segment + 1 == b.start)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Segments held.
    pub fn len(&self) -> u32 {
        self.received.len()
    }

    /// Adds a segment above `next`, and brings the SACK blocks up to date: the block that holds it goes first (RFC
    /// 2018, section 4).
    pub fn add(&mut self, segment: u32, next: u32) {
        while segment - next >= self.capacity {
            self.received = self.received.grown(self.capacity * 2, next, self.top.max(next));
            self.capacity *= 2;
        }
        self.received.insert(segment);
        self.top = self.top.max(segment + 1);
        let mut merged = Block { start: segment, end: segment + 1 };
        let mut kept = 0;
        for i in 0..self.block_count {
            let block = self.blocks[i];
            if block.end == merged.start || merged.end == block.start {
                merged = Block { start: merged.start.min(block.start), end: merged.end.max(block.end) };
            } else {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.block_count = (kept + 1).min(MAX_SACK_BLOCKS);
        self.blocks.copy_within(0..self.block_count - 1, 1);
        self.blocks[0] = merged;
    }

    /// Removes the run that starts at `next`; returns the segment after it.
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
