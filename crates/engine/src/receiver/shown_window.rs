//! The window that a controller of the receiver's lets its acknowledgements show.
//!
//! It stands behind the stack, where the kernel has the program at the egress of the device: the stack offers what it
//! offers, and the packet that leaves shows the smaller of both windows.

use crate::packet::{Ack, flag};
use mechanism::{WindowAck, WindowController, WindowFlow};
use model::units::Nanos;

/// What one connection's controller is told, and the window shown last.
pub struct ShownWindow {
    flow: WindowFlow,
    /// By so many bits windows are shifted in packets.
    scale: u8,
    /// The connection has timestamps.
    measures: bool,
    /// Bytes that were read and the latest RTT, since the last acknowledgement.
    copied: u32,
    rtt_us: u32,
    /// Where in the stream the window shown last ends.
    right_edge: u64,
}

impl ShownWindow {
    /// For segments with `mss` bytes, and windows that are shifted by `scale`. `measures`: they have timestamps.
    pub fn new(mss: u32, scale: u8, measures: bool) -> ShownWindow {
        let flow = WindowFlow::new(mss);
        ShownWindow { flow, scale, measures, copied: 0, rtt_us: 0, right_edge: 0 }
    }

    /// The round-trip time as it was measured last.
    pub fn measured(&mut self, rtt_us: u32) {
        self.rtt_us = rtt_us;
    }

    /// The application has read so many bytes.
    pub fn read(&mut self, bytes: u64) {
        self.copied = self.copied.saturating_add(bytes as u32);
    }

    /// Lowers the window of an acknowledgement that is about to leave, as far as what was shown before allows.
    pub fn lower(&mut self, controller: &WindowController, now: Nanos, has_hole: bool, ack: &mut Ack) {
        if ack.flags & flag::SYN != 0 {
            self.right_edge = ack.window.into();
            return;
        }
        let told = WindowAck {
            now_us: crate::clock::micros(now),
            copied: std::mem::take(&mut self.copied),
            rtt_us: std::mem::take(&mut self.rtt_us),
            has_hole: has_hole.into(),
            no_rtts: (!self.measures).into(),
        };
        let answer = controller.window(&mut self.flow, &told);
        let start = ack.next as u64 * self.flow.mss as u64;
        let allowed = if answer == 0 { ack.window } else { ack.window.min(self.aligned(answer)) };
        let left = self.right_edge.saturating_sub(start).min(ack.window.into()) as u32;
        ack.window = allowed.max(left);
        self.right_edge = self.right_edge.max(start + ack.window as u64);
    }

    /// The least window that a packet can show and that is not below this one.
    fn aligned(&self, window: u32) -> u32 {
        let lost_bits = (1 << self.scale) - 1;
        window.saturating_add(lost_bits) & !lost_bits
    }
}
