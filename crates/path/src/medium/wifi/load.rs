//! The frames of a transmission: one in 802.11g, an aggregate in 802.11n.

use model::radio::ieee80211::{LARGEST_AGGREGATE, LONGEST_AGGREGATE, SIFS, Standard};
use model::units::Nanos;

/// Frames that share one transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    standard: Standard,
    mode: usize,
    /// Number of frames.
    pub frames: usize,
    /// Bytes of the frames as parts of an aggregate.
    bytes: u64,
    /// IP length of the first frame.
    first: u64,
    /// Whether no more frames fit.
    pub is_full: bool,
}

impl Load {
    /// Creates a load without frames.
    pub fn new(standard: Standard, mode: usize) -> Load {
        Load { standard, mode, frames: 0, bytes: 0, first: 0, is_full: false }
    }

    /// Adds a frame with an IP packet of `packet` bytes, if it fits.
    pub fn add(&mut self, packet: u32) {
        let bytes = self.bytes + self.standard.subframe_bytes(packet.into());
        let fits = || bytes <= LARGEST_AGGREGATE && self.standard.data_time(self.mode, bytes) <= LONGEST_AGGREGATE;
        if self.is_full || self.frames > 0 && !fits() {
            self.is_full = true;
            return;
        }
        if self.frames == 0 {
            self.first = packet.into();
        }
        (self.frames, self.bytes) = (self.frames + 1, bytes);
        self.is_full = self.frames == self.standard.most_frames();
    }

    /// Returns the air time of the frames. A single frame is sent without a delimiter.
    pub fn time(&self) -> Nanos {
        match self.frames {
            1 => self.standard.data_time(self.mode, self.standard.frame_bytes(self.first)),
            _ => self.standard.data_time(self.mode, self.bytes),
        }
    }

    /// Returns the time of the answer to frames that are understood: an Ack, or a Block Ack.
    pub fn answer_time(&self) -> Nanos {
        let answer = match self.frames {
            1 => self.standard.ack_time(self.mode),
            _ => self.standard.block_ack_time(self.mode),
        };
        SIFS + answer
    }
}
