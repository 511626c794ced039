//! Losses of a channel: each packet independently, or in bursts.

use crate::Rng;
use model::{Gemodel, Loss};
use rand::RngCore;

/// The losses of a channel, packet by packet.
pub(crate) struct Losses {
    rng: Rng,
    model: Model,
}

enum Model {
    /// A packet is lost when a 64-bit draw falls below this.
    Uniform(u64),
    GilbertElliott(GilbertElliott),
}

impl Losses {
    /// Creates the losses of a channel; none if it never loses a packet.
    pub fn of(loss: &Loss, rng: Rng) -> Option<Losses> {
        let model = match loss {
            Loss::Uniform(share) if *share == 0.0 => return None,
            Loss::Uniform(share) => Model::Uniform(threshold(*share)),
            Loss::Gemodel(model) => Model::GilbertElliott(GilbertElliott::new(model)),
        };
        Some(Losses { rng, model })
    }

    /// Draws whether the next packet is lost.
    #[inline]
    pub fn next(&mut self) -> bool {
        match &mut self.model {
            Model::Uniform(below) => self.rng.next_u64() < *below,
            Model::GilbertElliott(channel) => channel.loses(&mut self.rng),
        }
    }
}

/// Converts a probability to the number of 64-bit draws that are below the threshold.
pub(crate) fn threshold(probability: f64) -> u64 {
    (probability * 2f64.powi(64)) as u64
}

/// A channel that alternates between two states, good and bad.
struct GilbertElliott {
    now: State,
    other: State,
}

/// The thresholds of a state: an event happens if a draw is below.
#[derive(Clone, Copy)]
struct State {
    to_lose: u64,
    to_leave: u64,
}

impl GilbertElliott {
    fn new(model: &Gemodel) -> GilbertElliott {
        let state = |lost, left| State { to_lose: threshold(lost), to_leave: threshold(left) };
        GilbertElliott { now: state(model.lost_while_good, model.p), other: state(model.lost_while_bad, model.r) }
    }

