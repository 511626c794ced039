//! The limit on a sender's packets in its own host. With TCP small queues the sender has as much there as leaves it in
//! a millisecond, at least two segments. It goes on when a packet has left (`tcp_small_queue_check`, `tcp_wfree` and
//! `tcp_tsq_write` of the kernel's tcp_output.c).
//!
//! On a host with a classifier, that chooses the band in which each packet waits. A packet that finds no room there
//! counts as not sent (`NET_XMIT_DROP`).

use super::small_queue::{HEAD, InHost, SmallQueue};
use super::{Env, Phase, Sender};
use crate::clock;
use crate::packet::{Band, Data, Packet, flag};
use crate::tap::Tap;
use measure::SendBufferMeter;
use mechanism::{Classifier, ClassifyPacket, PacketKind};
use model::units::Nanos;
use model::{Host, Link};
use std::ops::Range;
use std::rc::Rc;

/// Memory that an acknowledgement without data counts for (`skb_set_tcp_pure_ack`), bytes.
const PURE_ACK: u64 = 2;
/// Pacing shift on Wi-Fi: the host may hold the packets that leave in 2^-7 s, about 8 ms, because stations aggregate
/// (mac80211's `tx_sk_pacing_shift`). Elsewhere it is a millisecond.
const WIFI_PACING_SHIFT: u8 = 7;
/// The most for a sender that is not paced, bytes (`net.ipv4.tcp_limit_output_bytes`; 4 MiB from Linux 6.16 on).
const LIMIT_OUTPUT_BYTES: u64 = 1 << 20;
/// Number of segments that TCP may always send, whatever is in the host (`tcp_rtx_queue_empty_or_single_skb`).
const ALWAYS: u32 = 2;

/// The kind of a transmission: a retransmission may find twice as much in the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Send {
    First = 0,
    Again = 1,
}

/// `tcp_small_queue_check`: the most memory in the host, bytes, when a segment of this size is to follow.
fn limit(truesize: u64, pacing_rate: u64, pacing_shift: u8, is_paced: bool, send: Send) -> u64 {
    let most = if is_paced { u64::MAX } else { LIMIT_OUTPUT_BYTES };
    (2 * truesize).max(pacing_rate >> pacing_shift).min(most) << send as u32
}

impl Sender {
    /// Attaches the sender to a host: its packets wait in the host's queue, and its application writes into a send
    /// buffer there.
    pub fn attach_to_host(
        &mut self,
        host: &Host,
        uplink: &Link,
        classifier: Option<Rc<Classifier>>,
        meter: SendBufferMeter,
    ) {
        let of_driver = uplink.service.station().map(|_| WIFI_PACING_SHIFT);
        if let Some(shift) = host.pacing_shift.or(of_driver) {
            self.sk.inet_conn.sk.sk_pacing_shift = shift;
        }
        let offloads = host.gso;
        self.small_queue = Some(SmallQueue { offloads, ..SmallQueue::new(host.small_queues, classifier) });
        self.write_through_buffer(host.send_buffer, host.gso, meter);
    }

    /// Reports whether the host reports to this sender when a packet has left.
    #[inline]
    pub(super) fn keeps_small_queue(&self) -> bool {
        self.small_queue.is_some()
    }

    /// The loop of `tcp_write_xmit` for a sender with a small queue.
    #[cold]
    #[inline(never)]
    pub(super) fn send_through_small_queue<T: Tap>(&mut self, env: &mut Env<T>, quota: u32) -> u32 {
        let sent = match &self.small_queue {
            Some(SmallQueue { offloads: true, .. }) => self.send_buffers(env, quota),
            _ => self.send_new_segments(env, quota, |sender, env| sender.host_takes_next(env, 1)),
        };
        self.show_send_buffer();
        sent
    }

    /// `tcp_small_queue_check` of a buffer with `segments` new segments, which count as in the host from here on.
    /// Returns false if the buffer has to wait until a packet has left, which the host then reports.
    pub(super) fn host_takes_next<T: Tap>(&mut self, env: &mut Env<T>, segments: u32) -> bool {
        let next = self.board.nxt..self.board.nxt + segments;
        let takes = !self.is_held(next.clone(), Send::First) && self.host_has_room(env, next.clone());
        if takes {
            self.note_send_buffer(env.now);
            self.enters_host(next);
        }
        takes
    }

    /// The time at which the host got the last segments, by the socket's clock, ns.
    pub(super) fn last_handed_over(&self) -> u64 {
        self.small_queue.as_ref().map_or(0, |queue| queue.last_at)
    }

