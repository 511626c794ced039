//! The mean rate, over the last minute, of the flows that a node forwards towards the border
//! router.
//!
//! A sensor can afford the memory. It has a count for each five seconds of the minute, and the
//! buckets of each flow's first and last packet.
//!
//! While packets go up and nothing comes down, senders have nothing but their timeouts, and their
//! rates do not show what they could send. That time is left out, as if it had not been.

use model::units::Nanos;

/// Number of buckets whose counts are used.
const BUCKETS: u64 = 12;
const BUCKET: Nanos = Nanos::from_secs(5);
/// Buckets for which a silent flow may still be waiting, for its turn or for a timeout.
const WAIT: u64 = 6;

/// Counts the data packets that a node forwards upward.
#[derive(Clone, Debug, Default)]
pub(super) struct Relayed {
    /// The number of the bucket that is being filled; `current` is its count.
    bucket: u64,
    current: u32,
    /// The five seconds of the run that fill the bucket, counted from the start.
    turn: u64,
    /// Whether a packet has come down in these five seconds.
    is_answered: bool,
    /// Whether packets went up before these five seconds and nothing has come down since.
    was_unanswered: bool,
    /// Counts of the full buckets, each at its number modulo `BUCKETS`.
    counts: [u32; BUCKETS as usize],
    /// The bucket of the first packet, or of the first after a minute without any.
    first: Option<u64>,
    /// The flows by their numbers.
    flows: Vec<Option<Flow>>,
    /// The rate that the full buckets yield, in thousandths of a packet a second.
    rate: u32,
}

/// The buckets of the first and the last packet of a flow that is not silent for a minute.
#[derive(Clone, Copy, Debug)]
struct Flow {
    first: u64,
    last: u64,
}

impl Flow {
    fn is_gone(&self, bucket: u64) -> bool {
        self.last + BUCKETS < bucket
    }

    /// Returns in how many of the full buckets before `bucket` the flow was present. It is present
    /// from its first packet on; if it is silent for longer than it may wait, until its last.
    fn presence(&self, bucket: u64) -> u64 {
        let end = if self.last + 1 + WAIT >= bucket { bucket } else { self.last + 1 };
        end - self.first.max(bucket.saturating_sub(BUCKETS))
    }
}

