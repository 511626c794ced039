//! How many bytes of packets a transport block carries, by resource blocks and channel quality.

use crate::declare::Field;
use crate::schema::{Key, KeyType};
use crate::section::Section;
use serde::{Deserialize, Serialize};

/// What each packet takes besides its own bytes: a PDCP header with a number of 12 bits (3GPP TS 36.323, section
/// 6.2.3), and the 12 bits of RLC that say where it ends (TS 36.322, section 6.2.1.4).
pub const PACKET_HEADER: u32 = 2 + 2;

/// What each transport block takes: RLC's fixed header (TS 36.322, section 6.2.1.4) and MAC's of the last data in a
/// block (TS 36.321, section 6.1.2).
const BLOCK_HEADER: u32 = 2 + 1;

/// A short buffer status report with its header (TS 36.321, section 6.1.3.1): in each uplink block.
const BUFFER_STATUS: u32 = 1 + 1;

/// The checksum of a transport block, bits (TS 36.212, section 5.1.1).
const CHECKSUM_BITS: u32 = 24;

/// Subcarriers of a resource block and symbols of a subframe, with the normal cyclic prefix (TS 36.211, section 5.2.3).
const SUBCARRIERS: u32 = 12;
const SYMBOLS: u32 = 14;

/// Resource elements of a pair of resource blocks that carry data towards the handset. Three symbols are for control,
/// as in the reference that channel quality indicators are about (TS 36.213, section 7.2.3). In the other eleven two
/// antenna ports have twelve reference signals (TS 36.211, section 6.10.1.2).
const DOWNLINK_ELEMENTS: u32 = SUBCARRIERS * (SYMBOLS - 3) - 12;

/// The same towards the base station: one symbol of each slot is a reference signal (TS 36.211, section 5.5.2.1.2).
const UPLINK_ELEMENTS: u32 = SUBCARRIERS * (SYMBOLS - 2);

/// Resource blocks at the edges of the uplink that are for control (PUCCH, TS 36.211, section 5.4.3): one at either.
const UPLINK_CONTROL_BLOCKS: u32 = 2;

/// The best that a handset sends: 16QAM. Only those of category 5 have 64QAM (TS 36.306, table 4.1-2).
const BEST_OF_UPLINK: Cqi = Cqi(9);

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From the base station to the handset.
    Down,
    /// From the handset to the base station.
    Up,
}

/// The width of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Resource blocks, each 180 kHz wide.
    blocks: u32,
}

impl Field for Bandwidth {
    const KIND: KeyType = KeyType::Choice(Bandwidth::NAMES);
    fn find(section: &Section, name: &'static str) -> Option<Bandwidth> {
        Bandwidth::named(&section.read::<String>(name)?)
    }
    fn absent(_: &Key) -> Bandwidth {
        Bandwidth::WIDEST
    }
    fn written(&self) -> Option<String> {
        Some(format!("{:?}", self.name()))
    }
}

impl Bandwidth {
    /// As a scenario writes them, each with its resource blocks (TS 36.101, table 5.6-1).
    const ALL: [(&'static str, u32); 6] =
        [("1.4mhz", 6), ("3mhz", 15), ("5mhz", 25), ("10mhz", 50), ("15mhz", 75), ("20mhz", 100)];

    /// 20 MHz.
    pub const WIDEST: Bandwidth = Bandwidth { blocks: 100 };

    /// The names of all.
    pub const NAMES: &'static [&'static str] = &["1.4mhz", "3mhz", "5mhz", "10mhz", "15mhz", "20mhz"];

    /// That of a name.
    pub fn named(name: &str) -> Option<Bandwidth> {
        let found = Bandwidth::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, blocks)| Bandwidth { blocks: *blocks })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Bandwidth::ALL.iter().find(|(_, blocks)| *blocks == self.blocks);
        found.map_or("", |(name, _)| name)
    }

    /// Resource blocks that carry data.
    pub fn blocks(self, direction: Direction) -> u32 {
        match direction {
            Direction::Down => self.blocks,
            Direction::Up => self.blocks - UPLINK_CONTROL_BLOCKS,
        }
    }
}

/// A channel quality indicator: the best modulation and code that a handset can receive, from 1 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cqi(pub u8);

