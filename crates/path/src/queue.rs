//! Queue disciplines that decide on arrival.

use scenario::model::{Limit, Queue};
use scenario::units::Bytes;

/// What happens to a packet on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It joins the queue.
    Join,
    /// It joins the queue and carries the CE mark from now on.
    JoinMarked,
    /// It is dropped.
    Drop,
}

/// First in, first out, bounded in bytes or packets; marks ECN-capable packets above a threshold.
#[derive(Clone, Debug)]
pub struct Droptail {
    /// No more than this.
    most: Amount,
    /// What arrives at this much or more is marked.
    marks_from: Amount,
    waiting: Amount,
}

/// So many bytes, so many packets.
#[derive(Clone, Copy, Debug)]
struct Amount {
    bytes: u64,
    packets: u64,
}

impl Amount {
    /// A bound in bytes or packets; what is not bounded is endless.
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
    pub fn new(queue: &Queue) -> Droptail {
        let Queue::Droptail { limit, ecn_threshold } = *queue else {
            panic!("a queue of the kernel's is no part of this program");
        };
        let waiting = Amount { bytes: 0, packets: 0 };
        Droptail { most: Amount::bound(limit), marks_from: Amount::bound(ecn_threshold), waiting }
    }

    #[inline]
    pub fn admit(&self, bytes: u32, ecn_capable: bool) -> Admission {
        let Droptail { most, marks_from, waiting } = self;
        if waiting.bytes + bytes as u64 > most.bytes || waiting.packets >= most.packets {
            return Admission::Drop;
        }
        let mark = waiting.bytes >= marks_from.bytes || waiting.packets >= marks_from.packets;
        if mark && ecn_capable { Admission::JoinMarked } else { Admission::Join }
    }

    #[inline]
    pub fn enter(&mut self, bytes: u32) {
        self.waiting.bytes += bytes as u64;
        self.waiting.packets += 1;
    }

    #[inline]
    pub fn leave(&mut self, bytes: u32) {
        self.waiting.bytes -= bytes as u64;
        self.waiting.packets -= 1;
    }

    pub fn bytes(&self) -> u64 {
        self.waiting.bytes
    }

    pub fn packets(&self) -> u64 {
        self.waiting.packets
    }
}
