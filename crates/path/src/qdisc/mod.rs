//! Queue disciplines, which decide what packet a transmitter sends next, and which packets are
//! dropped or marked.
//!
//! Each follows the kernel's discipline of the same name (`net/sched/sch_*.c` of Linux 6.1 to
//! 6.18), with its integer arithmetic and its defaults. The file of a discipline lists the
//! differences.

mod any;
mod batches;
mod cake;
mod chains;
mod cobalt;
mod codel;
mod device_ring;
mod fifo;
mod fq_codel;
mod fq_pie;
mod hash;
mod occupancy;
mod packets;
mod pie;
mod policer;
mod prio;
mod red;
mod round_robin;
mod set_hash;
#[cfg(test)]
mod testing;
mod timer;

pub use any::{AnyQdisc, of};
pub use cake::Cake;
pub use codel::Codel;
pub use device_ring::DeviceRing;
pub use fifo::Fifo;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub(crate) use occupancy::Occupancy;
pub use pie::Pie;
pub use policer::{Policed, Policer};
pub use prio::Prio;
pub use red::Red;

use model::units::Nanos;

/// A queue discipline's view of a packet. The packet itself is in the network's pool under `id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skb {
    /// Place of the packet in the pool.
    pub id: u32,
    /// IP length in bytes.
    pub bytes: u32,
    /// The two ECN bits (RFC 3168, section 5).
    pub ecn: Ecn,
    /// Type of service, the ECN bits excluded (RFC 2474).
    pub tos: u8,
    /// The band that a classifier on the sender's host chose, while the packet is on that host.
    pub band: Option<u8>,
    /// Whether another segment of the same buffer follows right behind.
    pub is_followed: bool,
    /// Hash of protocol, addresses and ports.
    pub flow_hash: u32,
    /// Number of the host that the packet comes from.
    pub source: u32,
    /// Number of the host that the packet is for.
    pub destination: u32,
    /// When the packet joined the queue; `enqueue` sets it.
    pub enqueued_at: Nanos,
}

/// The ECN code points of RFC 3168, section 5, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, ECT(1).
    Ect1,
    /// ECN-capable, ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Skb {
    /// Marks the packet if it is ECN-capable; returns false otherwise.
    #[inline]
    pub fn mark_ce(&mut self) -> bool {
        if self.ecn == Ecn::NotEct {
            return false;
        }
        self.ecn = Ecn::Ce;
        true
    }
}

/// Decides about the order of packets, and about drops and marks.
pub trait Qdisc {
    /// Adds a packet at `now`, which never decreases between calls. Appends the packets that are
    /// dropped for it, itself or others, to `dropped`.
    fn enqueue(&mut self, now: Nanos, skb: Skb, dropped: &mut Vec<Skb>);
    /// Takes the next packet to transmit, marked if the discipline marks it. Returns none if the
    /// discipline is empty, or holds its packets back until `next`.
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb>;
    /// Returns when to poll a discipline again that holds packets back; `Nanos::NEVER` if it is
    /// empty. Other disciplines return `now` while they have packets.
    fn next(&self, now: Nanos) -> Nanos;
    /// Returns the bytes and the packets that wait.
    fn backlog(&self) -> (u64, u64);
    /// Returns false if `enqueue` would drop just this packet because the queue is full. Returns
    /// true for every other drop.
    fn has_room(&self, _skb: &Skb) -> bool {
        true
    }
}
