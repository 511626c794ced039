//! The advertised window of acknowledgements, which a window controller may lower.
//!
//! The controller comes after the stack, where a kernel runs the program at the egress of the device. The stack offers
//! its own window, and the packet that leaves shows the smaller of both.

use crate::packet::{Ack, flag};
use mechanism::{WindowAck, WindowController, WindowFlow};
use model::units::Nanos;

/// The input of one connection's window controller, and the window shown last.
pub struct ShownWindow {
    flow: WindowFlow,
    /// Bits by which windows are shifted in packets.
    scale: u8,
    /// The connection has timestamps, so the receiver measures round trips.
    measures: bool,
    /// Bytes read and the latest RTT since the last acknowledgement.
    copied: u32,
    rtt_us: u32,
    /// The position in the stream at which the window shown last ends, bytes.
    right_edge: u64,
}

impl ShownWindow {
    /// The state for segments with `mss` bytes, windows shifted by `scale`, and timestamps if `measures`.
    pub fn new(mss: u32, scale: u8, measures: bool) -> ShownWindow {
        let flow = WindowFlow::new(mss);
        ShownWindow { flow, scale, measures, copied: 0, rtt_us: 0, right_edge: 0 }
    }

    /// Notes the latest round-trip time.
    pub fn measured(&mut self, rtt_us: u32) {
        self.rtt_us = rtt_us;
    }

    /// Notes that the application has read `bytes`.
    pub fn read(&mut self, bytes: u64) {
        self.copied = self.copied.saturating_add(bytes as u32);
    }

    /// Lowers the window of an acknowledgement before it leaves, without taking back what was shown before.
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

    /// The smallest window that a packet can express and that is at least `window`.
    fn aligned(&self, window: u32) -> u32 {
        let lost_bits = (1 << self.scale) - 1;
        window.saturating_add(lost_bits) & !lost_bits
    }
}
