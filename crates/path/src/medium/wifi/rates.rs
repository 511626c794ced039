//! At which rate a frame is tried, and how often it is not understood.

use crate::Rng;
use crate::loss::threshold;
use model::radio::ieee80211::Standard;
use rand::RngCore;

/// The mode of a frame that has been tried so often, by its station's own: a fixed chain, as Atheros hardware tries a
/// frame at several rates one after the other. Four times at the station's rate, twice at the next lower, then at the
/// lowest.
pub(super) fn mode(own: usize, tries: u8) -> usize {
    match tries {
        0..4 => own,
        4..6 => own.saturating_sub(1),
        _ => 0,
    }
}

/// Frames that are not understood at their station's own rate. Bits are lost independently of each other, so that short
/// frames get through more often. At lower rates all are understood: a step is worth 1 to 4 dB, with which errors of
/// coded OFDM fall by orders of magnitude.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameErrors {
    standard: Standard,
    /// The share, of frames with so many bytes of IP, 0 to 1.
    share: f64,
}

/// The IP length that a share of frame errors is told of.
const TOLD_OF: u64 = 1500;

impl FrameErrors {
    /// Of a station where this share of its full frames is not understood.
    pub fn new(standard: Standard, share: f64) -> FrameErrors {
        FrameErrors { standard, share }
    }

    /// Is a frame with so many bytes of IP understood?
    pub fn lets_through(&self, packet: u32, rng: &mut Rng) -> bool {
        if self.share == 0.0 {
            return true;
        }
        let length = self.standard.frame_bytes(packet.into()) as f64 / self.standard.frame_bytes(TOLD_OF) as f64;
        rng.next_u64() < threshold(libm::pow(1.0 - self.share, length))
    }
}
