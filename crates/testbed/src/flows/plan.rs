//! The flows of a run, and the hosts that each one connects.
//!
//! A flow has two hosts of its own, as each sender has its own access link. Flows that arrive at random may be
//! thousands, so the flows of such a group share two hosts. All flows of a host of the scenario, in either direction,
//! share that host at one end, and one more host at the other. The sender's port distinguishes flows that share their
//! hosts.

use crate::error::Error;
use crate::host::End;
use apps::SlowWriter;
use model::app::{DatagramKind, Datagrams};
use model::workload::FlowArrival;
use model::{FlowGroup, Scenario};
use std::sync::Arc;

/// The port at which a receiver listens; further receivers of a host use the ports below it. It is iperf3's port, so
/// that Wireshark and people know it.
const PORT: u16 = 5201;
/// The sender's port of the first flow of shared hosts; the other flows take the ports above it.
const FIRST_PORT: u16 = PORT + 1;

/// A planned flow: its group, hosts and ports.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The number of the flow's group.
    pub group: usize,
    /// The group's settings for this flow: a response goes in the opposite direction.
    pub settings: Arc<FlowGroup>,
    /// When the flow opens, and how many bytes it sends.
    pub arrival: FlowArrival,
    /// The number of the flow's pair of hosts.
    pub hosts: usize,
    /// The sender's port on shared hosts; none where any port will do.
    pub port: Option<u16>,
    /// The number of the listening socket to which the flow connects.
    pub listener: usize,
    /// The payload of a full segment, in which applications count, bytes.
    pub segment: u64,
}

impl Planned {
    /// Returns the end from which the flow's data is sent.
    pub fn from(&self) -> End {
        if self.settings.reverse { End::Receiver } else { End::Sender }
    }

    /// Whether the flow is a call, whose other end sends too.
    pub fn is_call(&self) -> bool {
        self.datagrams().is_some_and(|datagrams| datagrams.kind == DatagramKind::Voice)
    }

    /// Returns the settings of the flow's datagrams; none if it has a connection.
    pub fn datagrams(&self) -> Option<Datagrams> {
        self.settings.datagrams()
    }

    /// Whether the flow's sender is on a host of the scenario and uses TCP.
    pub fn sends_from_host(&self) -> bool {
        self.settings.host.is_some() && self.from() == End::Sender && self.datagrams().is_none()
    }

    /// Whether the kernel tunes the sender's send buffer. That needs a host of the scenario or an application;
    /// otherwise the buffer is so large that it never limits the flow.
    pub fn has_send_buffer(&self) -> bool {
        self.settings.host.is_some() || self.settings.app.is_some()
    }

    /// Returns the writer of a flow with a `write_rate`.
    pub fn slow_writer(&self) -> Option<SlowWriter> {
        let mss = u32::try_from(self.segment).unwrap_or(u32::MAX);
        self.settings.write_rate.map(|rate| SlowWriter::new(rate, mss, self.arrival.size, self.arrival.at))
    }

    /// Returns the port from which and to which datagrams are sent.
    pub fn datagram_port(&self) -> u16 {
        self.port.unwrap_or(FIRST_PORT)
    }
}

/// A pair of hosts, and the flows between them.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The group of the pair's first flow.
    pub group: usize,
    /// The host of the scenario that is the near host, if any.
    pub host: Option<usize>,
    /// The numbers of the pair's flows, in the order of their ports.
    pub flows: Vec<usize>,
    /// Whether several flows may share the hosts; ports then distinguish them.
    pub is_shared: bool,
}

impl Hosts {
    /// Returns the flow of a packet by its source and destination port.
    pub fn flow_of(&self, ports: impl FnOnce() -> Option<(u16, u16)>) -> Option<usize> {
        if !self.is_shared {
            return self.flows.first().copied();
        }
        let (from, to) = ports()?;
        self.flow_with(if from >= FIRST_PORT { from } else { to })
    }

    /// Returns the flow whose sender has this port.
    pub fn flow_with(&self, port: u16) -> Option<usize> {
        match self.is_shared {
            false => self.flows.first().copied(),
            true => self.flows.get(port.checked_sub(FIRST_PORT)? as usize).copied(),
        }
    }
}

/// A listening socket.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The number of the pair of hosts, one of which listens.
    pub hosts: usize,
    /// The group of the flows that connect.
    pub group: usize,
    /// The group's settings for these flows.
    pub settings: Arc<FlowGroup>,
    /// The port of the socket.
    pub port: u16,
    /// The number of flows that connect to the socket.
    pub flows: usize,
}

impl Listener {
    /// Returns the end at which the socket listens.
    pub fn at(&self) -> End {
        if self.settings.reverse { End::Sender } else { End::Receiver }
    }
}

/// The flows, hosts and listening sockets of a run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The flows, in the order of their numbers.
    pub flows: Vec<Planned>,
    /// The pairs of hosts.
    pub hosts: Vec<Hosts>,
    /// The listening sockets.
    pub listeners: Vec<Listener>,
}

