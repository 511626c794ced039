//! The receive window of a flow group without one in the file: so large that it never limits a sender.

use crate::app::Datagrams;
use crate::queue::Discipline;
use crate::scenario::LARGEST_ACK;
use crate::units::{Bytes, Nanos};
use crate::{FlowGroup, Limit, Scenario};
use std::collections::BTreeMap;

/// The smallest such window, bytes.
const LEAST: u64 = 128 << 10;
/// The largest receive buffer of Linux 6.18, bytes (`tcp_rmem`).
const LINUX_MAX: u64 = 32 << 20;
/// The window in multiples of the data that the path and its queues hold. Packets that wait in a radio cell, or for the
/// end of an outage, come on top.
const MARGIN: u64 = 4;
/// The window in multiples of the data that the path holds while acknowledgements wait, which they rarely do for the
/// whole time.
const MARGIN_WITH_WAITS: u64 = 2;

impl Scenario {
    /// Returns the window that a receiver of `group` advertises if the file sets none, so that it never limits a flow.
    /// It is four times the data that the path holds, or twice the data that it holds while acknowledgements wait. For
    /// such waits the largest buffer of Linux 6.18 (`tcp_rmem`) is enough; it is also the least window where a queue
    /// has no limit.
    pub fn ample_window(&self, group: &FlowGroup) -> Bytes {
        let rate = self.bottleneck_of(group).service.capacity().most;
        let carried_in = |time: Nanos| (rate * time.as_secs_f64() / 8.0) as u64;
        let in_flight = carried_in(self.propagation_rtt(group));
        let waiting = self.data_waits(group).zip(self.acknowledgements_wait(group));
        let Some((waiting, longest)) = waiting else {
            return Bytes(in_flight.saturating_mul(MARGIN).max(LINUX_MAX));
        };
        let held = in_flight.saturating_add(waiting);
        let with_waits = held.saturating_add(self.in_ring(group)).saturating_add(carried_in(longest));
        let with_waits = with_waits.saturating_mul(MARGIN_WITH_WAITS).min(LINUX_MAX);
        Bytes(held.saturating_mul(MARGIN).max(with_waits).max(LEAST))
    }

    /// Returns the directions of links that a group's data passes, or with `by_data` false its acknowledgements.
    fn passed(&self, group: &FlowGroup, by_data: bool) -> impl Iterator<Item = (usize, bool)> {
        let is_reverse = group.reverse == by_data;
        let links = if is_reverse { &group.reverse_path } else { &group.path };
        let in_mesh = self.way_up(group, self.farthest(group));
        links.iter().copied().chain(in_mesh).map(move |link| (link, is_reverse)).collect::<Vec<_>>().into_iter()
    }

    /// Returns the bytes that may wait in queues on the way of a group's data; none if a queue has no limit. Queue
    /// disciplines other than the two plain FIFOs count as unlimited: they keep their queues far shorter than their
    /// limits.
    fn data_waits(&self, group: &FlowGroup) -> Option<u64> {
        self.passed(group, true).try_fold(0u64, |sum, (number, is_reverse)| {
            let queue = &self.links[number].direction(is_reverse).queue;
            let limit = queue.limit().filter(|_| matches!(queue.simulated(), None | Some(Discipline::Drophead(_))))?;
            Some(sum.saturating_add(bytes(limit, group.packet)))
        })
    }

    /// Returns the bytes that the ring of the device of a group's host holds.
    fn in_ring(&self, group: &FlowGroup) -> u64 {
        let sends_from = group.host.filter(|_| !group.reverse);
        sends_from.map_or(0, |host| u64::from(self.hosts[host].ring).saturating_mul(group.packet.0))
    }

    /// Returns how long the acknowledgements of a group may wait on their way; none if a queue has no limit. They wait
    /// at links whose rate is not above the load.
    fn acknowledgements_wait(&self, group: &FlowGroup) -> Option<Nanos> {
        self.passed(group, false).try_fold(Nanos::ZERO, |sum, (number, is_reverse)| {
            let rate = self.links[number].direction(is_reverse).service.capacity().least;
            if self.load(number, is_reverse) < rate {
                return Some(sum);
            }
            let seconds = self.room(number, is_reverse)? as f64 * 8.0 / rate;
            Some(sum + Nanos((seconds * 1e9) as u64))
        })
    }

    /// Returns the largest load of a direction of link `number`, bit/s. Data comes as fast as the slowest link of its
    /// path carries, for any number of flows that share it. Each packet causes one acknowledgement.
    fn load(&self, number: usize, is_reverse: bool) -> f64 {
        let mut by_bottleneck = BTreeMap::new();
        let mut of_datagrams = 0.0;
        for group in self.flows.iter().filter(|group| group.passes(number, is_reverse)) {
            if let Some(Datagrams { every, packet, .. }) = group.datagrams() {
                of_datagrams += f64::from(group.count) * packet.0 as f64 * 8.0 / every.as_secs_f64();
                continue;
            }
            for group in (0..group.flows_of_one().min(2)).map(|flow| group.of_flow(flow)) {
                let bottleneck = self.bottleneck_of(&group);
                let rate = bottleneck.service.capacity().most;
                let share =
                    if group.reverse == is_reverse { 1.0 } else { LARGEST_ACK.0 as f64 / group.packet.0 as f64 };
                let load: &mut f64 = by_bottleneck.entry((bottleneck.name.clone(), group.reverse)).or_default();
                *load = load.max(rate * share);
            }
        }
        of_datagrams + by_bottleneck.values().sum::<f64>()
    }

    /// Returns the bytes that acknowledgements may wait for in a direction of link `number`; none without a limit. With
    /// fair queueing, flows of few bytes do not wait.
    fn room(&self, number: usize, is_reverse: bool) -> Option<u64> {
        let queue = &self.links[number].direction(is_reverse).queue;
        match queue.simulated() {
            Some(Discipline::FqCodel(_) | Discipline::FqPie(_) | Discipline::Cake(_)) => Some(0),
            Some(Discipline::Red(_) | Discipline::Codel(_) | Discipline::Pie(_)) => None,
            _ => queue.limit().map(|limit| bytes(limit, self.largest_packet(number, is_reverse))),
        }
    }
}

/// Returns the bytes that a queue with this limit holds, in packets of this size.
fn bytes(limit: Limit, packet: Bytes) -> u64 {
    match limit {
        Limit::Bytes(limit) => limit.0,
        Limit::Packets(limit) => limit.saturating_mul(packet.0),
    }
}
