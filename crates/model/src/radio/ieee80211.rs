//! The timing of IEEE 802.11g and 802.11n in the 2.4 GHz band: what a frame takes, and which rates there are.
//!
//! References are to IEEE Std 802.11-2016.

use crate::declare::choice;
use crate::units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

choice! {
    /// The amendment that all stations of a cell follow.
    pub enum Standard {
        /// ERP-OFDM (clause 18), every frame by itself, DCF.
        G = "802.11g",
        /// HT (clause 19), 20 MHz, one spatial stream, long guard interval, mixed format; A-MPDUs with Block Acks, EDCA
        /// with the parameters of best effort.
        N = "802.11n",
    }
}

/// A rate of the physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Bits a second.
    pub rate: Rate,
    /// Data bits in a symbol of 4 us, N_DBPS.
    pub symbol_bits: u32,
    /// The weakest signal with which a receiver must get along, dBm (tables 17-18 and 19-23).
    pub sensitivity: i64,
}

const fn mode(kbits: u64, symbol_bits: u32, sensitivity: i64) -> Mode {
    Mode { rate: Rate(kbits * 1000), symbol_bits, sensitivity }
}

/// Table 17-4: those of OFDM, the lowest first.
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
/// Table 19-27: MCS 0 to 7.
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
/// The mandatory rates, at which responses are sent: the highest of them that is not above the data's (10.7.6.5.2).
const BASIC: [Mode; 3] = [OFDM[0], OFDM[2], OFDM[4]];

/// What back-off counts in the 2.4 GHz band, aSlotTime (table 18-5). The access point says which of the two holds
/// (9.4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// 9 us, where no station is of 802.11b.
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
    /// How long it is.
    pub const fn time(self) -> Nanos {
        match self {
            Slot::Short => Nanos::from_micros(9),
            Slot::Long => Nanos::from_micros(20),
        }
    }
}

/// aSIFSTime.
pub const SIFS: Nanos = Nanos::from_micros(10);
/// What an ERP-OFDM or HT frame in the 2.4 GHz band is followed by, for the sake of decoders (18.3.2.4).
const SIGNAL_EXTENSION: Nanos = Nanos::from_micros(6);
/// Preamble and SIGNAL of OFDM (table 17-5).
const OFDM_PREAMBLE: Nanos = Nanos::from_micros(20);
/// Those of HT mixed format with one stream (table 19-6).
const HT_PREAMBLE: Nanos = Nanos::from_micros(36);
const SYMBOL: Nanos = Nanos::from_micros(4);
/// SERVICE and tail.
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;
/// Frame check sequence.
const FCS: u64 = 4;
/// LLC and SNAP before an IP packet (RFC 1042).
const LLC_SNAP: u64 = 8;
/// The longest IP packet: 2304 bytes of MSDU with LLC and SNAP (9.2.4.7).
pub const LARGEST_PACKET: Bytes = Bytes(2304 - LLC_SNAP);
const ACK_BYTES: u64 = 14;
/// A compressed Block Ack.
const BLOCK_ACK_BYTES: u64 = 32;
/// aCWmin and aCWmax.
pub const WINDOWS: (u32, u32) = (15, 1023);
/// dot11ShortRetryLimit: how often a frame is tried.
pub const TRIES: u8 = 7;
/// The longest A-MPDU, bytes.
pub const LARGEST_AGGREGATE: u64 = 65_535;
/// The frames that a Block Ack can tell apart.
pub const MOST_FRAMES: usize = 64;
/// The longest transmission of an aggregate, as Linux drivers limit it (`ATH_AMPDU_LIMIT_MAX`, 4 ms).
pub const LONGEST_AGGREGATE: Nanos = Nanos::from_millis(4);

fn ofdm_time(preamble: Nanos, bytes: u64, symbol_bits: u32) -> Nanos {
    let symbols = (8 * bytes + SERVICE_AND_TAIL_BITS).div_ceil(symbol_bits.into());
    preamble + Nanos(SYMBOL.0 * symbols) + SIGNAL_EXTENSION
}

