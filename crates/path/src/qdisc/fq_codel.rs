//! FQ-CoDel (RFC 8290) as Linux has it (sch_fq_codel.c): flows are hashed to queues, which take turns by deficit round robin, new ones first, each
//! with CoDel. Left out: filters that classify, and `ce_threshold` for some code points only.

use super::chains::Chains;
use super::codel::{Law, Source, Vars};
use super::hash::{Salt, queue_of};
use super::packets::{Packets, Total};
use super::{Qdisc, Skb};
use crate::Draws;
use scenario::queue;
use scenario::units::{Bytes, Nanos};

/// The lists of flows with packets, or with a turn left.
const NEW: usize = 0;
const OLD: usize = 1;
/// The least quantum, and the largest.
const QUANTUM: std::ops::RangeInclusive<u64> = 256..=1 << 20;

#[derive(Clone, Debug, Default)]
struct Flow {
    packets: Packets,
    deficit: i64,
    vars: Vars,
}

/// Queues that take turns.
#[derive(Clone, Debug)]
pub struct FqCodel {
    law: Law,
    limit: u64,
    memory_limit: u64,
    drop_batch: u64,
    quantum: i64,
    salt: Salt,
    flows: Vec<Flow>,
    chains: Chains,
    total: Total,
}

/// What a queue may send in a turn before a device of this MTU.
pub(super) fn quantum(said: Option<Bytes>, mtu: u32) -> i64 {
    said.map_or(mtu as u64, |Bytes(bytes)| bytes).clamp(*QUANTUM.start(), *QUANTUM.end()) as i64
}

impl FqCodel {
    /// An empty one before a device of this MTU.
    pub fn new(parameters: &queue::FqCodel, mtu: u32, mut draws: Draws) -> FqCodel {
        let queue::FqCodel { target, interval, ce_threshold, ecn, .. } = *parameters;
        let flows = parameters.flows as usize;
        FqCodel {
            law: Law::new(target, interval, ce_threshold, ecn, mtu),
            limit: parameters.limit as u64,
            memory_limit: parameters.memory_limit.0,
            drop_batch: parameters.drop_batch as u64,
            quantum: quantum(parameters.quantum, mtu),
            salt: Salt::new(&mut draws),
            flows: vec![Flow::default(); flows],
            chains: Chains::new(flows, 2),
            total: Total::default(),
        }
    }

    /// Drops half of the longest queue from its head, `drop_batch` packets at most, and has its CoDel count them.
    #[cold]
    fn drop_from_the_longest(&mut self, dropped: &mut Vec<Skb>) {
        let mut longest = 0;
        for n in 1..self.flows.len() {
            if self.flows[n].packets.bytes() > self.flows[longest].packets.bytes() {
                longest = n;
            }
        }
        let flow = &mut self.flows[longest];
        let half = flow.packets.bytes() >> 1;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(skb) = flow.packets.pop() {
            packets += 1;
            bytes += skb.bytes as u64;
            self.total.remove(&skb);
            dropped.push(skb);
            if packets >= self.drop_batch || bytes >= half {
                break;
            }
        }
        flow.vars.count = flow.vars.count.wrapping_add(packets as u32);
    }
}

impl Qdisc for FqCodel {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        skb.enqueued_at = now;
        let n = queue_of(self.salt.mix(skb.flow_hash), self.flows.len());
        let flow = &mut self.flows[n];
        flow.packets.push(skb);
        self.total.add(&skb);
        if !self.chains.contains(n) {
            self.chains.move_to_back(NEW, n);
            flow.deficit = self.quantum;
        }
        if self.total.packets > self.limit || self.total.memory > self.memory_limit {
            self.drop_from_the_longest(dropped);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        loop {
            let list = if self.chains.is_empty(NEW) { OLD } else { NEW };
            let n = self.chains.front(list)?;
            let flow = &mut self.flows[n];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.chains.move_to_back(OLD, n);
                continue;
            }
            let from = Source { packets: &mut flow.packets, total: &mut self.total };
            if let Some(skb) = flow.vars.dequeue(&self.law, now, from, dropped) {
                flow.deficit -= skb.bytes as i64;
                return Some(skb);
            }
            // A new flow that is empty has its turn among the old ones first, so that it cannot come as new time and again.
            if list == NEW && !self.chains.is_empty(OLD) {
                self.chains.move_to_back(OLD, n);
            } else {
                self.chains.remove(n);
            }
        }
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        self.total.next(now)
    }

    #[inline]
    fn backlog(&self) -> (u64, u64) {
        (self.total.bytes, self.total.packets)
    }
}
