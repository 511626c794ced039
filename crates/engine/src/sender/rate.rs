//! Delivery-rate samples (Linux's `tcp_rate.c`).

use super::AckContext;
use crate::clock::before;
use crate::scoreboard::{Segment, state};
use mechanism::sock::{RateSample, TcpSock};

/// The part of a segment's record that a rate sample needs, taken when the segment is sent.
#[inline]
pub fn on_sent(sk: &mut TcpSock) -> Segment {
    let now = sk.tcp_mstamp;
    if sk.packets_out == 0 {
        sk.first_tx_mstamp = now;
        sk.delivered_mstamp = now;
    }
    Segment {
        sent_us: now,
        first_tx_us: sk.first_tx_mstamp,
        delivered_us: sk.delivered_mstamp,
        delivered: sk.delivered,
        delivered_ce: sk.delivered_ce,
        state: if sk.app_limited != 0 { state::APP_LIMITED } else { 0 },
        ..Default::default()
    }
}

/// `tcp_skb_sent_after`: orders transmissions by time, and ties by sequence number.
#[inline]
pub fn sent_after(t1: u64, t2: u64, seq1: u32, seq2: u32) -> bool {
    t1 > t2 || (t1 == t2 && before(seq2, seq1))
}

/// Notes a delivered segment. The one sent last among those of an acknowledgement gives the sample.
#[inline]
pub fn on_delivered(sk: &mut TcpSock, rs: &mut RateSample, segment: &Segment, end_seq: u32) {
    if segment.state & state::RATE_TAKEN != 0 {
        return;
    }
    if rs.prior_delivered == 0 || sent_after(segment.sent_us, sk.first_tx_mstamp, end_seq, rs.last_end_seq) {
        rs.prior_delivered = segment.delivered;
        rs.prior_delivered_ce = segment.delivered_ce;
        rs.prior_mstamp = segment.delivered_us;
        rs.is_app_limited = (segment.state & state::APP_LIMITED != 0) as u8;
        rs.is_retrans = (segment.state & (state::RETRANS | state::EVER_RETRANS) != 0) as u8;
        rs.last_end_seq = end_seq;
        sk.first_tx_mstamp = segment.sent_us;
        rs.interval_us = (segment.sent_us - segment.first_tx_us) as i64;
    }
}

/// Converts a time (us) to the kernel's 32 bits, at most the largest number; an unknown time stays unknown.
#[inline]
fn saturated(us: i64) -> u32 {
    us.min(u32::MAX.into()) as u32
}

/// Completes the sample of an acknowledgement with its numbers of `delivered` and `lost` segments.
#[inline]
pub fn complete(sk: &mut TcpSock, ack: &mut AckContext, delivered: u32, lost: u32) {
    let rs = &mut ack.rate;
    if sk.app_limited != 0 && before(sk.app_limited, sk.delivered) {
        sk.app_limited = 0;
    }
    if delivered > 0 {
        sk.delivered_mstamp = sk.tcp_mstamp;
    }
    rs.acked_sacked = delivered;
    rs.losses = lost as i32;
    if rs.prior_mstamp == 0 {
        rs.delivered = -1;
        rs.interval_us = -1;
        return;
    }
    rs.delivered = sk.delivered.wrapping_sub(rs.prior_delivered) as i32;
    rs.delivered_ce = sk.delivered_ce.wrapping_sub(rs.prior_delivered_ce) as i32;
    let sending_us = rs.interval_us;
    let acking_us = (sk.tcp_mstamp - rs.prior_mstamp) as i64;
    rs.interval_us = sending_us.max(acking_us);
    rs.snd_interval_us = saturated(sending_us);
    rs.rcv_interval_us = saturated(acking_us);
    // Shorter than the minimum RTT: acknowledgements came compressed, the sample says nothing.
    if rs.interval_us < sk.min_rtt_us() as i64 {
        rs.interval_us = -1;
        return;
    }
    let faster = rs.delivered as u64 * sk.rate_interval_us as u64 >= sk.rate_delivered as u64 * rs.interval_us as u64;
    if rs.is_app_limited == 0 || faster {
        sk.rate_delivered = rs.delivered as u32;
        sk.rate_interval_us = saturated(rs.interval_us);
        sk.rate_app_limited = rs.is_app_limited;
    }
}
