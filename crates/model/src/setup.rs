//! The columns of records that come from the scenario, needed to draw a run and to understand its numbers.

use crate::units::Nanos;
use crate::{FlowGroup, Limit, Link, Scenario, Service, Trace, Transmitter, record};

/// The size of a packet that one delivery opportunity of a trace sends, bits.
const OPPORTUNITY_BITS: f64 = 1500.0 * 8.0;

record! {
    /// The columns of a flow that come from the scenario.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct FlowSetup {
        /// Name of the flow's group in the scenario; absent if no group has a name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Round-trip time of the empty path: propagation plus the mean delay of idle LTE cells, whose least delay may
        /// be some milliseconds shorter.
        base_rtt_ms: f64,
        /// Mesh that the flow comes from; absent if no flow comes from a mesh.
        #[serde(skip_serializing_if = "Option::is_none")]
        mesh: Option<String>,
        /// Node of the mesh that the flow comes from.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<String>,
        /// Number of hops from the flow's node to the border router.
        #[serde(skip_serializing_if = "Option::is_none")]
        hops: Option<u32>,
    }
}

record! {
    /// The columns of a direction of a link that come from the scenario.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct LinkSetup {
        /// Rate of the link; empty if it varies, and on Wi-Fi.
        rate_mbps: Option<f64>,
        /// Mean rate over the run; on Wi-Fi the most that the link carries if nobody else transmits.
        rate_mbps_mean: Option<f64>,
        /// Kind of the queue, as in the scenario.
        queue_kind: Option<String>,
        /// Room for waiting packets in bytes; empty for a queue whose limit is in other units.
        limit_bytes: Option<u64>,
        /// Room for waiting packets in packets; empty for a queue whose limit is in other units.
        limit_packets: Option<u64>,
    }
}

impl Scenario {
    /// Returns the columns from the scenario for each of a group's `count` flows.
    pub fn flow_setups(&self, group: &FlowGroup, count: usize) -> Vec<FlowSetup> {
        let base_rtt_ms = self.propagation_rtt(group).as_millis_f64();
        let name = |flow: u32| match (&group.name, group.is_response(flow)) {
            (Some(name), true) => Some(format!("{name}: responses")),
            (name, _) => name.clone(),
        };
        let setup = |flow: u32| FlowSetup { name: name(flow), base_rtt_ms, ..FlowSetup::default() };
        let Some(origin) = &group.origin else { return (0..count as u32).map(setup).collect() };
        let mesh = &self.meshes[origin.mesh];
        let of_node = |flow| {
            let node = group.node_of_flow(flow)?;
            let (mesh_name, name) = (mesh.name.clone(), mesh.nodes[node].name.clone());
            Some(FlowSetup { mesh: Some(mesh_name), node: Some(name), hops: Some(mesh.hops(node)), ..setup(flow) })
        };
        (0..count as u32).filter_map(of_node).collect()
    }
}

impl Link {
    /// Returns the columns of the link's record that come from the scenario.
    pub fn setup(&self) -> LinkSetup {
        let limit = self.queue.limit();
        let mean = self.service.capacity().mean / 1e6;
        LinkSetup {
            rate_mbps: self.service.constant().map(|_| mean),
            rate_mbps_mean: Some(mean),
            queue_kind: Some(self.queue.name()),
            limit_bytes: limit.and_then(|limit| if let Limit::Bytes(bytes) = limit { Some(bytes.0) } else { None }),
            limit_packets: limit
                .and_then(|limit| if let Limit::Packets(packets) = limit { Some(packets) } else { None }),
        }
    }

    /// Returns how many bits a link that always has a packet sends from `from` to `to`.
    pub fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        let mut bits = 0.0;
        let mut at = from;
        for outage in &self.impairments.outages {
            bits += self.service.capacity_bits(at, outage.at.min(to));
            at = at.max(outage.end());
        }
        bits + self.service.capacity_bits(at, to)
    }
}

impl Service {
    /// Returns how many bits the transmitter sends from `from` to `to` without outages; 0 if `to` is not later.
    fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        if to <= from {
            return 0.0;
        }
        match self {
            Service::Own(Transmitter::Rates(rates)) => {
                let ends = rates.steps.iter().skip(1).map(|(at, _)| *at).chain([Nanos::NEVER]);
                let steps = rates.steps.iter().zip(ends);
                steps.map(|((at, rate), end)| rate.0 as f64 * end.min(to).since(from.max(*at)).as_secs_f64()).sum()
            }
            Service::Own(Transmitter::Trace(trace)) => {
                (trace.opportunities_until(to) - trace.opportunities_until(from)) * OPPORTUNITY_BITS
            }
            _ => self.capacity().mean * to.since(from).as_secs_f64(),
        }
    }
}

impl Trace {
    /// Returns the number of delivery opportunities up to and including `end`.
    fn opportunities_until(&self, end: Nanos) -> f64 {
        let (rounds, rest) = (end.0 / self.period.0, Nanos(end.0 % self.period.0));
        rounds as f64 * self.opportunities.len() as f64 + self.opportunities.partition_point(|at| *at <= rest) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairments::{Impairments, Outage, Rates};
    use crate::units::Rate;
    use crate::{Loss, Queue};
    use std::path::Path;

    fn secs(s: u64) -> Nanos {
        Nanos::from_secs(s)
    }

    fn link(service: Service) -> Link {
        let (queue, impairments) = (Queue::default(), Impairments::default());
        Link { name: "a".into(), service, delay: Nanos::ZERO, queue, loss: Loss::Uniform(0.0), impairments }
    }

    #[test]
    fn a_rate_that_changes_sends_what_each_part_allows() {
        let rates = Rates::new(Rate(1000), &[(secs(2), Rate(3000)), (secs(5), Rate(0))], secs(10));
        let link = link(Service::Own(Transmitter::Rates(rates)));
        assert_eq!(link.capacity_bits(secs(0), secs(10)), 2.0 * 1000.0 + 3.0 * 3000.0);
        assert_eq!(link.capacity_bits(secs(1), secs(3)), 1000.0 + 3000.0);
        assert_eq!(link.capacity_bits(secs(7), secs(7)), 0.0);
    }

    /// The trace has opportunities at 0, 1, 1 and 4 seconds, and repeats after the fourth second.
    #[test]
    fn a_trace_starts_again() {
        let trace = Trace::parse(Path::new("t"), "0\n1000\n1000\n4000\n").unwrap();
        let link = link(Service::Own(Transmitter::Trace(trace.into())));
        let packets = |from, to| link.capacity_bits(secs(from), secs(to)) / OPPORTUNITY_BITS;
        assert_eq!((packets(0, 1), packets(1, 3), packets(0, 4), packets(0, 8)), (2.0, 0.0, 4.0, 8.0));
    }

    #[test]
    fn nothing_is_sent_in_an_outage() {
        let mut link = link(Service::Own(Transmitter::Rate(Rate(1000))));
        let outage = |at, lasts| Outage { at: secs(at), lasts: secs(lasts), lose: false };
        link.impairments.outages = vec![outage(2, 3), outage(8, 1)];
        assert_eq!(link.capacity_bits(secs(0), secs(10)), 6000.0);
        assert_eq!(link.capacity_bits(secs(3), secs(4)), 0.0);
        assert_eq!(link.capacity_bits(secs(4), secs(6)), 1000.0);
    }
}
