//! Handovers at regular times, as between the satellites of a low orbit: a short outage, then another rate and delay.
//!
//! They are made of what links have anyway: outages, and changes of the rate and of the delay.

use crate::declare::section;
use crate::impairments::{DelayChange, Outage, Rates};
use crate::quantity::Between;
use crate::rng::{rng, stream};
use crate::schema::{DELAYS, RATES, SOME_TIME, TIMES};
use crate::units::{Nanos, Rate};
use crate::{Link, Scenario, Service, Transmitter};
use serde::{Deserialize, Serialize};

section! {
    /// Handovers of a direction at regular times.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Handover in "handover" {
        /// time from one handover to the next
        pub every: Nanos = Required, SOME_TIME;
        /// time of the first handover
        pub first: Option<Nanos> = Means("every, from the start of the run"), SOME_TIME;
        /// how long the direction is down at a handover
        pub outage: Nanos = Default("0s"), TIMES;
        /// lose packets whose last bit is sent during the outage; by default packets wait in the queue
        pub lose: bool = Default("false");
        /// rate after a handover, or a range from which the seed draws one at each
        pub rate: Option<Between<Rate>> = Means("the rate stays"), RATES;
        /// propagation delay after a handover, or a range from which the seed draws one at each
        pub delay: Option<Between<Nanos>> = Means("the delay stays"), DELAYS;
    }
}

impl Handover {
    /// The largest number of handovers of a run.
    pub const MOST: u64 = 100_000;

    /// Returns how many handovers there are in a run.
    pub fn count(&self, duration: Nanos) -> u64 {
        let first = self.first.unwrap_or(self.every);
        if first >= duration { 0 } else { (duration - first).0.div_ceil(self.every.0.max(1)) }
    }

    /// Returns the times of the handovers of a run.
    fn times(&self, duration: Nanos) -> impl Iterator<Item = Nanos> {
        let (first, every) = (self.first.unwrap_or(self.every), self.every);
        (0..self.count(duration).min(Handover::MOST)).map(move |number| Nanos(first.0 + number * every.0))
    }

    /// Sets the outages, rates and delays of a direction. The draws come from stream `purpose` of `seed`.
    fn set(&self, link: &mut Link, seed: u64, purpose: u64, duration: Nanos) {
        let mut rng = rng(seed, stream::HANDOVER + purpose);
        let stays = Between::only(Rate(0));
        // Both are drawn at each handover, so that a range of one leaves the draws of the other as they are.
        let drawn: Vec<_> = self
            .times(duration)
            .map(|at| {
                let rate = self.rate.unwrap_or(stays).draw(&mut rng);
                (at, rate, self.delay.unwrap_or_default().draw(&mut rng))
            })
            .collect();
        let outage = |at| Outage { at, lasts: self.outage, lose: self.lose };
        let outages = drawn.iter().filter(|_| self.outage > Nanos::ZERO).map(|(at, ..)| outage(*at));
        link.impairments.outages = outages.collect();
        let delays = drawn.iter().filter(|_| self.delay.is_some()).map(|(at, _, delay)| (*at, *delay));
        link.impairments.delays = delays.map(|(at, delay)| DelayChange { at, delay }).collect();
        let first = if let Service::Own(transmitter) = &link.service { transmitter.first_rate() } else { None };
        if let (Some(first), Some(_)) = (first, self.rate) {
            let changes: Vec<_> = drawn.iter().map(|(at, rate, _)| (*at, *rate)).collect();
            link.service = Service::Own(Transmitter::Rates(Rates::new(first, &changes, duration)));
        }
    }
}

impl Scenario {
    /// Returns the scenario with another seed.
    pub fn seeded(mut self, seed: u64) -> Scenario {
        self.seed = seed;
        self.draw_handovers();
        self
    }

    /// Draws the handovers of all links. Both directions of a link draw alike.
    pub fn draw_handovers(&mut self) {
        let Scenario { seed, duration, .. } = *self;
        for (number, link) in (0..).zip(&mut self.links) {
            for direction in [&mut link.forward, &mut link.reverse] {
                if let Some(handover) = direction.impairments.handover {
                    handover.set(direction, seed, number, duration);
                }
            }
        }
    }
}
