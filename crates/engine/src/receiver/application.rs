//! The application at the receiving end, where it matters when it reads: because it is slow, or because the buffer
//! follows what it reads. Any other reads all that has come, at once.

use super::right_sizing::RightSizing;
use super::window::ReceiveWindow;
use super::{AckDecision, Receiver};
use crate::packet::Data;
use scenario::units::{Bytes, Nanos, Rate};

/// One connection's reader.
pub struct Application {
    /// None: all at once.
    rate: Option<Rate>,
    /// Payload of a full segment, of which it reads one at a time.
    mss: u32,
    /// Bytes that have come in order and wait to be read.
    unread: u64,
    /// When it has rested from what it read last.
    rested_at: Nanos,
    pub sizing: Option<RightSizing>,
}

impl Application {
    /// One that reads segments with `mss` bytes.
    pub fn new(rate: Option<Rate>, mss: u32, sizing: Option<RightSizing>) -> Application {
        Application { rate, mss, unread: 0, rested_at: Nanos::ZERO, sizing }
    }

    /// So much has come in order.
    pub fn received(&mut self, bytes: u64) {
        self.unread += bytes;
    }

    /// When it reads next.
    pub fn reads_at(&self, now: Nanos) -> Nanos {
        if self.unread == 0 { Nanos::NEVER } else { now.max(self.rested_at) }
    }

    /// It reads: gives the bytes.
    pub fn read(&mut self, now: Nanos) -> u64 {
        let most = if self.rate.is_some() { self.mss as u64 } else { u64::MAX };
        let bytes = self.unread.min(most);
        self.unread -= bytes;
        if let Some(rate) = self.rate {
            self.rested_at = now + rate.time_to_send(Bytes(bytes));
        }
        bytes
    }
}

impl Receiver {
    /// The state of an auto-tuned buffer, and its window.
    fn sizing(&mut self) -> Option<(&mut RightSizing, &mut ReceiveWindow)> {
        self.application.as_mut()?.sizing.as_mut().zip(self.delayed_ack.window())
    }

    /// The connection is established.
    pub(super) fn begin_sizing(&mut self, now: Nanos) {
        if let Some((sizing, window)) = self.sizing() {
            sizing.begin(now, window);
        }
    }

    /// A segment has come, and the state after it is to be acknowledged if it `is_due`: the application reads behind
    /// that, and before the next segment of this instant comes.
    #[cold]
    pub(super) fn reads_behind(&mut self, now: Nanos, is_due: bool) -> AckDecision {
        let ack = is_due.then(|| self.acknowledge(now));
        (ack, self.application_reads(now))
    }

    /// The application reads what waits for it, or a part of it. True: what it has read is to be acknowledged, or a
    /// window that was small is offered anew (`tcp_cleanup_rbuf`).
    #[cold]
    pub(super) fn application_reads(&mut self, now: Nanos) -> bool {
        let Some(application) = &mut self.application else { return false };
        let bytes = application.read(now);
        let left = application.unread;
        self.reads_at = application.reads_at(now);
        // None but the last segment is short.
        self.queued = self.queued.saturating_sub(bytes.div_ceil(self.mss as u64) as u32);
        if let Some((sizing, window)) = self.sizing() {
            sizing.read(now, bytes, left, window);
        }
        self.delivered(now, bytes);
        let (waiting, held) = (self.next - self.acked, self.out_of_order.len() + self.queued);
        let acknowledges = self.delayed_ack.reading_acknowledges(self.next, waiting, held);
        if acknowledges && waiting == 0 && !self.delayed_ack.compresses() {
            self.delayed_ack.next_is_not_scheduled();
        }
        acknowledges
    }

    /// By the echo of a full segment.
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

    /// By the time that a window of data takes, of which this is the next segment.
    #[inline]
    pub(super) fn measure_window(&mut self, now: Nanos, data: &Data) {
        let next = (data.segment as u64 + 1) * self.mss as u64;
        if let Some((sizing, window)) = self.sizing() {
            sizing.rtt.received(now, next, window.offered());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1448 bytes at 1 Mbit/s take 11.584 ms.
    #[test]
    fn a_slow_reader_takes_a_segment_at_a_time() {
        let mut slow = Application::new(Some(Rate(1_000_000)), 1448, None);
        let (begin, rested) = (Nanos::from_millis(10), Nanos::from_millis(10) + Nanos::from_micros(11_584));
        assert_eq!(slow.reads_at(begin), Nanos::NEVER);
        slow.received(2000);
        assert_eq!((slow.reads_at(begin), slow.read(begin)), (begin, 1448));
        assert_eq!((slow.reads_at(begin), slow.read(rested)), (rested, 552));
        assert_eq!(slow.reads_at(rested), Nanos::NEVER);
    }
}
