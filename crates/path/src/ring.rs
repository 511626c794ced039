//! A queue for items that come and go by the million.

/// A first-in-first-out queue in a ring of a power of two. A mask finds a place, where a ring of
/// any other size has to compare.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// The slots: none before the first push, then a power of two. Most of the thousands of rings
    /// of a fair queue stay empty.
    slots: Box<[T]>,
    /// Number of pushes so far; `popped` counts the pops.
    pushed: usize,
    popped: usize,
}

const FIRST_SLOTS: usize = 4;

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { slots: Box::default(), pushed: 0, popped: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Returns the slot of the push or pop with this number. The compiler knows that it exists.
    #[inline]
    fn slot(&self, number: usize) -> usize {
        number & (self.slots.len() - 1)
    }

    /// Returns the number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.pushed.wrapping_sub(self.popped)
    }

    /// Reports whether the ring is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pushed == self.popped
    }

    /// Appends an item.
    #[inline]
    pub fn push(&mut self, value: T) {
        // It grows at most once, but after a loop the compiler knows that slots exist, and does not
        // check it.
        while self.len() >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.pushed);
        self.slots[slot] = value;
        self.pushed = self.pushed.wrapping_add(1);
    }

    /// Inserts an item before the items at the end that are `later`.
    pub fn insert(&mut self, value: T, later: impl Fn(&T) -> bool) {
        self.push(value);
        let mut place = self.pushed.wrapping_sub(1);
        while place != self.popped {
            let (before, here) = (self.slot(place.wrapping_sub(1)), self.slot(place));
            if !later(&self.slots[before]) {
                break;
            }
            self.slots.swap(before, here);
            place = place.wrapping_sub(1);
        }
    }

    /// Doubles the capacity of a full ring.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let capacity = (2 * self.slots.len()).max(FIRST_SLOTS);
        let mut slots = Vec::with_capacity(capacity);
        slots.extend(self.iter());
        slots.resize(capacity, T::default());
        (self.popped, self.pushed) = (0, self.len());
        self.slots = slots.into();
    }

    /// Returns the oldest item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| &self.slots[self.slot(self.popped)])
    }

    /// Takes the oldest item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.popped = self.popped.wrapping_add(1);
        Some(first)
    }

    /// Takes the oldest item of a ring that is known not to be empty, which saves a check for every
    /// packet.
    #[inline]
    pub fn pop_known(&mut self) -> T {
        debug_assert!(!self.is_empty(), "nothing to take");
        let first = self.slots[self.slot(self.popped)];
        self.popped = self.popped.wrapping_add(1);
        first
    }

    /// Iterates over all items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|n| &self.slots[self.slot(self.popped.wrapping_add(n))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Compares the ring with a queue of the standard library.
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

        /// Items are sorted, and equal ones are in the order of their insertion.
        #[test]
        fn what_is_inserted_is_in_its_place(
            steps in prop::collection::vec(prop::option::weighted(0.7, 0u8..20), 0..200),
        ) {
            let mut ring = Ring::default();
            let mut model: Vec<(u8, usize)> = vec![];
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Some(value) => {
                        ring.insert((value, number), |(other, _)| *other > value);
                        model.push((value, number));
                        model.sort();
                    }
                    None => prop_assert_eq!(ring.pop(), (!model.is_empty()).then(|| model.remove(0))),
                }
                prop_assert!(ring.iter().eq(model.iter()));
            }
        }
    }
}
