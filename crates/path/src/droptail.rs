//! The account of a drop-tail queue: how much waits, and what becomes of a packet that arrives.

use model::Limit;
use model::units::Bytes;

/// What happens to a packet on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It joins the queue.
    Join,
    /// It joins the queue and carries the CE mark from now on.
    JoinMarked,
    /// It is dropped.
    Drop,
}

/// First in, first out, bounded in bytes or packets; marks ECN-capable packets above a threshold.
#[derive(Clone, Debug)]
pub(crate) struct Droptail {
    limit: Amount,
    /// A packet that finds this much or more is marked.
    ecn_threshold: Amount,
    /// What may wait before a packet exceeds the limit or is marked.
    calm: Amount,
    /// How much less waits; negative if more waits.
    room: Amount,
}

/// Bytes and packets.
#[derive(Clone, Copy, Debug)]
struct Amount {
    bytes: i64,
    packets: i64,
}

impl Amount {
    /// A bound in bytes or packets; without one, neither is bounded.
    fn bound(limit: Option<Limit>) -> Amount {
        let endless = Amount { bytes: i64::MAX, packets: i64::MAX };
        let amount = |limit: u64| limit.min(i64::MAX as u64) as i64;
        match limit {
            None => endless,
            Some(Limit::Bytes(Bytes(bytes))) => Amount { bytes: amount(bytes), ..endless },
            Some(Limit::Packets(packets)) => Amount { packets: amount(packets), ..endless },
        }
    }
}

impl Droptail {
    /// An empty queue.
    pub fn new(limit: Option<Limit>, ecn_threshold: Option<Limit>) -> Droptail {
        let (limit, ecn_threshold) = (Amount::bound(limit), Amount::bound(ecn_threshold));
        let calm =
            Amount { bytes: limit.bytes.min(ecn_threshold.bytes), packets: limit.packets.min(ecn_threshold.packets) };
        Droptail { limit, ecn_threshold, calm, room: calm }
    }

    /// A packet joins without a mark. If not so, `admit` decides.
    #[inline]
    pub fn is_calm(&self, bytes: u32) -> bool {
        i64::from(bytes) <= self.room.bytes && self.room.packets > 0
    }

    /// Decides about a packet; whether it is ECN-capable is asked only if it is to be marked.
    #[inline]
    pub fn admit(&self, bytes: u32, ecn_capable: impl FnOnce() -> bool) -> Admission {
        let Droptail { limit, ecn_threshold, .. } = self;
        let waiting = self.waiting();
        if waiting.bytes + i64::from(bytes) > limit.bytes || waiting.packets >= limit.packets {
            return Admission::Drop;
        }
        let mark = waiting.bytes >= ecn_threshold.bytes || waiting.packets >= ecn_threshold.packets;
        if mark && ecn_capable() { Admission::JoinMarked } else { Admission::Join }
    }

    /// A packet waits from now on.
    #[inline]
    pub fn enter(&mut self, bytes: u32) {
        self.room.bytes -= i64::from(bytes);
        self.room.packets -= 1;
    }

    /// A packet waits no longer.
    #[inline]
    pub fn leave(&mut self, bytes: u32) {
        self.room.bytes += i64::from(bytes);
        self.room.packets += 1;
    }

    fn waiting(&self) -> Amount {
        Amount { bytes: self.calm.bytes - self.room.bytes, packets: self.calm.packets - self.room.packets }
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.waiting().bytes as u64
    }

    /// Packets that wait.
    pub fn packets(&self) -> u64 {
        self.waiting().packets as u64
    }
}
