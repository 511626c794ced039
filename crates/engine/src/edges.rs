//! The senders' own links to the bottleneck.

use crate::packet::{Ack, Data};
use path::{AccessLink, Pipe};
use scenario::model::{Access, Scenario};
use scenario::units::Nanos;

/// No access link of its own.
pub const DIRECT: u32 = u32::MAX;
/// An access link that is none of these.
const ELSEWHERE: u32 = DIRECT - 1;

/// Access links there, pipes back.
#[derive(Default)]
pub struct Edges {
    pub access: Vec<AccessLink<Data>>,
    pub back: Vec<(Nanos, Pipe<Ack>)>,
    /// For each flow: its access link, and the group's pipe back.
    pub access_of: Vec<u32>,
    pub back_of: Vec<u32>,
}

impl Edges {
    /// Those of a scenario with so many flows in each group.
    pub fn new(scenario: &Scenario, counts: &[u32]) -> Edges {
        let mut edges = Edges::default();
        scenario.flows.iter().zip(counts).for_each(|(group, count)| edges.connect(&group.access, *count));
        edges
    }

    /// None, for so many flows whose edges are somewhere else.
    pub fn elsewhere(flows: u32) -> Edges {
        Edges { access_of: vec![ELSEWHERE; flows as usize], ..Edges::default() }
    }

    /// Gives the flows of a group their access: one link each if its rate is limited, one pipe for all if it only delays.
    fn connect(&mut self, access: &Access, count: u32) {
        let first = self.access.len() as u32;
        let delayed = access.delay > Nanos::ZERO;
        let links = match (access.rate, delayed) {
            (Some(_), _) => count,
            (None, true) => 1,
            (None, false) => 0,
        };
        self.access.extend((0..links).map(|_| AccessLink::new(access)));
        self.access_of.extend((0..count).map(|i| if links == 0 { DIRECT } else { first + i.min(links - 1) }));
        let back = self.back.len() as u32;
        if delayed {
            self.back.push((access.delay, Pipe::default()));
        }
        self.back_of.extend((0..count).map(|_| if delayed { back } else { DIRECT }));
    }
}
