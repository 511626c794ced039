//! The netlink attributes of CAKE.

use crate::netlink::attribute;
use crate::tc::kernel_units::word;

const BASE_RATE64: u16 = 2;
const RTT: u16 = 7;
const TARGET: u16 = 8;

/// Returns the options of CAKE. A round-trip time also sets the target of the delay to a twentieth
/// of it, as `tc` does.
pub fn options(attributes: &[(u16, u64)]) -> Vec<u8> {
    let option = |(kind, value): &(u16, u64)| match *kind {
        BASE_RATE64 => attribute(BASE_RATE64, &value.to_ne_bytes()),
        RTT => {
            let rtt = word(*value);
            [(RTT, rtt), (TARGET, (rtt / 20).max(1))].map(|(kind, time)| attribute(kind, &time.to_ne_bytes())).concat()
        }
        kind => attribute(kind, &word(*value).to_ne_bytes()),
    };
    attributes.iter().flat_map(option).collect()
}
