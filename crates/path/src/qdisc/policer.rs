//! A policer in front of a discipline: a token bucket, which drops the packets that exceed it.
//!
//! It does what `tc police rate RATE burst SIZE conform-exceed drop` does (`net/sched/act_police.c`),
//! with differences. The kernel measures the bucket in whole nanoseconds of the rate, here it is
//! exact. A packet counts with its IP length, to which the kernel adds the header of the link layer
//! where it polices a device's egress.

use super::{AnyQdisc, Qdisc, Skb};
use model::impairments;
use model::units::{Bytes, Nanos};

/// A byte in billionths of a bit, of which a rate in bit/s fills in a whole number each nanosecond.
const BYTE: u64 = 8_000_000_000;

/// A token bucket that is full at the start of the run.
#[derive(Clone, Debug)]
pub struct Policer {
    rate: u64,
    /// The size of the bucket, in billionths of a bit.
    burst: u64,
    /// The content of the bucket at `filled_at`, in billionths of a bit.
    tokens: u64,
    filled_at: Nanos,
}

impl Policer {
    /// Creates a full bucket.
    pub fn new(policer: &impairments::Policer) -> Policer {
        let impairments::Policer { rate, burst: Bytes(burst) } = *policer;
        let burst = burst.saturating_mul(BYTE);
        Policer { rate: rate.0, burst, tokens: burst, filled_at: Nanos::ZERO }
    }

    /// Reports whether a packet of `bytes` that arrives at `now` conforms, and takes its tokens if it
    /// does. From call to call, `now` never decreases.
    pub fn admits(&mut self, now: Nanos, bytes: u32) -> bool {
        let filled = self.rate.saturating_mul(now.since(self.filled_at).0);
        self.tokens = self.tokens.saturating_add(filled).min(self.burst);
        self.filled_at = now;
        let left = self.tokens.checked_sub(u64::from(bytes).saturating_mul(BYTE));
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }
}

/// A discipline behind a policer.
#[derive(Clone, Debug)]
pub struct Policed {
    policer: Policer,
    qdisc: AnyQdisc,
}

impl Policed {
    /// Puts a policer in front of a discipline.
    pub fn new(policer: Policer, qdisc: AnyQdisc) -> Policed {
        Policed { policer, qdisc }
    }
}

impl Qdisc for Policed {
    fn enqueue(&mut self, now: Nanos, skb: Skb, dropped: &mut Vec<Skb>) {
        if self.policer.admits(now, skb.bytes) {
            self.qdisc.enqueue(now, skb, dropped);
        } else {
            dropped.push(Skb { enqueued_at: now, ..skb });
        }
    }

    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        self.qdisc.dequeue(now, dropped)
    }

    fn next(&self, now: Nanos) -> Nanos {
        self.qdisc.next(now)
    }

    fn backlog(&self) -> (u64, u64) {
        self.qdisc.backlog()
    }

    fn has_room(&self, skb: &Skb) -> bool {
        self.qdisc.has_room(skb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Rate;
    use proptest::prelude::*;

    fn policer(rate: u64, burst: u64) -> Policer {
        Policer::new(&impairments::Policer { rate: Rate(rate), burst: Bytes(burst) })
    }

    /// 8 Mbit/s is a byte each microsecond. The bucket has room for two packets.
    #[test]
    fn a_full_bucket_passes_its_burst_then_the_rate() {
        let mut policer = policer(8_000_000, 3000);
        let us = [0, 0, 0, 1499, 1500, 2999, 3000, 100_000, 100_000, 100_000];
        let passed: Vec<_> = us.map(|us| policer.admits(Nanos::from_micros(us), 1500)).into();
        assert_eq!(passed, [true, true, false, false, true, false, true, true, true, false]);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut policer = policer(100_000_000_000_000, 1 << 30);
        assert!(!policer.admits(Nanos::ZERO, u32::MAX));
        assert!(policer.admits(Nanos::ZERO, 1 << 30) && !policer.admits(Nanos::ZERO, 1));
        assert!(policer.admits(Nanos::from_secs(1_000_000), 1 << 30));
    }

    proptest! {
        /// In no interval more passes than the bucket holds and the rate fills in. A packet is
        /// dropped only if the bucket of some interval would overflow with it.
        #[test]
        fn no_interval_passes_more_than_burst_and_rate(
            rate in 1u64..100_000_000,
            burst in 40u64..10_000,
            train in prop::collection::vec((0u64..5_000_000, 40u32..1501), 1..150),
        ) {
            let mut policer = policer(rate, burst);
            // The packets that passed: their times, and their sizes in the bucket's units.
            let (mut now, mut passed) = (0, vec![]);
            for (gap, bytes) in train {
                now += gap;
                let size = u128::from(bytes) * u128::from(BYTE);
                let holds = |from: u64| u128::from(burst) * u128::from(BYTE) + u128::from(rate) * u128::from(now - from);
                // Intervals that begin with each packet that passed, and with this one.
                let mut sum = size;
                let mut exceeds = sum > holds(now);
                for (at, size) in passed.iter().rev() {
                    sum += size;
                    exceeds |= sum > holds(*at);
                }
                prop_assert_eq!(policer.admits(Nanos(now), bytes), !exceeds);
                if !exceeds {
                    passed.push((now, size));
                }
            }
        }
    }
}
