//! Queue disciplines: what decides which packet a transmitter sends next, and which are dropped or marked.
//!
//! Each follows the kernel's of the same name (`net/sched/sch_*.c` of Linux 6.1 to 6.18), with its integer arithmetic
//! and its defaults. What differs is said in the discipline's own file.

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
pub use prio::Prio;
pub use red::Red;

use model::units::Nanos;

/// What a queue discipline sees of a packet; the packet itself lies in the network's pool under `id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skb {
    /// Its place in the pool.
    pub id: u32,
    /// IP length, bytes.
    pub bytes: u32,
    /// The two ECN bits (RFC 3168, section 5).
    pub ecn: Ecn,
    /// Type of service, the ECN bits excluded (RFC 2474).
    pub tos: u8,
    /// The band that its sender's host has chosen for it, if that is where it is.
    pub band: Option<u8>,
    /// Another segment of the same buffer comes right behind it.
    pub is_followed: bool,
    /// Hash of protocol, addresses and ports.
    pub flow_hash: u32,
    /// The host that it comes from.
    pub source: u32,
    /// The host that it goes to.
    pub destination: u32,
    /// When it came to the queue; `enqueue` sets it.
    pub enqueued_at: Nanos,
}

/// The code points of RFC 3168, section 5, in their order.
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
    /// Marks it if it is ECN-capable; false if it is not.
    #[inline]
    pub fn mark_ce(&mut self) -> bool {
        if self.ecn == Ecn::NotEct {
            return false;
        }
        self.ecn = Ecn::Ce;
        true
    }
}

/// A queue discipline.
pub trait Qdisc {
    /// Takes a packet at `now`, which never decreases from call to call. Packets that are dropped for it, itself or
    /// others, are appended to `dropped`.
    fn enqueue(&mut self, now: Nanos, skb: Skb, dropped: &mut Vec<Skb>);
    /// The packet to transmit next, marked where the discipline marks; none if it is empty, or holds back what it has
    /// until `next`.
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb>;
    /// When a discipline that shapes may be asked again; `Nanos::NEVER` if it is empty. One that does not shape: `now`
    /// while it holds packets.
    fn next(&self, now: Nanos) -> Nanos;
    /// Bytes and packets that wait.
    fn backlog(&self) -> (u64, u64);
    /// False if `enqueue` would drop this packet and no other, for want of room; what drops otherwise says true.
    fn has_room(&self, _skb: &Skb) -> bool {
        true
    }
}
