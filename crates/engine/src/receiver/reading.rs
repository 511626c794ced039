//! The receiver's part in the readings of its application, and how its buffer follows them.

use super::right_sizing::RightSizing;
use super::window::ReceiveWindow;
use super::{AckDecision, Receiver};
use crate::packet::Data;
use model::units::Nanos;

impl Receiver {
    /// The state of an auto-tuned buffer, and its window.
    fn sizing(&mut self) -> Option<(&mut RightSizing, &mut ReceiveWindow)> {
        self.application.as_mut()?.sizing.as_mut().zip(self.window.as_mut())
    }

    /// Starts auto-tuning when the connection is established.
    pub(super) fn begin_sizing(&mut self, now: Nanos) {
        if let Some((sizing, window)) = self.sizing() {
            sizing.begin(now, window);
        }
    }

    /// Decides on acknowledgements for a segment after which one `is_due` or not. The application reads after that
    /// acknowledgement, and before the next segment of this instant comes.
    #[cold]
    pub(super) fn reads_behind(&mut self, now: Nanos, is_due: bool) -> AckDecision {
        let early = is_due.then(|| self.acknowledge(now));
        AckDecision { early, is_due: self.application_reads(now) }
    }

    /// Lets the application read the segments that wait for it, or a part of them. Returns true if the reading needs an
    /// acknowledgement, or reopens a window that was small (`tcp_cleanup_rbuf`).
    #[cold]
    pub(super) fn application_reads(&mut self, now: Nanos) -> bool {
        let Some(application) = &mut self.application else { return false };
        let bytes = application.read(now);
        let left = application.unread();
        self.reads_at = application.reads_at(now);
        // Only the last segment is short.
        self.queued = self.queued.saturating_sub(bytes.div_ceil(self.mss as u64) as u32);
        if let Some((sizing, window)) = self.sizing() {
            sizing.read(now, bytes, left, window);
        }
        self.delivered(now, bytes);
        let (waiting, held) = (self.next - self.acked, self.out_of_order.len() + self.queued);
        let acknowledges = self.reading_acknowledges(waiting, held);
        if acknowledges && waiting == 0 && !self.delayed_ack.compresses() {
            self.delayed_ack.next_is_not_scheduled();
        }
        acknowledges
    }

    /// Measures the round-trip time by the echo of a full segment.
    #[cold]
    pub(super) fn measure_rtt(&mut self, now: Nanos, data: &Data) {
        let is_full = !self.is_short(data);
        let Some(rtt_us) = self.echoed_rtt.sample(data.tsecr, self.clock.read(now), is_full) else { return };
        if let Some(shown) = &mut self.shown {
            let rtt_us = rtt_us.max(self.echoed_rtt.tick_us());
            shown.measured(rtt_us);
            self.meter.measured_rtt(now, rtt_us);
        }
        if let Some((sizing, _)) = self.sizing() {
            sizing.rtt.echoed(rtt_us);
        }
    }

    /// Measures the round-trip time by the duration of a window of data, of which `data` is the next segment.
    #[inline]
    pub(super) fn measure_window(&mut self, now: Nanos, data: &Data) {
        let next = (data.segment as u64 + 1) * self.mss as u64;
        if let Some((sizing, window)) = self.sizing() {
            sizing.rtt.received(now, next, window.offered());
        }
    }
}
