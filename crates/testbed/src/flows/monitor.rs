//! Measures a flow by its packets at the sender's interface, as tcptrace does.

use crate::packet::Segment;
use measure::{ReceiverMeter, SendBufferMeter, SenderMeter};
use model::units::Nanos;
use std::collections::VecDeque;

/// A data packet that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// The place in the stream at which the packet's payload ends.
    end: u64,
    sent_at: Nanos,
    /// Whether the packet was sent more than once.
    sent_again: bool,
    /// Whether the packet's acknowledgement gives no round-trip time: it was sent again (Karn), or already selectively
    /// acknowledged.
    not_timed: bool,
}

/// The monitor of one flow's packets.
#[derive(Debug)]
pub struct FlowMonitor {
    /// Whether a packet of the flow's sender was seen.
    pub has_begun: bool,
    /// The sequence number of the first byte of the stream.
    origin: Option<u32>,
    /// One above the highest byte sent.
    highest: u64,
    acked: u64,
    outstanding: VecDeque<Outstanding>,
    /// The stream's length, if it has an end.
    size: Option<u64>,
    /// When the last byte of the stream was acknowledged.
    pub completed_at: Option<Nanos>,
    /// The meter of the packets that the sender sends.
    pub sender: SenderMeter,
    /// The meter of the packets that reach the receiver.
    pub receiver: ReceiverMeter,
    /// The meter of the send buffer, if the sender is on a host of the scenario.
    pub send_buffer: Option<SendBufferMeter>,
    /// Data packets that were sent in the measuring interval and then dropped or lost.
    pub lost: u64,
}

impl FlowMonitor {
    /// Makes the monitor of a flow that has not begun.
    pub fn new(sender: SenderMeter, receiver: ReceiverMeter, size: Option<u64>) -> FlowMonitor {
        FlowMonitor {
            has_begun: false,
            origin: None,
            highest: 0,
            acked: 0,
            outstanding: VecDeque::new(),
            size,
            completed_at: None,
            sender,
            receiver,
            send_buffer: None,
            lost: 0,
        }
    }

    /// Returns the place in the stream of the sequence number `seq`, which is less than 2^31 bytes from `near`.
    fn place(&self, seq: u32, near: u64) -> Option<u64> {
        let ahead = seq.wrapping_sub(self.origin?).wrapping_sub(near as u32) as i32;
        near.checked_add_signed(ahead as i64)
    }

    /// Notes a segment that leaves the sender's host. Returns whether the segment is data of the measuring interval,
    /// which counts if it is lost later.
    #[inline]
    pub fn leaves(&mut self, now: Nanos, segment: &Segment) -> bool {
        self.has_begun = true;
        if segment.syn {
            self.origin = Some(segment.seq.wrapping_add(1));
            self.sender.connects();
        }
        if segment.payload == 0 {
            return false;
        }
        let Some(start) = self.place(segment.seq, self.highest) else { return false };
        let end = start + segment.payload as u64;
        let again = end <= self.highest;
        let counts = self.sender.sent(now, again);
        if again {
            self.exclude_from_rtt(start, end);
        } else {
            self.outstanding.push_back(Outstanding { end, sent_at: now, sent_again: false, not_timed: false });
            self.highest = end;
        }
        counts
    }

    /// Notes a datagram that leaves the sender's host. Returns whether it belongs to the measuring interval.
    pub fn datagram_leaves(&mut self, now: Nanos) -> bool {
        self.has_begun = true;
        self.sender.sent(now, false)
    }

    /// Notes datagrams that the sender's own host refused at the times `at`: they count as sent and lost.
    pub fn refused(&mut self, at: &[Nanos]) {
        self.lost += at.iter().map(|at| u64::from(self.sender.sent(*at, false))).sum::<u64>();
    }

    /// Notes that the answer to a datagram, which was sent at `sent_at`, reaches the sender's host.
    pub fn answer_returns(&mut self, now: Nanos, sent_at: Nanos) {
        self.sender.rtt(now, now.since(sent_at).as_micros());
    }

    /// Adds round-trip times that the flow's program has measured, each after the time of its measurement.
    pub fn measured(&mut self, round_trips: &[(Nanos, Nanos)]) {
        for &(at, rtt) in round_trips {
            self.sender.rtt(at, rtt.as_micros());
        }
    }

    /// Notes a segment that reaches the receiver's host in a packet of `bytes` bytes.
    #[inline]
    pub fn arrives(&mut self, now: Nanos, segment: &Segment, bytes: u32) {
        if segment.payload > 0 {
            self.receiver.arrived(now, bytes);
        }
    }

    /// Excludes the packets with an end in `(start, end]` from round-trip samples, because they are sent again.
    fn exclude_from_rtt(&mut self, start: u64, end: u64) {
        let first = self.outstanding.partition_point(|o| o.end <= start);
        self.outstanding.range_mut(first..).take_while(|o| o.end <= end).for_each(|o| {
            (o.sent_again, o.not_timed) = (true, true);
        });
    }

