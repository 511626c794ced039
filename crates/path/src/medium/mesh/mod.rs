//! A mesh of IEEE 802.15.4 radios on one channel, whose nodes forward packets along a tree.
//!
//! Members `2n` and `2n + 1` of its medium are the two directions between a node and its parent.
//! All packets that a node sends wait in its one queue: its own and those that it forwards, up and
//! down.
//!
//! A packet is one frame, or several fragments one after the other. Each is sent by unslotted
//! CSMA/CA and acknowledged (IEEE 802.15.4-2006, 7.5.1.4 and 7.5.6.4). A node has one radio, which
//! transmits or listens, and it receives only frames that it hears from the beginning. Hidden nodes
//! therefore collide, as on the air.
//!
//! With a duty cycle, nodes sleep and wake up periodically. A sender repeats a frame until the
//! receiver has woken up and answers (TinyOS's low-power listening, BoX-MAC-2).
//!
//! Nodes may go down and come up again. A node that goes down loses its packets, and after a while
//! the others use another tree.
//!
//! Every node counts the data that it forwards upward, flow by flow, for senders that use the rates
//! of other flows. A border router that announces its counts adds them to each packet down.
//!
//! A node knows only what it hears. The sender's frame records whether the receiver has got it,
//! even if the acknowledgement was lost. A real receiver would recognise the frame by its sequence
//! number.

mod air;
mod changes;
mod failures;
mod node;
mod relayed;
mod routing;
#[cfg(test)]
mod tests;

use super::access_control::AccessControl;
use super::member::MemberId;
use super::members::Members;
use crate::packet::{Packet, PacketId, Pool};
use crate::{EventQueue, Rng, rng};
use air::Air;
use changes::Change;
use model::mesh::{Csma, DutyCycle, Hop};
use model::radio::ieee802154::{frames, phy};
use model::units::Nanos;
use model::{mesh, records, stream};
use node::{Answer, Node, Outgoing, State};
use routing::Routing;

/// Decides who transmits when, and which frames arrive.
pub struct Mesh {
    model: mesh::Mesh,
    routing: Routing,
    nodes: Vec<Node>,
    air: Air,
    /// Times of events: for each node those of its kinds, and last the next change of the plan.
    events: EventQueue,
    /// Future changes of nodes in reverse order: the next is last.
    plan: Vec<(Nanos, Change)>,
    #[cfg(test)]
    log: Vec<tests::Transmission>,
}

/// A kind of event of a node, each with a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeEvent {
    /// The node proceeds with what it sends.
    Send = 0,
    /// The node begins or ends the acknowledgement that it owes.
    Answer = 1,
    /// The node wakes up or falls asleep.
    Turn = 2,
}

const EVENTS: u32 = 3;
/// Time that a node stays awake after a reception, in case of more (TinyOS, `DELAY_AFTER_RECEIVE`).
const AWAKE_AFTER_RECEPTION: Nanos = Nanos::from_millis(100);
/// Time after which a node that cannot fall asleep yet tries again.
const FALLS_ASLEEP_LATER: Nanos = Nanos::from_millis(1);
/// Time for which the channel is idle between two repetitions of a frame.
const BETWEEN_REPETITIONS: Nanos = Nanos(phy::ACK_WAIT.0 + phy::TURNAROUND.0);

/// The reason why a packet is given up.
enum Failure {
    ChannelAccess,
    NoAck,
}

impl Mesh {
    /// Creates a mesh in which nobody has sent yet, and which measures from `from` to `to`.
    /// `number` selects the random stream of its draws.
    pub fn new(model: &mesh::Mesh, hops: Vec<Hop>, seed: u64, number: u64, from: Nanos, to: Nanos) -> Mesh {
        let count = model.nodes.len();
        let purpose = |node: usize| stream::MESH_BACK_OFF + (number << 16) + node as u64;
        let mut mesh = Mesh {
            routing: Routing::new(model, hops),
            nodes: (0..count).map(|node| Node::new(seed, purpose(node), from, to)).collect(),
            air: Air::new(&model.signals, rng(seed, stream::MESH_ERROR + number)),
            events: EventQueue::new(EVENTS * count as u32 + 1),
            plan: changes::plan(model),
            model: model.clone(),
            #[cfg(test)]
            log: vec![],
        };
        mesh.draw_wakings(&mut rng(seed, stream::MESH_WAKING + number));
        mesh.events.set(mesh.plan_event(), mesh.plan.last().map_or(Nanos::NEVER, |(at, _)| *at));
        mesh
    }

