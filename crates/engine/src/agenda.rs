//! When each source of events has its next one.
//!
//! A source is a link, a pipe or a flow's timer; only its earliest event is here, so the agenda's size is the number of sources, never
//! the number of packets.

use scenario::units::Nanos;

/// Number of a source of events.
pub type Source = u32;

/// A heap with four children a node: shallow, and a node's children share a cache line.
const ARITY: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Nanos,
    source: Source,
}

impl Entry {
    /// Equal times go by source, so that the order of events is the same on every machine.
    #[inline]
    fn before(&self, other: &Entry) -> bool {
        (self.at, self.source) < (other.at, other.source)
    }
}

/// An indexed heap: the earliest source on top, any source's time changeable in place.
pub struct Agenda {
    heap: Vec<Entry>,
    /// Where in the heap a source stands.
    place: Vec<u32>,
}

impl Agenda {
    /// Sources `0..sources`, none with an event.
    pub fn new(sources: u32) -> Agenda {
        Agenda {
            heap: (0..sources).map(|source| Entry { at: Nanos::NEVER, source }).collect(),
            place: (0..sources).collect(),
        }
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> (Nanos, Source) {
        let top = &self.heap[0];
        (top.at, top.source)
    }

    /// When `source` has its event.
    #[inline]
    pub fn at(&self, source: Source) -> Nanos {
        self.heap[self.place[source as usize] as usize].at
    }

    /// Sets the time of `source`.
    #[inline]
    pub fn set(&mut self, source: Source, at: Nanos) {
        let index = self.place[source as usize] as usize;
        let old = self.heap[index].at;
        if at == old {
            return;
        }
        self.heap[index].at = at;
        if at < old { self.up(index) } else { self.down(index) }
    }

    /// Sets the time of `source` unless it has an earlier one: a timer that is only ever put off costs nothing until it rings.
    #[inline]
    pub fn no_later_than(&mut self, source: Source, at: Nanos) {
        if at < self.at(source) {
            self.set(source, at);
        }
    }

    fn up(&mut self, mut index: usize) {
        let entry = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / ARITY;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.put(index, self.heap[parent]);
            index = parent;
        }
        self.put(index, entry);
    }

    fn down(&mut self, mut index: usize) {
        let entry = self.heap[index];
        loop {
            let first = index * ARITY + 1;
            let Some(children) = self.heap.get(first..self.heap.len().min(first + ARITY)) else {
                break;
            };
            let Some((offset, least)) = children.iter().enumerate().reduce(|a, b| if b.1.before(a.1) { b } else { a })
            else {
                break;
            };
            if !least.before(&entry) {
                break;
            }
            let least = *least;
            self.put(index, least);
            index = first + offset;
        }
        self.put(index, entry);
    }

    #[inline]
    fn put(&mut self, index: usize, entry: Entry) {
        self.heap[index] = entry;
        self.place[entry.source as usize] = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the obvious: a list searched from end to end.
        #[test]
        fn the_first_is_the_earliest(changes in prop::collection::vec((0u32..23, 0u64..50), 1..200)) {
            let mut agenda = Agenda::new(23);
            let mut list = [u64::MAX; 23];
            for (source, at) in changes {
                agenda.set(source, Nanos(at));
                list[source as usize] = at;
                let expected = list.iter().enumerate().map(|(s, t)| (Nanos(*t), s as u32)).min().unwrap();
                prop_assert_eq!(agenda.first(), expected);
            }
        }
    }

    #[test]
    fn putting_off_does_not_move_an_earlier_event() {
        let mut agenda = Agenda::new(2);
        agenda.no_later_than(1, Nanos(10));
        agenda.no_later_than(1, Nanos(20));
        assert_eq!(agenda.first(), (Nanos(10), 1));
    }
}
