//! One direction of the network: from the hosts of one end, over the bottleneck or the way back, to the hosts of the
//! other.
//!
//! Data comes to it over its sender's access link; acknowledgements, whose hosts have none, come at once, and have
//! their sender's access link behind it.

use crate::emulator::way::Way;
use crate::flows::plan::Plan;
use crate::packet::{PacketInfo, Store};
use measure::{Histogram, LinkSample};
use path::{AccessLink, Pipe};
use scenario::model::Scenario;
use scenario::units::Nanos;
use std::io;

/// Where the access link of a flow is.
#[derive(Clone, Copy, Debug)]
enum Edge {
    /// Before this direction, which carries the flow's data.
    Before(usize),
    /// Behind it, for it carries the flow's acknowledgements.
    Behind(usize),
}

/// One direction.
pub struct Direction {
    /// Queue, transmitter and wire.
    pub way: Way,
    before: Vec<AccessLink<PacketInfo>>,
    behind: Vec<(Nanos, Pipe<PacketInfo>)>,
    /// For each flow.
    edges: Vec<Edge>,
    /// The time up to which the link has been told of packets: it must not go back.
    latest_arrival: Nanos,
}

impl Direction {
    /// That of a scenario with these flows: the way forward, or `back`.
    pub fn new(scenario: &Scenario, plan: &Plan, way: Way, back: bool) -> Direction {
        let mut direction =
            Direction { way, before: vec![], behind: vec![], edges: vec![], latest_arrival: Nanos::ZERO };
        for (number, group) in scenario.flows.iter().enumerate() {
            let count = plan.flows.iter().filter(|flow| flow.group == number).count();
            if group.reverse == back {
                // Packets that are only delayed stay in order: one link does for all.
                let links = if group.access.rate.is_some() { count } else { 1 };
                let first = direction.before.len();
                direction.before.extend((0..links).map(|_| AccessLink::new(&group.access)));
                direction.edges.extend((0..count).map(|n| Edge::Before(first + n.min(links - 1))));
            } else {
                direction.edges.extend((0..count).map(|_| Edge::Behind(direction.behind.len())));
                direction.behind.push((group.access.delay, Pipe::default()));
            }
        }
        direction
    }

    /// Does this direction carry the flow's data, and not its acknowledgements?
    pub fn carries_data_of(&self, flow: usize) -> bool {
        matches!(self.edges[flow], Edge::Before(_))
    }

    /// A host has sent a packet.
    #[inline]
    pub fn enter(
        &mut self,
        now: Nanos,
        info: PacketInfo,
        store: &mut Store,
        lateness: &mut Histogram,
    ) -> io::Result<()> {
        match self.edges[info.flow as usize] {
            Edge::Before(link) => {
                self.before[link].send(now, info);
                self.feed_the_kernel(now, store, lateness)
            }
            Edge::Behind(_) => {
                self.fill(now, store, lateness)?;
                self.offer(now, info, store)
            }
        }
    }

    /// When something is due at the far end, as far as is known; `Nanos::NEVER` if nothing is.
    pub fn next(&self) -> Nanos {
        let behind = self.behind.iter().map(|(_, pipe)| pipe.next()).min().unwrap_or(Nanos::NEVER);
        self.next_before().min(self.way.next()).min(behind)
    }

    fn next_before(&self) -> Nanos {
        self.before.iter().map(AccessLink::next).min().unwrap_or(Nanos::NEVER)
    }

    /// Takes the next packet that is due at a host; with it, when it was.
    pub fn arrived(
        &mut self,
        now: Nanos,
        store: &mut Store,
        lateness: &mut Histogram,
    ) -> io::Result<Option<(Nanos, PacketInfo)>> {
        loop {
            let (link, at) = earliest(self.before.iter().map(AccessLink::next));
            let (pipe, back) = earliest(self.behind.iter().map(|(_, pipe)| pipe.next()));
            let due = self.way.next();
            if at.min(due).min(back) > now {
                return Ok(None);
            }
            if back <= due.min(at) {
                let info = self.behind[pipe].1.take();
                return Ok(info.map(|info| (back, info)));
            }
            if at < due {
                self.pass_on(now, link, at, store, lateness)?;
            } else if let Some(info) = self.way.take(now, store)? {
                match self.edges[info.flow as usize] {
                    Edge::Before(_) => return Ok(Some((due, info))),
                    Edge::Behind(pipe) => {
                        let (delay, pipe) = &mut self.behind[pipe];
                        pipe.push(due + *delay, info);
                    }
                }
            }
        }
    }

    /// Lets packets on to the link that have reached it by `now`: it is told of everything in the order of time.
    pub fn fill(&mut self, now: Nanos, store: &mut Store, lateness: &mut Histogram) -> io::Result<()> {
        loop {
            let (link, at) = earliest(self.before.iter().map(AccessLink::next));
            if at > now {
                return Ok(());
            }
            self.pass_on(now, link, at, store, lateness)?;
        }
    }

    /// A link of ours is told later when a packet came; a queue of the kernel's has to get it then.
    pub fn feed_the_kernel(&mut self, now: Nanos, store: &mut Store, lateness: &mut Histogram) -> io::Result<()> {
        if self.way.is_the_kernels() { self.fill(now, store, lateness) } else { Ok(()) }
    }

    /// When the kernel is to be fed next.
    pub fn next_for_the_kernel(&self) -> Nanos {
        if self.way.is_the_kernels() { self.next_before() } else { Nanos::NEVER }
    }

    fn pass_on(
        &mut self,
        now: Nanos,
        link: usize,
        due: Nanos,
        store: &mut Store,
        lateness: &mut Histogram,
    ) -> io::Result<()> {
        let Some(info) = self.before[link].take() else { return Ok(()) };
        if self.way.is_the_kernels() {
            lateness.record(now.since(due));
        }
        self.offer(due, info, store)
    }

    fn offer(&mut self, due: Nanos, info: PacketInfo, store: &mut Store) -> io::Result<()> {
        self.latest_arrival = self.latest_arrival.max(due);
        self.way.offer(self.latest_arrival, info, store)
    }

    /// This instant for the series, as link number `number`.
    pub fn sample(
        &mut self,
        now: Nanos,
        number: u32,
        store: &mut Store,
        lateness: &mut Histogram,
    ) -> io::Result<LinkSample> {
        self.fill(now, store, lateness)?;
        self.latest_arrival = self.latest_arrival.max(now);
        Ok(self.way.sample(self.latest_arrival, number))
    }
}

/// The place and the time of the earliest; at equal times the first.
fn earliest(times: impl Iterator<Item = Nanos>) -> (usize, Nanos) {
    times.enumerate().min_by_key(|(_, at)| *at).unwrap_or((0, Nanos::NEVER))
}