    /// Draws when nodes first wake up. Under a duty cycle all but the border router sleep at first.
    fn draw_wakings(&mut self, rng: &mut Rng) {
        let Some(DutyCycle { interval, .. }) = self.model.duty_cycle else { return };
        for node in self.model.children().collect::<Vec<_>>() {
            self.fall_asleep(node, Nanos::ZERO);
            self.set_event(node, NodeEvent::Turn, Nanos(model::up_to(interval.0 - 1, rng)));
        }
    }

    fn set_event(&mut self, node: usize, event: NodeEvent, at: Nanos) {
        self.events.set(EVENTS * node as u32 + event as u32, at);
    }

    fn plan_event(&self) -> u32 {
        EVENTS * self.nodes.len() as u32
    }

    fn fall_asleep(&mut self, node: usize, now: Nanos) {
        self.nodes[node].is_asleep = true;
        self.nodes[node].counted.falls_asleep(now);
        self.air.stop_listening(node);
    }

    fn wake_up(&mut self, node: usize, now: Nanos) {
        self.nodes[node].is_asleep = false;
        self.nodes[node].counted.wakes_up(now);
        self.air.listen(node);
    }

    /// Wakes a node up, or lets it sleep if it has nothing to do. It wakes up again a whole number
    /// of intervals later.
    fn turn(&mut self, node: usize, now: Nanos) {
        let Some(DutyCycle { interval, listens_for }) = self.model.duty_cycle else { return };
        let one = &mut self.nodes[node];
        if one.is_asleep {
            (one.awake_until, one.wakes_at) = (now + listens_for, now + interval);
            self.wake_up(node, now);
            return self.set_event(node, NodeEvent::Turn, now + listens_for);
        }
        if now < one.awake_until || !one.is_at_rest() || self.air.receives(node) {
            let later = one.awake_until.max(now + FALLS_ASLEEP_LATER);
            return self.set_event(node, NodeEvent::Turn, later);
        }
        while one.wakes_at <= now {
            one.wakes_at += interval;
        }
        let at = one.wakes_at;
        self.fall_asleep(node, now);
        self.set_event(node, NodeEvent::Turn, at);
    }

    /// Takes the next packet from the queue of an idle node. The queue's number is the node's.
    fn look_into_queue<P: Packet>(&mut self, node: usize, now: Nanos, members: &mut Members, packets: &mut Pool<P>) {
        let Some(mut frame) = members.dequeue(now, node, packets) else {
            return self.set_event(node, NodeEvent::Send, members.next_of(node, now));
        };
        // The tree may have changed while the packet waited.
        let Some(member) = self.routing.next_member(frame.id) else {
            members.give_up(now, &frame);
            return self.rest(node, now, now, members);
        };
        frame.member = member;
        let announcement = if self.model.announces_rate && !Routing::is_up(member) { frames::ANNOUNCEMENT } else { 0 };
        let bytes = frame.bytes + announcement;
        let outgoing = Outgoing {
            frame,
            to: self.routing.hop(member).to,
            bytes,
            fragment: 0,
            fragments: frames::count(bytes),
            retries: 0,
            is_received: false,
            repeats_until: None,
        };
        self.nodes[node].outgoing = Some(outgoing);
        if self.nodes[node].is_asleep {
            self.wake_up(node, now);
            self.set_event(node, NodeEvent::Turn, now + FALLS_ASLEEP_LATER);
        }
        self.begin_access(node, now);
    }

    /// Starts the first back-off of a frame.
    fn begin_access(&mut self, node: usize, now: Nanos) {
        self.nodes[node].busy = 0;
        self.nodes[node].exponent = self.model.csma.min_be;
        self.back_off(node, now);
    }

    fn back_off(&mut self, node: usize, now: Nanos) {
        let one = &mut self.nodes[node];
        one.state = State::BackOff;
        let periods = model::up_to(Csma::most_periods(one.exponent), &mut one.back_off);
        let assessed = Nanos(periods * phy::BACKOFF_PERIOD.0) + self.assessment();
        self.set_event(node, NodeEvent::Send, now + assessed);
    }

