//! Queue limits as multiples of the bandwidth-delay product: `limit = "0.5bdp"`.

use crate::quantity::{Bdp, QuantityError};
use crate::scenario::LARGEST_ACK;
use crate::units::{Bytes, Nanos};
use crate::{FlowGroup, Limit, Scenario};

/// The bandwidth-delay product at a queue.
#[derive(Clone, Copy)]
pub struct Product {
    /// The mean rate behind the queue, bit/s.
    rate: u64,
    /// The largest propagation round-trip time of the flows through the queue; none without flows.
    rtt: Option<Nanos>,
    /// The largest packet through the queue.
    largest: Bytes,
}

impl Product {
    /// Returns the product at the queue of a direction of link `number`.
    pub fn at(scenario: &Scenario, number: usize, is_reverse: bool) -> Product {
        let groups = scenario.flows.iter().filter(|group| group.passes(number, is_reverse));
        Product {
            rate: scenario.links[number].direction(is_reverse).service.capacity().mean as u64,
            rtt: groups.map(|group| scenario.propagation_rtt(group)).max(),
            largest: scenario.largest_packet(number, is_reverse),
        }
    }

    /// Returns the product at the shared queue of a Wi-Fi cell: the fastest station's rate times the largest round-trip
    /// time of all flows.
    pub fn at_cell(scenario: &Scenario, cell: usize) -> Product {
        let of_stations = scenario
            .links_of_cell(cell)
            .map(|number| Product::at(scenario, number, scenario.leads_from_station(number)));
        let none = Product { rate: 0, rtt: None, largest: Bytes(0) };
        of_stations.fold(none, |all, one| Product {
            rate: all.rate.max(one.rate),
            rtt: all.rtt.max(one.rtt),
            largest: all.largest.max(one.largest),
        })
    }

    /// Returns the product at the access links of a group.
    pub fn at_access(scenario: &Scenario, group: &FlowGroup) -> Product {
        Product {
            rate: group.access.rate.map_or(0, |rate| rate.0),
            rtt: Some(scenario.propagation_rtt(group)),
            largest: group.packet.max(LARGEST_ACK),
        }
    }

    /// Returns the limit for a multiple such as `0.5bdp`, in bytes or in whole packets of the largest size. It is
    /// rounded up, and at least one packet.
    pub fn times(&self, text: &str, in_packets: bool) -> Result<Limit, QuantityError> {
        let Bdp(millionths) = text.parse()?;
        if millionths == 0 {
            return Err(QuantityError(format!("\"{text}\" has no room for a packet; write more than \"0bdp\"")));
        }
        let Some(rtt) = self.rtt else {
            let why = "needs a flow that passes here, for its round-trip time; write bytes or packets";
            return Err(QuantityError(format!("\"{text}\" {why}")));
        };
        // Bits per byte, nanoseconds per second, and millionths.
        const PARTS: u128 = 8 * 1_000_000_000 * 1_000_000;
        let product = u128::from(self.rate) * u128::from(rtt.0);
        let bytes = product.checked_mul(millionths.into()).map(|parts| parts.div_ceil(PARTS));
        let too_large = || QuantityError(format!("\"{text}\" is too large for this program"));
        let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok()).ok_or_else(too_large)?.max(self.largest.0).max(1);
        Ok(match in_packets {
            true => Limit::Packets(bytes.div_ceil(self.largest.0.max(1))),
            false => Limit::Bytes(Bytes(bytes)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s times 100 ms are 100 000 bytes.
    #[test]
    fn products_are_rounded_up() {
        let product = Product { rate: 8_000_000, rtt: Some(Nanos::from_millis(100)), largest: Bytes(1500) };
        let limit = |text, in_packets| product.times(text, in_packets).unwrap();
        assert_eq!(limit("1bdp", false), Limit::Bytes(Bytes(100_000)));
        assert_eq!(limit("0.5bdp", true), Limit::Packets(34));
        assert_eq!(limit("1.000001bdp", false), Limit::Bytes(Bytes(100_001)));
        assert_eq!(limit("0.015bdp", true), Limit::Packets(1));
        assert_eq!(limit("0.015001bdp", true), Limit::Packets(2));
        assert_eq!(limit("0.001bdp", false), Limit::Bytes(Bytes(1500)));
    }
}