    /// Reports whether the host's classifier and its queue take a buffer of these segments now. If not, the sender
    /// reduces its window as after a mark (`tcp_transmit_skb`).
    pub(super) fn host_has_room<T: Tap>(&mut self, env: &mut Env<T>, segments: Range<u32>) -> bool {
        if self.send_queue.buffer().is_none() {
            return true;
        }
        let is_dropped = !self.choose_band(env.now, PacketKind::TcpData);
        let segment = segments.start;
        let bytes = u16::try_from(segments.map(|segment| self.segment_bytes(segment)).sum::<u32>()).unwrap_or(u16::MAX);
        let (flow, tos, band, is_followed) = (self.flow, self.tos, self.band, false);
        let data = Data { flow, segment, tsval: 0, tsecr: 0, bytes, flags: 0, counts: false, tos, band, is_followed };
        if !is_dropped {
            if !env.network.refuses(env.now, data.route(), &Packet::Data(data)) {
                return true;
            }
            env.monitor.tap.refused(env.now, &data);
        }
        self.enter_cwr(env.control);
        if self.sk.packets_out == 0 {
            // No acknowledgement will come that makes the sender try again (`tcp_check_probe_timer`).
            self.pace_at = clock::timer(env.now, self.sk.inet_conn.icsk_rto);
        }
        false
    }

    /// Lets the host's classifier choose the band of the packet that leaves next. Returns false if it drops the packet,
    /// which it does only to data.
    pub(super) fn choose_band(&mut self, now: Nanos, kind: PacketKind) -> bool {
        if self.send_queue.buffer().is_none() {
            return true;
        }
        self.show_send_buffer();
        let (held, unsent) = self.buffered_bytes();
        let socket = &self.sk.inet_conn.sk;
        let (wmem_queued, sndbuf) = (socket.sk_wmem_queued as u32, socket.sk_sndbuf as u32);
        let tos = self.tos.into();
        let Some(SmallQueue { wmem_alloc, classifier: Some((classifier, flow)), .. }) = &mut self.small_queue else {
            return true;
        };
        let in_host = *wmem_alloc as u32;
        let packet = ClassifyPacket { kind, tos, wmem_queued, sndbuf, held, unsent, in_host };
        let Some(band) = classifier.band(clock::ktime(now), flow, &packet) else { return false };
        self.band = Some(Band::new(band));
        true
    }

    /// Reports whether the host has no known packet of the sender.
    pub(super) fn is_nothing_in_host(&self) -> bool {
        self.small_queue.as_ref().is_none_or(|queue| queue.wmem_alloc == 0)
    }

    /// Reports whether a retransmission, which does not count yet, has to wait (`tcp_small_queue_check`).
    pub(super) fn small_queue_holds(&mut self, segment: u32) -> bool {
        self.keeps_small_queue() && self.is_held(segment..segment + 1, Send::Again)
    }

    fn is_held(&mut self, segments: Range<u32>, send: Send) -> bool {
        let limit = self.small_queue_limit(segments, send);
        let Some(queue) = &mut self.small_queue else { return false };
        // The kernel holds a segment if `sk_wmem_alloc`, one byte more, is above the limit.
        let held = queue.is_limited && queue.wmem_alloc >= limit && self.sk.packets_out >= ALWAYS;
        queue.throttled |= held;
        held
    }

    fn small_queue_limit(&self, segments: Range<u32>, send: Send) -> u64 {
        let socket = &self.sk.inet_conn.sk;
        let is_paced = socket.sk_pacing_status != 0;
        limit(self.truesize(segments), socket.sk_pacing_rate, socket.sk_pacing_shift, is_paced, send)
    }

    /// The number of segments that the host takes at once.
    pub(super) fn host_takes_at_once(&self) -> u32 {
        let Some(queue) = self.small_queue.as_ref().filter(|queue| queue.is_limited) else { return u32::MAX };
        let next = self.board.nxt..self.board.nxt + 1;
        let limit = self.small_queue_limit(next.clone(), Send::First);
        let room = limit.saturating_sub(queue.wmem_alloc).div_ceil(self.truesize(next));
        u32::try_from(room).unwrap_or(u32::MAX).max(ALWAYS)
    }

    /// Memory of a buffer with these segments, bytes (`skb->truesize`).
    fn truesize(&self, segments: Range<u32>) -> u64 {
        HEAD + segments.map(|segment| self.payload(segment)).sum::<u64>()
    }

    fn payload(&self, segment: u32) -> u64 {
        (self.segment_bytes(segment) - self.header) as u64
    }

