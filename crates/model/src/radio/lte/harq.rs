//! Hybrid ARQ: the number of times that a transport block is sent until the receiver can decode it.

use crate::rng::{Rng, uniform};

/// The fate of a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// The number of times that it was sent, at least one.
    pub count: u32,
    /// Whether the last try failed too.
    pub lost: bool,
}

/// The probabilities that tries of a transport block fail.
///
/// A receiver adds up the energy of all tries (chase combining). Rayleigh fading is independent for each try, 8 ms
/// later, so the energy of `k` tries has an Erlang distribution. All `k` tries fail with the probability of `k` or more
/// arrivals of a Poisson process: `f(k) = 1 - exp(-x) (1 + x + .. + x^(k-1) / (k-1)!)`. The failure rate of first tries
/// gives `x = -ln(1 - f(1))`. Caire and Tuninetti call this repetition time diversity (The throughput of hybrid-ARQ
/// protocols for the Gaussian collision channel, IEEE Transactions on Information Theory 47, no. 5, 2001).
#[derive(Clone, Debug, PartialEq)]
pub struct Harq {
    /// The probability that the first 1, 2, 3 and 4 tries all fail.
    all_fail: [f64; Harq::MOST_TRIES],
}

impl Harq {
    /// Subframes from one try to the next (TS 36.213, sections 7.3 and 8). The answer comes four subframes after the
    /// block, and the next try four after the answer.
    pub const ROUND_TRIP: u64 = 8;

    /// The number of failed tries after which a block is given up (TS 36.331, `maxHARQ-Tx`, as networks mostly set it).
    pub const MOST_TRIES: usize = 4;

    /// Makes the model for first tries that fail at this rate, from 0 to 1.
    pub fn new(error_rate: f64) -> Harq {
        let x = -libm::log(1.0 - error_rate);
        Harq { all_fail: std::array::from_fn(|n| more_arrivals(x, n as u32)) }
    }

    /// Draws the fate of a block.
    pub fn draw(&self, rng: &mut Rng) -> Tries {
        let chance = uniform(rng);
        let failed = self.all_fail.iter().filter(|all_fail| chance < **all_fail).count();
        let lost = failed == Harq::MOST_TRIES;
        Tries { count: (failed as u32 + 1).min(Harq::MOST_TRIES as u32), lost }
    }

    /// Returns the mean number of times that a block is sent.
    pub fn mean_tries(&self) -> f64 {
        1.0 + self.all_fail[..Harq::MOST_TRIES - 1].iter().sum::<f64>()
    }

    /// Returns the share of blocks of which all tries fail.
    pub fn residual(&self) -> f64 {
        self.all_fail[Harq::MOST_TRIES - 1]
    }
}

/// Returns the probability of more than `n` arrivals of a Poisson process with this mean.
fn more_arrivals(mean: f64, n: u32) -> f64 {
    let mut term = libm::exp(-mean);
    let mut sum = 0.0;
    // The further terms are too small to matter.
    for k in 1..n + 64 {
        term *= mean / f64::from(k);
        sum += if k > n { term } else { 0.0 };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::rng;

    /// At 10 % x is 0.10536, and 1 - 0.9 (1 + x) = 0.00518.
    #[test]
    fn tries_combine() {
        let harq = Harq::new(0.1);
        let x = -libm::log(0.9);
        let second = 1.0 - 0.9 * (1.0 + x);
        let third = second - 0.9 * x * x / 2.0;
        assert!((harq.all_fail[0] - 0.1).abs() < 1e-12);
        assert!((harq.all_fail[1] - second).abs() < 1e-12 && (second - 0.00518).abs() < 1e-5);
        assert!((harq.all_fail[2] - third).abs() < 1e-12);
        assert!((harq.residual() - (third - 0.9 * x * x * x / 6.0)).abs() < 1e-12);
        assert!((harq.mean_tries() - 1.10536).abs() < 1e-5, "{}", harq.mean_tries());
    }

    #[test]
    fn without_errors_one_try_is_all() {
        let harq = Harq::new(0.0);
        assert_eq!((harq.mean_tries(), harq.residual()), (1.0, 0.0));
        assert_eq!(harq.draw(&mut rng(1, 1)), Tries { count: 1, lost: false });
    }

    /// The shares of a million blocks are each within five standard deviations of their probability.
    #[test]
    fn draws_have_these_shares() {
        const BLOCKS: u32 = 1_000_000;
        let harq = Harq::new(0.5);
        let mut rng = rng(1, 1);
        let mut failed = [0u32; Harq::MOST_TRIES];
        for _ in 0..BLOCKS {
            let Tries { count, lost } = harq.draw(&mut rng);
            let all_failed = if lost { Harq::MOST_TRIES } else { count as usize - 1 };
            failed[..all_failed].iter_mut().for_each(|so_many| *so_many += 1);
        }
        for (count, chance) in failed.into_iter().zip(harq.all_fail) {
            let expected = f64::from(BLOCKS) * chance;
            assert!((f64::from(count) - expected).abs() < 5.0 * expected.sqrt(), "{count} against {expected}");
        }
    }
}
