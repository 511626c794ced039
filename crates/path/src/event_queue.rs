//! A queue with the next event of each source.
//!
//! A source is an access link, a pipe or a flow's timer. The queue contains only the earliest event
//! of each source, so its size is the number of sources, never the number of packets.

use model::units::Nanos;

/// Number of a source of events.
pub type EventSource = u32;

/// Number of players in one match.
const GROUP: usize = 4;

/// Returns the earliest of four times, and its place among them. Of equal times it takes the one
/// with the lowest number, so that the order of events is the same on every machine.
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

/// A match between the winners of four other matches; the earliest of them wins.
#[derive(Clone, Copy)]
struct Match {
    times: [Nanos; GROUP],
    sources: [EventSource; GROUP],
}

impl Match {
    /// Creates a match between players without an event. Each player represents the first of
    /// `sources_each` sources.
    fn new(sources_each: usize, first_player: usize) -> Match {
        let sources = std::array::from_fn(|slot| (sources_each * (first_player + slot)) as EventSource);
        Match { times: [Nanos::NEVER; GROUP], sources }
    }

    /// Puts the winner of another match into its place in this one, and returns who wins now.
    /// Returns none if that place did not change; the check is skipped for the `FIRST` of all,
    /// whose time always changed.
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

/// The time of the next event of each source.
///
/// Sources numbered below `FAVOURITES` have most of the events. They take no part in the
/// tournament: the queue compares their times with its winner.
pub struct EventQueue<const FAVOURITES: usize = 0> {
    favourites: [Nanos; FAVOURITES],
    /// The earliest event of the sources that are not favourites.
    winner: (Nanos, EventSource),
    /// Tournament of the sources that are not favourites, numbered from 0.
    others: Tournament,
}

impl<const FAVOURITES: usize> EventQueue<FAVOURITES> {
    /// Creates the queue of sources `0..sources`, none with an event.
    pub fn new(sources: u32) -> EventQueue<FAVOURITES> {
        let others = Tournament::new(sources.saturating_sub(FAVOURITES as u32));
        EventQueue { favourites: [Nanos::NEVER; FAVOURITES], winner: (Nanos::NEVER, FAVOURITES as EventSource), others }
    }

    /// Returns the time and the source of the earliest event.
    #[inline(always)]
    pub fn first(&self) -> (Nanos, EventSource) {
        let favourite = self.favourites.iter().fold(Nanos::NEVER, |earliest, at| earliest.min(*at));
        if FAVOURITES == 0 || self.winner.0 < favourite {
            return self.winner;
        }
        let source = self.favourites.iter().position(|at| *at == favourite);
        (favourite, source.unwrap_or(0) as EventSource)
    }

    /// Returns the time of the earliest event, disregarding `source` if it is a favourite.
    pub fn first_without(&self, source: EventSource) -> Nanos {
        let favourites = (0..).zip(self.favourites).filter(|(favourite, _)| *favourite != source);
        favourites.map(|(_, at)| at).fold(self.winner.0, Nanos::min)
    }

    /// Returns the time of the next event of `source`.
    #[inline]
    pub fn at(&self, source: EventSource) -> Nanos {
        match self.favourites.get(source as usize) {
            Some(at) => *at,
            None => self.others.at(source - FAVOURITES as EventSource),
        }
    }

    /// Sets the time of the next event of `source`.
    #[inline]
    pub fn set(&mut self, source: EventSource, at: Nanos) {
        match self.favourites.get_mut(source as usize) {
            Some(favourite) => *favourite = at,
            None => self.replay::<false>(source, at),
        }
    }

    /// Sets a later time, or `Nanos::NEVER`, for `source`, which has the earliest event of all.
    #[inline(always)]
    pub fn put_first_off(&mut self, source: EventSource, at: Nanos) {
        match self.favourites.get_mut(source as usize) {
            Some(favourite) => *favourite = at,
            None => self.replay::<true>(source, at),
        }
    }

    #[inline(always)]
    fn replay<const FIRST: bool>(&mut self, source: EventSource, at: Nanos) {
        if let Some((at, source)) = self.others.replay::<FIRST>(source - FAVOURITES as EventSource, at) {
            self.winner = (at, source + FAVOURITES as EventSource);
        }
    }

