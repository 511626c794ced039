//! The statistics of a network: rows of the results, samples of the time series, and distributions
//! of delays.

use super::Network;
use crate::channel::PortId;
use crate::medium::{Medium, Member, MemberPort};
use crate::packet::Packet;
use crate::port::{ExternalPort, Port};
use measure::{Histogram, LinkSample};
use model::records;
use model::units::Nanos;

impl<P: Packet, X> Network<P, X> {
    /// Returns the results of all ports that count: link by link, forward before reverse, then the
    /// access links.
    pub fn records(&self) -> Vec<records::Link>
    where
        X: ExternalPort,
    {
        let record = |port: &PortId| match self.port(*port) {
            Port::Member(member) => Some(self.media[member.medium as usize].record(member.member)),
            port => port.record(),
        };
        self.counting.iter().filter_map(record).collect()
    }

    /// Returns the results of all nodes of meshes.
    pub fn node_records(&self) -> Vec<records::Node> {
        self.media.iter().flat_map(Medium::node_records).collect()
    }

    /// Samples all ports that count at `now`, for the time series.
    pub fn samples(&mut self, now: Nanos) -> Vec<LinkSample>
    where
        X: ExternalPort,
    {
        let Network { ports, media, counting, .. } = self;
        let sample = |(link, port): (u32, &PortId)| match &mut ports[*port as usize] {
            Port::Member(MemberPort { medium, member }) => Some(media[*medium as usize].member(*member).sample(link)),
            port => port.sample(now, link),
        };
        (0..).zip(counting.iter()).filter_map(sample).collect()
    }

    /// Lists the distributions of queueing delays, each with the number of its port in `records`.
    /// Plain access links, which count no distribution, are not listed.
    pub fn queue_delays(&self) -> impl Iterator<Item = (u32, &Histogram)>
    where
        X: ExternalPort,
    {
        let stats = |port: &PortId| match self.port(*port) {
            Port::Member(member) => Some(&self.member(*member).stats),
            port => port.output().map(|output| &output.stats),
        };
        let counted = (0..).zip(&self.counting).filter_map(move |(n, port)| Some((n, stats(port)?)));
        counted.map(|(number, stats)| (number, &stats.queue_delay))
    }

    fn member(&self, port: MemberPort) -> &Member {
        self.media[port.medium as usize].member(port.member)
    }
}
