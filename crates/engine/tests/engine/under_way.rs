//! The packets of one flow and direction between the hosts, as known to an observer who sees only their headers.
//!
//! Packets may look alike: acknowledgements of copies within one tick of the timestamp clock, retransmissions without
//! timestamps. The observer does not see which of those a channel lost or doubled. On a path that keeps the order the
//! next arrival settles it.

use model::units::Nanos;
use std::collections::VecDeque;

/// Packets that were sent and have neither arrived nor been lost.
pub struct UnderWay<P> {
    /// Reports whether two packets look the same.
    alike: fn(&P, &P) -> bool,
    /// The path delivers packets in the order in which they were sent.
    ordered: bool,
    /// The packets on the way, with their send times. On a path that keeps the order lost ones are among them, as long
    /// as no later one has arrived.
    sent: VecDeque<(Nanos, P)>,
    /// Losses and second copies that are not settled, on a path that keeps the order.
    lost: Vec<P>,
    copies: Vec<P>,
    /// The packet of `sent` that arrived last, with the earliest time at which it can have been sent.
    latest: Option<(Nanos, P)>,
}

impl<P: Copy + std::fmt::Debug> UnderWay<P> {
    pub fn new(ordered: bool, alike: fn(&P, &P) -> bool) -> UnderWay<P> {
        UnderWay { alike, ordered, sent: VecDeque::new(), lost: vec![], copies: vec![], latest: None }
    }

    pub fn count(&self) -> usize {
        self.sent.len() + self.copies.len() - self.lost.len()
    }

    pub fn send(&mut self, now: Nanos, packet: P) {
        self.sent.push_back((now, packet));
    }

    /// Notes that a queue or a channel loses a packet.
    pub fn lose(&mut self, packet: &P) {
        self.must_be_under_way(packet);
        if self.ordered {
            return self.lost.push(*packet);
        }
        // The last, so that none of the others comes too early.
        let place = self.sent.iter().rposition(|(_, sent)| (self.alike)(sent, packet));
        self.sent.remove(place.expect("it is under way"));
    }

    /// Notes that a channel makes a second copy of a packet.
    pub fn double(&mut self, packet: &P) {
        self.must_be_under_way(packet);
        if self.ordered {
            return self.copies.push(*packet);
        }
        let place = self.sent.iter().position(|(_, sent)| (self.alike)(sent, packet)).expect("it is under way");
        self.sent.insert(place, self.sent[place]);
    }

    /// Notes that a packet is at the other host. Returns its send time, or that of the first if several are alike.
    pub fn arrive(&mut self, packet: &P) -> Nanos {
        self.must_be_under_way(packet);
        if self.ordered {
            return self.arrive_in_order(packet);
        }
        let place = self.sent.iter().position(|(_, sent)| (self.alike)(sent, packet)).expect("it is under way");
        self.sent.remove(place).expect("found there").0
    }

    /// Notes an arrival on a path that keeps the order. The packet is the first of those sent, or a copy of the latest,
    /// or those before it are lost. The first possible one of these leaves at least the packets for later arrivals that
    /// the others would leave.
    fn arrive_in_order(&mut self, packet: &P) -> Nanos {
        let alike = self.alike;
        let is_copy = |other: &P| alike(other, packet);
        let of_latest = self.latest.filter(|(_, latest)| alike(latest, packet) && self.copies.iter().any(is_copy));
        while let Some((left, first)) = self.sent.front().copied() {
            if alike(&first, packet) {
                // The packet may also be the copy of the latest, and the copy may come later.
                let left = of_latest.map_or(left, |(earlier, _)| earlier);
                self.latest = Some((left, first));
                self.sent.pop_front();
                return left;
            }
            if of_latest.is_some() {
                break;
            }
            let is_lost = take(&mut self.lost, |other| alike(other, &first));
            assert!(is_lost, "{packet:?} overtakes {first:?}");
            self.sent.pop_front();
        }
        let (left, _) = of_latest.unwrap_or_else(|| panic!("{packet:?} arrives after others"));
        take(&mut self.copies, is_copy);
        left
    }

