//! The keys of queue disciplines, simulated and the running kernel's, with the names of tc(8).

use super::OnKernel;
use super::key::Absence::{Default, Means};
use super::key::KeyType::{Choice, Limit};
use super::key::{Absence, DROPTAIL, Key, keys};
use crate::declare::Declared;
use crate::queue::{Cake, Codel, Discipline, FqCodel, FqPie, KernelFifo, PfifoFast, Pie, Prio, Red};

/// Returns the number of those keys that the kernel's discipline has too.
const fn count(own: &[Key]) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < own.len() {
        count += !matches!(own[at].on_kernel, OnKernel::Lacks) as usize;
        at += 1;
    }
    count
}

/// Returns those keys that the kernel's discipline has too. Keys that a scenario does not set have the kernel's
/// defaults.
const fn of_the_kernel<const COUNT: usize>(
    section: &'static str,
    kinds: &'static [&'static str],
    about: &'static str,
    own: &[Key],
) -> [Key; COUNT] {
    let kind = Key { section, kind: Choice(kinds), meaning: about, ..own[0] };
    let mut keys = [kind; COUNT];
    let (mut at, mut place) = (1, 1);
    while place < own.len() {
        if !matches!(own[place].on_kernel, OnKernel::Lacks) {
            keys[at] = Key { section, ..own[place] };
            if let Absence::Default(text) = own[place].absence {
                keys[at].absence = Absence::LeftToKernel(text);
            }
            at += 1;
        }
        place += 1;
    }
    keys
}

macro_rules! of_the_kernel {
    ($($Name:ident as $section:literal: $about:literal;)+) => {
        &[$({
            const OWN: &[Key] = $Name::KEYS;
            &of_the_kernel::<{ count(OWN) }>($section, &[$section], concat!("the kernel's own: ", $about), OWN)
        }),+]
    };
}

const OF_THE_KERNEL: &[&[Key]] = of_the_kernel! {
    FqCodel as "kernel:fq_codel": "one queue for each flow, served in turn, each with CoDel (RFC 8290)";
    Codel as "kernel:codel": "drops when the waiting time has been too long for too long (RFC 8289)";
    Pie as "kernel:pie": "drops at random, so that the delay stays near a target (RFC 8033)";
    FqPie as "kernel:fq_pie": "one queue for each flow, served in turn, each with PIE";
    Red as "kernel:red": "drops at random, more often the longer the mean queue is";
    Prio as "kernel:prio": "strict priorities by the type of service";
    PfifoFast as "kernel:pfifo_fast": "strict priorities by the type of service, in three bands";
    Cake as "kernel:cake": "a shaper, classes of service, equal shares for hosts and flows, and COBALT";
};

/// The sections of all kinds of queue except drop-tail.
const KINDS: [&[&[Key]]; 3] = [Discipline::SECTIONS, OF_THE_KERNEL, KernelFifo::SECTIONS];

const COUNT: usize = 1 + KINDS[0].len() + KINDS[1].len() + KINDS[2].len();

/// The values of a queue's key `kind`.
pub const QUEUES: &[&str] = &{
    let mut names = [DROPTAIL; COUNT];
    let (mut at, mut part) = (1, 0);
    while part < KINDS.len() {
        let mut place = 0;
        while place < KINDS[part].len() {
            names[at] = KINDS[part][place][0].section;
            (at, place) = (at + 1, place + 1);
        }
        part += 1;
    }
    names
};

const QUEUE: &[Key] = keys! {
    "queue":
    "kind" = Choice(QUEUES), Default("droptail") => "queue discipline";
    "limit" = Limit, Means("the queue never drops") =>
        "room for waiting packets, without the one in transmission. 1bdp is the link's mean rate times the largest \
         propagation round-trip time of its flows. It is rounded up to a byte or, for limits in packets, to a packet \
         of the largest size, and is at least one packet";
    "ecn_threshold" = Limit, Means("the queue never marks") =>
        "queue length from which on packets of ECN-capable flows are marked";
};

/// Returns the keys of queues, section by section.
pub(super) fn sections() -> impl Iterator<Item = &'static [Key]> {
    std::iter::once(QUEUE).chain(KINDS.into_iter().flatten().copied())
}