    fn truesize_of(&self, data: &Data) -> u64 {
        match data.flags {
            flags if flags & flag::BARE != 0 => PURE_ACK,
            flags if flags & flag::SYN != 0 => HEAD,
            _ => HEAD + (data.bytes as u32 - self.header) as u64,
        }
    }

    /// Notes that a buffer of these segments goes to the host's device.
    pub(super) fn enters_host(&mut self, segments: Range<u32>) {
        if self.small_queue.is_none() {
            return;
        }
        let first = segments.start;
        for segment in segments {
            let head = if segment == first { HEAD } else { 0 };
            let truesize = head + self.payload(segment);
            let Some(queue) = &mut self.small_queue else { return };
            queue.wmem_alloc += truesize;
            queue.last_at = self.sk.tcp_clock_cache;
            queue.segments.push_back(InHost { segment, first, truesize });
        }
    }

    /// Counts a packet of the handshake as in the host from here on.
    pub(super) fn handshake_enters_host(&mut self, data: &Data) {
        let truesize = self.truesize_of(data);
        if let Some(queue) = &mut self.small_queue {
            queue.wmem_alloc += truesize;
        }
    }

    /// Notes that a packet has left the host. The others of its buffer have heads of their own from then on
    /// (`tcp_gso_segment`). The kernel splits the buffer a little earlier, when it leaves the discipline.
    pub(super) fn leaves_host(&mut self, data: &Data) {
        let truesize = self.truesize_of(data);
        let Some(queue) = &mut self.small_queue else { return };
        if data.is_handshake() {
            queue.wmem_alloc -= truesize;
            return;
        }
        // This is the first segment, unless a queue discipline drops packets.
        let place = queue.segments.iter().position(|there| there.segment == data.segment).expect("it has come");
        let left = queue.segments.remove(place).expect("it is there");
        queue.wmem_alloc -= left.truesize;
        if left.segment == left.first {
            let others = queue.segments.iter_mut().skip(place).take_while(|there| there.first == left.first);
            for other in others {
                other.truesize += HEAD;
                queue.wmem_alloc += HEAD;
            }
        }
    }

    /// `skb_still_in_host_queue`: reports whether a segment has not left the host, so that it cannot be sent again. The
    /// host reports when it has left.
    #[inline]
    pub(super) fn is_still_in_host(&mut self, segment: u32) -> bool {
        let Some(queue) = &mut self.small_queue else { return false };
        let is_there = queue.segments.iter().any(|there| there.segment == segment);
        queue.throttled |= is_there;
        is_there
    }

    /// Sends the segments that waited for a packet to leave the host, lost segments first.
    pub fn on_departure<T: Tap>(&mut self, env: &mut Env<T>, data: &Data) {
        self.leaves_host(data);
        let Some(queue) = &mut self.small_queue else { return };
        // Acknowledgements without data do not wake the sender (`__sock_wfree`).
        let waited = !data.is_handshake() && std::mem::take(&mut queue.throttled);
        if waited && self.phase == Phase::Established {
            self.set_clock(env.now);
            self.resume(env);
        }
    }

    /// Bytes in the host, and whether the sender waits until they are fewer; for the invariants.
    #[cfg(debug_assertions)]
    pub fn in_host(&self) -> (u64, bool) {
        self.small_queue.as_ref().map_or((0, false), |queue| (queue.wmem_alloc, queue.throttled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUESIZE: u64 = HEAD + 1448;

    /// At 8 Mbit/s less than two segments leave in a millisecond, at 1 Gbit/s 122 kB. Before there is a rate the limit
    /// is endless.
    #[test]
    fn a_millisecond_or_two_segments_may_be_in_the_host() {
        for (rate, is_paced, expected) in [
            (1_000_000, false, 2 * TRUESIZE),
            ((2 * TRUESIZE) << 10, false, 2 * TRUESIZE),
            ((2 * TRUESIZE + 1) << 10, false, 2 * TRUESIZE + 1),
            (125_000_000, false, 122_070),
            (12_500_000_000, false, 1_048_576),
            (12_500_000_000, true, 12_207_031),
            (u64::MAX, false, 1_048_576),
        ] {
            assert_eq!(limit(TRUESIZE, rate, 10, is_paced, Send::First), expected, "{rate} bytes a second");
            assert_eq!(limit(TRUESIZE, rate, 10, is_paced, Send::Again), 2 * expected, "{rate} bytes a second, again");
        }
        assert_eq!(limit(TRUESIZE, 12_500_000, WIFI_PACING_SHIFT, false, Send::First), 97_656, "8 ms at 100 Mbit/s");
    }
}
