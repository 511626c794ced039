//! A queue for what comes and goes by the million.

/// First in, first out, in a ring of a power of two: a place is found by a mask, where a ring of any size has to compare.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// As many as were ever needed at once.
    slots: Vec<T>,
    /// Room for this many and one more.
    mask: usize,
    /// Pushes and pops so far.
    pushed: usize,
    popped: usize,
}

const FIRST_SLOTS: usize = 4;

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { slots: Vec::new(), mask: FIRST_SLOTS - 1, pushed: 0, popped: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// How many it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.pushed.wrapping_sub(self.popped)
    }

    /// Puts one in at the end.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len() > self.mask {
            self.grow();
        }
        // In the first round each place comes into being.
        match self.slots.get_mut(self.pushed & self.mask) {
            Some(slot) => *slot = value,
            None => self.slots.push(value),
        }
        self.pushed = self.pushed.wrapping_add(1);
    }

    /// Doubles a full ring.
    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.popped & self.mask);
        (self.popped, self.pushed) = (0, self.len());
        self.slots.reserve_exact(self.mask + 1);
        self.mask = 2 * self.mask + 1;
    }

    /// The one that went in first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        (self.len() > 0).then(|| &self.slots[self.popped & self.mask])
    }

    /// Takes the one that went in first.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.popped = self.popped.wrapping_add(1);
        Some(first)
    }

    /// All of them, the first first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|n| &self.slots[self.popped.wrapping_add(n) & self.mask])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Against the standard library's.
        #[test]
        fn behaves_as_a_queue(pushes in prop::collection::vec(prop::option::of(any::<u8>()), 0..200)) {
            let mut ring = Ring::default();
            let mut model = VecDeque::new();
            for push in pushes {
                match push {
                    Some(value) => { ring.push(value); model.push_back(value); }
                    None => prop_assert_eq!(ring.pop(), model.pop_front()),
                }
                prop_assert_eq!(ring.front(), model.front());
                prop_assert!(ring.iter().eq(model.iter()));
            }
        }
    }
}
