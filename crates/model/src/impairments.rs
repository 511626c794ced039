//! Impairments of links besides delay and losses: jitter, reordering, duplication, outages, policers, slots, and changes
//! of rate and delay.

use crate::declare::{Packets, choice, section};
use crate::handover::Handover;
use crate::quantity::{Between, Share};
use crate::schema::{DELAYS, RATES, SOME_TIME, TIMES};
use crate::script::{Action, Scripted};
use crate::units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

/// The range of the time by which a packet can be held back.
const SHORT_DELAYS: &str = "1ns..3600s";
/// The range of a token bucket's size.
const BURSTS: &str = "1b..1gib";

section! {
    /// The impairments of one direction of a link.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Impairments: Default in "link.NAME" {
        /// The variation of the delay from packet to packet.
        pub jitter: Option<Jitter>;
        /// The reordering of packets.
        pub reorder: Option<Reorder>;
        /// share of packets that the channel delivers twice, the copy with its own delay
        pub duplicate: f64 [Share] = Default("0%");
        /// times when this direction is down, in order
        pub outages: Vec<Outage> = Means("always up");
        /// token bucket in front of the queue, which drops the packets that exceed it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub policer: Option<Policer> = Means("every packet reaches the queue");
        /// changes of the delay, in order of time; packets under way keep theirs, and none overtakes another
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub delays: Vec<DelayChange> = Means("a constant delay");
        /// handovers at regular times, as of low-orbit satellites, in place of rates, delays and outages
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub handover: Option<Handover> = Means("no handovers; in the reverse direction the forward direction's");
        /// slots in which the link delivers what waits for them in a burst, as Wi-Fi, cable and LTE aggregate packets
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub slot: Option<Slot> = Means("each packet is delivered by itself");
        /// losses, marks, duplicates and delays of chosen packets
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub script: Vec<Scripted> = Means("nothing happens by script");
    }
}

impl Impairments {
    /// Whether there is no impairment.
    pub fn is_none(&self) -> bool {
        *self == Impairments::default()
    }

    /// Whether packets may arrive twice.
    pub fn duplicates(&self) -> bool {
        self.duplicate > 0.0 || self.script.iter().any(|rule| rule.action == Action::Duplicate)
    }

    /// Returns the keys of impairments that are in effect and act in the channel, behind the transmitter.
    pub fn in_the_channel(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("jitter", self.jitter.is_some()),
            ("reorder", self.reorder.is_some()),
            ("duplicate", self.duplicate > 0.0),
            ("outages", self.losing_outages().next().is_some()),
            ("delays", !self.delays.is_empty()),
            ("slot", self.slot.is_some()),
            ("script", !self.script.is_empty()),
        ];
        all.into_iter().filter(|(_, is_asked)| *is_asked).map(|(key, _)| key)
    }

    /// Returns the outages in which nothing is transmitted, so that packets wait.
    pub fn waiting_outages(&self) -> impl Iterator<Item = &Outage> {
        self.outages.iter().filter(|outage| !outage.lose)
    }

    /// Returns the outages in which transmitted packets are lost.
    pub fn losing_outages(&self) -> impl Iterator<Item = &Outage> {
        self.outages.iter().filter(|outage| outage.lose)
    }
}

section! {
    /// The changes of a transmitter's rate.
    pub struct RateChanges in "link.NAME" {
        /// changes of the rate, in order of time; a packet in transmission sends its remaining bits at the new rate
        pub rates: Vec<RateChange> = Means("a constant rate");
    }
}

section! {
    /// A change of a transmitter's rate.
    pub struct RateChange in "rates" {
        /// time of the change
        pub at: Nanos = Required, SOME_TIME;
        /// rate of the transmitter from then on
        pub rate: Rate = Required, RATES;
    }
}

section! {
    /// A change of a direction's delay.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct DelayChange in "delays" {
        /// time of the change
        pub at: Nanos = Required, SOME_TIME;
        /// propagation delay of packets whose last bit is sent from then on
        pub delay: Nanos = Required, DELAYS;
    }
}

section! {
    /// Slots of a link that delivers packets in bursts, as `slot` of tc-netem(8).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Slot in "slot" {
        /// time to acquire a slot once a packet needs one, or a range to draw from; packets that are sent until then
        /// leave together
        pub wait: Between<Nanos> = Required, SHORT_DELAYS;
        /// most packets of one slot; others need the next
        pub most: Option<Packets> = Means("all that were sent by then"), "1p..1000000p";
    }
}

