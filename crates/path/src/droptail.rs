//! The account of a drop-tail queue: how much waits, and what becomes of a packet that arrives.

use scenario::model::Limit;
use scenario::units::Bytes;

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
    waiting: Amount,
    /// What neither exceeds the limit nor reaches the threshold with any packet.
    calm: Amount,
}

/// Bytes and packets.
#[derive(Clone, Copy, Debug)]
struct Amount {
    bytes: u64,
    packets: u64,
}

impl Amount {
    /// A bound in bytes or packets; without one, neither is bounded.
    fn bound(limit: Option<Limit>) -> Amount {
        let endless = Amount { bytes: u64::MAX, packets: u64::MAX };
        match limit {
            None => endless,
            Some(Limit::Bytes(Bytes(bytes))) => Amount { bytes, ..endless },
            Some(Limit::Packets(packets)) => Amount { packets, ..endless },
        }
    }
}

impl Droptail {
    /// An empty queue.
    pub fn new(limit: Option<Limit>, ecn_threshold: Option<Limit>) -> Droptail {
        let (limit, ecn_threshold) = (Amount::bound(limit), Amount::bound(ecn_threshold));
        let calm =
            Amount { bytes: limit.bytes.min(ecn_threshold.bytes), packets: limit.packets.min(ecn_threshold.packets) };
        Droptail { limit, ecn_threshold, waiting: Amount { bytes: 0, packets: 0 }, calm }
    }

    /// A packet joins without a mark. If not so, `admit` decides.
    #[inline]
    pub fn is_calm(&self, bytes: u32) -> bool {
        self.waiting.bytes + bytes as u64 <= self.calm.bytes && self.waiting.packets < self.calm.packets
    }

    /// Decides about a packet; whether it is ECN-capable is asked only if it is to be marked.
    #[inline]
    pub fn admit(&self, bytes: u32, ecn_capable: impl FnOnce() -> bool) -> Admission {
        let Droptail { limit, ecn_threshold, waiting, .. } = self;
        if waiting.bytes + bytes as u64 > limit.bytes || waiting.packets >= limit.packets {
            return Admission::Drop;
        }
        let mark = waiting.bytes >= ecn_threshold.bytes || waiting.packets >= ecn_threshold.packets;
        if mark && ecn_capable() { Admission::JoinMarked } else { Admission::Join }
    }

    /// A packet waits from now on.
    #[inline]
    pub fn enter(&mut self, bytes: u32) {
        self.waiting.bytes += bytes as u64;
        self.waiting.packets += 1;
    }

    /// A packet waits no longer.
    #[inline]
    pub fn leave(&mut self, bytes: u32) {
        self.waiting.bytes -= bytes as u64;
        self.waiting.packets -= 1;
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.waiting.bytes
    }

    /// Packets that wait.
    pub fn packets(&self) -> u64 {
        self.waiting.packets
    }
}
