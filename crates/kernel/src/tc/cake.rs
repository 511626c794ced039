//! What the kernel wants to be told of CAKE.

use crate::netlink::attribute;
use crate::tc::kernel_units::word;
use model::units::Rate;
use model::{KernelQueue, ParameterValue};

const BASE_RATE64: u16 = 2;
const RTT: u16 = 7;
const TARGET: u16 = 8;
/// Attributes of 32 bits (linux/pkt_sched.h).
const ATTRIBUTES: &[(&str, u16)] =
    &[("diffserv", 3), ("atm", 4), ("flowmode", 5), ("overhead", 6), ("memlimit", 10), ("mpu", 14), ("ingress", 15)];

/// The options of CAKE. With a round-trip time goes the delay that is aimed at, a twentieth of it, as `tc` has it.
pub fn options(queue: &KernelQueue) -> Vec<u8> {
    let mut options = match queue.parameter("bandwidth") {
        Some(ParameterValue::Rate(Rate(bits))) => attribute(BASE_RATE64, &(bits / 8).to_ne_bytes()),
        _ => vec![],
    };
    let mut put = |kind, value: u32| options.extend(attribute(kind, &value.to_ne_bytes()));
    for (name, kind) in ATTRIBUTES {
        if let Some(setting) = queue.parameter(name) {
            put(*kind, word(setting));
        }
    }
    if let Some(rtt) = queue.parameter("rtt").map(word) {
        put(RTT, rtt);
        put(TARGET, (rtt / 20).max(1));
    }
    options
}
