//! The E-model (ITU-T G.107, 06/2015), which rates a telephone call by its delay and its losses.
//! All other parameters have the default values of the recommendation's table 2.

// The functions of the standard library differ from machine to machine.
use libm::{exp, exp10, log2, log10, pow, sqrt};
use model::units::Nanos;

/// How lost packets impair a codec (ITU-T G.113, appendix I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Impairment without losses (Ie).
    pub impairment: f64,
    /// Robustness against losses (Bpl).
    pub robustness: f64,
}

impl Codec {
    /// G.711 at 64 kbit/s, with packet loss concealment.
    pub const G711: Codec = Codec { impairment: 0.0, robustness: 25.1 };
}

/// Loudness ratings of sending and receiving, sidetone masking and talker echo, in dB (SLR, RLR,
/// STMR, TELR).
const SEND_LOUDNESS: f64 = 8.0;
const RECEIVE_LOUDNESS: f64 = 2.0;
const SIDETONE: f64 = 15.0;
const TALKER_ECHO: f64 = 65.0;
/// Weighted echo path loss in dB (WEPL).
const ECHO_PATH_LOSS: f64 = 110.0;
/// Noise of circuits and of rooms, in dBm0p and dB(A) (Nc, Nfor, Ps, Pr). `ROOM_NOISE_LESS` is how
/// much less of a room's noise telephones pick up, in dB (Ds, Dr).
const CIRCUIT_NOISE: f64 = -70.0;
const NOISE_FLOOR: f64 = -64.0;
const ROOM_NOISE: f64 = 35.0;
const ROOM_NOISE_LESS: f64 = 3.0;

/// Returns the rating factor R of a call with this delay from mouth to ear, and this share of
/// packets lost independently.
pub fn rating(codec: Codec, delay: Nanos, loss: f64) -> f64 {
    let ms = delay.as_millis_f64();
    let noise = noise();
    let signal_to_noise = 15.0 - 1.5 * (SEND_LOUDNESS + noise);
    signal_to_noise
        - simultaneous(signal_to_noise, noise, ms)
        - delayed(signal_to_noise, noise, ms)
        - equipment(codec, loss)
}

