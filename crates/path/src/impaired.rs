//! Impairments of a channel: jitter, reordering and duplication of packets, changes of the delay,
//! slots, and outages that lose packets.
//!
//! Each impairment has a random stream of its own and takes the same number of draws from it for
//! every packet. Runs that differ in one impairment therefore differ in nothing else.

use crate::loss::threshold;
use crate::script::Fate;
use crate::slots::Slots;
use crate::{Rng, rng};
use model::Link;
use model::impairments::{DelayChange, Distribution, Jitter, Outage, Reorder};
use model::stream;
use model::units::Nanos;
use rand::RngCore;

/// The impairments of one channel.
pub(crate) struct Impaired {
    /// The present delay.
    delay: Nanos,
    /// The changes of the delay to come.
    delays: std::vec::IntoIter<DelayChange>,
    slots: Option<Slots>,
    jitter: Option<Jitter>,
    jitter_rng: Rng,
    reorder: Option<Reorder>,
    /// A packet leaves the order if a draw is below this.
    to_reorder: u64,
    reorder_rng: Rng,
    /// Packets in order since the last one that was not.
    in_order: u64,
    /// A packet is duplicated if a draw is below this.
    to_duplicate: u64,
    duplicate_rng: Rng,
    /// The outages to come, in which packets are lost.
    outages: std::vec::IntoIter<Outage>,
    /// Latest arrival of a packet that stayed in order.
    latest: Nanos,
}

impl Impaired {
    /// Creates the impairments of a link; none if its channel is unimpaired.
    pub fn of(link: &Link, seed: u64, purpose: u64) -> Option<Impaired> {
        let impairments = &link.impairments;
        let rng = |what| rng(seed, what + purpose);
        impairments.in_the_channel().next().is_some().then(|| Impaired {
            delay: link.delay,
            delays: impairments.delays.clone().into_iter(),
            slots: impairments.slot.map(|slot| Slots::new(&slot, rng(stream::SLOT))),
            jitter: impairments.jitter,
            jitter_rng: rng(stream::JITTER),
            reorder: impairments.reorder,
            to_reorder: threshold(impairments.reorder.map_or(0.0, |reorder| reorder.share)),
            reorder_rng: rng(stream::REORDER),
            in_order: 0,
            to_duplicate: threshold(impairments.duplicate),
            duplicate_rng: rng(stream::DUPLICATE),
            outages: impairments.losing_outages().copied().collect::<Vec<_>>().into_iter(),
            latest: Nanos::ZERO,
        })
    }

    /// Returns when a packet whose last bit leaves the transmitter at `end` sets out: at once, or
    /// with its slot. From call to call, `end` never decreases.
    pub fn sets_out(&mut self, end: Nanos) -> Nanos {
        let start = self.slots.as_mut().map_or(end, |slots| slots.of(end));
        while let Some(change) = self.delays.as_slice().first().filter(|change| change.at <= start) {
            self.delay = change.delay;
            self.delays.next();
        }
        start
    }

    /// Returns the arrival of a packet that sets out at `start`.
    pub fn arrival(&mut self, start: Nanos, fate: Fate) -> Nanos {
        let delay = delay(self.delay, self.jitter, &mut self.jitter_rng);
        match self.leaves_the_order() {
            Some(Reorder { by: Some(by), .. }) => start + delay + by + fate.hold,
            Some(_) => start + fate.hold,
            None if fate.hold > Nanos::ZERO => start + delay + fate.hold,
            None => self.in_order(start + delay),
        }
    }

    /// Returns the arrival of a packet's second copy; none if it arrives only once.
    pub fn second_arrival(&mut self, start: Nanos, fate: Fate) -> Option<Nanos> {
        let is_twice = self.duplicate_rng.next_u64() < self.to_duplicate || fate.duplicate;
        let delay = delay(self.delay, self.jitter, &mut self.duplicate_rng);
        is_twice.then(|| self.in_order(start + delay))
    }

    /// Reports whether an outage loses a packet whose last bit leaves the transmitter at `end`.
    /// From call to call, `end` never decreases.
    pub fn loses(&mut self, end: Nanos) -> bool {
        while self.outages.as_slice().first().is_some_and(|outage| outage.end() <= end) {
            self.outages.next();
        }
        self.outages.as_slice().first().is_some_and(|outage| outage.at <= end)
    }

