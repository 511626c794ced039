//! The reaction of a mesh to nodes that go down and come up again.

use super::changes::Change;
use super::{Mesh, NodeEvent, Routing};
use crate::medium::members::Members;
use crate::packet::{Packet, Pool};
use model::mesh::DutyCycle;
use model::units::Nanos;
use std::cmp::Reverse;

impl Mesh {
    /// Carries out the next change of the plan. A node that is transmitting goes down after its
    /// frame.
    pub(super) fn change<P: Packet>(&mut self, now: Nanos, members: &mut Members, packets: &mut Pool<P>) {
        let Some((at, change)) = self.plan.pop() else { return };
        match change {
            Change::Down(node) if now < self.nodes[node].transmits_until => {
                self.plan.push((at, change));
                self.put_off(node, self.nodes[node].transmits_until);
            }
            Change::Down(node) => self.go_down(node, now, members, packets),
            Change::Up(node) => self.come_up(node, now),
            Change::Tree(parents) => self.follow(&parents, members),
        }
        let next = self.plan.last().map_or(Nanos::NEVER, |(at, _)| *at);
        self.events.set(self.plan_event(), next);
    }

    /// Delays changes of a node to `until`, in their order. An outage shorter than the frame is
    /// then over at once, but the node has lost its packets. Other nodes go down and come up
    /// meanwhile.
    fn put_off(&mut self, node: usize, until: Nanos) {
        for (at, _) in self.plan.iter_mut().filter(|(_, change)| change.is_of(node)) {
            *at = until.max(*at);
        }
        self.plan.sort_by_key(|(at, _)| Reverse(*at));
    }

    /// Takes a node down: it loses all of its packets, and forgets the rates of flows.
    fn go_down<P: Packet>(&mut self, node: usize, now: Nanos, members: &mut Members, packets: &mut Pool<P>) {
        self.air.stop_listening(node);
        let outgoing = self.nodes[node].go_down(now);
        for event in [NodeEvent::Send, NodeEvent::Answer, NodeEvent::Turn] {
            self.set_event(node, event, Nanos::NEVER);
        }
        if let Some(outgoing) = outgoing.filter(|outgoing| !outgoing.has_come()) {
            members.give_up(now, &outgoing.frame);
        }
        while let Some(frame) = members.dequeue(now, node, packets) {
            members.give_up(now, &frame);
        }
    }

    /// Brings a node up. It listens, and from then on sleeps as other nodes do.
    fn come_up(&mut self, node: usize, now: Nanos) {
        self.nodes[node].come_up(now);
        self.air.listen(node);
        if let Some(DutyCycle { interval, listens_for }) = self.model.duty_cycle
            && node != self.model.border_router
        {
            let one = &mut self.nodes[node];
            (one.awake_until, one.wakes_at) = (now + listens_for, now + interval);
            self.set_event(node, NodeEvent::Turn, now + listens_for);
        }
    }

    fn follow(&mut self, parents: &[Option<usize>], members: &mut Members) {
        self.routing.follow(parents);
        for (member, hop) in self.routing.members().filter(|(member, _)| !Routing::is_up(*member)) {
            members.moves_to(member, hop.from);
        }
    }
}
