//! The timing of IEEE 802.11g and 802.11n in the 2.4 GHz band: durations of frames, and the rates.
//!
//! References are to IEEE Std 802.11-2016.

use crate::declare::choice;
use crate::units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

choice! {
    /// The amendment that all stations of a cell follow.
    pub enum Standard {
        /// ERP-OFDM (clause 18): single frames, DCF.
        G = "802.11g",
        /// HT (clause 19): 20 MHz, one spatial stream, long guard interval, mixed format. Frames are A-MPDUs with Block
        /// Acks, with EDCA's parameters for best effort.
        N = "802.11n",
    }
}

/// A rate of the physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// The rate, bit/s.
    pub rate: Rate,
    /// The data bits of a symbol of 4 us (N_DBPS).
    pub symbol_bits: u32,
    /// The minimum sensitivity of a receiver, dBm (tables 17-18 and 19-23).
    pub sensitivity: i64,
}

const fn mode(kbits: u64, symbol_bits: u32, sensitivity: i64) -> Mode {
    Mode { rate: Rate(kbits * 1000), symbol_bits, sensitivity }
}

/// The rates of OFDM, the lowest first (table 17-4).
const OFDM: [Mode; 8] = [
    mode(6_000, 24, -82),
    mode(9_000, 36, -81),
    mode(12_000, 48, -79),
    mode(18_000, 72, -77),
    mode(24_000, 96, -74),
    mode(36_000, 144, -70),
    mode(48_000, 192, -66),
    mode(54_000, 216, -65),
];
/// The rates of MCS 0 to 7 (table 19-27).
const HT: [Mode; 8] = [
    mode(6_500, 26, -82),
    mode(13_000, 52, -79),
    mode(19_500, 78, -77),
    mode(26_000, 104, -74),
    mode(39_000, 156, -70),
    mode(52_000, 208, -66),
    mode(58_500, 234, -65),
    mode(65_000, 260, -64),
];
/// The mandatory rates. A response is sent at the highest of them that is not above the data's rate (10.7.6.5.2).
const BASIC: [Mode; 3] = [OFDM[0], OFDM[2], OFDM[4]];

/// The unit of back-off in the 2.4 GHz band, aSlotTime (table 18-5). The access point announces one of the two
/// (9.4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// 9 us, if no station is of 802.11b.
    Short,
    /// 20 us, which stations of 802.11b need.
    Long,
}

impl From<bool> for Slot {
    fn from(is_short: bool) -> Slot {
        if is_short { Slot::Short } else { Slot::Long }
    }
}

impl From<Slot> for bool {
    fn from(slot: Slot) -> bool {
        slot == Slot::Short
    }
}

impl Slot {
    /// Returns the length of the slot.
    pub const fn time(self) -> Nanos {
        match self {
            Slot::Short => Nanos::from_micros(9),
            Slot::Long => Nanos::from_micros(20),
        }
    }
}

/// The short interframe space before responses (aSIFSTime).
pub const SIFS: Nanos = Nanos::from_micros(10);
/// The signal extension after an ERP-OFDM or HT frame in the 2.4 GHz band, which gives decoders time (18.3.2.4).
const SIGNAL_EXTENSION: Nanos = Nanos::from_micros(6);
/// The duration of preamble and SIGNAL in OFDM (table 17-5).
const OFDM_PREAMBLE: Nanos = Nanos::from_micros(20);
/// The duration of preambles and SIGNAL fields in HT mixed format with one stream (table 19-6).
const HT_PREAMBLE: Nanos = Nanos::from_micros(36);
const SYMBOL: Nanos = Nanos::from_micros(4);
/// Bits of SERVICE and tail.
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;
/// Length of the frame check sequence, bytes.
const FCS: u64 = 4;
/// Length of LLC and SNAP before an IP packet, bytes (RFC 1042).
const LLC_SNAP: u64 = 8;
/// The longest IP packet: 2304 bytes of MSDU with LLC and SNAP (9.2.4.7).
pub const LARGEST_PACKET: Bytes = Bytes(2304 - LLC_SNAP);
const ACK_BYTES: u64 = 14;
/// Length of a compressed Block Ack, bytes.
const BLOCK_ACK_BYTES: u64 = 32;
/// The smallest and the largest contention window, slots (aCWmin and aCWmax).
pub const WINDOWS: (u32, u32) = (15, 1023);
/// The number of times that a frame is tried (dot11ShortRetryLimit).
pub const TRIES: u8 = 7;
/// The longest A-MPDU, bytes.
pub const LARGEST_AGGREGATE: u64 = 65_535;
/// The number of frames that a Block Ack can acknowledge.
pub const MOST_FRAMES: usize = 64;
/// The longest transmission of an aggregate, as Linux drivers limit it (`ATH_AMPDU_LIMIT_MAX`, 4 ms).
pub const LONGEST_AGGREGATE: Nanos = Nanos::from_millis(4);

