//! The rates at which a frame is tried, and the share of frames that fail.

use crate::Rng;
use crate::loss::threshold;
use model::radio::ieee80211::Standard;
use rand::RngCore;

/// Returns the mode of a frame that has been tried `tries` times, where `own` is its station's
/// mode.
///
/// The sequence is fixed, as Atheros hardware tries a frame at several rates one after the other.
/// There are four tries at the station's rate, two at the next lower, and then tries at the lowest.
pub(super) fn mode(own: usize, tries: u8) -> usize {
    match tries {
        0..4 => own,
        4..6 => own.saturating_sub(1),
        _ => 0,
    }
}

/// Errors of frames at their station's own rate. Bits fail independently of each other, so short
/// frames get through more often. At lower rates all frames succeed: a step is worth 1 to 4 dB,
/// over which errors of coded OFDM fall by orders of magnitude.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameErrors {
    standard: Standard,
    /// Share of full frames that fail, 0 to 1.
    share: f64,
}

/// IP length in bytes of the frames to which a share of frame errors refers.
const REFERENCE_BYTES: u64 = 1500;

impl FrameErrors {
    /// Creates the errors of a station that fails to understand this share of its full frames.
    pub fn new(standard: Standard, share: f64) -> FrameErrors {
        FrameErrors { standard, share }
    }

    /// Draws whether a frame with an IP packet of `packet` bytes is understood.
    pub fn lets_through(&self, packet: u32, rng: &mut Rng) -> bool {
        if self.share == 0.0 {
            return true;
        }
        let length =
            self.standard.frame_bytes(packet.into()) as f64 / self.standard.frame_bytes(REFERENCE_BYTES) as f64;
        rng.next_u64() < threshold(libm::pow(1.0 - self.share, length))
    }
}
