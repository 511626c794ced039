//! Waiting packets, and their totals.

use super::Skb;
use crate::ring::Ring;
use model::skb::truesize;
use model::units::Nanos;

/// A first-in-first-out queue of packets, with the sum of their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    ring: Ring<Skb>,
    bytes: u64,
}

impl Packets {
    #[inline]
    pub fn push(&mut self, skb: Skb) {
        self.bytes += skb.bytes as u64;
        self.ring.push(skb);
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Skb> {
        let skb = self.ring.pop()?;
        self.bytes -= skb.bytes as u64;
        Some(skb)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ring.len() == 0
    }

    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub fn len(&self) -> u64 {
        self.ring.len() as u64
    }

    /// Implements `Qdisc::next` for a discipline that does not shape.
    #[inline]
    pub fn next(&self, now: Nanos) -> Nanos {
        if self.is_empty() { Nanos::NEVER } else { now }
    }
}

/// Totals over all queues of a discipline.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    pub bytes: u64,
    pub packets: u64,
    /// Memory in bytes that the kernel would charge for the packets.
    pub memory: u64,
}

impl Total {
    #[inline]
    pub fn add(&mut self, skb: &Skb) {
        self.bytes += skb.bytes as u64;
        self.packets += 1;
        self.memory += truesize(skb.bytes as u64);
    }

    #[inline]
    pub fn remove(&mut self, skb: &Skb) {
        self.bytes -= skb.bytes as u64;
        self.packets -= 1;
        self.memory -= truesize(skb.bytes as u64);
    }

    /// Implements `Qdisc::next` for a discipline that does not shape.
    #[inline]
    pub fn next(&self, now: Nanos) -> Nanos {
        if self.packets == 0 { Nanos::NEVER } else { now }
    }
}
