//! The queue disciplines of a scenario.

use super::{Cake, Codel, Fifo, FqCodel, FqPie, Pie, Policed, Prio, Qdisc, Red, Skb};
use crate::rng;
use model::Queue;
use model::queue::Discipline;
use model::units::{Nanos, Rate};

/// Any of the disciplines. A caller matches on its kind, so that no packet goes through a table of
/// functions.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum AnyQdisc {
    Fifo(Fifo),
    Red(Box<Red>),
    Codel(Codel),
    FqCodel(Box<FqCodel>),
    Pie(Box<Pie>),
    FqPie(Box<FqPie>),
    Prio(Prio),
    Cake(Box<Cake>),
    Policed(Box<Policed>),
}

/// Creates the discipline of a queue before a transmitter.
///
/// `rate` is the transmitter's mean rate, and `mtu` the largest packet in bytes. `purpose` selects
/// the random stream of the draws. Returns none for a queue of the kernel.
pub fn of(queue: &Queue, rate: Rate, mtu: u32, seed: u64, purpose: u64) -> Option<AnyQdisc> {
    if let Queue::Droptail { limit, ecn_threshold } = queue {
        return Some(AnyQdisc::Fifo(Fifo::new(*limit, *ecn_threshold)));
    }
    let rng = rng(seed, purpose);
    Some(match queue.simulated()? {
        Discipline::Drophead(drophead) => AnyQdisc::Fifo(Fifo::dropping_head(drophead.limit)),
        Discipline::Red(red) => AnyQdisc::Red(Box::new(Red::new(red, rate, rng))),
        Discipline::Codel(codel) => AnyQdisc::Codel(Codel::new(codel, mtu)),
        Discipline::FqCodel(fq_codel) => AnyQdisc::FqCodel(Box::new(FqCodel::new(fq_codel, mtu, rng))),
        Discipline::Pie(pie) => AnyQdisc::Pie(Box::new(Pie::new(pie, mtu, rng))),
        Discipline::FqPie(fq_pie) => AnyQdisc::FqPie(Box::new(FqPie::new(fq_pie, mtu, rng))),
        Discipline::Prio(prio) => AnyQdisc::Prio(Prio::new(prio)),
        Discipline::PfifoFast(pfifo_fast) => AnyQdisc::Prio(Prio::pfifo_fast(pfifo_fast)),
        Discipline::Cake(cake) => AnyQdisc::Cake(Box::new(Cake::new(cake, mtu, rng))),
    })
}

macro_rules! each {
    ($any:expr, $qdisc:ident => $call:expr) => {
        match $any {
            AnyQdisc::Fifo($qdisc) => $call,
            AnyQdisc::Red($qdisc) => $call,
            AnyQdisc::Codel($qdisc) => $call,
            AnyQdisc::FqCodel($qdisc) => $call,
            AnyQdisc::Pie($qdisc) => $call,
            AnyQdisc::FqPie($qdisc) => $call,
            AnyQdisc::Prio($qdisc) => $call,
            AnyQdisc::Cake($qdisc) => $call,
            AnyQdisc::Policed($qdisc) => $call,
        }
    };
}

impl Qdisc for AnyQdisc {
    #[inline]
    fn enqueue(&mut self, now: Nanos, skb: Skb, dropped: &mut Vec<Skb>) {
        each!(self, qdisc => qdisc.enqueue(now, skb, dropped));
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        each!(self, qdisc => qdisc.dequeue(now, dropped))
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        each!(self, qdisc => qdisc.next(now))
    }

    #[inline]
    fn backlog(&self) -> (u64, u64) {
        each!(self, qdisc => qdisc.backlog())
    }

    fn has_room(&self, skb: &Skb) -> bool {
        each!(self, qdisc => qdisc.has_room(skb))
    }
}