fn ofdm_time(preamble: Nanos, bytes: u64, symbol_bits: u32) -> Nanos {
    let symbols = (8 * bytes + SERVICE_AND_TAIL_BITS).div_ceil(symbol_bits.into());
    preamble + Nanos(SYMBOL.0 * symbols) + SIGNAL_EXTENSION
}

impl Standard {
    /// Returns the rates, the lowest first.
    pub fn modes(self) -> &'static [Mode] {
        match self {
            Standard::G => &OFDM,
            Standard::N => &HT,
        }
    }

    /// Returns the index of a rate among the rates of the standard.
    pub fn mode_of(self, rate: Rate) -> Option<usize> {
        self.modes().iter().position(|mode| mode.rate == rate)
    }

    /// Returns the highest rate for which a signal, in dBm, is strong enough.
    pub fn rate_at(self, signal: i64) -> Option<Rate> {
        self.modes().iter().rev().find(|mode| mode.sensitivity <= signal).map(|mode| mode.rate)
    }

    /// Returns the largest number of frames in a transmission.
    pub fn most_frames(self) -> usize {
        match self {
            Standard::G => 1,
            Standard::N => MOST_FRAMES,
        }
    }

    /// Returns the length of a frame with an IP packet of `packet` bytes: header (with QoS control in 802.11n), LLC,
    /// SNAP and FCS.
    pub fn frame_bytes(self, packet: u64) -> u64 {
        let header = match self {
            Standard::G => 24,
            Standard::N => 26,
        };
        header + LLC_SNAP + packet + FCS
    }

    /// Returns the duration of a data frame or aggregate of `bytes` bytes, from its preamble to the end of its signal
    /// extension (17.4.3, 19.4.3).
    pub fn data_time(self, mode: usize, bytes: u64) -> Nanos {
        let preamble = match self {
            Standard::G => OFDM_PREAMBLE,
            Standard::N => HT_PREAMBLE,
        };
        ofdm_time(preamble, bytes, self.modes()[mode].symbol_bits)
    }

    /// Returns the duration of a response of `bytes` bytes to data of this mode, at the right basic rate.
    fn response_time(self, mode: usize, bytes: u64) -> Nanos {
        let rate = self.modes()[mode].rate;
        let basic = BASIC.iter().rev().find(|basic| basic.rate <= rate).unwrap_or(&BASIC[0]);
        ofdm_time(OFDM_PREAMBLE, bytes, basic.symbol_bits)
    }

    /// Returns the duration of an Ack to data of this mode.
    pub fn ack_time(self, mode: usize) -> Nanos {
        self.response_time(mode, ACK_BYTES)
    }

    /// Returns the duration of a Block Ack to data of this mode.
    pub fn block_ack_time(self, mode: usize) -> Nanos {
        self.response_time(mode, BLOCK_ACK_BYTES)
    }

    /// Returns how long the air must be idle before back-off continues: DIFS, or the AIFS of best effort, whose AIFSN
    /// is 3.
    pub fn interframe_space(self, slot: Slot) -> Nanos {
        let slots = match self {
            Standard::G => 2,
            Standard::N => 3,
        };
        SIFS + Nanos(slot.time().0 * slots)
    }

    /// Returns how long the air must be idle after a failed transmission (EIFS), which leaves time for an Ack at the
    /// lowest rate (10.3.2.3.7).
    pub fn extended_space(self, slot: Slot) -> Nanos {
        SIFS + self.ack_time(0) + self.interframe_space(slot)
    }

    /// Returns the bytes that one more frame adds to an aggregate, with delimiter and padding to four bytes (9.7.1).
    pub fn subframe_bytes(self, packet: u64) -> u64 {
        4 + self.frame_bytes(packet).next_multiple_of(4)
    }

    /// Returns the rate that a lone sender carries in packets of `packet` bytes, with as many per transmission as
    /// allowed. Each transmission comes after the mean back-off.
    pub fn most_carried(self, slot: Slot, mode: usize, packet: Bytes) -> Rate {
        let one = self.data_time(mode, self.frame_bytes(packet.0)) + SIFS + self.ack_time(mode);
        let subframe = self.subframe_bytes(packet.0);
        let fits = |count: &u64| {
            count * subframe <= LARGEST_AGGREGATE && self.data_time(mode, count * subframe) <= LONGEST_AGGREGATE
        };
        let most = (2..=self.most_frames() as u64).rev().find(fits);
        let (frames, exchange) = match most {
            Some(count) => (count, self.data_time(mode, count * subframe) + SIFS + self.block_ack_time(mode)),
            None => (1, one),
        };
        let back_off = Nanos(slot.time().0 * u64::from(WINDOWS.0) / 2);
        let round = self.interframe_space(slot) + back_off + exchange;
        Rate((8.0 * (frames * packet.0) as f64 / round.as_secs_f64()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Nanos {
        Nanos::from_micros(us)
    }

    /// Computed by hand: 1500 bytes of IP are a frame of 1536 bytes, 12 310 bits with SERVICE and tail. They take 57
    /// symbols of 216 bits, or 513 of 24 bits. An Ack has 134 bits: 2 symbols of 96, or 6 of 24.
    #[test]
    fn frames_of_802_11g_take_what_the_standard_says() {
        let g = Standard::G;
        assert_eq!(g.frame_bytes(1500), 1536);
        assert_eq!(g.data_time(7, 1536), us(20 + 57 * 4 + 6));
        assert_eq!(g.data_time(0, 1536), us(20 + 513 * 4 + 6));
        // A TCP acknowledgement of 52 bytes: 726 bits, 4 symbols.
        assert_eq!(g.data_time(7, g.frame_bytes(52)), us(20 + 4 * 4 + 6));
        assert_eq!((g.ack_time(7), g.ack_time(4), g.ack_time(0)), (us(34), us(34), us(50)));
        // At 18 Mbit/s it goes at 12: 3 symbols of 48 bits.
        assert_eq!(g.ack_time(3), us(38));
        assert_eq!((g.interframe_space(Slot::Short), g.extended_space(Slot::Short)), (us(28), us(88)));
        assert_eq!((g.interframe_space(Slot::Long), g.extended_space(Slot::Long)), (us(50), us(110)));
    }

    /// Computed by hand: 1538 bytes are 12 326 bits, 48 symbols of 260. In an aggregate the frame takes 1544 bytes; ten
    /// of them have 123 542 bits, 476 symbols. A Block Ack has 278 bits, 3 symbols of 96.
    #[test]
    fn frames_of_802_11n_take_what_the_standard_says() {
        let n = Standard::N;
        assert_eq!(n.frame_bytes(1500), 1538);
        assert_eq!(n.data_time(7, 1538), us(36 + 48 * 4 + 6));
        assert_eq!(n.subframe_bytes(1500), 1544);
        assert_eq!(n.data_time(7, 15_440), us(36 + 476 * 4 + 6));
        assert_eq!((n.block_ack_time(7), n.interframe_space(Slot::Short)), (us(38), us(37)));
    }

    /// A single frame takes 28 + 67.5 + 254 + 10 + 34 us for 12 000 bits. An aggregate has 20 frames of 1544 bytes,
    /// because 21 take more than 4 ms. Before it come 37 + 67.5 us, and after it 10 + 38 us.
    #[test]
    fn a_lone_sender_carries_what_its_exchanges_leave() {
        assert_eq!(Standard::G.most_carried(Slot::Short, 7, Bytes(1500)).0, (12_000.0 / 393.5e-6) as u64);
        // 50 and 150 us before it.
        assert_eq!(Standard::G.most_carried(Slot::Long, 7, Bytes(1500)).0, (12_000.0 / 498e-6) as u64);
        let exchange = Standard::N.data_time(7, 20 * 1544);
        assert!(exchange <= LONGEST_AGGREGATE && Standard::N.data_time(7, 21 * 1544) > LONGEST_AGGREGATE);
        let round = 37e-6 + 67.5e-6 + exchange.as_secs_f64() + 48e-6;
        assert_eq!(Standard::N.most_carried(Slot::Short, 7, Bytes(1500)).0, (20.0 * 12_000.0 / round) as u64);
    }

    #[test]
    fn a_signal_gives_the_highest_rate_that_it_suffices_for() {
        let mbit = |signal| Standard::G.rate_at(signal).map(|rate| rate.0 / 1_000_000);
        assert_eq!([-51, -65, -66, -82, -83].map(mbit), [Some(54), Some(54), Some(48), Some(6), None]);
    }
}
