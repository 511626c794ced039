//! What a network has counted: records, samples of the series, and distributions of delays.

use super::Network;
use crate::channel::PortId;
use crate::medium::{Medium, Member, MemberPort};
use crate::packet::Packet;
use crate::port::{ExternalPort, Port};
use measure::{Histogram, LinkSample};
use model::records;
use model::units::Nanos;

impl<P: Packet, X> Network<P, X> {
    /// The records of all ports that count: link by link, forward before reverse, then the access links.
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

    /// The records of the nodes of meshes.
    pub fn node_records(&self) -> Vec<records::Node> {
        self.media.iter().flat_map(Medium::node_records).collect()
    }

    /// All ports that count at this instant, for the series.
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

    /// The distributions of queueing delays, each with the number of its record. Access links without a queue of the
    /// scenario's have none.
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
