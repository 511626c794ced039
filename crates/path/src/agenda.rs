//! When each source of events has its next one.
//!
//! A source is an access link, a pipe or a flow's timer; only its earliest event is here, so the agenda's size is the number of sources, never
//! the number of packets.

use scenario::units::Nanos;

/// Number of a source of events.
pub type Source = u32;

/// Nodes that meet in one match.
const GROUP: usize = 4;

/// A match: the earliest of four nodes goes on. At equal times it is the first of them, which has the lowest number, so
/// that the order of events is the same on every machine.
#[derive(Clone, Copy)]
struct Match {
    times: [Nanos; GROUP],
    sources: [Source; GROUP],
}

impl Match {
    #[inline(always)]
    fn winner(&self) -> (Nanos, Source) {
        let (mut at, mut slot) = (self.times[0], 0);
        for n in 1..GROUP {
            if self.times[n] < at {
                (at, slot) = (self.times[n], n);
            }
        }
        (at, self.sources[slot])
    }
}

/// A tournament: four sources meet, the earliest goes on to meet the winners beside it, and so on up to the earliest of
/// all. A source that changes its time replays its own matches only, and stops at the first whose winner stays the
/// same.
pub struct Agenda {
    /// The winner of all, node 1.
    first: (Nanos, Source),
    /// Nodes 4n to 4n + 3 meet in match n, and its winner is node n. The final, match 1, stands first.
    matches: Vec<Match>,
    /// The node of source 0, behind which the others follow: a power of four, so that all play as many matches.
    sources_from: usize,
}

impl Agenda {
    /// Sources `0..sources`, none with an event.
    pub fn new(sources: u32) -> Agenda {
        let mut sources_from = GROUP;
        while sources_from < sources as usize {
            sources_from *= GROUP;
        }
        let last = (sources_from + (sources as usize).saturating_sub(1)) / GROUP;
        let mut matches = vec![Match { times: [Nanos::NEVER; GROUP], sources: [0; GROUP] }; last];
        for number in (1..=last).rev() {
            let source = |node: usize| match node.checked_sub(sources_from) {
                Some(source) => source as Source,
                None => matches.get(node - 1).map_or(0, |played| played.sources[0]),
            };
            matches[number - 1].sources = [0, 1, 2, 3].map(|slot| source(GROUP * number + slot));
        }
        Agenda { first: matches[0].winner(), matches, sources_from }
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> (Nanos, Source) {
        self.first
    }

    /// When `source` has its event.
    #[inline]
    pub fn at(&self, source: Source) -> Nanos {
        let node = self.sources_from + source as usize;
        self.matches[node / GROUP - 1].times[node % GROUP]
    }

    /// Sets the time of `source`.
    #[inline]
    pub fn set(&mut self, source: Source, at: Nanos) {
        self.replay::<false>(source, at);
    }

    /// Gives the source that is the first of all a later time, or none.
    #[inline(always)]
    pub fn put_first_off(&mut self, at: Nanos) {
        self.replay::<true>(self.first.1, at);
    }

    /// Replays the matches of `source`, all of them if it won them all.
    #[inline(always)]
    fn replay<const FIRST: bool>(&mut self, source: Source, at: Nanos) {
        let mut winner = (at, source);
        let mut node = self.sources_from + source as usize;
        loop {
            let slot = node % GROUP;
            node /= GROUP;
            // The winner of all meets nobody: there is no match 0.
            let Some(played) = self.matches.get_mut(node.wrapping_sub(1)) else { break };
            if !FIRST && (played.times[slot], played.sources[slot]) == winner {
                return;
            }
            (played.times[slot], played.sources[slot]) = winner;
            winner = played.winner();
        }
        self.first = winner;
    }

    /// Sets the time of `source` unless it has an earlier one: a timer that is only ever put off costs nothing until it
    /// rings.
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

    proptest! {
        /// The way of a run: the first source's event passes, and it has another one later or none.
        #[test]
        fn events_come_in_order(starts in prop::collection::vec(0u64..50, 1..90), gaps in prop::collection::vec(0u64..9, 1..99)) {
            let mut agenda = Agenda::new(starts.len() as u32);
            let mut list: Vec<_> = (0..).zip(starts).map(|(source, at)| (at, source)).collect();
            list.iter().for_each(|(at, source)| agenda.set(*source, Nanos(*at)));
            for gap in gaps {
                let earliest = list.iter_mut().min().expect("there is one");
                prop_assert_eq!(agenda.first(), (Nanos(earliest.0), earliest.1));
                earliest.0 = if gap == 0 { u64::MAX } else { earliest.0.saturating_add(gap) };
                agenda.put_first_off(Nanos(earliest.0));
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
