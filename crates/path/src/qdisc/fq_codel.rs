//! FQ-CoDel (RFC 8290) as in Linux (sch_fq_codel.c). Flows are hashed to queues, each with CoDel.
//! The queues take turns by deficit round robin, new ones first.
//!
//! This model leaves out filters that classify, and `ce_threshold` for a subset of the code points.

use super::codel::{DequeueContext, Law, Vars};
use super::hash::{Salt, queue_of};
use super::packets::{Packets, Total};
use super::round_robin::RoundRobin;
use super::{Qdisc, Skb};
use crate::Rng;
use model::queue;
use model::units::Nanos;

#[derive(Clone, Debug, Default)]
struct Flow {
    packets: Packets,
    vars: Vars,
}

/// The FQ-CoDel discipline: queues that take turns, each with CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    law: Law,
    limit: u64,
    memory_limit: u64,
    drop_batch: u64,
    salt: Salt,
    flows: Vec<Flow>,
    turns: RoundRobin,
    total: Total,
}

impl FqCodel {
    /// Creates an empty discipline before a device with this MTU in bytes.
    pub fn new(parameters: &queue::FqCodel, mtu: u32, mut rng: Rng) -> FqCodel {
        let queue::FqCodel { target, interval, ce_threshold, ecn, .. } = *parameters;
        let flows = parameters.flows as usize;
        FqCodel {
            law: Law::new(target, interval, ce_threshold, ecn, mtu),
            limit: parameters.limit as u64,
            memory_limit: parameters.memory_limit.0,
            drop_batch: parameters.drop_batch as u64,
            salt: Salt::new(&mut rng),
            flows: vec![Flow::default(); flows],
            turns: RoundRobin::new(flows, parameters.quantum, mtu),
            total: Total::default(),
        }
    }

    /// Drops half of the longest queue from its head, at most `drop_batch` packets, and counts them
    /// in its CoDel.
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
        self.flows[n].packets.push(skb);
        self.total.add(&skb);
        self.turns.wake(n);
        if self.total.packets > self.limit || self.total.memory > self.memory_limit {
            self.drop_from_the_longest(dropped);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        loop {
            let n = self.turns.turn()?;
            let flow = &mut self.flows[n];
            let from = DequeueContext { packets: &mut flow.packets, total: &mut self.total };
            if let Some(skb) = flow.vars.dequeue(&self.law, now, from, dropped) {
                self.turns.sent(n, skb.bytes);
                return Some(skb);
            }
            self.turns.found_empty(n);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::testing::skb;
    use model::units::Bytes;

    fn fq_codel(parameters: queue::FqCodel, mtu: u32) -> FqCodel {
        FqCodel::new(&parameters, mtu, crate::rng(1, 1))
    }

    fn put(qdisc: &mut FqCodel, flow: u32, packets: u32) -> Vec<Skb> {
        let mut dropped = vec![];
        (0..packets).for_each(|id| qdisc.enqueue(Nanos::ZERO, skb(id, flow, false), &mut dropped));
        dropped
    }

    fn take(qdisc: &mut FqCodel, packets: usize) -> Vec<u32> {
        (0..packets).map_while(|_| Some(qdisc.dequeue(Nanos::ZERO, &mut vec![])?.flow_hash)).collect()
    }

    /// A quantum of 1514 bytes suffices for two packets of 1500 at first, and then mostly for one.
    #[test]
    fn flows_take_turns_by_bytes() {
        let mut qdisc = fq_codel(queue::FqCodel::default(), 1514);
        put(&mut qdisc, 1, 400);
        put(&mut qdisc, 2, 400);
        let order = take(&mut qdisc, 600);
        assert_eq!(order[..8], [1, 1, 2, 2, 1, 2, 1, 2]);
        assert_eq!(order.iter().filter(|flow| **flow == 1).count(), 300);
    }

    #[test]
    fn a_sparse_flow_goes_before_all_old_ones() {
        let mut qdisc = fq_codel(queue::FqCodel::default(), 1514);
        put(&mut qdisc, 1, 10);
        put(&mut qdisc, 2, 10);
        take(&mut qdisc, 6);
        put(&mut qdisc, 3, 1);
        assert_eq!(take(&mut qdisc, 3)[0], 3);
    }

    #[test]
    fn a_flow_that_is_empty_has_to_wait_for_the_old_ones_before_it_is_new_again() {
        let mut qdisc = fq_codel(queue::FqCodel { quantum: Some(Bytes(6000)), ..queue::FqCodel::default() }, 1514);
        put(&mut qdisc, 1, 10);
        take(&mut qdisc, 5);
        put(&mut qdisc, 2, 1);
        assert_eq!(take(&mut qdisc, 2), [2, 1]);
        // The queue's turn came while it was empty.
        put(&mut qdisc, 2, 1);
        assert_eq!(take(&mut qdisc, 3), [1, 1, 2]);
    }

    /// Of 90 000 and 30 000 bytes, half of the first queue is dropped from its head, and counts as
    /// CoDel's drops.
    #[test]
    fn the_longest_queue_is_halved_when_there_is_no_more_room() {
        let mut qdisc = fq_codel(queue::FqCodel { limit: 79, ..queue::FqCodel::default() }, 1514);
        assert_eq!(put(&mut qdisc, 1, 60).len() + put(&mut qdisc, 2, 19).len(), 0);
        let dropped = put(&mut qdisc, 2, 1);
        assert_eq!(dropped.iter().map(|skb| skb.id).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
        assert!(dropped.iter().all(|skb| skb.flow_hash == 1));
        assert_eq!(qdisc.flows.iter().map(|flow| flow.vars.count).max(), Some(30));
        assert_eq!(qdisc.backlog(), (50 * 1500, 50));
    }

    #[test]
    fn no_more_than_a_batch_goes_at_once() {
        let mut qdisc = fq_codel(queue::FqCodel { limit: 500, drop_batch: 7, ..queue::FqCodel::default() }, 1514);
        assert_eq!(put(&mut qdisc, 1, 501).len(), 7);
    }

    /// A full packet takes 2304 bytes of the kernel's memory.
    #[test]
    fn memory_is_bounded_too() {
        let parameters = queue::FqCodel { memory_limit: Bytes(23_040), drop_batch: 1, ..queue::FqCodel::default() };
        assert_eq!(put(&mut fq_codel(parameters, 1514), 1, 15).len(), 5);
    }
}
