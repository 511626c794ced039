//! Which flows a run has, and between which hosts.
//!
//! A flow has two hosts of its own, as each sender has its own access link. Flows that come at random may be thousands:
//! those of a group share their hosts. So do the flows of all groups on a host of the scenario, in either direction;
//! at their other ends they share one host too. Flows that share their hosts are told apart by the sender's port.

use crate::error::Error;
use crate::host::End;
use apps::SlowWriter;
use model::app::{DatagramKind, Datagrams};
use model::workload::FlowArrival;
use model::{FlowGroup, Scenario};
use std::sync::Arc;

/// Where the receivers listen, and below it where several do at one host: iperf3's port, so that Wireshark and people
/// know it.
const PORT: u16 = 5201;
/// The sender's port of the first of the flows that share their hosts.
const FIRST_PORT: u16 = PORT + 1;

/// A flow.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its group's number.
    pub group: usize,
    /// The group as this flow is: responses go the other way.
    pub settings: Arc<FlowGroup>,
    /// When it opens, and how much it sends.
    pub arrival: FlowArrival,
    /// The number of its pair of hosts.
    pub hosts: usize,
    /// The port that its sender has to take; none where any will do.
    pub port: Option<u16>,
    /// The number of the socket that waits for its connection.
    pub listener: usize,
    /// Payload of its full segments, in which its application counts.
    pub segment: u64,
}

impl Planned {
    /// The end at which its data is sent.
    pub fn from(&self) -> End {
        if self.settings.reverse { End::Receiver } else { End::Sender }
    }

    /// Is it a call, whose other end talks too?
    pub fn is_call(&self) -> bool {
        self.datagrams().is_some_and(|datagrams| datagrams.kind == DatagramKind::Voice)
    }

    /// Its datagrams, if it has them in place of a connection.
    pub fn datagrams(&self) -> Option<Datagrams> {
        self.settings.datagrams()
    }

    /// Is its sender on a host of the scenario?
    pub fn sends_from_host(&self) -> bool {
        self.settings.host.is_some() && self.from() == End::Sender && self.datagrams().is_none()
    }

    /// Has its sender a send buffer as the kernel tunes it? Without a host and an application that says when it writes
    /// the buffer is one that never holds the flow up.
    pub fn has_send_buffer(&self) -> bool {
        self.settings.host.is_some() || self.settings.app.is_some()
    }

    /// What writes to it at a rate of its own, if the scenario says so.
    pub fn slow_writer(&self) -> Option<SlowWriter> {
        let mss = u32::try_from(self.segment).unwrap_or(u32::MAX);
        self.settings.write_rate.map(|rate| SlowWriter::new(rate, mss, self.arrival.size, self.arrival.at))
    }

    /// The port that the sender of datagrams takes, and that they go to.
    pub fn datagram_port(&self) -> u16 {
        self.port.unwrap_or(FIRST_PORT)
    }
}

/// What a pair of hosts is for.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The group of its first flow.
    pub group: usize,
    /// The host of the scenario that is its near end.
    pub host: Option<usize>,
    /// Its flows, in the order of their ports.
    pub flows: Vec<usize>,
    /// They are told apart by their ports.
    pub is_shared: bool,
}

impl Hosts {
    /// The flow of a packet from and to these ports, if it has ports.
    pub fn flow_of(&self, ports: impl FnOnce() -> Option<(u16, u16)>) -> Option<usize> {
        if !self.is_shared {
            return self.flows.first().copied();
        }
        let (from, to) = ports()?;
        self.flow_with(if from >= FIRST_PORT { from } else { to })
    }

    /// The flow whose sender has this port.
    pub fn flow_with(&self, port: u16) -> Option<usize> {
        match self.is_shared {
            false => self.flows.first().copied(),
            true => self.flows.get(port.checked_sub(FIRST_PORT)? as usize).copied(),
        }
    }
}

/// A socket that waits for connections.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The pair of hosts of which one has it.
    pub hosts: usize,
    /// The group of its flows.
    pub group: usize,
    /// The group as these flows are.
    pub settings: Arc<FlowGroup>,
    /// Where it listens.
    pub port: u16,
    /// How many flows come there.
    pub flows: usize,
}

impl Listener {
    /// The end at which it is.
    pub fn at(&self) -> End {
        if self.settings.reverse { End::Sender } else { End::Receiver }
    }
}

/// Flows and hosts.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In the order of their numbers.
    pub flows: Vec<Planned>,
    /// The pairs of hosts.
    pub hosts: Vec<Hosts>,
    /// The sockets that wait for connections.
    pub listeners: Vec<Listener>,
}

impl Plan {
    /// That of a scenario.
    ///
    /// # Errors
    /// If flows that share a host are more than it has ports.
    pub fn new(scenario: &Scenario) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        // Where flows come at random there may be none.
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

    /// How many flows a group has.
    pub fn flows_of(&self, group: usize) -> u32 {
        self.flows.iter().filter(|flow| flow.group == group).count() as u32
    }

    /// The pair of hosts of which one is this host of the scenario.
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
            let why = format!("makes more flows between two hosts than they have ports in real time, {most}");
            return Err(Error::Scenario { key: format!("flows.{group}.{key}"), why });
        };
        self.hosts[hosts].flows.push(flow);
        let is_shared = self.hosts[hosts].is_shared;
        let listener = self.listener(group, settings, hosts);
        let (settings, port) = (settings.clone(), is_shared.then_some(port));
        self.flows.push(Planned { group, settings, arrival: *arrival, hosts, port, listener, segment });
        Ok(())
    }

    /// The socket to which such a flow connects: those of a group that go the same way between two hosts have one.
    fn listener(&mut self, group: usize, settings: &Arc<FlowGroup>, hosts: usize) -> usize {
        let is_its = |known: &Listener| known.hosts == hosts && Arc::ptr_eq(&known.settings, settings);
        // The flows of a group stand together, and of a group's last sockets one is for each way.
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

    /// Every flow of a host is found by its sender's port, whichever way its packets go, and its responses come from
    /// the other end.
    #[test]
    fn flows_of_a_host_share_it_and_are_told_apart() {
        let scenario = scenario::load_text(SCENARIO, "test", "".as_ref(), &[]).unwrap().cells.remove(0).scenario;
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