impl Plan {
    /// Plans the flows and hosts of a scenario.
    ///
    /// # Errors
    /// If more flows share a pair of hosts than it has ports.
    pub fn new(scenario: &Scenario) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        // A group with random arrivals may have no flow.
        let groups = scenario.flow_arrivals().into_iter().enumerate().filter(|(_, arrivals)| !arrivals.is_empty());
        for (number, arrivals) in groups {
            let group = &scenario.flows[number];
            let [there, back] = [false, true]
                .map(|is_response| Arc::new(FlowGroup { reverse: group.reverse ^ is_response, ..group.clone() }));
            let shared = match (group.host, &group.arrivals) {
                (Some(host), _) => Some(plan.hosts_of(host, number)),
                (None, Some(_)) => Some(plan.add_hosts(number, None, true)),
                (None, None) => None,
            };
            for (place, arrival) in (0..).zip(&arrivals) {
                let hosts = shared.unwrap_or_else(|| plan.add_hosts(number, None, false));
                let settings = if group.is_response(place) { &back } else { &there };
                plan.add(number, settings, hosts, arrival, group.of_flow(place).mss().0)?;
            }
        }
        Ok(plan)
    }

    /// Returns the number of a group's flows.
    pub fn flows_of(&self, group: usize) -> u32 {
        self.flows.iter().filter(|flow| flow.group == group).count() as u32
    }

    /// Returns the pair with this host of the scenario, which it adds if needed.
    fn hosts_of(&mut self, host: usize, group: usize) -> usize {
        let known = self.hosts.iter().position(|hosts| hosts.host == Some(host));
        known.unwrap_or_else(|| self.add_hosts(group, Some(host), true))
    }

    fn add_hosts(&mut self, group: usize, host: Option<usize>, is_shared: bool) -> usize {
        self.hosts.push(Hosts { group, host, flows: vec![], is_shared });
        self.hosts.len() - 1
    }

    fn add(
        &mut self,
        group: usize,
        settings: &Arc<FlowGroup>,
        hosts: usize,
        arrival: &FlowArrival,
        segment: u64,
    ) -> Result<(), Error> {
        let flow = self.flows.len();
        let place = self.hosts[hosts].flows.len();
        let port = u16::try_from(place).ok().and_then(|place| FIRST_PORT.checked_add(place));
        let Some(port) = port else {
            let most = (u16::MAX - FIRST_PORT) as usize + 1;
            let key = if settings.arrivals.is_some() { "arrivals" } else { "count" };
            let why = format!("makes too many flows between two hosts; with real TCP they have ports for {most}");
            return Err(Error::Scenario { key: format!("flows.{group}.{key}"), why });
        };
        self.hosts[hosts].flows.push(flow);
        let is_shared = self.hosts[hosts].is_shared;
        let listener = self.listener(group, settings, hosts);
        let (settings, port) = (settings.clone(), is_shared.then_some(port));
        self.flows.push(Planned { group, settings, arrival: *arrival, hosts, port, listener, segment });
        Ok(())
    }

    /// Returns the listening socket of a flow, which it adds if needed. The flows of a group in one direction between
    /// two hosts share a socket.
    fn listener(&mut self, group: usize, settings: &Arc<FlowGroup>, hosts: usize) -> usize {
        let is_its = |known: &Listener| known.hosts == hosts && Arc::ptr_eq(&known.settings, settings);
        // The flows of a group are adjacent, and among a group's last sockets is one for each direction.
        let known = self.listeners.iter().rposition(is_its);
        if let Some(known) = known {
            self.listeners[known].flows += 1;
            return known;
        }
        let before = self.listeners.iter().filter(|known| known.hosts == hosts).count() as u16;
        self.listeners.push(Listener { hosts, group, settings: settings.clone(), port: PORT - before, flows: 1 });
        self.listeners.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
duration = "1s"
[host.pc]
[link.line]
rate = "10mbit"
delay = "5ms"
queue = {}
[[flows]]
host = "pc"
cc = "reno"
[[flows]]
host = "pc"
app = "messenger"
cc = "reno"
[[flows]]
host = "pc"
app = "voice"
"#;

    /// The sender's port finds every flow of a host, whichever way its packets go, and responses come from the other
    /// end.
    #[test]
    fn flows_of_a_host_share_it_and_are_told_apart() {
        let scenario = scenario::load_text(SCENARIO, "test", "".as_ref(), &[]).unwrap().points.remove(0).scenario;
        let plan = Plan::new(&scenario).unwrap();
        assert_eq!((plan.flows.len(), plan.hosts.len()), (4, 1));
        for (number, flow) in plan.flows.iter().enumerate() {
            let (port, listener) = (flow.port.unwrap(), plan.listeners[flow.listener].port);
            for ports in [(port, listener), (listener, port), (port, port)] {
                assert_eq!(plan.hosts[0].flow_of(|| Some(ports)), Some(number));
            }
        }
        assert_eq!(plan.hosts[0].flow_of(|| Some((9, FIRST_PORT + 4))), None);
        let ends: Vec<_> = plan.flows.iter().map(Planned::from).collect();
        assert_eq!(ends, [End::Sender, End::Sender, End::Receiver, End::Sender]);
        let ports: Vec<_> = plan.listeners.iter().map(|listener| listener.port).collect();
        assert_eq!(ports, [5201, 5200, 5199, 5198]);
    }
}
