//! The directions of a scenario's links: the numbers of their ports, and their random streams.

use crate::channel::PortId;
use crate::qdisc::{self, AnyQdisc, Policed, Policer};
use model::stream;
use model::units::Rate;
use model::{Link, Scenario};

/// Returns the port of a link's reverse direction.
pub fn reverse(link: usize) -> PortId {
    2 * link as PortId
}

/// Returns the port of a link's forward direction.
pub fn forward(link: usize) -> PortId {
    2 * link as PortId + 1
}

/// Reports whether a port belongs to the reverse direction of a link.
pub fn is_reverse(port: PortId) -> bool {
    port.is_multiple_of(2)
}

/// Returns the number of a port's random stream: 1 and 2 for the two directions of the first link,
/// and so on.
pub(crate) fn purpose(port: PortId) -> u64 {
    2 * (port as u64 / 2) + if is_reverse(port) { 2 } else { 1 }
}

/// Creates the queue discipline before a direction of a link, with its policer.
///
/// # Panics
/// Panics if the discipline is one of the kernel's.
pub(crate) fn discipline_of(link: &Link, scenario: &Scenario, purpose: u64) -> AnyQdisc {
    let mtu = scenario.flows.iter().map(|group| group.packet.0 as u32).max().unwrap_or(0);
    let rate = Rate(link.service.capacity().mean as u64);
    let discipline = qdisc::of(&link.queue, rate, mtu, scenario.seed, stream::QDISC + purpose);
    let discipline = discipline.expect("BUG: a kernel's qdisc runs outside this program");
    match &link.impairments.policer {
        Some(policer) => AnyQdisc::Policed(Box::new(Policed::new(Policer::new(policer), discipline))),
        None => discipline,
    }
}
