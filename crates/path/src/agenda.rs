//! When each source of events has its next one.
//!
//! A source is an access link, a pipe or a flow's timer; only its earliest event is here, so the agenda's size is the number of sources, never
//! the number of packets.

use scenario::units::Nanos;

/// Number of a source of events.
pub type Source = u32;

/// A source's next event as one number, the time above the source: the smaller comes first, and equal times go by source, so that the order of
/// events is the same on every machine.
type Entry = u128;

#[inline]
fn entry(at: Nanos, source: Source) -> Entry {
    (at.0 as u128) << 64 | source as u128
}

#[inline]
fn time(entry: Entry) -> Nanos {
    Nanos((entry >> 64) as u64)
}

/// A tournament: two sources meet, the earlier goes on to meet the winner beside it, and so on up to the earliest of all. A source that changes its
/// time replays its own matches only, and stops at the first whose winner stays the same.
pub struct Agenda {
    /// The winner of all.
    first: Entry,
    /// Entry 1 is that winner too; entries 2i and 2i + 1 met for place i; from `leaves` on stand the sources themselves.
    matches: Vec<Entry>,
    leaves: usize,
}

impl Agenda {
    /// Sources `0..sources`, none with an event.
    pub fn new(sources: u32) -> Agenda {
        let leaves = (sources as usize).next_power_of_two();
        let mut matches = vec![Entry::MAX; 2 * leaves];
        for (source, leaf) in (0..).zip(&mut matches[leaves..]) {
            *leaf = entry(Nanos::NEVER, source);
        }
        for place in (1..leaves).rev() {
            matches[place] = matches[2 * place];
        }
        Agenda { first: matches[1], matches, leaves }
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> (Nanos, Source) {
        (time(self.first), self.first as Source)
    }

    /// When `source` has its event.
    #[inline]
    pub fn at(&self, source: Source) -> Nanos {
        time(self.matches[self.leaves + source as usize])
    }

    /// Sets the time of `source`.
    #[inline]
    pub fn set(&mut self, source: Source, at: Nanos) {
        let mut place = self.leaves + source as usize;
        let mut winner = entry(at, source);
        while self.matches[place] != winner {
            self.matches[place] = winner;
            if place == 1 {
                self.first = winner;
                break;
            }
            winner = winner.min(self.matches[place ^ 1]);
            place /= 2;
        }
    }

    /// Sets the time of `source` unless it has an earlier one: a timer that is only ever put off costs nothing until it rings.
    #[inline]
    pub fn no_later_than(&mut self, source: Source, at: Nanos) {
        if at < self.at(source) {
            self.set(source, at);
        }
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
