//! The radio at 2.4 GHz: the duration of a frame (IEEE 802.15.4-2006, 6.5), its range, and the probability that it is
//! received.

use crate::units::{Bytes, Nanos, Rate};

use super::frames;
use crate::mesh::Csma;

/// The duration of a symbol, four bits.
const SYMBOL: Nanos = Nanos::from_micros(16);
/// The duration of a byte.
pub const BYTE: Nanos = Nanos(2 * SYMBOL.0);
/// The unit of back-off (aUnitBackoffPeriod).
pub const BACKOFF_PERIOD: Nanos = Nanos(20 * SYMBOL.0);
/// The duration of a clear channel assessment.
pub const CCA: Nanos = Nanos(8 * SYMBOL.0);
/// The time to switch between receiving and transmitting (aTurnaroundTime).
pub const TURNAROUND: Nanos = Nanos(12 * SYMBOL.0);
/// The time that a sender waits for an acknowledgement (macAckWaitDuration). It is a back-off period, the turnaround,
/// and the 10 and 12 symbols of an acknowledgement's synchronisation header and rest.
pub const ACK_WAIT: Nanos = Nanos((20 + 12 + 10 + 12) * SYMBOL.0);
/// Length of an acknowledgement, bytes: frame control, sequence number, checksum.
pub const ACK_BYTES: u32 = 5;
/// Length of the physical header, bytes: preamble, start of frame, length.
const PHY_HEADER: u32 = 4 + 1 + 1;
/// The space after frames longer than aMaxSIFSFrameSize (macMinLIFSPeriod); [`SHORT_SPACE`] follows shorter ones
/// (macMinSIFSPeriod).
const LONG_SPACE: Nanos = Nanos(40 * SYMBOL.0);
const SHORT_SPACE: Nanos = Nanos(12 * SYMBOL.0);
const LONGEST_BEFORE_SHORT_SPACE: u32 = 18;

/// The CC2420's sensitivity, dBm: at this strength one frame of 20 bytes in a hundred is lost.
pub const SENSITIVITY: f64 = -95.0;
/// The signal-to-noise ratio at the sensitivity, dB, from [`bit_error_rate`].
const RATIO_AT_SENSITIVITY: f64 = 0.52;
/// How much more an interferer counts than noise of the same strength, dB. An interferer that is 3 dB weaker is then
/// tolerated, which is the CC2420's co-channel rejection.
pub const INTERFERER_COUNTS: f64 = 3.0 - RATIO_AT_SENSITIVITY;
/// The noise, including the receiver's own, dBm.
pub const NOISE: f64 = SENSITIVITY - RATIO_AT_SENSITIVITY;
/// The path loss of the first metre, dB (free space at 2.45 GHz).
const FIRST_METRE: f64 = 40.2;

/// Returns the duration of a frame of `bytes` bytes.
pub const fn air_time(bytes: u32) -> Nanos {
    Nanos((PHY_HEADER + bytes) as u64 * BYTE.0)
}

/// Returns the time after a frame of `bytes` bytes for which its sender leaves the channel free.
pub const fn space_after(bytes: u32) -> Nanos {
    if bytes > LONGEST_BEFORE_SHORT_SPACE { LONG_SPACE } else { SHORT_SPACE }
}

/// Returns the time from the end of a frame to the end of its acknowledgement.
pub const fn answer_time() -> Nanos {
    Nanos(TURNAROUND.0 + air_time(ACK_BYTES).0)
}

/// Returns the strength of a signal at a distance in metres, dBm: log-distance path loss with this exponent.
pub fn signal_at(metres: f64, power: f64, exponent: f64) -> f64 {
    power - FIRST_METRE - 10.0 * exponent * libm::log10(metres.max(1.0))
}