    /// Notes a segment that reaches the sender's host.
    #[inline]
    pub fn returns(&mut self, now: Nanos, segment: &Segment) {
        let Some(ack) = self.place(segment.ack, self.acked) else { return };
        self.sender.is_answered();
        let (mut latest, mut sent_again) = (None, false);
        while let Some(head) = self.outstanding.front().filter(|o| o.end <= ack) {
            latest = if head.not_timed { latest } else { Some(head.sent_at) };
            sent_again |= head.sent_again;
            self.outstanding.pop_front();
        }
        // Data after a hole has waited at the receiver until the hole was filled (`tcp_clean_rtx_queue`).
        latest = latest.filter(|_| !sent_again);
        self.acked = self.acked.max(ack);
        if let Some((low, high)) = segment.sack {
            latest = self.newest_sacked(low, high).or(latest);
        }
        if let Some(sent_at) = latest {
            self.sender.rtt(now, (now - sent_at).as_micros());
        }
        if self.size.is_some_and(|size| self.acked >= size) {
            self.completed_at.get_or_insert(now);
        }
    }

    /// Returns when the newest packet was sent that a SACK block acknowledges for the first time.
    fn newest_sacked(&mut self, low: u32, high: u32) -> Option<Nanos> {
        let (low, high) = (self.place(low, self.acked)?, self.place(high, self.acked)?);
        let above = self.outstanding.partition_point(|o| o.end <= high);
        let mut newest = None;
        for packet in self.outstanding.range_mut(..above).rev() {
            if packet.not_timed || packet.end <= low {
                break;
            }
            packet.not_timed = true;
            newest = newest.or(Some(packet.sent_at));
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Interval;

    const ISN: u32 = u32::MAX - 2000;

    fn monitor() -> FlowMonitor {
        let interval = Interval { from: Nanos::ZERO, to: Nanos::from_secs(10) };
        let mut monitor =
            FlowMonitor::new(SenderMeter::new(interval, Nanos::ZERO), ReceiverMeter::new(interval), Some(4000));
        monitor.leaves(Nanos::ZERO, &Segment { seq: ISN, ack: 0, payload: 0, syn: true, sack: None });
        monitor
    }

    fn data(number: u32) -> Segment {
        let seq = ISN.wrapping_add(1 + number * 1000);
        Segment { seq, ack: 0, payload: 1000, syn: false, sack: None }
    }

    fn ack(number: u32) -> Segment {
        let ack = ISN.wrapping_add(1 + number * 1000);
        Segment { seq: 0, ack, payload: 0, syn: false, sack: None }
    }

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    /// The sequence numbers wrap inside this transfer.
    #[test]
    fn round_trips_completion_and_retransmissions() {
        let mut monitor = monitor();
        (0..4).for_each(|n| assert!(monitor.leaves(ms(n as u64), &data(n))));
        monitor.returns(ms(11), &ack(2));
        assert_eq!(monitor.sender.latest_rtt_us, Some(10_000));
        monitor.leaves(ms(20), &data(2));
        assert_eq!((monitor.sender.sent, monitor.sender.retransmitted), (5, 1));
        // Packet 2 was sent twice, and packet 3 may have waited for it.
        monitor.returns(ms(30), &ack(4));
        assert_eq!(monitor.sender.latest_rtt_us, Some(10_000));
        assert_eq!(monitor.completed_at, Some(ms(30)));
        assert_eq!(monitor.sender.rtt.samples(), 1);
    }

    /// A packet that comes back without acknowledging the SYN does not connect the flow.
    #[test]
    fn a_flow_is_connected_once_its_syn_is_acknowledged() {
        let mut monitor = monitor();
        assert_eq!(monitor.sender.connected, Some(false));
        monitor.returns(ms(10), &Segment { ack: ISN, ..ack(0) });
        assert_eq!(monitor.sender.connected, Some(false));
        monitor.returns(ms(11), &Segment { syn: true, ..ack(0) });
        assert_eq!(monitor.sender.connected, Some(true));
    }

    /// One datagram is refused in the warm-up, one after it.
    #[test]
    fn datagrams_are_sent_refused_and_answered() {
        let interval = Interval { from: ms(10), to: ms(1000) };
        let mut monitor = FlowMonitor::new(SenderMeter::new(interval, ms(0)), ReceiverMeter::new(interval), None);
        assert!(!monitor.datagram_leaves(ms(5)) && monitor.datagram_leaves(ms(15)));
        monitor.refused(&[ms(2), ms(20)]);
        monitor.answer_returns(ms(27), ms(15));
        assert_eq!((monitor.sender.sent, monitor.lost, monitor.sender.latest_rtt_us), (2, 1, Some(12_000)));
        monitor.measured(&[(ms(5), ms(4)), (ms(30), ms(7))]);
        assert_eq!((monitor.sender.latest_rtt_us, monitor.sender.rtt.samples()), (Some(7000), 2));
    }

    #[test]
    fn a_selective_acknowledgement_is_an_answer_once() {
        let mut monitor = monitor();
        (0..4).for_each(|n| assert!(monitor.leaves(ms(n as u64), &data(n))));
        let block = |from, to| Segment { sack: Some((data(from).seq, data(to).seq)), ..ack(0) };
        monitor.returns(ms(11), &block(1, 2));
        assert_eq!(monitor.sender.latest_rtt_us, Some(10_000));
        monitor.returns(ms(20), &block(1, 2));
        assert_eq!(monitor.sender.rtt.samples(), 1);
        monitor.returns(ms(23), &block(1, 4));
        assert_eq!(monitor.sender.latest_rtt_us, Some(20_000));
    }
}