    /// Returns how long a node assesses the channel. Where frames are repeated, that is long enough
    /// to hear a repetition.
    fn assessment(&self) -> Nanos {
        if self.model.duty_cycle.is_some() { BETWEEN_REPETITIONS + phy::CCA } else { phy::CCA }
    }

    /// Decides at the end of an assessment: transmit, back off again, or give up.
    fn assess(&mut self, node: usize, now: Nanos, members: &mut Members) {
        if !self.air.was_busy(node, now.since(self.assessment()), now) && self.nodes[node].answer.is_none() {
            self.nodes[node].state = State::Turnaround;
            self.air.stop_listening(node);
            return self.set_event(node, NodeEvent::Send, now + phy::TURNAROUND);
        }
        let Csma { max_be, max_backoffs, .. } = self.model.csma;
        let one = &mut self.nodes[node];
        one.busy += 1;
        one.exponent = (one.exponent + 1).min(max_be);
        if one.busy > max_backoffs {
            return self.give_up(node, now, Failure::ChannelAccess, members);
        }
        self.back_off(node, now);
    }

    /// Transmits a frame, once the radio has switched from receiving to transmitting.
    fn transmit(&mut self, node: usize, now: Nanos, members: &mut Members) {
        let Some(outgoing) = self.nodes[node].outgoing else { return };
        let Outgoing { frame, to, bytes, fragment, retries, repeats_until, .. } = outgoing;
        let end = now + phy::air_time(frames::bytes(bytes, fragment));
        let one = &mut self.nodes[node];
        one.state = State::Transmission;
        one.counted.transmits(now, end);
        one.counted.frames += u64::from(one.counted.covers(now));
        if repeats_until.is_some() {
            // A repetition within the same try.
        } else if retries > 0 {
            one.counted.retries += u64::from(one.counted.covers(now));
            members.get_mut(frame.member).retries_at(now);
        } else if fragment == 0 {
            members.starts(now, &frame);
        }
        members.get_mut(frame.member).transmits(now, end);
        let assessed = repeats_until.is_none().then_some(now - phy::TURNAROUND);
        self.start_on_air(now, end, node, to, assessed);
        self.set_event(node, NodeEvent::Send, end);
    }

    /// Ends a transmission. The node that it was for answers if it has understood the frame.
    fn end_transmission<P: Packet>(&mut self, node: usize, now: Nanos, members: &mut Members, packets: &Pool<P>) {
        self.nodes[node].state = State::AckWait;
        self.set_event(node, NodeEvent::Send, now + phy::ACK_WAIT);
        let understood = self.air.ends(now, node);
        self.air.listen(node);
        let Some(outgoing) = &mut self.nodes[node].outgoing else { return };
        if !understood {
            return;
        }
        let had_come = outgoing.has_come();
        outgoing.is_received = true;
        let Outgoing { frame, to, .. } = *outgoing;
        if outgoing.has_come() && !had_come {
            self.notes(now, to, frame.member, packets.get(frame.id));
            self.routing.comes_to(frame.id, to);
            members.deliver(now, &frame);
        }
        self.nodes[to].answer = Some(Answer { to: node, is_sent: false });
        self.nodes[to].awake_until = now + AWAKE_AFTER_RECEPTION;
        self.air.stop_listening(to);
        self.set_event(to, NodeEvent::Answer, now + phy::TURNAROUND);
    }

    /// Notes that a packet has completed a hop to `node`. Data on its way up counts there. A packet
    /// down carries the rate that the border router announces. The model uses the router's present
    /// rate, although the packet was sent earlier: that hardly matters over a minute.
    fn notes<P: Packet>(&mut self, now: Nanos, node: usize, member: MemberId, packet: &P) {
        if !Routing::is_up(member) {
            self.nodes[node].relayed.answer(now);
            self.nodes[node].heard_rate = self.nodes[self.model.border_router].relayed.mean_rate(now);
        } else if packet.carries_data() {
            self.nodes[node].relayed.count(now, packet.flow());
        }
    }

