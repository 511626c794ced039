//! When each source of events has its next one.
//!
//! A source is an access link, a pipe or a flow's timer; only its earliest event is here, so the queue's size is the
//! number of sources, never the number of packets.

use scenario::units::Nanos;

/// Number of a source of events.
pub type EventSource = u32;

/// Players that meet in one match.
const GROUP: usize = 4;

/// The earliest of four times, and its place among them. At equal times it is the first of them, which has the lowest
/// number, so that the order of events is the same on every machine.
#[inline(always)]
#[expect(
    clippy::needless_range_loop,
    reason = "the place is wanted as well, and an iterator that skips says it less plainly"
)]
fn earliest(times: &[Nanos; GROUP]) -> (Nanos, usize) {
    let (mut at, mut slot) = (times[0], 0);
    for n in 1..GROUP {
        if times[n] < at {
            (at, slot) = (times[n], n);
        }
    }
    (at, slot)
}

/// A match of the winners of others: the earliest of four goes on.
#[derive(Clone, Copy)]
struct Match {
    times: [Nanos; GROUP],
    sources: [EventSource; GROUP],
}

impl Match {
    /// One of players who have no event, of which each stands for the first of as many sources.
    fn new(sources_each: usize, first_player: usize) -> Match {
        let sources = std::array::from_fn(|slot| (sources_each * (first_player + slot)) as EventSource);
        Match { times: [Nanos::NEVER; GROUP], sources }
    }

    /// Puts the winner of another match into its place in this one. Gives who wins now; none if that place is as it
    /// was, which is not asked of the `FIRST` of all: its time, which stood in all of its matches, has changed.
    #[inline(always)]
    fn replay<const FIRST: bool>(&mut self, slot: usize, player: (Nanos, EventSource)) -> Option<(Nanos, EventSource)> {
        if !FIRST && (self.times[slot], self.sources[slot]) == player {
            return None;
        }
        (self.times[slot], self.sources[slot]) = player;
        let (at, slot) = earliest(&self.times);
        Some((at, self.sources[slot]))
    }
}

/// A tournament: four sources meet, the earliest goes on to meet the winners beside it, and so on up to the earliest of
/// all. A source that changes its time replays its own matches only, and stops at the first whose winner stays the
/// same.
///
/// The first round and the last are apart from those between, of which most networks have none: up to sixteen sources
/// take two matches at places that are known.
pub struct EventQueue {
    /// The winner of all.
    first: (Nanos, EventSource),
    /// The round of all sources: 4n to 4n + 3 meet in match n, and who they are follows from their places.
    opening: Vec<[Nanos; GROUP]>,
    /// The rounds behind it: the winners of matches 4n to 4n + 3 of the round before meet in match n.
    between: Vec<Vec<Match>>,
    /// The match of the last four winners, which is not played if there is just one.
    last: Match,
}

impl EventQueue {
    /// Sources `0..sources`, none with an event.
    pub fn new(sources: u32) -> EventQueue {
        let opening = vec![[Nanos::NEVER; GROUP]; (sources as usize).div_ceil(GROUP).max(1)];
        let (mut players, mut sources_each) = (opening.len(), GROUP);
        let mut between = vec![];
        while players > GROUP {
            players = players.div_ceil(GROUP);
            between.push((0..players).map(|number| Match::new(sources_each, GROUP * number)).collect());
            sources_each *= GROUP;
        }
        EventQueue { first: (Nanos::NEVER, 0), opening, between, last: Match::new(sources_each, 0) }
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> (Nanos, EventSource) {
        self.first
    }

    /// When `source` has its event.
    #[inline]
    pub fn at(&self, source: EventSource) -> Nanos {
        let source = source as usize;
        self.opening[source / GROUP][source % GROUP]
    }

    /// Sets the time of `source`.
    #[inline]
    pub fn set(&mut self, source: EventSource, at: Nanos) {
        self.replay::<false>(source, at);
    }

    /// Gives the source that is the first of all a later time, or none.
    #[inline(always)]
    pub fn put_first_off(&mut self, at: Nanos) {
        self.replay::<true>(self.first.1, at);
    }

    /// Replays the matches of `source`, all of them if it won them all.
    #[inline(always)]
    fn replay<const FIRST: bool>(&mut self, source: EventSource, at: Nanos) {
        let mut number = source as usize / GROUP;
        let opening = &mut self.opening[number];
        opening[source as usize % GROUP] = at;
        let (at, slot) = earliest(opening);
        let mut winner = (at, (GROUP * number + slot) as EventSource);
        if self.opening.len() > 1 {
            for round in &mut self.between {
                let slot = number % GROUP;
                number /= GROUP;
                let Some(next) = round[number].replay::<FIRST>(slot, winner) else { return };
                winner = next;
            }
            let Some(first) = self.last.replay::<FIRST>(number % GROUP, winner) else { return };
            winner = first;
        }
        self.first = winner;
    }

    /// Sets the time of `source` unless it has an earlier one: a timer that is only ever put off costs nothing until it
    /// rings.
    #[inline]
    pub fn no_later_than(&mut self, source: EventSource, at: Nanos) {
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
        fn the_first_is_the_earliest(
            sources in 1usize..90,
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0u64..50), 1..200),
        ) {
            let mut queue = EventQueue::new(sources as u32);
            let mut list = vec![u64::MAX; sources];
            for (source, at) in changes {
                let source = source.index(sources);
                queue.set(source as u32, Nanos(at));
                list[source] = at;
                let expected = list.iter().enumerate().map(|(s, t)| (Nanos(*t), s as u32)).min().unwrap();
                prop_assert_eq!(queue.first(), expected);
            }
        }
    }

    proptest! {
        /// The way of a run: the first source's event passes, and it has another one later or none.
        #[test]
        fn events_come_in_order(
            starts in prop::collection::vec(0u64..50, 1..90),
            gaps in prop::collection::vec(0u64..9, 1..99),
        ) {
            let mut queue = EventQueue::new(starts.len() as u32);
            let mut list: Vec<_> = (0..).zip(starts).map(|(source, at)| (at, source)).collect();
            list.iter().for_each(|(at, source)| queue.set(*source, Nanos(*at)));
            for gap in gaps {
                let earliest = list.iter_mut().min().expect("there is one");
                prop_assert_eq!(queue.first(), (Nanos(earliest.0), earliest.1));
                earliest.0 = if gap == 0 { u64::MAX } else { earliest.0.saturating_add(gap) };
                queue.put_first_off(Nanos(earliest.0));
            }
        }
    }

    #[test]
    fn putting_off_does_not_move_an_earlier_event() {
        let mut queue = EventQueue::new(2);
        queue.no_later_than(1, Nanos(10));
        queue.no_later_than(1, Nanos(20));
        assert_eq!(queue.first(), (Nanos(10), 1));
    }
}
