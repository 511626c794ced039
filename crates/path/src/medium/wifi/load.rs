//! How many frames a transmission takes: one in 802.11g, an aggregate in 802.11n.

use model::radio::ieee80211::{LARGEST_AGGREGATE, LONGEST_AGGREGATE, SIFS, Standard};
use model::units::Nanos;

/// Frames that are put into one transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    standard: Standard,
    mode: usize,
    /// How many they are.
    pub frames: usize,
    /// Their bytes as those of an aggregate.
    bytes: u64,
    /// The IP length of the first.
    first: u64,
    /// No more will fit.
    pub is_full: bool,
}

impl Load {
    /// None yet.
    pub fn new(standard: Standard, mode: usize) -> Load {
        Load { standard, mode, frames: 0, bytes: 0, first: 0, is_full: false }
    }

    /// Puts a frame with so many bytes of IP to the others, if it fits.
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

    /// What they take. A frame that is alone goes as such, without a delimiter.
    pub fn time(&self) -> Nanos {
        match self.frames {
            1 => self.standard.data_time(self.mode, self.standard.frame_bytes(self.first)),
            _ => self.standard.data_time(self.mode, self.bytes),
        }
    }

    /// What the answer takes if they are understood: an Ack, or a Block Ack.
    pub fn answer_time(&self) -> Nanos {
        let answer = match self.frames {
            1 => self.standard.ack_time(self.mode),
            _ => self.standard.block_ack_time(self.mode),
        };
        SIFS + answer
    }
}