    /// Queues a packet at its node if a route exists, or loses it.
    fn queue<P: Packet>(&mut self, now: Nanos, id: PacketId, members: &mut Members, packets: &Pool<P>) {
        let node = self.routing.node_of(id);
        match self.routing.next_member(id).filter(|_| !self.nodes[node].is_down) {
            Some(member) => {
                members.enqueue(now, member, id, packets);
                self.arrived(now, member, members);
            }
            None => members.lose(now, self.routing.entrance(id), id),
        }
    }

    /// Forwards a packet at the end of a hop that is not its last.
    pub(super) fn forward<P: Packet>(&mut self, now: Nanos, id: PacketId, members: &mut Members, packets: &Pool<P>) {
        self.queue(now, id, members, packets);
    }

    /// Returns the mean rate of the flows upward in the last minute, as far as the sender of a hop
    /// knows it.
    ///
    /// The rate is in thousandths of a packet a second. It is the border router's last
    /// announcement, or else covers the flows that the node itself forwards. It is 0 without flows,
    /// or before a full minute of them.
    pub(super) fn mean_flow_rate(&mut self, now: Nanos, member: MemberId) -> u32 {
        let node = &mut self.nodes[self.routing.hop(member).from];
        if self.model.announces_rate { node.heard_rate } else { node.relayed.mean_rate(now) }
    }

    /// Begins or ends the acknowledgement that a node owes.
    fn answer(&mut self, node: usize, now: Nanos, members: &mut Members) {
        let Some(Answer { to, is_sent }) = self.nodes[node].answer else { return };
        if !is_sent {
            let end = now + phy::air_time(phy::ACK_BYTES);
            self.nodes[node].answer = Some(Answer { to, is_sent: true });
            self.nodes[node].counted.transmits(now, end);
            self.start_on_air(now, end, node, to, None);
            return self.set_event(node, NodeEvent::Answer, end);
        }
        self.nodes[node].answer = None;
        self.set_event(node, NodeEvent::Answer, Nanos::NEVER);
        let understood = self.air.ends(now, node);
        if self.nodes[node].listens() {
            self.air.listen(node);
        }
        if understood && self.nodes[to].state == State::AckWait {
            self.acknowledged(to, now, members);
        }
    }

    /// Proceeds after an acknowledgement: the next fragment, or the next packet, follows after a
    /// space.
    fn acknowledged(&mut self, node: usize, now: Nanos, members: &mut Members) {
        let Some(outgoing) = &mut self.nodes[node].outgoing else { return };
        let space = phy::space_after(frames::bytes(outgoing.bytes, outgoing.fragment));
        (outgoing.retries, outgoing.is_received, outgoing.repeats_until) = (0, false, None);
        outgoing.fragment += 1;
        if outgoing.fragment == outgoing.fragments {
            self.nodes[node].outgoing = None;
            self.rest(node, now, now + space, members);
        } else {
            self.begin_access(node, now + space);
        }
    }

    /// Sends a frame again that was not acknowledged, or gives it up.
    fn repeat(&mut self, node: usize, now: Nanos, members: &mut Members) {
        let owes_answer = self.nodes[node].answer.is_some();
        let Some(outgoing) = &mut self.nodes[node].outgoing else { return };
        if let Some(DutyCycle { interval, listens_for }) = self.model.duty_cycle {
            // The node has received a short frame meanwhile, and answers that first.
            if owes_answer {
                return self.set_event(node, NodeEvent::Send, now + BETWEEN_REPETITIONS);
            }
            let until = *outgoing.repeats_until.get_or_insert(now + interval + listens_for);
            if now < until {
                self.nodes[node].state = State::Turnaround;
                self.air.stop_listening(node);
                return self.set_event(node, NodeEvent::Send, now + phy::TURNAROUND);
            }
        }
        (outgoing.retries, outgoing.repeats_until) = (outgoing.retries + 1, None);
        if outgoing.retries > self.model.csma.max_retries {
            return self.give_up(node, now, Failure::NoAck, members);
        }
        self.begin_access(node, now + self.model.csma.retry_delay);
    }

