//! FQ-PIE as Linux has it (sch_fq_pie.c): flows are hashed to queues, which take turns as with FQ-CoDel, each with PIE.
//! Left out: filters that classify, and `memory_limit`, for which the kernel counts packets but drops none.

use super::hash::{Salt, queue_of};
use super::packets::{Packets, Total};
use super::pie::{Law, MAX_PROB, Vars};
use super::round_robin::RoundRobin;
use super::timer::Timer;
use super::{Qdisc, Skb};
use crate::Rng;
use model::queue;
use model::units::Nanos;

#[derive(Clone, Debug, Default)]
struct Flow {
    packets: Packets,
    vars: Vars,
    /// May the timer's next ring change it?
    awake: bool,
}

/// Queues that take turns.
#[derive(Clone, Debug)]
pub struct FqPie {
    law: Law,
    limit: u64,
    /// Up to this probability packets are marked, above dropped; none without ECN.
    marks_to: Option<u64>,
    salt: Salt,
    flows: Vec<Flow>,
    awake: Vec<u32>,
    turns: RoundRobin,
    total: Total,
    timer: Timer,
    rng: Rng,
}

impl FqPie {
    /// An empty one before a device of this MTU.
    pub fn new(parameters: &queue::FqPie, mtu: u32, mut rng: Rng) -> FqPie {
        let flows = parameters.flows as usize;
        FqPie {
            law: Law::new(&parameters.pie(), mtu),
            limit: parameters.limit as u64,
            marks_to: parameters.ecn.then_some(MAX_PROB / 100 * parameters.ecn_prob as u64),
            salt: Salt::new(&mut rng),
            flows: vec![Flow::default(); flows],
            awake: Vec::new(),
            turns: RoundRobin::new(flows, parameters.quantum, mtu),
            total: Total::default(),
            timer: Timer::new(parameters.tupdate),
            rng,
        }
    }

    /// Makes up for the timer's rings until now. The kernel goes through all flows; one that a ring does not change
    /// stays so until a packet comes or goes, and can be left out.
    #[inline]
    fn update(&mut self, now: Nanos) {
        while self.timer.is_due(now) {
            self.timer.again();
            let FqPie { flows, awake, law, .. } = self;
            awake.retain(|n| {
                let flow = &mut flows[*n as usize];
                let before = flow.vars.clone();
                flow.vars.calculate_probability(law, flow.packets.bytes());
                flow.awake = flow.vars != before;
                flow.awake
            });
            if awake.is_empty() {
                self.timer.skip(now);
            }
        }
    }

    #[inline]
    fn wake(&mut self, n: usize) {
        if !self.flows[n].awake {
            self.flows[n].awake = true;
            self.awake.push(n as u32);
        }
    }
}

impl Qdisc for FqPie {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        self.update(now);
        skb.enqueued_at = now;
        let n = queue_of(self.salt.mix(skb.flow_hash), self.flows.len());
        self.wake(n);
        let flow = &mut self.flows[n];
        let is_full = self.total.packets >= self.limit;
        let backlog = flow.packets.bytes();
        if !flow.vars.admits(&self.law, is_full, backlog, self.marks_to, &mut skb, &mut self.rng) {
            return dropped.push(skb);
        }
        self.total.add(&skb);
        flow.packets.push(skb);
        self.turns.wake(n);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _dropped: &mut Vec<Skb>) -> Option<Skb> {
        self.update(now);
        loop {
            let n = self.turns.turn()?;
            let flow = &mut self.flows[n];
            if let Some(skb) = flow.packets.pop() {
                self.total.remove(&skb);
                flow.vars.leaves(&self.law, now, &skb, flow.packets.bytes());
                self.turns.sent(n, skb.bytes);
                self.wake(n);
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

    fn fq_pie() -> FqPie {
        FqPie::new(&queue::FqPie::default(), 1500, crate::rng(1, 1))
    }

    /// Feeds flow 1 two packets and flow 2 half of one each millisecond, takes one, and counts what of each is dropped
    /// in four seconds.
    fn unequal(qdisc: &mut FqPie) -> [usize; 3] {
        let (mut dropped, mut sent) = (vec![], 0);
        for ms in 0..4000 {
            let now = Nanos::from_millis(ms);
            qdisc.enqueue(now, skb(0, 1, false), &mut dropped);
            qdisc.enqueue(now, skb(0, 1, false), &mut dropped);
            if ms % 2 == 0 {
                qdisc.enqueue(now, skb(0, 2, false), &mut dropped);
            }
            sent += usize::from(qdisc.dequeue(now, &mut vec![]).is_some_and(|skb| skb.flow_hash == 2));
        }
        let of = |flow| dropped.iter().filter(|skb| skb.flow_hash == flow).count();
        [of(1), of(2), sent]
    }

    #[test]
    fn only_the_flow_that_sends_too_much_is_dropped_from() {
        let [one, other, sent] = unequal(&mut fq_pie());
        assert!(one > 1000 && other == 0 && sent >= 1998, "{one} {other} {sent}");
    }

    /// The kernel goes through all flows with each ring; the result is the same.
    #[test]
    fn flows_that_sleep_are_as_those_that_are_looked_at() {
        let mut qdisc = fq_pie();
        unequal(&mut qdisc);
        while qdisc.dequeue(Nanos::from_secs(4), &mut vec![]).is_some() {}
        let mut all = qdisc.clone();
        let now = Nanos::from_secs(60);
        qdisc.update(now);
        assert!(qdisc.awake.is_empty());
        while all.timer.is_due(now) {
            all.timer.again();
            all.flows.iter_mut().for_each(|flow| flow.vars.calculate_probability(&all.law, flow.packets.bytes()));
        }
        assert!(qdisc.flows.iter().zip(&all.flows).all(|(one, other)| one.vars == other.vars));
        assert_eq!(qdisc.timer.next(), all.timer.next());
    }
}
