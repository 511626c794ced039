//! A distribution of durations in bins of equal relative width.

use model::families::Sampled;
use model::units::Nanos;

/// Number of bins per doubling: a bin is at most 1/128 of its value wide.
const STEPS: u64 = 128;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Counts durations in bins under 1 % wide; mean and maximum are exact. Its memory grows with the
/// range of the samples, not with their number.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Counts of bins: `counts[i]` belongs to bin `first + i`.
    counts: Vec<u32>,
    first: u32,
    /// Number of samples of zero, which have no bin: most packets find an empty queue.
    zeros: u64,
    sum: u128,
    min: Nanos,
    max: Nanos,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: Vec::new(), first: 0, zeros: 0, sum: 0, min: Nanos::NEVER, max: Nanos::ZERO }
    }
}

/// Number of a floating-point number's fraction bits that do not select its bin.
const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1 - STEP_BITS;
/// The leading bits of 1.0, which select the first bin.
const FIRST_BIN: u64 = 1.0f64.to_bits() >> FRACTION_BITS;

/// Returns the bin of a value above zero. It consists of the leading bits of the value as a
/// floating-point number. The exponent is the doubling, and the fraction is the step in it.
#[inline]
fn bin_of(value: Nanos) -> u32 {
    ((value.0 as i64 as f64).to_bits() >> FRACTION_BITS).wrapping_sub(FIRST_BIN) as u32
}

/// Returns the range of a bin's values, without its upper end. Below 128 not every bin has a value.
fn edges(bin: u32) -> (u64, u64) {
    let (doubling, step) = (bin >> STEP_BITS, u64::from(bin) % STEPS);
    match doubling.checked_sub(STEP_BITS) {
        Some(shift) => ((STEPS + step) << shift, (STEPS + step + 1) << shift),
        None => {
            let value = (STEPS + step) >> (STEP_BITS - doubling);
            (value, value + 1)
        }
    }
}

impl Histogram {
    /// Returns the smallest sample in milliseconds; none without a sample.
    pub fn min_ms(&self) -> Option<f64> {
        (self.samples() > 0).then(|| self.min().as_millis_f64())
    }

    /// Adds one sample.
    #[inline(always)]
    pub fn record(&mut self, value: Nanos) {
        if value == Nanos::ZERO {
            return self.record_zero();
        }
        self.sum += value.0 as u128;
        if value < self.min || value > self.max {
            self.extend(value);
        }
        let bin = bin_of(value);
        let index = bin.wrapping_sub(self.first) as usize;
        match self.counts.get_mut(index) {
            Some(count) => *count += 1,
            None => self.widen(bin),
        }
    }

    /// Adds one sample of zero.
    #[inline]
    pub fn record_zero(&mut self) {
        self.zeros += 1;
    }

    /// Extends the range to a sample below or above all others.
    #[cold]
    fn extend(&mut self, value: Nanos) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[cold]
    fn widen(&mut self, bin: u32) {
        if self.counts.is_empty() {
            self.first = bin;
        }
        if bin < self.first {
            let missing = (self.first - bin) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bin;
        }
        let index = (bin - self.first) as usize;
        if index >= self.counts.len() {
            self.counts.reserve_exact(index + 1 - self.counts.len());
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.zeros + self.counts.iter().map(|count| u64::from(*count)).sum::<u64>()
    }

    fn min(&self) -> Nanos {
        if self.zeros > 0 { Nanos::ZERO } else { self.min }
    }

    /// Returns the exact mean in milliseconds; none without a sample.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.samples() > 0).then(|| self.sum as f64 / self.samples() as f64 / 1e6)
    }

    /// Returns the exact maximum in milliseconds; none without a sample.
    pub fn max_ms(&self) -> Option<f64> {
        (self.samples() > 0).then(|| self.max.as_millis_f64())
    }

    /// Returns the value that a share `q` (0 to 1) of the samples does not exceed, in milliseconds.
    /// The value is interpolated inside its bin, and never outside the range of the samples.
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        if self.samples() == 0 {
            return None;
        }
        let rank = q * self.samples() as f64;
        let mut below = 0.0;
        for (low, high, count) in self.bins() {
            if below + count as f64 >= rank {
                let inside = ((rank - below) / count as f64).clamp(0.0, 1.0);
                let value = low as f64 + inside * (high - low - 1) as f64;
                return Some(value.clamp(self.min().0 as f64, self.max.0 as f64) / 1e6);
            }
            below += count as f64;
        }
        self.max_ms()
    }

    /// Iterates over the bins that are not empty: lower edge, upper edge (ns), count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let of_bin = |bin: u32, count: u64| {
            let (low, high) = edges(bin);
            (low, high, count)
        };
        let zeros = (self.zeros > 0).then_some((0, 1, self.zeros));
        let others = (self.first..).zip(&self.counts).filter(|(_, count)| **count > 0);
        zeros.into_iter().chain(others.map(move |(bin, count)| of_bin(bin, *count as u64)))
    }
}

/// The samples are in milliseconds.
impl Sampled for Histogram {
    fn mean(&self) -> Option<f64> {
        self.mean_ms()
    }

    fn min(&self) -> Option<f64> {
        self.min_ms()
    }

    fn max(&self) -> Option<f64> {
        self.max_ms()
    }

    fn quantile(&self, share: f64) -> Option<f64> {
        self.quantile_ms(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_holds_its_values_and_no_others() {
        for v in [1, 2, 3, 127, 128, 129, 255, 256, 1_000_003, 6_000_000, u64::MAX / 3] {
            let (low, high) = edges(bin_of(Nanos(v)));
            assert!(low <= v && v < high, "{v} in [{low}, {high})");
            assert!((high - low) as f64 <= 1.0 + v as f64 / 128.0, "{v}: bin [{low}, {high}) too wide");
        }
    }

    #[test]
    fn quantiles_of_a_uniform_sample() {
        let mut h = Histogram::default();
        // In descending order, so that the range extends at its lower end.
        for ms in (1..=1000).rev() {
            h.record(Nanos::from_millis(ms));
        }
        assert_eq!(h.mean_ms(), Some(500.5));
        assert_eq!(h.max_ms(), Some(1000.0));
        for (q, ms) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let got = h.quantile_ms(q).unwrap();
            assert!((got - ms).abs() < 0.01 * ms, "quantile {q}: {got} ms, expected {ms}");
        }
    }

    /// A third of the samples is zero, a third 1 us and a third 2 us: samples of zero count for the
    /// minimum.
    #[test]
    fn zeros_are_samples() {
        let mut h = Histogram::default();
        (0..9).for_each(|n| h.record(Nanos::from_micros(n % 3)));
        assert_eq!((h.min_ms(), h.mean_ms(), h.max_ms()), (Some(0.0), Some(0.001), Some(0.002)));
        let mut zeros = Histogram::default();
        zeros.record(Nanos::ZERO);
        assert_eq!((zeros.min_ms(), zeros.mean_ms(), zeros.quantile_ms(0.5)), (Some(0.0), Some(0.0), Some(0.0)));
    }

    #[test]
    fn nothing_is_known_of_no_samples() {
        let h = Histogram::default();
        assert_eq!((h.mean_ms(), h.max_ms(), h.quantile_ms(0.5)), (None, None, None));
    }
}