/// Returns the share of wrong bits at a signal-to-noise ratio, which is not in dB (IEEE 802.15.4-2006, E.4.1.8).
pub fn bit_error_rate(ratio: f64) -> f64 {
    const CHOOSE: [f64; 15] = [
        120.0, 560.0, 1820.0, 4368.0, 8008.0, 11440.0, 12870.0, 11440.0, 8008.0, 4368.0, 1820.0, 560.0, 120.0, 16.0,
        1.0,
    ];
    let term = |(choose, k): (&f64, u32)| {
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sign * choose * libm::exp(20.0 * ratio * (1.0 / f64::from(k) - 1.0))
    };
    8.0 / 15.0 / 16.0 * CHOOSE.iter().zip(2..).map(term).sum::<f64>()
}

/// Returns the probability that `bytes` bytes are received at a signal-to-noise ratio, which is not in dB.
pub fn success(ratio: f64, bytes: f64) -> f64 {
    libm::pow(1.0 - bit_error_rate(ratio), 8.0 * bytes)
}

/// Returns the probability that a frame of `bytes` bytes is received at a strength in dBm, if nobody else transmits.
pub fn delivery(signal: f64, bytes: u32) -> f64 {
    success(from_decibels(signal - NOISE), f64::from(PHY_HEADER + bytes))
}

/// Converts a ratio in dB into a plain number.
pub fn from_decibels(decibels: f64) -> f64 {
    libm::pow(10.0, decibels / 10.0)
}

/// Returns the rate that a lone hop carries in packets of this size if no frame is lost. Each frame takes the mean
/// back-off, CCA, turnaround, frame, acknowledgement and space.
pub fn most_carried(csma: Csma, packet: Bytes) -> Rate {
    let back_off = BACKOFF_PERIOD.0 * Csma::most_periods(csma.min_be) / 2;
    let frame = |number| {
        let bytes = frames::bytes(packet.0 as u32, number);
        back_off + CCA.0 + TURNAROUND.0 + air_time(bytes).0 + answer_time().0 + space_after(bytes).0
    };
    let time: u64 = (0..frames::count(packet.0 as u32)).map(frame).sum();
    Rate(packet.0 * 8 * 1_000_000_000 / time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_standard() {
        assert_eq!(air_time(127), Nanos::from_micros(4256));
        assert_eq!(air_time(ACK_BYTES), Nanos::from_micros(352));
        assert_eq!(ACK_WAIT, Nanos::from_micros(864));
        assert!(answer_time() < ACK_WAIT);
    }

    /// The constants agree with the data sheet. One frame of 20 bytes in a hundred is lost at -95 dBm, and also with an
    /// interferer that is 3 dB weaker.
    #[test]
    fn the_sensitivity_is_that_of_the_data_sheet() {
        let lost = 1.0 - delivery(SENSITIVITY, 20);
        assert!((lost - 0.01).abs() < 0.001, "{lost}");
        let lost = 1.0 - success(from_decibels(3.0 - INTERFERER_COUNTS), 26.0);
        assert!((lost - 0.01).abs() < 0.001, "{lost}");
    }

    #[test]
    fn error_rates_fall_from_a_half_to_nothing() {
        let rates = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0].map(bit_error_rate);
        assert!((rates[0] - 0.5).abs() < 1e-9, "{}", rates[0]);
        assert!(rates.is_sorted_by(|a, b| a > b), "{rates:?}");
        assert!(rates[5] < 1e-16 && rates[5] > 0.0, "{}", rates[5]);
    }

    /// A frame of 127 bytes takes 3.5 periods, CCA, turnaround, 4256 us, 544 us and 640 us.
    #[test]
    fn a_lone_hop() {
        let time_us = 1120 + 128 + 192 + 4256 + 544 + 640;
        assert_eq!(most_carried(Csma::default(), Bytes(113)), Rate(113 * 8 * 1_000_000 / time_us));
    }

    #[test]
    fn ten_times_as_far_is_ten_times_the_exponent_less() {
        assert_eq!(signal_at(1.0, 0.0, 3.0), -40.2);
        assert!((signal_at(10.0, 0.0, 3.0) + 70.2).abs() < 1e-9);
    }
}