    /// Draws whether a packet is lost. It takes two draws in either state, so that runs that differ
    /// in a probability differ in nothing else.
    #[inline(never)]
    fn loses(&mut self, rng: &mut Rng) -> bool {
        let lost = rng.next_u64() < self.now.to_lose;
        if rng.next_u64() < self.now.to_leave {
            std::mem::swap(&mut self.now, &mut self.other);
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 400_000;
    /// Deviation in standard deviations that chance hardly ever exceeds (2 in 10^9).
    const SIGMAS: f64 = 6.0;

    fn gemodel(p: f64, r: f64, lost_while_bad: f64, lost_while_good: f64) -> Gemodel {
        Gemodel { p, r, lost_while_bad, lost_while_good }
    }

    fn draw(loss: &Loss, seed: u64) -> Vec<bool> {
        let mut losses = Losses::of(loss, crate::rng(seed, 1));
        (0..PACKETS).map(|_| losses.as_mut().is_some_and(Losses::next)).collect()
    }

    /// Counts the losses and the bursts.
    fn counts(lost: &[bool]) -> (f64, f64) {
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() + lost[0] as usize;
        (lost.iter().filter(|lost| **lost).count() as f64, bursts as f64)
    }

    /// The four special cases of netem: Bernoulli, simple Gilbert, Gilbert, Gilbert-Elliott.
    const MODELS: [(f64, f64, f64, f64); 5] = [
        (0.03, 0.97, 1.0, 0.0),
        (0.01, 0.3, 1.0, 0.0),
        (0.002, 0.05, 1.0, 0.0),
        (0.02, 0.2, 0.7, 0.0),
        (0.01, 0.1, 0.6, 0.01),
    ];

    /// In the long run the channel is bad for a share p/(p+r) of the packets. States k packets
    /// apart have the correlation (1-p-r)^k, and each packet is lost independently given its state.
    #[test]
    fn the_long_run_share_is_the_closed_form() {
        for (p, r, bad, good) in MODELS {
            let share_bad = p / (p + r);
            let share = share_bad * bad + (1.0 - share_bad) * good;
            let between = share_bad * (1.0 - share_bad) * (bad - good) * (bad - good);
            let correlated = (1.0 - p - r) / (p + r);
            let sigma = (PACKETS as f64 * (share * (1.0 - share) + 2.0 * between * correlated)).sqrt();
            let (lost, _) = counts(&draw(&Loss::Gemodel(gemodel(p, r, bad, good)), 1));
            let expected = PACKETS as f64 * share;
            assert!((lost - expected).abs() < SIGMAS * sigma, "{p} {r} {bad} {good}: {lost} lost, not {expected}");
        }
    }

    /// A loss starts a burst if the packet before it arrived, so the mean length is losses over
    /// first losses.
    ///
    /// The variance of the number of bursts, with m bursts a packet, has three bounds in sum. Each
    /// packet adds m, and its neighbour adds 2 m. All others add 2 m times the sum of their
    /// correlations, which is at most 1/(p+r). If the channel loses nothing while good and
    /// everything while bad, a burst is one stay: 1/r.
    #[test]
    fn the_mean_burst_is_the_closed_form() {
        for (p, r, bad, good) in MODELS {
            let share_bad = p / (p + r);
            let first = share_bad * (1.0 - bad) * ((1.0 - r) * bad + r * good)
                + (1.0 - share_bad) * (1.0 - good) * (p * bad + (1.0 - p) * good);
            let share = share_bad * bad + (1.0 - share_bad) * good;
            if (bad, good) == (1.0, 0.0) {
                assert!((share / first - 1.0 / r).abs() < 1e-9);
            }
            let sigma = (PACKETS as f64 * first * (3.0 + 2.0 / (p + r))).sqrt();
            let (_, bursts) = counts(&draw(&Loss::Gemodel(gemodel(p, r, bad, good)), 1));
            let expected = PACKETS as f64 * first;
            assert!(
                (bursts - expected).abs() < SIGMAS * sigma,
                "{p} {r} {bad} {good}: {bursts} bursts, not {expected}"
            );
        }
    }

    /// Stays of a channel that loses everything while bad are independent and geometric, with mean
    /// 1/r and variance (1-r)/r^2.
    #[test]
    fn bursts_of_a_simple_gilbert_channel_are_geometric() {
        let r = 0.25;
        let (lost, bursts) = counts(&draw(&Loss::Gemodel(gemodel(0.01, r, 1.0, 0.0)), 2));
        let sigma = ((1.0 - r) / (r * r) / bursts).sqrt();
        assert!((lost / bursts - 1.0 / r).abs() < SIGMAS * sigma, "{lost} losses in {bursts} bursts");
    }

    #[test]
    fn the_same_seed_loses_the_same_packets_and_another_others() {
        let loss = Loss::Gemodel(gemodel(0.01, 0.3, 0.9, 0.001));
        assert_eq!(draw(&loss, 5), draw(&loss, 5));
        assert_ne!(draw(&loss, 5), draw(&loss, 6));
    }

    /// Independent losses take one draw a packet, so that earlier runs reproduce.
    #[test]
    fn a_uniform_channel_draws_once_a_packet() {
        let mut rng = crate::rng(1, 1);
        let drawn: Vec<_> = (0..PACKETS).map(|_| (rng.next_u64() as f64) < 0.25 * 2f64.powi(64)).collect();
        assert_eq!(draw(&Loss::Uniform(0.25), 1), drawn);
    }

    #[test]
    fn the_ends_of_the_range_are_exact() {
        let everything = gemodel(0.0, 1.0, 0.0, 1.0);
        for loss in [Loss::Uniform(1.0), Loss::Gemodel(everything), Loss::Gemodel(gemodel(1.0, 1.0, 1.0, 1.0))] {
            assert!(draw(&loss, 1).iter().all(|lost| *lost), "{loss:?}");
        }
        for loss in [Loss::NONE, Loss::Gemodel(gemodel(0.0, 0.0, 1.0, 0.0))] {
            assert!(!draw(&loss, 1).iter().any(|lost| *lost), "{loss:?}");
        }
    }

    /// With p = r = 1 the state changes with every packet, and the first finds it good.
    #[test]
    fn a_packet_is_lost_by_the_state_that_it_finds() {
        let lost = draw(&Loss::Gemodel(gemodel(1.0, 1.0, 1.0, 0.0)), 1);
        assert!(lost.iter().enumerate().all(|(n, lost)| *lost == (n % 2 == 1)));
    }
}
