//! The fill level of a drop-tail queue, and its decision about each packet that arrives.

use model::Limit;
use model::units::Bytes;

/// The fate of a packet that arrives at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It joins the queue.
    Join,
    /// It joins the queue and carries the CE mark from now on.
    JoinMarked,
    /// It is dropped.
    Drop,
}

/// First-in-first-out queue, bounded in bytes or packets. It marks ECN-capable packets above a
/// threshold.
#[derive(Clone, Debug)]
pub(crate) struct Droptail {
    limit: Amount,
    /// A packet is marked if at least this much waits before it.
    ecn_threshold: Amount,
    /// The lower of the limit and the marking threshold.
    calm: Amount,
    /// How far the queue is below `calm`; negative if it is above.
    room: Amount,
}

/// A number of bytes and a number of packets.
#[derive(Clone, Copy, Debug)]
struct Amount {
    bytes: i64,
    packets: i64,
}

impl Amount {
    /// Converts a bound in bytes or packets; the other of the two stays unbounded.
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
    /// Creates an empty queue.
    pub fn new(limit: Option<Limit>, ecn_threshold: Option<Limit>) -> Droptail {
        let (limit, ecn_threshold) = (Amount::bound(limit), Amount::bound(ecn_threshold));
        let calm =
            Amount { bytes: limit.bytes.min(ecn_threshold.bytes), packets: limit.packets.min(ecn_threshold.packets) };
        Droptail { limit, ecn_threshold, calm, room: calm }
    }

    /// Reports whether a packet joins without a mark. If not, `admit` decides.
    #[inline]
    pub fn is_below_thresholds(&self, bytes: u32) -> bool {
        i64::from(bytes) <= self.room.bytes && self.room.packets > 0
    }

    /// Decides about a packet of `bytes`. Calls `ecn_capable` only if the packet would be marked.
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

    /// Counts a packet of `bytes` that joins the queue.
    #[inline]
    pub fn enter(&mut self, bytes: u32) {
        self.room.bytes -= i64::from(bytes);
        self.room.packets -= 1;
    }

    /// Counts a packet of `bytes` that leaves the queue.
    #[inline]
    pub fn leave(&mut self, bytes: u32) {
        self.room.bytes += i64::from(bytes);
        self.room.packets += 1;
    }

    fn waiting(&self) -> Amount {
        Amount { bytes: self.calm.bytes - self.room.bytes, packets: self.calm.packets - self.room.packets }
    }

    /// Returns the bytes in the queue.
    pub fn bytes(&self) -> u64 {
        self.waiting().bytes as u64
    }

    /// Returns the packets in the queue.
    pub fn packets(&self) -> u64 {
        self.waiting().packets as u64
    }
}
