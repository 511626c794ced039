//! Queue disciplines that look at a packet when it leaves, as the kernel's do.

use scenario::units::Nanos;

/// The ECN bits of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not take marks.
    NotEct = 0,
    /// ECN-capable, ECT(1).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// What a queue discipline sees of a packet; the packet itself lies in the network's pool under `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skb {
    /// Its place in the pool.
    pub id: u32,
    /// IP length, bytes.
    pub bytes: u32,
    /// The two ECN bits (RFC 3168, section 5).
    pub ecn: Ecn,
    /// Type of service, the ECN bits excluded (RFC 2474).
    pub tos: u8,
    /// Hash of protocol, addresses and ports.
    pub flow_hash: u32,
    /// The host that it comes from.
    pub source: u32,
    /// The host that it goes to.
    pub destination: u32,
    /// When it came to the queue; `enqueue` sets it.
    pub enqueued_at: Nanos,
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
    /// Takes a packet at `now`, which never decreases from call to call.
    /// Packets that are dropped for it, itself or others, are appended to `dropped`.
    fn enqueue(&mut self, now: Nanos, skb: Skb, dropped: &mut Vec<Skb>);
    /// The packet to transmit next, marked where the discipline marks; none if it is empty, or holds back what it has until `next`.
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb>;
    /// When a discipline that shapes may be asked again; `Nanos::NEVER` if it is empty. One that does not shape: `now` while it holds packets.
    fn next(&self, now: Nanos) -> Nanos;
    /// Bytes and packets that wait.
    fn backlog(&self) -> (u64, u64);
}

/// Any of the disciplines here.
pub enum AnyQdisc {}

impl Qdisc for AnyQdisc {
    fn enqueue(&mut self, _: Nanos, _: Skb, _: &mut Vec<Skb>) {
        match *self {}
    }
    fn dequeue(&mut self, _: Nanos, _: &mut Vec<Skb>) -> Option<Skb> {
        match *self {}
    }
    fn next(&self, _: Nanos) -> Nanos {
        match *self {}
    }
    fn backlog(&self) -> (u64, u64) {
        match *self {}
    }
}