    fn must_be_under_way(&self, packet: &P) {
        let alike = |other: &&P| (self.alike)(other, packet);
        let sent = self.sent.iter().filter(|(_, sent)| alike(&sent)).count();
        let (copies, lost) = (self.copies.iter().filter(alike).count(), self.lost.iter().filter(alike).count());
        assert!(sent + copies > lost, "{packet:?} is not under way");
    }
}

/// Takes the first packet that `is_it` off a list. Returns false if there is none.
fn take<P>(list: &mut Vec<P>, is_it: impl Fn(&P) -> bool) -> bool {
    let place = list.iter().position(is_it);
    place.map(|place| list.swap_remove(place)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets sent in this order, alike if they have the same letter.
    fn sent(letters: &str, ordered: bool) -> UnderWay<char> {
        let mut under_way = UnderWay::new(ordered, |a: &char, b: &char| a == b);
        (1..).map(Nanos).zip(letters.chars()).for_each(|(at, letter)| under_way.send(at, letter));
        under_way
    }

    fn arrive(mut under_way: UnderWay<char>, letters: &str) -> usize {
        letters.chars().for_each(|letter| {
            under_way.arrive(&letter);
        });
        under_way.count()
    }

    #[test]
    fn of_packets_that_are_alike_any_may_be_the_lost_one() {
        for (arrivals, left) in [("ba", 0), ("ab", 0), ("b", 1)] {
            let mut under_way = sent("aba", true);
            under_way.lose(&'a');
            assert_eq!(arrive(under_way, arrivals), left, "{arrivals}");
        }
    }

    #[test]
    fn of_packets_that_are_alike_any_may_be_the_doubled_one() {
        for arrivals in ["aaba", "abaa"] {
            let mut under_way = sent("aba", true);
            under_way.double(&'a');
            assert_eq!(arrive(under_way, arrivals), 0, "{arrivals}");
        }
    }

    /// The second to arrive may be the copy of the first that was sent, and so may the third.
    #[test]
    fn a_copy_was_sent_with_its_original() {
        let mut under_way = sent("aaaa", true);
        under_way.double(&'a');
        under_way.double(&'a');
        let left: Vec<_> = (0..3).map(|_| under_way.arrive(&'a')).collect();
        assert_eq!(left, [Nanos(1); 3]);
        let mut under_way = sent("aa", true);
        assert_eq!((under_way.arrive(&'a'), under_way.arrive(&'a')), (Nanos(1), Nanos(2)));
    }

    #[test]
    fn a_copy_may_be_lost_further_on() {
        let mut under_way = sent("ab", true);
        under_way.double(&'a');
        under_way.lose(&'a');
        assert_eq!(arrive(under_way, "ab"), 0);
    }

    #[test]
    #[should_panic = "'b' overtakes 'a'"]
    fn a_packet_that_overtakes_is_found_out() {
        arrive(sent("ab", true), "ba");
    }

    #[test]
    #[should_panic = "'b' overtakes 'a'"]
    fn no_more_packets_are_passed_over_than_are_lost() {
        let mut under_way = sent("aab", true);
        under_way.lose(&'a');
        arrive(under_way, "b");
    }

    #[test]
    #[should_panic = "'a' arrives after others"]
    fn a_copy_arrives_beside_its_original() {
        let mut under_way = sent("abc", true);
        under_way.double(&'a');
        arrive(under_way, "abca");
    }

    #[test]
    #[should_panic = "is not under way"]
    fn nothing_arrives_twice_unless_it_was_doubled() {
        arrive(sent("ab", true), "aa");
    }

    #[test]
    fn a_path_that_does_not_keep_the_order_may_deliver_any() {
        let mut under_way = sent("abc", false);
        under_way.double(&'b');
        under_way.lose(&'a');
        assert_eq!(under_way.arrive(&'c'), Nanos(3));
        assert_eq!(under_way.arrive(&'b'), Nanos(2));
        assert_eq!(under_way.count(), 1);
    }
}