section! {
    /// A random delay of each packet, as `delay TIME JITTER` of tc-netem(8).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Jitter in "link.NAME" {
        /// variation of the delay from packet to packet, at most the delay itself, as in tc-netem(8)
        pub spread("jitter"): Nanos = Default("0s"), DELAYS;
        /// uniform: from delay - jitter to delay + jitter; normal: jitter is the standard deviation, and no delay is
        /// below 0s
        pub distribution("jitter_distribution"): Distribution = Default("uniform");
        /// let a packet with less delay overtake earlier ones, as in tc-netem(8); by default packets keep their order,
        /// as on most paths
        pub reorder("jitter_reorder"): bool = Default("false");
    }
}

choice! {
    /// How delays are spread about their mean.
    #[derive(Default)]
    pub enum Distribution {
        /// All delays in the range are equally likely.
        #[default]
        Uniform = "uniform",
        /// A normal distribution; negative delays become zero.
        Normal = "normal",
    }
}

section! {
    /// Reordering of packets, as `reorder PERCENT gap DISTANCE` of tc-netem(8).
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Reorder in "link.NAME" {
        /// share of packets that leave the order and arrive without delay, ahead of others, as in tc-netem(8)
        pub share("reorder"): f64 [Share] = Default("0%");
        /// after a packet that left the order, at least reorder_gap - 1 packets keep it, as in tc-netem(8)
        pub gap("reorder_gap"): u64 = Default("1"), "1..1000000";
        /// delay of packets that leave the order; they then arrive late instead of ahead
        pub by("reorder_by"): Option<Nanos> = Means("they arrive ahead of others"), SHORT_DELAYS;
    }
}

section! {
    /// A time in which a link is down.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Outage in "outages" {
        /// time when the link goes down
        pub at: Nanos = Required, TIMES;
        /// how long the link is down
        #[serde(rename = "for")]
        pub lasts("for"): Nanos = Required, SOME_TIME;
        /// lose packets whose last bit is sent during the outage; by default packets wait in the queue
        pub lose: bool = Default("false");
    }
}

section! {
    /// A token bucket that drops what exceeds it, as `police` of tc(8) with `conform-exceed drop`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Policer in "policer" {
        /// rate at which the bucket fills, in bits of IP packets
        pub rate: Rate = Required, RATES;
        /// size of the bucket, which is full at the start
        pub burst: Bytes = Required, BURSTS;
    }
}

impl Outage {
    /// Returns when the link is up again.
    pub fn end(&self) -> Nanos {
        self.at + self.lasts
    }
}

/// A rate that changes at given times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// The rates in order of time, each after the time from which it holds; the first holds from the start of the run.
    pub steps: Vec<(Nanos, Rate)>,
    /// The mean rate over the run, without outages.
    pub mean: Rate,
}

impl Rates {
    /// Makes a rate that starts at `first`, with `changes` in order of time, in a run of `duration`.
    pub fn new(first: Rate, changes: &[(Nanos, Rate)], duration: Nanos) -> Rates {
        let steps: Vec<_> = [(Nanos::ZERO, first)].into_iter().chain(changes.iter().copied()).collect();
        let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([Nanos::NEVER]);
        let bit_ns = |((from, rate), to): (&(Nanos, Rate), Nanos)| {
            u128::from(to.min(duration).since(*from).0) * u128::from(rate.0)
        };
        let sent: u128 = steps.iter().zip(ends).map(bit_ns).sum();
        let mean = Rate(sent.checked_div(u128::from(duration.0)).map_or(first.0, |mean| mean as u64));
        Rates { steps, mean }
    }

    /// Returns the lowest and the highest rate.
    pub fn extremes(&self) -> (Rate, Rate) {
        let rates = || self.steps.iter().map(|(_, rate)| *rate);
        (rates().min().unwrap_or(self.mean), rates().max().unwrap_or(self.mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s for 2 s, 2 Mbit/s for 3 s, 10 Mbit/s for 5 s: 16 + 6 + 50 Mbit in 10 s.
    #[test]
    fn the_mean_rate_is_over_the_run() {
        let changes = [(2, 2_000_000), (5, 10_000_000), (60, 1)].map(|(at, rate)| (Nanos::from_secs(at), Rate(rate)));
        let rates = Rates::new(Rate(8_000_000), &changes, Nanos::from_secs(10));
        assert_eq!(rates.mean, Rate(7_200_000));
    }
}
