//! The keys of queue disciplines, ours and those of the running kernel, under the names that tc(8) has.

use super::key::Absence::{Default, Means, Required};
use super::key::KeyType::{Choice, Limit};
use super::key::{Absence, Key, QUEUES, keys};
use crate::declare::Declared;
use crate::queue::{Cake, Codel, FqCodel, FqPie, PfifoFast, Pie, Prio, Red, U32_BYTES, U32_MICROSECONDS, U32_PACKETS};

/// What the kernel says of itself where ours has words for what holds without the key.
const LEFT_TO_KERNEL: [&str; 2] = ["quantum", "memlimit"];

/// Keys of one of ours as the kernel's discipline has them: those with these names, in this order. What a scenario does
/// not say is left to the kernel.
const fn of_the_kernel<const COUNT: usize>(section: &'static str, own: &[Key], names: [&str; COUNT]) -> [Key; COUNT] {
    let mut keys = as_ours(section, own, names);
    let mut at = 0;
    while at < COUNT {
        keys[at].absence = match keys[at].absence {
            Absence::Default(text) => Absence::LeftToKernel(text),
            Absence::Means(words) if is_one_of(keys[at].name, &LEFT_TO_KERNEL) => Absence::LeftToKernel(words),
            absence => absence,
        };
        at += 1;
    }
    keys
}

/// Keys of one of ours under the kernel's name, defaults included.
const fn as_ours<const COUNT: usize>(section: &'static str, own: &[Key], names: [&str; COUNT]) -> [Key; COUNT] {
    let mut keys = [own[0]; COUNT];
    let mut at = 0;
    while at < COUNT {
        let mut place = 0;
        while !is_one_of(own[place].name, &[names[at]]) {
            place += 1;
        }
        keys[at] = Key { section, ..own[place] };
        at += 1;
    }
    keys
}

/// Keys of which those with these names have another range.
const fn within<const COUNT: usize>(mut keys: [Key; COUNT], names: &[&str], range: &'static str) -> [Key; COUNT] {
    let mut at = 0;
    while at < COUNT {
        if is_one_of(keys[at].name, names) {
            keys[at].range = range;
        }
        at += 1;
    }
    keys
}

const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let mut at = 0;
    while at < names.len() {
        if are_same(name.as_bytes(), names[at].as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

const fn are_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "queue":
        "kind" = Choice(QUEUES), Default("droptail") => "the queue discipline";
        "limit" = Limit, Means("it never drops") =>
            "room for waiting packets, the one in transmission not counted; 1bdp is the link's mean rate times the \
            largest propagation round-trip time of the flows that pass it, rounded up to a byte (where limits are in \
            packets, to a packet of the largest size that passes), one packet at least";
        "ecn_threshold" = Limit, Means("it never marks") =>
            "packets of ECN-capable flows that find this much waiting are marked";
    },
    Red::KEYS,
    Codel::KEYS,
    FqCodel::KEYS,
    Pie::KEYS,
    FqPie::KEYS,
    Prio::KEYS,
    PfifoFast::KEYS,
    Cake::KEYS,
    keys! {
        "kernel:fq_codel":
        "kind" = Choice(&["kernel:fq_codel"]), Required =>
            "the kernel's own: a queue for each flow, served in turn, each with CoDel (RFC 8290)";
    },
    &within(
        of_the_kernel(
            "kernel:fq_codel",
            FqCodel::KEYS,
            ["limit", "flows", "quantum", "target", "interval", "ecn", "ce_threshold", "memory_limit", "drop_batch"],
        ),
        &["target", "interval", "ce_threshold"],
        U32_MICROSECONDS,
    ),
    keys! {
        "kernel:codel":
        "kind" = Choice(&["kernel:codel"]), Required =>
            "the kernel's own: drops when packets have waited too long for too long (RFC 8289)";
    },
    &within(
        of_the_kernel("kernel:codel", Codel::KEYS, ["limit", "target", "interval", "ecn", "ce_threshold"]),
        &["target", "interval", "ce_threshold"],
        U32_MICROSECONDS,
    ),
    keys! {
        "kernel:pie":
        "kind" = Choice(&["kernel:pie"]), Required =>
            "the kernel's own: drops at random, so that the delay stays near a target (RFC 8033)";
    },
    &of_the_kernel(
        "kernel:pie",
        Pie::KEYS,
        ["limit", "target", "tupdate", "alpha", "beta", "ecn", "bytemode", "dq_rate_estimator"],
    ),
    keys! {
        "kernel:fq_pie":
        "kind" = Choice(&["kernel:fq_pie"]), Required =>
            "the kernel's own: a queue for each flow, served in turn, each with PIE";
    },
    &of_the_kernel(
        "kernel:fq_pie",
        FqPie::KEYS,
        [
            "limit",
            "flows",
            "quantum",
            "target",
            "tupdate",
            "alpha",
            "beta",
            "ecn",
            "ecn_prob",
            "bytemode",
            "dq_rate_estimator",
        ],
    ),
    keys! {
        "kernel:red":
        "kind" = Choice(&["kernel:red"]), Required =>
            "the kernel's own: drops at random, more often the longer the mean queue is";
    },
    &as_ours(
        "kernel:red",
        Red::KEYS,
        ["limit", "min", "max", "probability", "avpkt", "burst", "ecn", "harddrop", "adaptive"],
    ),
    keys! {
        "kernel:prio":
        "kind" = Choice(&["kernel:prio"]), Required => "the kernel's own: strict priorities by the type of service";
    },
    &within(of_the_kernel("kernel:prio", Prio::KEYS, ["bands"]), &["bands"], "3..16"),
    keys! {
        "kernel:pfifo_fast":
        "kind" = Choice(&["kernel:pfifo_fast"]), Required =>
            "the kernel's own: strict priorities by the type of service, in three bands";
    },
    keys! {
        "kernel:cake":
        "kind" = Choice(&["kernel:cake"]), Required =>
            "the kernel's own: a shaper, classes of service, equal shares for hosts and flows, and COBALT";
    },
    &of_the_kernel(
        "kernel:cake",
        Cake::KEYS,
        ["bandwidth", "diffserv", "flowmode", "rtt", "overhead", "mpu", "atm", "ingress", "memlimit"],
    ),
    keys! {
        "kernel:pfifo":
        "kind" = Choice(&["kernel:pfifo"]), Required => "the kernel's own drop-tail queue in packets";
        "limit" = Limit, Means("the kernel's, 1000p"), U32_PACKETS => "room for waiting packets";
    },
    keys! {
        "kernel:bfifo":
        "kind" = Choice(&["kernel:bfifo"]), Required => "the kernel's own drop-tail queue in bytes";
        "limit" = Limit, Means("the kernel's, 1000 packets' worth"), U32_BYTES => "room for waiting packets";
    },
];
