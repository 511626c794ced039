//! A set of segment numbers inside a window that moves up, as bits in a ring.
//!
//! Above the bits are summaries, with one bit for each non-empty word below. They find the next member in a few steps
//! at any distance. So recovery from a large window's losses costs the same as from a small one's.

/// Levels of summaries above the bits, which find one of 64^3 segments without a walk.
const LEVELS: usize = 3;
const WORD: usize = 64;

/// A set of segment numbers, which lie within `capacity` of each other. The owner clears numbers that leave the window.
#[derive(Clone, Debug)]
pub struct SegmentSet {
    /// The bits, then their summary, then the summary of that.
    words: Box<[u64]>,
    /// The index in `words` at which each level ends.
    ends: [u32; LEVELS],
    mask: u32,
    len: u32,
}

impl SegmentSet {
    /// An empty set for windows of up to `capacity` segments, a power of two.
    pub fn new(capacity: u32) -> SegmentSet {
        debug_assert!(capacity.is_power_of_two());
        let (mut size, mut end) = (capacity, 0);
        let ends = std::array::from_fn(|_| {
            size = size.div_ceil(WORD as u32);
            end += size;
            end
        });
        SegmentSet { words: vec![0; end as usize].into(), ends, mask: capacity - 1, len: 0 }
    }

    /// A set of all the numbers that a window of `capacity` segments can hold.
    pub fn full(capacity: u32) -> SegmentSet {
        let mut set = SegmentSet::new(capacity);
        (0..capacity).for_each(|segment| set.insert(segment));
        set
    }

    #[inline]
    fn level(&self, height: usize) -> &[u64] {
        let start = if height == 0 { 0 } else { self.ends[height - 1] };
        &self.words[start as usize..self.ends[height] as usize]
    }

    #[inline]
    fn word_mut(&mut self, height: usize, word: usize) -> &mut u64 {
        let start = if height == 0 { 0 } else { self.ends[height - 1] as usize };
        &mut self.words[start + word]
    }

    /// The number of members.
    pub fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn position(&self, segment: u32) -> usize {
        (segment & self.mask) as usize
    }

    #[inline]
    pub fn contains(&self, segment: u32) -> bool {
        let p = self.position(segment);
        self.words[p / WORD] >> (p % WORD) & 1 == 1
    }

    #[inline]
    pub fn insert(&mut self, segment: u32) {
        let mut p = self.position(segment);
        if self.contains(segment) {
            return;
        }
        self.len += 1;
        for height in 0..LEVELS {
            let word = self.word_mut(height, p / WORD);
            let was_empty = *word == 0;
            *word |= 1 << (p % WORD);
            if !was_empty {
                break;
            }
            p /= WORD;
        }
    }

    #[inline]
    pub fn remove(&mut self, segment: u32) {
        let mut p = self.position(segment);
        if !self.contains(segment) {
            return;
        }
        self.len -= 1;
        for height in 0..LEVELS {
            let word = self.word_mut(height, p / WORD);
            *word &= !(1 << (p % WORD));
            if *word != 0 {
                break;
            }
            p /= WORD;
        }
    }

    /// The lowest member in `from..to`; the range must lie within the window.
    #[inline]
    pub fn first_in(&self, from: u32, to: u32) -> Option<u32> {
        if self.len == 0 || from >= to {
            return None;
        }
        let start = self.position(from);
        let wrapped = self.mask as usize + 1;
        let found = match self.first_at_or_after(start) {
            Some(p) => p - start,
            None => self.first_at_or_after(0)? + wrapped - start,
        };
        let segment = from + found as u32;
        (segment < to).then_some(segment)
    }

    /// The lowest position from `p` on that holds a member, without wrapping.
    #[inline]
    fn first_at_or_after(&self, mut p: usize) -> Option<usize> {
        for height in 0..LEVELS {
            let above = self.level(height).get(p / WORD)? & (u64::MAX << (p % WORD));
            if above != 0 {
                return Some(self.descend(height, p / WORD * WORD + above.trailing_zeros() as usize));
            }
            p = p / WORD + 1;
        }
        // Beyond the topmost summary: its words, one after the other.
        let top = self.level(LEVELS - 1);
        let word = (p..top.len()).find(|w| top[*w] != 0)?;
        Some(self.descend(LEVELS - 1, word * WORD + top[word].trailing_zeros() as usize))
    }

    /// Descends from a bit of a summary to the lowest bit that it stands for.
    #[inline]
    fn descend(&self, height: usize, mut p: usize) -> usize {
        for lower in (0..height).rev() {
            p = p * WORD + self.level(lower)[p].trailing_zeros() as usize;
        }
        p
    }

    /// Copies the members, which lie in `low..high`, to a set with room for a window of `capacity`.
    pub fn grown(&self, capacity: u32, low: u32, high: u32) -> SegmentSet {
        let mut larger = SegmentSet::new(capacity);
        let mut from = low;
        while let Some(segment) = self.first_in(from, high) {
            larger.insert(segment);
            from = segment + 1;
        }
        larger
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The set agrees with the standard library's ordered set over a window that straddles the ring's end.
        #[test]
        fn behaves_as_an_ordered_set(
            shift in 9u32..20,
            base in 0u32..3_000_000,
            ops in prop::collection::vec(
                (any::<bool>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..300,
            ),
        ) {
            let capacity = 1u32 << shift;
            let mut set = SegmentSet::new(capacity);
            let mut model = BTreeSet::new();
            for (insert, a, b) in ops {
                let (a, b) = (base + a.index(capacity as usize) as u32, base + b.index(capacity as usize) as u32);
                if insert { set.insert(a); model.insert(a); } else { set.remove(a); model.remove(&a); }
                prop_assert_eq!(set.len() as usize, model.len());
                prop_assert_eq!(set.contains(a), insert);
                let (low, high) = (a.min(b), a.max(b));
                prop_assert_eq!(set.first_in(low, high), model.range(low..high).next().copied());
            }
            prop_assert_eq!(SegmentSet::full(capacity).first_in(base, base + capacity), Some(base));
            let larger = set.grown(capacity * 2, base, base + capacity);
            prop_assert_eq!(larger.first_in(base, base + capacity), model.iter().next().copied());
            prop_assert_eq!(larger.len(), set.len());
        }
    }
}
