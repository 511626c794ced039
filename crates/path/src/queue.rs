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
    limit: Option<Limit>,
    ecn_threshold: Option<Limit>,
    bytes: u64,
    packets: u64,
}

impl Droptail {
    pub fn new(queue: &Queue) -> Droptail {
        let Queue::Droptail { limit, ecn_threshold } = *queue else {
            panic!("a queue of the kernel's is no part of this program");
        };
        Droptail { limit, ecn_threshold, bytes: 0, packets: 0 }
    }

    #[inline]
    pub fn admit(&self, bytes: u32, ecn_capable: bool) -> Admission {
        let full = match self.limit {
            None => false,
            Some(Limit::Bytes(Bytes(limit))) => self.bytes + bytes as u64 > limit,
            Some(Limit::Packets(limit)) => self.packets >= limit,
        };
        if full {
            return Admission::Drop;
        }
        let mark = match self.ecn_threshold {
            None => false,
            Some(Limit::Bytes(Bytes(threshold))) => self.bytes >= threshold,
            Some(Limit::Packets(threshold)) => self.packets >= threshold,
        };
        if mark && ecn_capable { Admission::JoinMarked } else { Admission::Join }
    }

    #[inline]
    pub fn enter(&mut self, bytes: u32) {
        self.bytes += bytes as u64;
        self.packets += 1;
    }

    #[inline]
    pub fn leave(&mut self, bytes: u32) {
        self.bytes -= bytes as u64;
        self.packets -= 1;
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }
}
