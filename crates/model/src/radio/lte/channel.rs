//! The bytes of packets that a transport block carries, by resource blocks and channel quality.

use crate::declare::Field;
use crate::schema::{Key, KeyType};
use crate::section::Section;
use serde::{Deserialize, Serialize};

/// The bytes of headers of each packet. One is a PDCP header with a number of 12 bits (3GPP TS 36.323, section 6.2.3).
/// The other is RLC's 12 bits for the packet's end (TS 36.322, section 6.2.1.4).
pub const PACKET_HEADER: u32 = 2 + 2;

/// The bytes of headers of each transport block. They are RLC's fixed header (TS 36.322, section 6.2.1.4), and MAC's
/// for the last data in a block (TS 36.321, section 6.1.2).
const BLOCK_HEADER: u32 = 2 + 1;

/// Length of the short buffer status report in each uplink block with its header, bytes (TS 36.321, section 6.1.3.1).
const BUFFER_STATUS: u32 = 1 + 1;

/// Length of the checksum of a transport block, bits (TS 36.212, section 5.1.1).
const CHECKSUM_BITS: u32 = 24;

/// Subcarriers of a resource block and symbols of a subframe, with the normal cyclic prefix (TS 36.211, section 5.2.3).
const SUBCARRIERS: u32 = 12;
const SYMBOLS: u32 = 14;

/// Resource elements of a pair of resource blocks that carry data towards the handset. Three symbols carry control
/// data, as in the definition of channel quality indicators (TS 36.213, section 7.2.3). In the other eleven symbols,
/// two antenna ports have twelve reference signals (TS 36.211, section 6.10.1.2).
const DOWNLINK_ELEMENTS: u32 = SUBCARRIERS * (SYMBOLS - 3) - 12;

/// Resource elements of a pair of resource blocks that carry data towards the base station. One symbol of each slot is
/// a reference signal (TS 36.211, section 5.5.2.1.2).
const UPLINK_ELEMENTS: u32 = SUBCARRIERS * (SYMBOLS - 2);

/// Resource blocks of the uplink that carry control data (PUCCH, TS 36.211, section 5.4.3): one at either edge.
const UPLINK_CONTROL_BLOCKS: u32 = 2;

/// The best quality at which a handset sends: 16QAM. Only handsets of category 5 have 64QAM (TS 36.306, table 4.1-2).
const BEST_OF_UPLINK: Cqi = Cqi(9);

/// The direction of data in a cell.
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
    /// The number of resource blocks, each 180 kHz wide.
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
    /// The bandwidths' names in a file, each with its number of resource blocks (TS 36.101, table 5.6-1).
    const ALL: [(&'static str, u32); 6] =
        [("1.4mhz", 6), ("3mhz", 15), ("5mhz", 25), ("10mhz", 50), ("15mhz", 75), ("20mhz", 100)];

    /// The widest carrier, 20 MHz.
    pub const WIDEST: Bandwidth = Bandwidth { blocks: 100 };

    /// The names of all bandwidths, as in a file.
    pub const NAMES: &'static [&'static str] = &["1.4mhz", "3mhz", "5mhz", "10mhz", "15mhz", "20mhz"];

    /// Returns the bandwidth with this name.
    pub fn named(name: &str) -> Option<Bandwidth> {
        let found = Bandwidth::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, blocks)| Bandwidth { blocks: *blocks })
    }

    /// Returns the bandwidth's name, as in a file.
    pub fn name(self) -> &'static str {
        let found = Bandwidth::ALL.iter().find(|(_, blocks)| *blocks == self.blocks);
        found.map_or("", |(name, _)| name)
    }

    /// Returns the number of resource blocks that carry data.
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

/// The bits of a resource element for each CQI, in 1024ths: bits of the modulation times the code rate (TS 36.213,
/// table 7.2.3-1).
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
    /// Returns the CQI at a signal-to-noise ratio in decibels; none below CQI 1. It is the highest CQI whose bits per
    /// resource element are at most `log2(1 + snr / gap)`. The gap to Shannon's capacity is `-ln(5 BER) / 1.5` for a
    /// bit error rate of 0.00005. This is ns-3's model (Piro, Baldo, Miozzo: An LTE module for the ns-3 network
    /// simulator, 2011).
    pub fn at_snr(decibels: f64) -> Option<Cqi> {
        let snr = libm::pow(10.0, decibels / 10.0);
        let gap = -libm::log(5.0 * 0.000_05) / 1.5;
        let bits = libm::log2(1.0 + snr / gap);
        let reached = EFFICIENCIES.iter().filter(|efficiency| f64::from(**efficiency) / 1024.0 <= bits).count();
        (reached > 0).then_some(Cqi(reached as u8))
    }

    /// Returns the bytes of packets and their headers that a transport block of `blocks` resource blocks carries.
    /// Reference signals, control data, code, checksum and the headers of the block take the rest.
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

    /// 100 x 120 x 5.5547 bits in 1 ms are 66.7 Mbit/s; 98 x 144 x 2.4063 bits are 34.0 Mbit/s.
    #[test]
    fn the_widest_carrier_at_the_best_quality() {
        assert!((mbit(Direction::Down, 15) - 66.608).abs() < 1e-9, "{}", mbit(Direction::Down, 15));
        assert!((mbit(Direction::Up, 15) - 33.888).abs() < 1e-9, "{}", mbit(Direction::Up, 15));
    }

    /// The efficiencies must equal the last column of the table in the specification.
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

    /// 18 dB over a gap of 7.4 dB are log2(1 + 63.1 / 5.53) = 3.63 bits, between CQI 11 and CQI 12.
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
