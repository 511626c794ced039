//! What a node forwards towards the border router: the mean rate of the flows in the last minute.
//!
//! A sensor can afford that: a count for each five seconds of the minute, and of each flow, in which of them its first
//! packet came and its last.
//!
//! While packets go up and nothing comes down, senders have nothing but their timeouts, and what they send says nothing
//! about what they could. That time is left out, as if it had not been.

use model::units::Nanos;

/// How long counts are kept, in buckets.
const BUCKETS: u64 = 12;
const BUCKET: Nanos = Nanos::from_secs(5);
/// Who is silent for so many buckets may be waiting still, for his turn or for a timeout.
const WAIT: u64 = 6;

/// Packets with data that a node was given to forward.
#[derive(Clone, Debug, Default)]
pub(super) struct Relayed {
    /// The number of the bucket that is filled now, and what is in it.
    bucket: u64,
    current: u32,
    /// Which five seconds of the run fill it.
    turn: u64,
    /// Something has come down in them.
    is_answered: bool,
    /// Before them packets went up, and nothing has come down since.
    was_unanswered: bool,
    /// The full ones before it, by their number modulo theirs.
    counts: [u32; BUCKETS as usize],
    /// The bucket of the first packet, or of the first after a minute without any.
    first: Option<u64>,
    /// By their numbers.
    flows: Vec<Option<Flow>>,
    /// Thousandths of a packet a second, from the full buckets.
    rate: u32,
}

/// In which buckets packets of a flow came that is not silent for a minute.
#[derive(Clone, Copy, Debug)]
struct Flow {
    first: u64,
    last: u64,
}

impl Flow {
    fn is_gone(&self, bucket: u64) -> bool {
        self.last + BUCKETS < bucket
    }

    /// So many of the full buckets before `bucket` it was there: from its first packet on, and if it is silent for
    /// longer than it may wait, to its last.
    fn presence(&self, bucket: u64) -> u64 {
        let end = if self.last + 1 + WAIT >= bucket { bucket } else { self.last + 1 };
        end - self.first.max(bucket.saturating_sub(BUCKETS))
    }
}

impl Relayed {
    /// A packet of `flow` is to be forwarded.
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

    /// A packet comes down.
    pub fn answer(&mut self, now: Nanos) {
        self.turn_to(now);
        self.is_answered = true;
    }

    /// The mean rate of the flows in the last minute, each while it was there, in thousandths of a packet a second; 0
    /// until there was a full minute.
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
        // Those that nothing came in; if they are all, what was before is gone too.
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

    /// Forwards packets of these flows at these times, in ms, each of which is answered at once, and tells the rate at
    /// the end.
    fn rate_after(packets: impl IntoIterator<Item = (u64, u32)>, end_ms: u64) -> u32 {
        rate_of(packets.into_iter().flat_map(|(ms, flow)| [(ms, Some(flow)), (ms, None)]), end_ms)
    }

    /// The same of packets up with their flows, and down without.
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

    /// One a second, and until 100 s another of two a second. It may be waiting for half a minute, in which it counts.
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

    /// Else the first packets after a long silence would be taken for all that flows want to send.
    #[test]
    fn after_a_minute_of_silence_it_begins_anew() {
        let before = (0..100).map(|second| (1000 * second, 0));
        let after = (200..300).map(|second| (1000 * second, 0));
        let at = |ms: u64| rate_after(before.clone().chain(after.clone()).take_while(|packet| packet.0 < ms), ms);
        assert_eq!([at(200_000), at(255_000), at(265_000)], [0, 0, 1000]);
    }

    /// Two a second, and while nothing comes down, for two minutes, one in twenty seconds.
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
        /// As if all packets were remembered with their times.
        #[test]
        fn buckets_are_as_good_as_all_times(
            mut packets in prop::collection::vec((0..400_000_u64, prop::option::weighted(0.7, 0..6_u32)), 1..300),
            later_ms in 0..90_000_u64,
        ) {
            packets.sort_unstable();
            let end_ms = packets.last().expect("one at least").0 + later_ms;
            // The bucket of each five seconds, and whether what comes up in it counts.
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
            // Since the last minute without a packet, if there was one, which ends with a packet.
            let begins = known.iter().rev().map(|(b, ..)| *b).find(|at| window(*at).next().is_none());
            // A flow is there in each bucket that it has a packet in, or one before, and another within a minute of
            // that, or the end within half a minute of it.
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