impl Standard {
    /// The rates, the lowest first.
    pub fn modes(self) -> &'static [Mode] {
        match self {
            Standard::G => &OFDM,
            Standard::N => &HT,
        }
    }

    /// The place of a rate among them.
    pub fn mode_of(self, rate: Rate) -> Option<usize> {
        self.modes().iter().position(|mode| mode.rate == rate)
    }

    /// The highest rate that a signal, in dBm, suffices for.
    pub fn rate_at(self, signal: i64) -> Option<Rate> {
        self.modes().iter().rev().find(|mode| mode.sensitivity <= signal).map(|mode| mode.rate)
    }

    /// How many frames a transmission may have.
    pub fn most_frames(self) -> usize {
        match self {
            Standard::G => 1,
            Standard::N => MOST_FRAMES,
        }
    }

    /// The bytes of a frame with an IP packet of so many: header, with QoS control in 802.11n, LLC, SNAP and FCS.
    pub fn frame_bytes(self, packet: u64) -> u64 {
        let header = match self {
            Standard::G => 24,
            Standard::N => 26,
        };
        header + LLC_SNAP + packet + FCS
    }

    /// What a data frame, or an aggregate, of so many bytes takes, from its preamble to the end of its signal extension
    /// (17.4.3, 19.4.3).
    pub fn data_time(self, mode: usize, bytes: u64) -> Nanos {
        let preamble = match self {
            Standard::G => OFDM_PREAMBLE,
            Standard::N => HT_PREAMBLE,
        };
        ofdm_time(preamble, bytes, self.modes()[mode].symbol_bits)
    }

    /// What a response to data of this mode takes, at the basic rate that fits.
    fn response_time(self, mode: usize, bytes: u64) -> Nanos {
        let rate = self.modes()[mode].rate;
        let basic = BASIC.iter().rev().find(|basic| basic.rate <= rate).unwrap_or(&BASIC[0]);
        ofdm_time(OFDM_PREAMBLE, bytes, basic.symbol_bits)
    }

    /// What an Ack takes.
    pub fn ack_time(self, mode: usize) -> Nanos {
        self.response_time(mode, ACK_BYTES)
    }

    /// What a Block Ack takes.
    pub fn block_ack_time(self, mode: usize) -> Nanos {
        self.response_time(mode, BLOCK_ACK_BYTES)
    }

    /// How long the air must be idle before back-off counts on: DIFS, or AIFS of best effort, whose AIFSN is 3.
    pub fn interframe_space(self, slot: Slot) -> Nanos {
        let slots = match self {
            Standard::G => 2,
            Standard::N => 3,
        };
        SIFS + Nanos(slot.time().0 * slots)
    }

    /// The same after a transmission that was not understood, EIFS: an Ack at the lowest rate would have had its time
    /// (10.3.2.3.7).
    pub fn extended_space(self, slot: Slot) -> Nanos {
        SIFS + self.ack_time(0) + self.interframe_space(slot)
    }

    /// The bytes that one more frame adds to an aggregate: delimiter, and padding to four bytes (9.7.1).
    pub fn subframe_bytes(self, packet: u64) -> u64 {
        4 + self.frame_bytes(packet).next_multiple_of(4)
    }

    /// What a lone sender carries at most at a rate: packets of so many bytes, as many in a transmission as may be, and
    /// before each the mean back-off.
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

    /// By hand: 1500 bytes of IP are 1536 of a frame, 12 310 bits with SERVICE and tail; in symbols of 216 bits 57,
    /// of 24 bits 513. An Ack has 134 bits: 2 symbols of 96, or 6 of 24.
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

    /// By hand: 1538 bytes are 12 326 bits, 48 symbols of 260. In an aggregate it takes 1544 bytes; ten of them have
    /// 123 542 bits, 476 symbols. A Block Ack has 278 bits, 3 symbols of 96.
    #[test]
    fn frames_of_802_11n_take_what_the_standard_says() {
        let n = Standard::N;
        assert_eq!(n.frame_bytes(1500), 1538);
        assert_eq!(n.data_time(7, 1538), us(36 + 48 * 4 + 6));
        assert_eq!(n.subframe_bytes(1500), 1544);
        assert_eq!(n.data_time(7, 15_440), us(36 + 476 * 4 + 6));
        assert_eq!((n.block_ack_time(7), n.interframe_space(Slot::Short)), (us(38), us(37)));
    }

    /// 28 + 67.5 + 254 + 10 + 34 us for 12 000 bits; and 21 frames of 1544 bytes, of which 22 would take more than
    /// 4 ms: 37 + 67.5 + 4038 + 10 + 38 us for 252 000 bits.
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