/// Bits of a resource element by CQI, in 1024ths: those of the modulation times the code rate (TS 36.213, table
/// 7.2.3-1).
const EFFICIENCIES: [u32; 15] = [
    2 * 78,
    2 * 120,
    2 * 193,
    2 * 308,
    2 * 449,
    2 * 602,
    4 * 378,
    4 * 490,
    4 * 616,
    6 * 466,
    6 * 567,
    6 * 666,
    6 * 772,
    6 * 873,
    6 * 948,
];

impl Cqi {
    /// That of a signal-to-noise ratio in decibels: the highest whose bits of a resource element are at most `log2(1 +
    /// snr / gap)`, the gap to Shannon's capacity being `-ln(5 BER) / 1.5` for a bit error rate of 0.00005. So ns-3 has
    /// it (Piro, Baldo, Miozzo: An LTE module for the ns-3 network simulator, 2011). None below CQI 1.
    pub fn at_snr(decibels: f64) -> Option<Cqi> {
        let snr = libm::pow(10.0, decibels / 10.0);
        let gap = -libm::log(5.0 * 0.000_05) / 1.5;
        let bits = libm::log2(1.0 + snr / gap);
        let reached = EFFICIENCIES.iter().filter(|efficiency| f64::from(**efficiency) / 1024.0 <= bits).count();
        (reached > 0).then_some(Cqi(reached as u8))
    }

    /// Bytes of packets and their headers that a transport block of so many resource blocks carries: what is left of
    /// their resource elements by reference signals, control, code, checksum and the headers of the block.
    pub fn payload(self, direction: Direction, blocks: u32) -> u32 {
        let (elements, cqi, header) = match direction {
            Direction::Down => (DOWNLINK_ELEMENTS, self, BLOCK_HEADER),
            Direction::Up => (UPLINK_ELEMENTS, self.min(BEST_OF_UPLINK), BLOCK_HEADER + BUFFER_STATUS),
        };
        let bits = elements * blocks * EFFICIENCIES[usize::from(cqi.0) - 1] / 1024;
        (bits.saturating_sub(CHECKSUM_BITS) / 8).saturating_sub(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbit(direction: Direction, cqi: u8) -> f64 {
        f64::from(Cqi(cqi).payload(direction, Bandwidth::WIDEST.blocks(direction))) * 8.0 / 1000.0
    }

    /// 100 x 120 x 5.5547 bits in 1 ms are 66.7 Mbit/s; 98 x 144 x 2.4063 are 34.0 Mbit/s.
    #[test]
    fn the_widest_carrier_at_the_best_quality() {
        assert!((mbit(Direction::Down, 15) - 66.608).abs() < 1e-9, "{}", mbit(Direction::Down, 15));
        assert!((mbit(Direction::Up, 15) - 33.888).abs() < 1e-9, "{}", mbit(Direction::Up, 15));
    }

    /// The table's last column, as the specification prints it.
    #[test]
    fn efficiencies_are_those_of_the_table() {
        let printed = [
            0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234,
            5.1152, 5.5547,
        ];
        for (efficiency, printed) in EFFICIENCIES.into_iter().zip(printed) {
            assert!((f64::from(efficiency) / 1024.0 - printed).abs() < 5.1e-5, "{efficiency}");
        }
    }

    /// 18 dB over a gap of 7.4 dB: log2(1 + 63.1 / 5.53) = 3.63 bits, between CQI 11 and CQI 12.
    #[test]
    fn quality_rises_with_the_signal() {
        assert_eq!(Cqi::at_snr(18.0), Some(Cqi(11)));
        assert_eq!(
            [-2.2, -2.0, 24.0, 24.1, 40.0].map(Cqi::at_snr),
            [None, Some(1), Some(14), Some(15), Some(15)].map(|c| c.map(Cqi))
        );
        let all: Vec<_> = (-20..250).filter_map(|tenths| Cqi::at_snr(f64::from(tenths) / 10.0)).collect();
        assert!(all.is_sorted() && (1..=15).all(|cqi| all.contains(&Cqi(cqi))));
    }

    /// Even the narrowest carrier carries something at the worst quality.
    #[test]
    fn a_whole_subframe_is_never_too_small() {
        for (_, blocks) in Bandwidth::ALL {
            for direction in [Direction::Down, Direction::Up] {
                let blocks = Bandwidth { blocks }.blocks(direction);
                assert!(Cqi(1).payload(direction, blocks) > 0);
            }
        }
    }
}
