//! Converts a scenario to the ports of its network and the routes of its flows.

use crate::access::AccessPort;
use crate::channel::PortId;
use crate::direction::{discipline_of, forward, purpose, reverse};
use crate::egress::EgressPort;
use crate::fifo::FifoPort;
use crate::medium;
use crate::network::Routes;
use crate::packet::{Ends, Packet};
use crate::port::Port;
use crate::qdisc::DeviceRing;
use crate::{DelayLine, LinkOutput, Network, NoExternal, QueuedPort};
use model::impairments::Impairments;
use model::units::{Nanos, Rate};
use model::{DuplexLink, FlowGroup, Host, Link, Loss, Queue, Scenario, Service, Transmitter};
use std::convert::Infallible;

/// The ports and routes of a scenario.
///
/// Ports are numbered link by link, the reverse direction of each before the forward one. The
/// access links of all groups follow, then the delays of their acknowledgements. Data of flow `n`
/// takes route `2n`, its acknowledgements take route `2n + 1`.
pub struct Topology<'a> {
    scenario: &'a Scenario,
    ports: Vec<Planned>,
    routes: Routes,
    ends: Vec<Ends>,
    counting: Vec<PortId>,
}

/// How a host's device takes packets ahead of their transmission.
#[derive(Clone, Copy, Default)]
struct Device {
    ring: u32,
    byte_queue_limits: bool,
    gso: bool,
}

/// A port that the network will create.
enum Planned {
    /// One direction of a link of the scenario, or a sender's own link with a queue.
    Direction(Box<Link>),
    /// A sender's own link with a queue that never drops: its name, rate and delay.
    Access(String, Rate, Nanos),
    /// A sender's own link, or the uplink of a host, if senders learn that a packet has left their
    /// host.
    Egress(Box<Link>, Device),
    /// The delay of such senders' acknowledgements.
    Delay(Nanos),
}

