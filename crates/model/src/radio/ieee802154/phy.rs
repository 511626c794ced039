//! The radio at 2.4 GHz: what a frame takes (IEEE 802.15.4-2006, 6.5), how far it is heard, and how often it is
//! understood.

use crate::units::{Bytes, Nanos, Rate};

use super::frames;
use crate::mesh::Csma;

/// A symbol, four bits.
const SYMBOL: Nanos = Nanos::from_micros(16);
/// A byte on the air.
pub const BYTE: Nanos = Nanos(2 * SYMBOL.0);
/// aUnitBackoffPeriod.
pub const BACKOFF_PERIOD: Nanos = Nanos(20 * SYMBOL.0);
/// Clear channel assessment.
pub const CCA: Nanos = Nanos(8 * SYMBOL.0);
/// aTurnaroundTime, between receiving and transmitting.
pub const TURNAROUND: Nanos = Nanos(12 * SYMBOL.0);
/// macAckWaitDuration: a back-off period, the turnaround, and the 10 and 12 symbols of an acknowledgement's
/// synchronisation header and rest.
pub const ACK_WAIT: Nanos = Nanos((20 + 12 + 10 + 12) * SYMBOL.0);
/// An acknowledgement: frame control, sequence number, checksum.
pub const ACK_BYTES: u32 = 5;
/// Preamble, start of frame, length.
const PHY_HEADER: u32 = 4 + 1 + 1;
/// macMinLIFSPeriod and macMinSIFSPeriod, behind frames longer and shorter than aMaxSIFSFrameSize.
const LONG_SPACE: Nanos = Nanos(40 * SYMBOL.0);
const SHORT_SPACE: Nanos = Nanos(12 * SYMBOL.0);
const LONGEST_BEFORE_SHORT_SPACE: u32 = 18;

/// The weakest frame that is understood, dBm: the CC2420's sensitivity, where one of 20 bytes in a hundred is not.
pub const SENSITIVITY: f64 = -95.0;
/// The signal-to-noise ratio, in dB, of that frame, from `bit_error_rate`.
const RATIO_AT_SENSITIVITY: f64 = 0.52;
/// What an interferer counts more than noise of the same strength, dB: with it one is tolerated that is 3 dB weaker,
/// the CC2420's co-channel rejection.
pub const INTERFERER_COUNTS: f64 = 3.0 - RATIO_AT_SENSITIVITY;
/// Noise, with the receiver's own, dBm.
pub const NOISE: f64 = SENSITIVITY - RATIO_AT_SENSITIVITY;
/// Loss of the first metre, dB (free space at 2.45 GHz).
const FIRST_METRE: f64 = 40.2;

/// The time of a frame of so many bytes on the air.
pub const fn air_time(bytes: u32) -> Nanos {
    Nanos((PHY_HEADER + bytes) as u64 * BYTE.0)
}

/// How long its sender leaves the channel behind it.
pub const fn space_after(bytes: u32) -> Nanos {
    if bytes > LONGEST_BEFORE_SHORT_SPACE { LONG_SPACE } else { SHORT_SPACE }
}

/// From the end of a frame to that of its acknowledgement.
pub const fn answer_time() -> Nanos {
    Nanos(TURNAROUND.0 + air_time(ACK_BYTES).0)
}

/// The strength of a signal at so many metres: log-distance path loss with this exponent, dBm.
pub fn signal_at(metres: f64, power: f64, exponent: f64) -> f64 {
    power - FIRST_METRE - 10.0 * exponent * libm::log10(metres.max(1.0))
}

/// Bits that are wrong at a ratio of signal to noise, not in dB (IEEE 802.15.4-2006, E.4.1.8).
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

/// How likely it is that so many bytes are understood at that ratio.
pub fn success(ratio: f64, bytes: f64) -> f64 {
    libm::pow(1.0 - bit_error_rate(ratio), 8.0 * bytes)
}

/// How likely it is that a frame of so many bytes is understood at a strength in dBm, if nobody else transmits.
pub fn delivery(signal: f64, bytes: u32) -> f64 {
    success(from_decibels(signal - NOISE), f64::from(PHY_HEADER + bytes))
}

/// A ratio that is not in dB.
pub fn from_decibels(decibels: f64) -> f64 {
    libm::pow(10.0, decibels / 10.0)
}

/// What a lone hop carries of packets of this size if no frame is lost: the mean back-off, CCA, turnaround, frame,
/// acknowledgement and space, for each of its frames.
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

    /// The definitions above give what the data sheet says: of 20 bytes at -95 dBm one in a hundred is lost, also when
    /// the rest is an interferer 3 dB below.
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

    /// 127 bytes: 3.5 periods, CCA, turnaround, 4256 us, 544 us, 640 us.
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