impl Relayed {
    /// Counts a packet of `flow` that the node is to forward.
    pub fn count(&mut self, now: Nanos, flow: u32) {
        self.turn_to(now);
        let (flow, bucket) = (flow as usize, self.bucket);
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, None);
        }
        let known = self.flows[flow].filter(|flow| !flow.is_gone(bucket));
        self.flows[flow] = Some(Flow { first: known.map_or(bucket, |flow| flow.first), last: bucket });
        self.first.get_or_insert(self.bucket);
        self.current += 1;
    }

    /// Notes that a packet has come down.
    pub fn answer(&mut self, now: Nanos) {
        self.turn_to(now);
        self.is_answered = true;
    }

    /// Returns the mean rate of the flows in the last minute, in thousandths of a packet a second.
    /// Each flow counts while it was present. The rate is 0 before the first full minute.
    pub fn mean_rate(&mut self, now: Nanos) -> u32 {
        self.turn_to(now);
        self.rate
    }

    /// Closes the buckets that end before `now`.
    fn turn_to(&mut self, now: Nanos) {
        let turn = now.0 / BUCKET.0;
        if turn == self.turn {
            return;
        }
        let (full, idle) = (std::mem::take(&mut self.current), turn - self.turn - 1);
        self.turn = turn;
        let is_answered = std::mem::take(&mut self.is_answered);
        self.was_unanswered = (full > 0 || self.was_unanswered) && !is_answered;
        if self.was_unanswered {
            return;
        }
        self.counts[(self.bucket % BUCKETS) as usize] = full;
        // Empty buckets; if all are empty, no older count is left either.
        for empty in (self.bucket + 1..).take(idle.min(BUCKETS) as usize) {
            self.counts[(empty % BUCKETS) as usize] = 0;
        }
        self.bucket += 1 + idle;
        self.rate = self.rate_of_full_buckets();
    }

    fn rate_of_full_buckets(&mut self) -> u32 {
        let packets: u32 = self.counts.iter().sum();
        if packets == 0 {
            self.first = None;
        }
        if self.first.is_none_or(|first| first + BUCKETS >= self.bucket) {
            return 0;
        }
        let there = self.flows.iter().flatten().filter(|flow| !flow.is_gone(self.bucket));
        let presence: u64 = there.map(|flow| flow.presence(self.bucket)).sum();
        let buckets_in_a_thousand_seconds = 1000 * Nanos::from_secs(1).0 / BUCKET.0;
        (u64::from(packets) * buckets_in_a_thousand_seconds / presence) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Forwards packets of these flows at these times, in ms, and answers each at once. Returns the
    /// rate at the end.
    fn rate_after(packets: impl IntoIterator<Item = (u64, u32)>, end_ms: u64) -> u32 {
        rate_of(packets.into_iter().flat_map(|(ms, flow)| [(ms, Some(flow)), (ms, None)]), end_ms)
    }

    /// Passes packets at these times, in ms: up with the number of their flow, down without one.
    /// Returns the rate at the end.
    fn rate_of(packets: impl IntoIterator<Item = (u64, Option<u32>)>, end_ms: u64) -> u32 {
        let mut relayed = Relayed::default();
        for (ms, flow) in packets {
            match flow {
                Some(flow) => relayed.count(Nanos::from_millis(ms), flow),
                None => relayed.answer(Nanos::from_millis(ms)),
            }
        }
        relayed.mean_rate(Nanos::from_millis(end_ms))
    }

    #[test]
    fn the_mean_of_two_flows() {
        let one_a_second = |flow| (0..120).map(move |second| (1000 * second, flow));
        let every_other = |flow| (0..60).map(move |second| (2000 * second, flow));
        let mut both: Vec<_> = one_a_second(3).chain(every_other(7)).collect();
        both.sort_unstable();
        assert_eq!(rate_after(both, 120_000), 750);
    }

    #[test]
    fn nothing_is_known_before_a_minute_is_full() {
        let packets = || (0..80).map(|second| (2500 + 1000 * second, 0));
        assert_eq!(rate_after(packets().take_while(|(ms, _)| *ms < 64_999), 64_999), 0);
        assert_eq!(rate_after(packets().take_while(|(ms, _)| *ms < 65_000), 65_000), 1000);
        assert_eq!(rate_after([], 300_000), 0);
    }

    /// One flow sends a packet a second; another sends two a second until 100 s. It counts for half
    /// a minute more, since it may be waiting.
    #[test]
    fn who_has_gone_counts_as_long_as_he_was_there() {
        let stays = (0..240).map(|second| (1000 * second, 0));
        let goes = (0..200).map(|half| (500 * half, 1));
        let mut both: Vec<_> = stays.chain(goes).collect();
        both.sort_unstable();
        let at = |ms: u64| rate_after(both.iter().copied().take_while(|packet| packet.0 < ms), ms);
        assert_eq!([at(100_000), at(130_000), at(135_000), at(165_000)], [1500, 1000, 1294, 1000]);
    }

    #[test]
    fn who_has_come_counts_from_then_on() {
        let stays = (0..240).map(|second| (1000 * second, 0));
        let comes = (200..480).map(|half| (500 * half, 1));
        let mut both: Vec<_> = stays.chain(comes).collect();
        both.sort_unstable();
        let at = |ms: u64| rate_after(both.iter().copied().take_while(|packet| packet.0 < ms), ms);
        assert_eq!([at(100_000), at(130_000), at(160_000)], [1000, 1333, 1500]);
    }

    /// Otherwise the first packets after a long silence would pass for all that flows want to send.
    #[test]
    fn after_a_minute_of_silence_it_begins_anew() {
        let before = (0..100).map(|second| (1000 * second, 0));
        let after = (200..300).map(|second| (1000 * second, 0));
        let at = |ms: u64| rate_after(before.clone().chain(after.clone()).take_while(|packet| packet.0 < ms), ms);
        assert_eq!([at(200_000), at(255_000), at(265_000)], [0, 0, 1000]);
    }

    /// Two packets a second; for two minutes nothing comes down, and one packet goes up every 20 s.
    #[test]
    fn a_time_without_answers_is_left_out() {
        let ends = |ms: u64| (0..ms / 500).map(|half| 500 * half).filter(|at| *at < 100_000 || *at >= 220_000);
        let answered = |ms: u64| ends(ms).flat_map(|at| [(at, Some(0)), (at, None)]);
        let again = |ms: u64| (5..11).map(|tries| (20_000 * tries + 1, Some(0))).filter(move |packet| packet.0 < ms);
        let at = |ms: u64| {
            let mut packets: Vec<_> = answered(ms).chain(again(ms)).collect();
            packets.sort_by_key(|packet| packet.0);
            rate_of(packets, ms)
        };
        assert_eq!([at(100_000), at(160_000), at(219_000), at(226_000), at(300_000)], [2000; 5]);
    }

    proptest! {
        /// The rate equals that from a list of all packets with their times.
        #[test]
        fn buckets_are_as_good_as_all_times(
            mut packets in prop::collection::vec((0..400_000_u64, prop::option::weighted(0.7, 0..6_u32)), 1..300),
            later_ms in 0..90_000_u64,
        ) {
            packets.sort_unstable();
            let end_ms = packets.last().expect("one at least").0 + later_ms;
            // The bucket of each five seconds, and whether packets up in it count.
            let (mut buckets, mut bucket, mut open) = (vec![], 0, false);
            for turn in 0..=end_ms / 5000 {
                let within = || packets.iter().filter(|(ms, _)| ms / 5000 == turn);
                let is_answered = within().any(|(_, flow)| flow.is_none());
                open = (open || within().any(|(_, flow)| flow.is_some())) && !is_answered;
                buckets.push((bucket, !open));
                bucket += u64::from(!open);
            }
            let end = buckets.last().expect("one at least").0;
            let place = |(ms, flow): &(u64, Option<u32>)| {
                let (bucket, counts) = buckets[(*ms / 5000) as usize];
                flow.map(|flow| (bucket, flow, counts))
            };
            let known: Vec<_> = packets.iter().filter_map(place).filter(|(bucket, ..)| *bucket < end).collect();
            let window = |at: u64| known.iter().filter(move |(b, _, counts)| *counts && *b < at && *b + 12 >= at);
            // The rate counts from the packet that ended the last minute without any, if there was
            // one.
            let begins = known.iter().rev().map(|(b, ..)| *b).find(|at| window(*at).next().is_none());
            // A flow is present in each bucket between two of its packets at most a minute apart.
            // It is also present after its last packet, if the end follows within half a minute.
            let is_there = |flow: u32, at: u64| {
                let of_flow = || known.iter().filter(|packet| packet.1 == flow).map(|packet| packet.0);
                let Some(before) = of_flow().filter(|b| *b <= at).max() else { return false };
                let behind = of_flow().filter(|b| *b >= at).min();
                behind.is_some_and(|behind| behind - before <= 12)
                    || end - 1 - before <= 6 && of_flow().all(|b| b <= before)
            };
            let last_minute = end.saturating_sub(12)..end;
            let there = last_minute.map(|at| (0..6).filter(|flow| is_there(*flow, at)).count());
            let presence = there.sum::<usize>() as u64;
            let expected = match begins {
                Some(first) if presence > 0 && first + 12 < end => window(end).count() as u64 * 200 / presence,
                _ => 0,
            };
            prop_assert_eq!(u64::from(rate_of(packets.iter().copied(), end_ms)), expected);
        }
    }
}
