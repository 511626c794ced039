//! A queue for what comes and goes by the million.

/// First in, first out, in a ring of a power of two: a place is found by a mask, where a ring of any size has to
/// compare.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// None before the first push, then a power of two of them: of the thousands that a fair queue has most stay empty.
    slots: Box<[T]>,
    /// Pushes and pops so far.
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
    /// The slot of the push or pop of this number. The compiler knows that it is there.
    #[inline]
    fn slot(&self, number: usize) -> usize {
        number & (self.slots.len() - 1)
    }

    /// How many it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.pushed.wrapping_sub(self.popped)
    }

    /// Holds it nothing?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pushed == self.popped
    }

    /// Puts one in at the end.
    #[inline]
    pub fn push(&mut self, value: T) {
        // It grows once at most, but behind a loop the compiler knows that there are slots, and does not check it.
        while self.len() >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.pushed);
        self.slots[slot] = value;
        self.pushed = self.pushed.wrapping_add(1);
    }

    /// Puts one in before those at the end that are `later`.
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

    /// Doubles a full ring.
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

    /// The one that went in first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| &self.slots[self.slot(self.popped)])
    }

    /// Takes the one that went in first.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.popped = self.popped.wrapping_add(1);
        Some(first)
    }

    /// The same for a caller who knows that there is one, so that this is not asked for every packet.
    #[inline]
    pub fn pop_known(&mut self) -> T {
        debug_assert!(!self.is_empty(), "nothing to take");
        let first = self.slots[self.slot(self.popped)];
        self.popped = self.popped.wrapping_add(1);
        first
    }

    /// All of them, the first first.
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

        /// Sorted, and equal ones in the order in which they came.
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