    fn in_order(&mut self, arrival: Nanos) -> Nanos {
        if self.jitter.is_some_and(|jitter| jitter.reorder) {
            return arrival;
        }
        self.latest = self.latest.max(arrival);
        self.latest
    }

    /// Decides whether a packet leaves the order, as the kernel's netem_enqueue() does.
    fn leaves_the_order(&mut self) -> Option<Reorder> {
        let reorder = self.reorder?;
        let is_drawn = self.reorder_rng.next_u64() < self.to_reorder;
        if is_drawn && self.in_order + 1 >= reorder.gap {
            self.in_order = 0;
            return Some(reorder);
        }
        self.in_order += 1;
        None
    }
}

/// Draws one packet's delay, with `mean` as the mean.
fn delay(mean: Nanos, jitter: Option<Jitter>, rng: &mut Rng) -> Nanos {
    let Some(Jitter { spread, distribution, .. }) = jitter else { return mean };
    match distribution {
        Distribution::Uniform => (mean + Nanos(model::up_to(2 * spread.0, rng))).since(spread),
        Distribution::Normal => {
            let delay = mean.0 as f64 + spread.0 as f64 * model::normal(rng);
            Nanos(delay.max(0.0).round() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::impairments::Impairments;
    use model::units::Rate;
    use model::{Loss, Queue, Service, Transmitter};
    use proptest::prelude::*;

    const PACKETS: u64 = 100_000;
    const DELAY: Nanos = Nanos::from_millis(20);
    /// Time between the last bits of two packets.
    const STEP: Nanos = Nanos::from_micros(100);

    fn impaired(impairments: Impairments) -> Impaired {
        let link = Link {
            name: "link".into(),
            service: Service::Own(Transmitter::Rate(Rate(1_000_000))),
            delay: DELAY,
            queue: Queue::Droptail { limit: None, ecn_threshold: None },
            loss: Loss::NONE,
            impairments,
        };
        Impaired::of(&link, 1, 1).expect("there are some")
    }

    fn jitter(ms: u64, distribution: Distribution, reorder: bool) -> Impairments {
        let jitter = Jitter { spread: Nanos::from_millis(ms), distribution, reorder };
        Impairments { jitter: Some(jitter), ..Impairments::default() }
    }

    fn reorder(share: f64, gap: u64, by: Option<Nanos>) -> Impairments {
        Impairments { reorder: Some(Reorder { share, gap, by }), ..Impairments::default() }
    }

    fn end(number: u64) -> Nanos {
        Nanos(STEP.0 * number)
    }

    /// Returns the time that each packet is under way.
    fn delays(impairments: Impairments) -> Vec<Nanos> {
        let mut channel = impaired(impairments);
        (0..PACKETS).map(|number| channel.arrival(end(number), Fate::default()) - end(number)).collect()
    }

    fn mean_and_deviation(delays: &[Nanos]) -> (f64, f64) {
        let ms = || delays.iter().map(|delay| delay.as_millis_f64());
        let mean = ms().sum::<f64>() / PACKETS as f64;
        (mean, (ms().map(|ms| (ms - mean) * (ms - mean)).sum::<f64>() / PACKETS as f64).sqrt())
    }

    /// The standard deviation of a uniform distribution is half its width over the square root of
    /// 3.
    #[test]
    fn jitter_has_its_mean_and_its_spread() {
        for (distribution, deviation) in [(Distribution::Uniform, 5.0 / 3f64.sqrt()), (Distribution::Normal, 5.0)] {
            let delays = delays(jitter(5, distribution, true));
            let (mean, measured) = mean_and_deviation(&delays);
            let of_the_mean = deviation / (PACKETS as f64).sqrt();
            assert!((mean - 20.0).abs() < 4.0 * of_the_mean, "{distribution:?}: mean {mean} ms");
            assert!((measured / deviation - 1.0).abs() < 0.02, "{distribution:?}: deviation {measured} ms");
        }
        let uniform = delays(jitter(5, Distribution::Uniform, true));
        let in_range = |delay: &Nanos| (Nanos::from_millis(15)..=Nanos::from_millis(25)).contains(delay);
        assert!(uniform.iter().all(in_range));
        let (least, most) = (uniform.iter().min().unwrap(), uniform.iter().max().unwrap());
        assert!(*least < Nanos::from_micros(15_010) && *most > Nanos::from_micros(24_990));
    }

    #[test]
    fn jitter_keeps_the_order_unless_it_is_told_not_to() {
        for distribution in [Distribution::Uniform, Distribution::Normal] {
            for overtakes in [false, true] {
                let delays = delays(jitter(5, distribution, overtakes));
                let arrivals: Vec<_> = (0..).zip(delays).map(|(number, delay)| end(number) + delay).collect();
                assert_eq!(arrivals.is_sorted(), !overtakes, "{distribution:?}, {overtakes}");
            }
        }
    }

    #[test]
    fn a_normal_delay_is_never_less_than_none() {
        let delays = delays(jitter(20, Distribution::Normal, true));
        let none = delays.iter().filter(|delay| **delay == Nanos::ZERO).count() as f64;
        // One delay in 6.3 is more than a standard deviation below the mean.
        let expected = 0.158_655 * PACKETS as f64;
        assert!((none - expected).abs() < 4.0 * (expected * 0.841_345).sqrt(), "{none} of {PACKETS}");
    }

    /// As in netem, `gap - 1` packets stay in order behind each that leaves it; each later one
    /// leaves with the probability `p`.
    ///
    /// From one to the next are `gap - 1 + 1 / p` packets in the mean, with the variance of a
    /// geometric distribution, `(1 - p) / p^2`.
    #[test]
    fn a_share_of_the_packets_leaves_the_order() {
        let by = Nanos::from_millis(3);
        for (share, gap) in [(0.01, 1), (0.25, 5), (0.5, 10), (1.0, 4)] {
            for (held_back, delay) in [(None, Nanos::ZERO), (Some(by), DELAY + by)] {
                let delays = delays(reorder(share, gap, held_back));
                let places: Vec<_> = (0..PACKETS).filter(|n| delays[*n as usize] != DELAY).collect();
                assert!(places.iter().all(|n| delays[*n as usize] == delay));
                assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= gap));
                let distance = gap as f64 - 1.0 + 1.0 / share;
                let expected = PACKETS as f64 / distance;
                let deviation = (expected * (1.0 - share) / (share * share)).sqrt() / distance;
                let found = places.len() as f64;
                assert!((found - expected).abs() < 4.0 * deviation + 1.0, "{share} {gap}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn a_share_of_the_packets_arrives_twice() {
        let mut channel = impaired(Impairments { duplicate: 0.02, ..Impairments::default() });
        let second: Vec<_> =
            (0..PACKETS).filter_map(|n| Some((n, channel.second_arrival(end(n), Fate::default())?))).collect();
        assert!(second.iter().all(|(number, at)| *at == end(*number) + DELAY));
        let (found, expected) = (second.len() as f64, 0.02 * PACKETS as f64);
        assert!((found - expected).abs() < 4.0 * (expected * 0.98).sqrt(), "{found}, not {expected}");
    }

    /// Reordering and duplication change neither the delays of other packets nor each other's
    /// choices.
    #[test]
    fn each_impairment_draws_for_itself() {
        let run = |share: f64, duplicate: f64| {
            let jitter = jitter(5, Distribution::Uniform, true);
            let mut channel = impaired(Impairments {
                duplicate,
                ..Impairments { reorder: reorder(share, 1, None).reorder, ..jitter }
            });
            let packet = |n| {
                let fate = Fate::default();
                (channel.arrival(end(n), fate) - end(n), channel.second_arrival(end(n), fate).is_some())
            };
            (0..1000).map(packet).collect::<Vec<_>>()
        };
        let (plain, both) = (run(0.0, 0.0), run(0.2, 0.3));
        let same_delays = plain.iter().zip(&both).filter(|(a, b)| a.0 == b.0).count();
        let reordered = both.iter().filter(|(delay, _)| *delay == Nanos::ZERO).count();
        assert!(reordered > 100 && same_delays + reordered == 1000, "{same_delays} and {reordered}");
        let (twice, alone) = (both.iter().map(|p| p.1), run(0.0, 0.3));
        assert!(twice.eq(alone.iter().map(|p| p.1)));
    }

    proptest! {
        /// A link is down from its first instant to the last before its end.
        #[test]
        fn an_outage_is_from_its_start_to_its_end(at in 0u64..100, lasts in 1u64..100, end in 0u64..300) {
            let outage = Outage { at: Nanos(at), lasts: Nanos(lasts), lose: true };
            let mut channel = impaired(Impairments { outages: vec![outage], ..Impairments::default() });
            prop_assert_eq!(channel.loses(Nanos(end)), (at..at + lasts).contains(&end));
        }
    }
}
