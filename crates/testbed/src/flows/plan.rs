//! Which flows a run has, and between which hosts.
//!
//! A flow has two hosts of its own, as each sender has its own access link. Flows that come at random may be thousands:
//! those of a group share their hosts, and are told apart by the sender's port.

use crate::error::Error;
use scenario::model::Scenario;
use scenario::workload::FlowArrival;

/// The sender's port of the first of the flows that share their hosts; the receiver listens below.
const FIRST_PORT: u16 = 5202;

/// A flow.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// Its group's number.
    pub group: usize,
    /// When it opens, and how much it sends.
    pub arrival: FlowArrival,
    /// The number of its pair of hosts.
    pub hosts: usize,
    /// The port that its sender has to take; none where any will do.
    pub port: Option<u16>,
}

/// What a pair of hosts is for.
#[derive(Clone, Copy, Debug)]
pub struct Hosts {
    /// The group of its flows.
    pub group: usize,
    /// The first of them.
    pub first: usize,
    /// How many they are; none if there is one, whatever ports it has.
    pub shared_by: Option<usize>,
}

impl Hosts {
    /// The flow whose sender has this port.
    pub fn flow_of(&self, port: u16) -> Option<usize> {
        match self.shared_by {
            None => Some(self.first),
            Some(count) => {
                let place = port.checked_sub(FIRST_PORT)? as usize;
                (place < count).then_some(self.first + place)
            }
        }
    }
}

/// Flows and hosts.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In the order of their numbers.
    pub flows: Vec<Planned>,
    /// The pairs of hosts.
    pub hosts: Vec<Hosts>,
}

impl Plan {
    /// That of a scenario.
    ///
    /// # Errors
    /// If a group has more flows than a host has ports.
    pub fn new(scenario: &Scenario) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        for (group, arrivals) in scenario.flow_arrivals().iter().enumerate() {
            if scenario.flows[group].arrivals.is_none() {
                arrivals.iter().for_each(|arrival| plan.add(group, None, &[*arrival]));
                continue;
            }
            let most = (u16::MAX - FIRST_PORT) as usize + 1;
            if arrivals.len() > most {
                let why = format!(
                    "makes {} flows; in real time a group may have {most}, for a host has no more ports",
                    arrivals.len()
                );
                return Err(Error::Scenario { key: format!("flows.{group}.arrivals"), why });
            }
            plan.add(group, Some(arrivals.len()), arrivals);
        }
        Ok(plan)
    }

    /// How many flows a group has.
    pub fn flows_of(&self, group: usize) -> u32 {
        self.flows.iter().filter(|flow| flow.group == group).count() as u32
    }

    /// Adds a pair of hosts, and its flows.
    fn add(&mut self, group: usize, shared_by: Option<usize>, arrivals: &[FlowArrival]) {
        let hosts = self.hosts.len();
        self.hosts.push(Hosts { group, first: self.flows.len(), shared_by });
        self.flows.extend(arrivals.iter().zip(0..).map(|(arrival, place)| Planned {
            group,
            arrival: *arrival,
            hosts,
            port: shared_by.map(|_| FIRST_PORT + place),
        }));
    }
}