    /// Gives up a packet, which may have arrived all the same.
    fn give_up(&mut self, node: usize, now: Nanos, failure: Failure, members: &mut Members) {
        let one = &mut self.nodes[node];
        let counts = u64::from(one.counted.covers(now));
        match failure {
            Failure::ChannelAccess => one.counted.channel_failures += counts,
            Failure::NoAck => one.counted.unacknowledged += counts,
        }
        let outgoing = one.outgoing.take();
        if let Some(outgoing) = outgoing.filter(|outgoing| !outgoing.has_come()) {
            members.give_up(now, &outgoing.frame);
        }
        self.rest(node, now, now, members);
    }

    /// Lets a node rest after a packet; it takes the next from its queue at `next`.
    fn rest(&mut self, node: usize, now: Nanos, next: Nanos, members: &mut Members) {
        (self.nodes[node].state, self.nodes[node].rests_until) = (State::Idle, next);
        members.find_empty(now, node);
        self.set_event(node, NodeEvent::Send, members.next_of(node, now).max(next));
    }

    /// Puts a transmission on the air. Before it the channel was assessed until `assessed`.
    #[cfg_attr(not(test), allow(unused_variables))]
    fn start_on_air(&mut self, now: Nanos, end: Nanos, from: usize, to: usize, assessed: Option<Nanos>) {
        self.nodes[from].transmits_until = end;
        self.air.starts(now, end, from, to);
        #[cfg(test)]
        self.log.push(tests::Transmission { from, start: now, end, assessed });
    }

    /// Returns the results of the nodes, in the order of the scenario file.
    pub(super) fn node_records(&self, members: &Members) -> Vec<records::Node> {
        let record = |(number, node): (usize, &Node)| {
            let times = node.counted.times();
            records::Node {
                mesh: self.model.name.clone(),
                node: self.model.nodes[number].name.clone(),
                parent: self.model.nodes[number].parent.map(|parent| self.model.nodes[parent].name.clone()),
                hops: self.model.hops(number),
                overflows: members.drops_of(number),
                frames: node.counted.frames,
                frame_retries: node.counted.retries,
                channel_failures: node.counted.channel_failures,
                unacknowledged: node.counted.unacknowledged,
                transmit_s: times.transmitted.as_secs_f64(),
                listen_s: times.listened.as_secs_f64(),
                sleep_s: times.slept.as_secs_f64(),
                down_s: times.down.as_secs_f64(),
                energy_mj: self.model.energy.used_mj(&times),
            }
        };
        self.nodes.iter().enumerate().map(record).collect()
    }
}

impl AccessControl for Mesh {
    fn offer<P: Packet>(
        &mut self,
        now: Nanos,
        member: MemberId,
        id: PacketId,
        members: &mut Members,
        packets: &Pool<P>,
    ) {
        self.routing.enter(member, id);
        if !Routing::is_up(member) {
            self.nodes[self.model.border_router].relayed.answer(now);
        }
        self.queue(now, id, members, packets);
    }

    fn goes_on(&self, id: PacketId) -> bool {
        self.routing.goes_on(id)
    }

    fn arrived(&mut self, now: Nanos, member: MemberId, members: &Members) {
        let node = self.routing.hop(member).from;
        let one = &self.nodes[node];
        if one.state == State::Idle && one.outgoing.is_none() {
            let ready = members.next_of(node, now);
            let at = ready.max(one.rests_until);
            self.set_event(node, NodeEvent::Send, at);
        }
    }

    fn next(&self) -> Nanos {
        self.events.first().0
    }

    fn step<P: Packet>(&mut self, now: Nanos, members: &mut Members, packets: &mut Pool<P>) {
        let (_, source) = self.events.first();
        if source == self.plan_event() {
            return self.change(now, members, packets);
        }
        let node = (source / EVENTS) as usize;
        match source % EVENTS {
            event if event == NodeEvent::Answer as u32 => return self.answer(node, now, members),
            event if event == NodeEvent::Turn as u32 => return self.turn(node, now),
            _ => {}
        }
        match self.nodes[node].state {
            State::Idle => self.look_into_queue(node, now, members, packets),
            State::BackOff => self.assess(node, now, members),
            State::Turnaround => self.transmit(node, now, members),
            State::Transmission => self.end_transmission(node, now, members, packets),
            State::AckWait => self.repeat(node, now, members),
        }
    }
}