impl<'a> Topology<'a> {
    /// Creates the topology of a scenario, with `counts` flows in each group.
    pub fn new(scenario: &'a Scenario, counts: &[u32]) -> Topology<'a> {
        let link = |(number, link): (usize, &DuplexLink)| {
            let forward = Box::new(link.forward.clone());
            let forward = match scenario.hosts.iter().find(|host| host.uplink == number) {
                Some(&Host { ring, byte_queue_limits, gso, .. }) => {
                    Planned::Egress(forward, Device { ring, byte_queue_limits, gso })
                }
                None => Planned::Direction(forward),
            };
            [Planned::Direction(Box::new(link.reverse.clone())), forward]
        };
        let mut ports: Vec<_> = scenario.links.iter().enumerate().flat_map(link).collect();
        let groups = || scenario.flows.iter().zip(counts).enumerate();
        let access: Vec<_> = groups().map(|(n, (group, count))| add_access(&mut ports, n, group, *count)).collect();
        let back: Vec<_> = groups().map(|(_, (group, _))| add_delay(&mut ports, group)).collect();
        let mut routes = Routes::default();
        for (number, (group, count)) in groups() {
            for flow in 0..*count {
                // A mesh itself routes packets between a node and its border router.
                let of_node = scenario.way_up(group, flow).into_iter().take(1);
                let forward = of_node.clone().chain(group.path.iter().copied()).map(forward);
                let reverse = group.reverse_path.iter().copied().chain(of_node).map(reverse);
                let access = access[number].map(|access| access.of_flow(flow));
                if group.reverse ^ group.is_response(flow) {
                    routes.add(access.into_iter().chain(reverse));
                    routes.add(forward.chain(back[number]));
                } else {
                    routes.add(access.into_iter().chain(forward));
                    routes.add(reverse.chain(back[number]));
                }
            }
        }
        let links = (0..scenario.links.len()).flat_map(|link| [forward(link), reverse(link)]);
        let of_senders = (0..).zip(&ports).skip(2 * scenario.links.len());
        let access = of_senders.filter(|(_, port)| !matches!(port, Planned::Delay(_))).map(|(number, _)| number);
        let counting = links.chain(access).collect();
        Topology { scenario, ports, routes, ends: ends(scenario, counts), counting }
    }

    /// Returns the names of the ports, as in the results; a pure delay has none.
    pub fn port_names(&self) -> Vec<Option<&str>> {
        let named = self.ports.iter().map(|port| match port {
            Planned::Direction(link) | Planned::Egress(link, _) => Some(link.name.as_str()),
            Planned::Access(name, ..) => Some(name.as_str()),
            Planned::Delay(_) => None,
        });
        named.collect()
    }

    /// Creates the network, with all its ports in this program.
    ///
    /// # Panics
    /// Panics if a queue is one of the kernel's; the caller has to refuse such a scenario.
    pub fn network<P: Packet>(self) -> Network<P> {
        let made = self.network_with(|_, _| Ok::<_, Infallible>(None::<NoExternal>));
        made.unwrap_or_else(|never| match never {})
    }

    /// Creates the network, in which `external` may replace ports by its own. It gets a direction
    /// of a link, and the number of the random stream of that direction.
    ///
    /// # Errors
    /// Returns the errors of `external`.
    pub fn network_with<P: Packet, X, E>(
        self,
        mut external: impl FnMut(&Link, u64) -> Result<Option<X>, E>,
    ) -> Result<Network<P, X>, E> {
        let mut ports = vec![];
        for (number, planned) in (0..).zip(&self.ports) {
            if let Some(member) = medium::member_port(self.scenario, number) {
                ports.push(Port::Member(member));
                continue;
            }
            let port = match planned {
                Planned::Direction(link) => {
                    let purpose = purpose(number);
                    let is_of_a_sender = number as usize >= 2 * self.scenario.links.len();
                    let external = if is_of_a_sender { None } else { external(link, purpose)? };
                    external.map_or_else(|| of_link(link, self.scenario, purpose), Port::External)
                }
                Planned::Access(name, rate, delay) => {
                    let Scenario { warmup, duration, .. } = *self.scenario;
                    Port::Access(AccessPort::new(name.clone(), *rate, *delay, warmup, duration))
                }
                Planned::Egress(link, Device { ring, byte_queue_limits, gso }) => {
                    let purpose = purpose(number);
                    let ours = || {
                        let Scenario { seed, warmup, duration, .. } = *self.scenario;
                        let output = |link: &Link| LinkOutput::new(link, seed, purpose, warmup, duration);
                        let discipline = discipline_of(link, self.scenario, purpose);
                        let device = DeviceRing::new(discipline, *ring, *byte_queue_limits).measuring(warmup, duration);
                        let device = if *gso { device.with_batches() } else { device };
                        Port::Egress(Box::new(EgressPort::new(link, device, output)))
                    };
                    external(link, purpose)?.map_or_else(ours, Port::External)
                }
                Planned::Delay(delay) => Port::Delay(DelayLine::new(*delay)),
            };
            ports.push(port);
        }
        Ok(Network::new(ports, medium::media(self.scenario), self.routes, self.ends, self.counting))
    }
}

/// Creates a port in this program.
fn of_link<X>(link: &Link, scenario: &Scenario, purpose: u64) -> Port<X> {
    let Scenario { seed, warmup, duration, .. } = *scenario;
    if let (Queue::Droptail { limit, ecn_threshold }, None) = (&link.queue, link.impairments.policer) {
        return Port::Fifo(FifoPort::new(link, (*limit, *ecn_threshold), seed, purpose, warmup, duration));
    }
    let output = LinkOutput::new(link, seed, purpose, warmup, duration);
    Port::Queued(Box::new(QueuedPort::new(discipline_of(link, scenario, purpose), output)))
}

/// Returns the hosts of each flow.
///
/// Flows on a host of the scenario share that host and the host at the other end. Flows of a group
/// that arrive at random share a pair. Every other flow has two hosts of its own. A pair has the
/// number of its first flow.
fn ends(scenario: &Scenario, counts: &[u32]) -> Vec<Ends> {
    let mut of_host = vec![None; scenario.hosts.len()];
    let mut ends = vec![];
    for (group, count) in scenario.flows.iter().zip(counts) {
        let first_of_group = ends.len() as u32;
        for place in 0..*count {
            let number = ends.len() as u32;
            let pair = match (group.host, &group.arrivals) {
                (Some(host), _) => *of_host[host].get_or_insert(number),
                (None, Some(_)) => first_of_group,
                (None, None) => number,
            };
            ends.push(Ends::of_pair(pair, !(group.reverse ^ group.is_response(place))));
        }
    }
    ends
}

/// The access ports of a group: one for each flow if its rate is limited, one for all if it is a
/// pure delay.
#[derive(Clone, Copy)]
struct Access {
    first: PortId,
    shared: bool,
}

impl Access {
    fn of_flow(self, flow: u32) -> PortId {
        if self.shared { self.first } else { self.first + flow }
    }
}

fn add_access(ports: &mut Vec<Planned>, number: usize, group: &FlowGroup, count: u32) -> Option<Access> {
    let first = ports.len() as PortId;
    let delay = group.access.delay;
    let Some(rate) = group.access.rate else {
        if delay == Nanos::ZERO {
            return None;
        }
        ports.push(Planned::Delay(delay));
        return Some(Access { first, shared: true });
    };
    let name = |flow: u32| match count {
        1 => format!("flows.{number}.access"),
        _ => format!("flows.{number}.access.{flow}"),
    };
    let link = |flow, queue| {
        let (service, impairments) = (Service::Own(Transmitter::Rate(rate)), Impairments::default());
        Box::new(Link { name: name(flow), service, delay, queue, loss: Loss::NONE, impairments })
    };
    let never_drops = Queue::Droptail { limit: None, ecn_threshold: None };
    ports.extend((0..count).map(|flow| match (&group.access.queue, group.access.small_queues) {
        (None, false) => Planned::Access(name(flow), rate, delay),
        (Some(queue), false) => Planned::Direction(link(flow, queue.clone())),
        (queue, true) => {
            Planned::Egress(link(flow, queue.clone().unwrap_or_else(|| never_drops.clone())), Device::default())
        }
    }));
    Some(Access { first, shared: false })
}

fn add_delay(ports: &mut Vec<Planned>, group: &FlowGroup) -> Option<PortId> {
    (group.access.delay > Nanos::ZERO).then(|| {
        ports.push(Planned::Delay(group.access.delay));
        ports.len() as PortId - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts are numbered as in a run with a real kernel: near is 2n, far is 2n + 1, whichever
    /// sends.
    #[test]
    fn flows_share_their_hosts_on_a_host_of_the_scenario_and_when_they_come_at_random() {
        let text = r#"
duration = "1s"
[host.pc]
[link.lan]
rate = "1gbit"
delay = "0ms"
queue = {}
[link.lan.reverse]
queue = {}
[link.line]
rate = "10mbit"
delay = "5ms"
queue = {}
[link.line.reverse]
queue = {}
[[flows]]
path = ["line"]
cc = "reno"
count = 2
[[flows]]
host = "pc"
cc = "reno"
count = 2
[[flows]]
path = ["line"]
cc = "reno"
arrivals = { kind = "poisson", rate = "5/s" }
size = "1kb"
[[flows]]
host = "pc"
cc = "reno"
reverse = true
"#;
        let scenario = scenario::load_text(text, "test", "".as_ref(), &[]).unwrap().points.remove(0).scenario;
        let hosts: Vec<_> = ends(&scenario, &[2, 2, 2, 1]).iter().map(|ends| (ends.sender, ends.receiver)).collect();
        assert_eq!(hosts, [(0, 1), (2, 3), (4, 5), (4, 5), (8, 9), (8, 9), (5, 4)]);
    }
}