    /// Sets the time of `source` unless it already has an earlier one. A timer that is only ever
    /// postponed costs nothing until it fires.
    #[inline(always)]
    pub fn no_later_than(&mut self, source: EventSource, at: Nanos) {
        if at < self.at(source) {
            self.set(source, at);
        }
    }
}

/// A tournament: four sources meet, and the earliest of them meets three other winners, up to the
/// earliest of all.
///
/// A source whose time changes replays only its own matches, and stops at the first whose winner
/// stays the same. The first round and the last are separate from those between, which most
/// networks do not need. Up to sixteen sources take two matches at known places.
struct Tournament {
    /// First round: sources 4n to 4n + 3 meet in match n. Their numbers follow from their places.
    opening: Vec<[Nanos; GROUP]>,
    /// Later rounds: the winners of matches 4n to 4n + 3 of the round before meet in match n.
    between: Vec<Vec<Match>>,
    /// Match between the last four winners; unused if there is just one.
    last: Match,
}

impl Tournament {
    fn new(sources: u32) -> Tournament {
        let opening = vec![[Nanos::NEVER; GROUP]; (sources as usize).div_ceil(GROUP).max(1)];
        let (mut players, mut sources_each) = (opening.len(), GROUP);
        let mut between = vec![];
        while players > GROUP {
            players = players.div_ceil(GROUP);
            between.push((0..players).map(|number| Match::new(sources_each, GROUP * number)).collect());
            sources_each *= GROUP;
        }
        Tournament { opening, between, last: Match::new(sources_each, 0) }
    }

    #[inline]
    fn at(&self, source: EventSource) -> Nanos {
        self.opening.as_flattened()[source as usize]
    }

    /// Replays the matches of `source`, all of them if it is the `FIRST` of all. Returns who wins
    /// now, or none if the winner stays the same.
    #[inline(always)]
    fn replay<const FIRST: bool>(&mut self, source: EventSource, at: Nanos) -> Option<(Nanos, EventSource)> {
        let mut number = source as usize / GROUP;
        let opening = &mut self.opening[number];
        opening[source as usize % GROUP] = at;
        let (at, slot) = earliest(opening);
        let mut winner = (at, (GROUP * number + slot) as EventSource);
        if self.opening.len() > 1 {
            for round in &mut self.between {
                let slot = number % GROUP;
                number /= GROUP;
                winner = round[number].replay::<FIRST>(slot, winner)?;
            }
            winner = self.last.replay::<FIRST>(number % GROUP, winner)?;
        }
        Some(winner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use proptest::test_runner::TestCaseResult;

    /// Compares the queue with a list that is searched from end to end.
    fn the_first_is_the_earliest_with<const FAVOURITES: usize>(
        sources: usize,
        changes: &[(Index, u64)],
    ) -> TestCaseResult {
        let mut queue = EventQueue::<FAVOURITES>::new(sources as u32);
        let mut list = vec![u64::MAX; sources];
        for (source, at) in changes {
            let source = source.index(sources);
            queue.set(source as u32, Nanos(*at));
            list[source] = *at;
            let expected = list.iter().enumerate().map(|(s, t)| (Nanos(*t), s as u32)).min().unwrap();
            prop_assert_eq!(queue.first(), expected);
        }
        Ok(())
    }

    /// Imitates a run: the first source's event passes, and the source gets a later one or none.
    fn events_come_in_order_with<const FAVOURITES: usize>(starts: &[u64], gaps: &[u64]) -> TestCaseResult {
        let mut queue = EventQueue::<FAVOURITES>::new(starts.len() as u32);
        let mut list: Vec<_> = (0..).zip(starts).map(|(source, at)| (*at, source)).collect();
        list.iter().for_each(|(at, source)| queue.set(*source, Nanos(*at)));
        for gap in gaps {
            let earliest = list.iter_mut().min().expect("there is one");
            if earliest.0 == u64::MAX {
                break;
            }
            prop_assert_eq!(queue.first(), (Nanos(earliest.0), earliest.1));
            earliest.0 = if *gap == 0 { u64::MAX } else { earliest.0.saturating_add(*gap) };
            queue.put_first_off(earliest.1, Nanos(earliest.0));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_first_is_the_earliest(
            sources in 1usize..90,
            changes in prop::collection::vec((any::<Index>(), 0u64..50), 1..200),
        ) {
            the_first_is_the_earliest_with::<0>(sources, &changes)?;
            the_first_is_the_earliest_with::<2>(sources, &changes)?;
        }

        #[test]
        fn events_come_in_order(
            starts in prop::collection::vec(0u64..50, 1..90),
            gaps in prop::collection::vec(0u64..9, 1..99),
        ) {
            events_come_in_order_with::<0>(&starts, &gaps)?;
            events_come_in_order_with::<2>(&starts, &gaps)?;
        }
    }

    #[test]
    fn putting_off_does_not_move_an_earlier_event() {
        let mut queue: EventQueue = EventQueue::new(2);
        queue.no_later_than(1, Nanos(10));
        queue.no_later_than(1, Nanos(20));
        assert_eq!(queue.first(), (Nanos(10), 1));
    }

    #[test]
    fn the_first_but_one_favourite_may_be_the_other_or_any_behind() {
        let mut queue = EventQueue::<2>::new(4);
        (0..4).for_each(|source| queue.set(source, Nanos(10 + u64::from(source))));
        assert_eq!([0, 1, 3].map(|source| queue.first_without(source)), [Nanos(11), Nanos(10), Nanos(10)]);
        queue.set(1, Nanos::NEVER);
        assert_eq!(queue.first_without(0), Nanos(12));
    }
}