/// Returns the mean opinion score of a rating (annex B). Its cubic (B-4) falls below 1, the lowest
/// opinion, between ratings of 0 and 6.5; the scale ends there.
pub fn opinion_score(rating: f64) -> f64 {
    match rating {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

/// Returns No, the sum of all noise (7-3 to 7-8).
fn noise() -> f64 {
    let overall_loudness = SEND_LOUDNESS + RECEIVE_LOUDNESS;
    let above = ROOM_NOISE - overall_loudness - ROOM_NOISE_LESS - 14.0;
    let at_sender = ROOM_NOISE - SEND_LOUDNESS - ROOM_NOISE_LESS - 100.0 + 0.004 * above * above;
    let listener_sidetone = SIDETONE + ROOM_NOISE_LESS;
    let at_ear = ROOM_NOISE + 10.0 * log10(1.0 + exp10((10.0 - listener_sidetone) / 10.0));
    let at_receiver = RECEIVE_LOUDNESS - 121.0 + at_ear + 0.008 * (at_ear - 35.0) * (at_ear - 35.0);
    let all = [CIRCUIT_NOISE, at_sender, at_receiver, NOISE_FLOOR + RECEIVE_LOUDNESS];
    10.0 * log10(all.iter().map(|level| exp10(level / 10.0)).sum())
}

/// Returns Is, the impairments simultaneous with the voice (7-9 to 7-17).
fn simultaneous(signal_to_noise: f64, noise: f64, ms: f64) -> f64 {
    let x = SEND_LOUDNESS + RECEIVE_LOUDNESS + 0.2 * (64.0 + noise - RECEIVE_LOUDNESS);
    let loud = 20.0 * (bent(x / 8.0, 8.0) - x / 8.0);
    let echo = exp(-ms / 4.0) * exp10(-TALKER_ECHO / 10.0);
    let masking = -10.0 * log10(exp10(-SIDETONE / 10.0) + echo);
    let sidetone = 12.0 * bent((masking - 13.0) / 6.0, 8.0)
        - 28.0 * bent((masking + 1.0) / 19.4, 35.0)
        - 13.0 * bent((masking - 3.0) / 33.0, 13.0)
        + 29.0;
    // One quantisation: 37 dB.
    let g = 1.07 + 0.258 * 37.0 + 0.0602 * 37.0 * 37.0;
    let (y, z) = ((signal_to_noise - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0, 46.0 / 30.0 - g / 40.0);
    let quantised = 15.0 * log10(1.0 + exp10(y) + exp10(z));
    loud + sidetone + quantised
}

/// Returns Id: echo to the talker, echo to the listener, and delay alone (7-18 to 7-28).
fn delayed(signal_to_noise: f64, noise: f64, ms: f64) -> f64 {
    let masked = 40.0 * log10((1.0 + ms / 10.0) / (1.0 + ms / 150.0));
    let talker = 80.0 + 2.5 * (TALKER_ECHO - masked + 6.0 * exp(-0.3 * ms * ms) - 14.0);
    let half = (-1.5 * (noise - RECEIVE_LOUDNESS) - talker) / 2.0;
    let talker_echo = (half + sqrt(half * half + 100.0) - 1.0) * (1.0 - exp(-ms));
    let listener = 10.5 * (ECHO_PATH_LOSS + 7.0) * pow(2.0 * ms + 1.0, -0.25);
    let half = (signal_to_noise - listener) / 2.0;
    let listener_echo = half + sqrt(half * half + 169.0);
    talker_echo + listener_echo + alone(ms)
}

/// Returns Idd, the impairment by delay alone, which is 0 up to 100 ms (7-27, 7-28).
fn alone(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = log2(ms / 100.0);
    25.0 * (bent(x, 6.0) - 3.0 * bent(x / 3.0, 6.0) + 2.0)
}

/// Returns Ie,eff: the losses of the codec and of the network (7-29, BurstR = 1).
fn equipment(codec: Codec, loss: f64) -> f64 {
    let percent = 100.0 * loss;
    codec.impairment + (95.0 - codec.impairment) * percent / (percent + codec.robustness)
}

/// Rises from 1 at 0 to `by` far above 1.
fn bent(by: f64, power: f64) -> f64 {
    pow(1.0 + pow(by, power), 1.0 / power)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_PLC: Codec = Codec { robustness: 4.3, ..Codec::G711 };

    fn near(measured: f64, published: f64, within: f64) {
        assert!((measured - published).abs() <= within, "{measured} for {published}");
    }

    /// With all parameters at their defaults, R is 93.2 (G.107, section 7.7).
    #[test]
    fn the_default_rating() {
        near(rating(Codec::G711, Nanos::ZERO, 0.0), 93.2, 0.05);
        near(noise(), -61.18, 0.01);
        near(15.0 - 1.5 * (SEND_LOUDNESS + noise()), 94.77, 0.01);
        near(simultaneous(94.77, -61.18, 0.0), 1.41, 0.01);
    }

    /// Reproduces table B.1 of G.107: the limits of the categories of user satisfaction.
    #[test]
    fn scores_of_ratings() {
        for (rating, score) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            near(opinion_score(rating), score, 0.0065);
        }
        near(opinion_score(93.2), 4.41, 0.005);
        assert_eq!((opinion_score(-5.0), opinion_score(101.0)), (1.0, 4.5));
        // By hand: 1 + 0.105 - 3 * 57 * 97 * 7e-6 = 0.989 at 3, and 1 + 0.245 - 7 * 53 * 93 * 7e-6 = 1.0035 at 7.
        assert_eq!(opinion_score(3.0), 1.0);
        near(opinion_score(7.0), 1.0035, 0.0001);
        let scores: Vec<_> = (-10..=110).map(|r| opinion_score(r.into())).collect();
        assert!(scores.windows(2).all(|pair| pair[0] <= pair[1]), "{scores:?}");
    }

    /// By equation 7-29, 1 % costs 95/5.3 without concealment and 95/26.1 with it (Bpl by G.113,
    /// appendix I).
    #[test]
    fn losses_cost_what_the_codec_makes_of_them() {
        near(equipment(NO_PLC, 0.01), 17.92, 0.01);
        near(equipment(Codec::G711, 0.01), 3.64, 0.01);
        near(equipment(Codec::G711, 1.0), 75.94, 0.01);
    }

    /// By equation 7-27, X is 1 at 200 ms. R falls with every millisecond.
    #[test]
    fn delay_costs_from_100_ms_on() {
        assert_eq!(alone(100.0), 0.0);
        near(alone(200.0), 25.0 * (2f64.powf(1.0 / 6.0) - 3.0 * (1.0 + 1.0 / 729.0_f64).powf(1.0 / 6.0) + 2.0), 1e-9);
        let ratings: Vec<_> = (0..60).map(|n| rating(Codec::G711, Nanos::from_millis(10 * n), 0.0)).collect();
        assert!(ratings.windows(2).all(|pair| pair[1] <= pair[0]), "{ratings:?}");
    }
}
