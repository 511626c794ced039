//! FQ-PIE as in Linux (sch_fq_pie.c). Flows are hashed to queues, which take turns as in FQ-CoDel,
//! each with PIE. This model leaves out filters that classify, and `memory_limit`, for which the
//! kernel counts packets but drops none.

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
    /// Whether the timer may change the flow's state when it next fires.
    awake: bool,
}

/// The FQ-PIE discipline: queues that take turns, each with PIE.
#[derive(Clone, Debug)]
pub struct FqPie {
    law: Law,
    limit: u64,
    /// Highest probability at which packets are marked instead of dropped; none without ECN.
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
    /// Creates an empty discipline before a device with this MTU in bytes.
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

    /// Catches up with the timer until now. The kernel visits all flows. A flow that one firing
    /// does not change stays the same until a packet comes or goes, so this code leaves it out.
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

    /// Sends two packets of flow 1 and half of one of flow 2 each millisecond for four seconds, and
    /// takes one. Returns the drops of both flows, and the packets that flow 2 got through.
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

    /// The result equals the kernel's, which visits all flows whenever the timer fires.
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
