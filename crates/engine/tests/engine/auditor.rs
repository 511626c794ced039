//! An observer that knows the rules of TCP and of a network, and panics at the first event that breaks one.
//!
//! It has its own, simplest record of each flow: the packets between the hosts, the segments at the receiver, and the
//! sender's knowledge of them.

use crate::under_way::UnderWay;
use model::radio::ieee802154::{frames, phy};
use model::radio::lte::{DECODING, PREPARATION, SUBFRAME};
use model::script::Action;
use model::units::{Bytes, Nanos};
use model::workload::FlowArrival;
use model::{FlowGroup, Link, Member, Scenario, Service, Transmitter};
use std::collections::VecDeque;
use unbloat_engine::packet::{Ack, Data, Datagram, flag};
use unbloat_engine::tap::{PacketEvent, Tap};

/// Length of the smallest packet, a datagram without payload, bytes.
const SMALLEST: u64 = 28;

/// Length of the headers of a data segment, with or without timestamps, bytes.
fn header(group: &FlowGroup) -> u64 {
    if group.stack.timestamps { 52 } else { 40 }
}

/// Payload of a full segment, bytes.
pub fn mss(group: &FlowGroup) -> u64 {
    group.packet.0 - header(group)
}

/// The auditor's record of one flow.
pub struct Flow {
    mss: u64,
    header: u64,
    /// Bytes that the application will write, if there is an end.
    size: Option<u64>,
    /// The end of the warm-up; packets sent before it do not count.
    from: Nanos,
    timestamps: bool,
    /// The congestion control decides what to echo, and may acknowledge less than has arrived.
    own_echo: bool,
    /// The least time from sender to receiver, and back.
    least_transit: Nanos,
    least_return: Nanos,
    data_under_way: UnderWay<Data>,
    acks_under_way: UnderWay<Ack>,
    /// An application's datagrams under way, there and back.
    datagrams_under_way: [UnderWay<Datagram>; 2],
    /// The receiver's segments: all below `prefix`, and the members of `arrived` above.
    prefix: u32,
    arrived: Vec<bool>,
    /// The segments that the receiver has acknowledged, and the newest timestamp that came at or below them.
    acknowledged: u32,
    /// The position in the stream at which the window shown last ends, bytes.
    right_edge: u64,
    newest: Option<u32>,
    /// The sender's next new segment, the segments that it knows to be acknowledged, and the end of the receiver's
    /// offers.
    next_new: u32,
    acked: u32,
    edge: Option<u32>,
    /// Payload that has reached the receiver for the first time, bytes.
    pub fresh_bytes: u64,
    pub sent: u64,
    pub retransmitted: u64,
    pub lost: u64,
}

/// Audits every flow of a scenario.
pub struct Auditor {
    pub flows: Vec<Flow>,
    last_event: Nanos,
    /// For each of the next data packets, whether it is lost as it leaves.
    losses: VecDeque<bool>,
    /// Packets of every kind that a queue dropped, and that a wire lost. Packets that found no room in the queue of the
    /// sender's own host count as dropped, though they stay with the sender.
    pub dropped: u64,
    pub lost_on_the_wire: u64,
    /// Number of second copies of packets of every kind.
    pub duplicated: u64,
}

impl Auditor {
    pub fn new(scenario: &Scenario) -> Auditor {
        let groups = scenario.flows.iter().zip(scenario.flow_arrivals());
        let flow = |(group, arrivals): (&FlowGroup, Vec<FlowArrival>)| {
            let flows = arrivals.iter().zip(0..);
            flows.map(|(arrival, number)| Flow::new(scenario, &group.of_flow(number), arrival)).collect::<Vec<_>>()
        };
        Auditor {
            flows: groups.flat_map(flow).collect(),
            last_event: Nanos::ZERO,
            losses: VecDeque::new(),
            dropped: 0,
            lost_on_the_wire: 0,
            duplicated: 0,
        }
    }

    /// An auditor of a scenario that also loses these data packets.
    pub fn losing(scenario: &Scenario, losses: Vec<bool>) -> Auditor {
        Auditor { losses: losses.into(), ..Auditor::new(scenario) }
    }

    fn at(&mut self, now: Nanos, flow: u32) -> &mut Flow {
        assert!(now >= self.last_event, "time runs backwards at {now:?}");
        self.last_event = now;
        &mut self.flows[flow as usize]
    }

    fn count(&mut self, event: PacketEvent) {
        self.dropped += (event == PacketEvent::Dropped) as u64;
        self.lost_on_the_wire += (event == PacketEvent::Lost) as u64;
        self.duplicated += (event == PacketEvent::Duplicated) as u64;
    }
}

/// The time that a packet of `bytes` needs on a wire.
fn transmission(service: &Service, bytes: u64) -> Nanos {
    match service {
        Service::Own(Transmitter::Rate(rate)) => rate.time_to_send(Bytes(bytes)),
        Service::Own(Transmitter::Rates(rates)) => rates.extremes().1.time_to_send(Bytes(bytes)),
        Service::Shared(Member::Wifi(station)) => station.phy_rate.time_to_send(Bytes(bytes)),
        Service::Own(Transmitter::Trace(_)) => Nanos::ZERO,
        Service::Shared(Member::Mesh(_)) => phy::air_time(frames::bytes(bytes as u32, 0)),
        Service::Shared(Member::Lte(_)) => PREPARATION + SUBFRAME + DECODING,
    }
}

/// The time that the smallest packet needs over links in a row.
fn least_time<'a>(links: impl Iterator<Item = &'a Link>) -> Nanos {
    links.fold(Nanos::ZERO, |time, link| time + transmission(&link.service, SMALLEST) + link.least_delay())
}

/// Reports whether these links deliver packets in the order in which they got them.
fn keep_order<'a>(mut links: impl Iterator<Item = &'a Link>) -> bool {
    let overtakes = |link: &Link| {
        let impairments = &link.impairments;
        let holds = impairments.script.iter().any(|rule| rule.action == Action::Hold);
        holds || impairments.reorder.is_some() || impairments.jitter.is_some_and(|jitter| jitter.reorder)
    };
    !links.any(overtakes)
}

/// Reports whether two packets are one, or look alike. A queue on the way may have marked the packet. It may mark an
/// acknowledgement, too, which DCTCP makes ECN-capable.
fn same_data(a: &Data, b: &Data) -> bool {
    let header = |d: &Data| (d.segment, d.flags | flag::CE, d.tsval, d.bytes);
    header(a) == header(b)
}

fn same_ack(a: &Ack, b: &Ack) -> bool {
    let header = |a: &Ack| (a.next, a.window, a.tsval, a.tsecr, a.flags | flag::CE);
    header(a) == header(b) && a.blocks() == b.blocks()
}

fn same_datagram(a: &Datagram, b: &Datagram) -> bool {
    (a.sent_at, a.bytes) == (b.sent_at, b.bytes)
}

impl Flow {
    /// The record of a flow; `group` has the values of this one flow.
    fn new(scenario: &Scenario, group: &FlowGroup, arrival: &FlowArrival) -> Flow {
        let onto_access = group.access.rate.map_or(Nanos::ZERO, |rate| rate.time_to_send(Bytes(SMALLEST)));
        let forward = || group.path.iter().map(|link| &scenario.links[*link].forward);
        let reverse = || group.reverse_path.iter().map(|link| &scenario.links[*link].reverse);
        // In a mesh a packet may find another way than the one before, and a classifier may put it into another band.
        let is_sorted = group.host.is_some_and(|host| scenario.hosts[host].classifier.is_some());
        let keeps_order = group.origin.is_none() && !is_sorted;
        let forward = (least_time(forward()), keeps_order && keep_order(forward()));
        let reverse = (least_time(reverse()), keeps_order && keep_order(reverse()));
        let ((there, ordered), (back, acks_ordered)) =
            if group.reverse { (reverse, forward) } else { (forward, reverse) };
        Flow {
            mss: scenario.segment_payload(group).0,
            header: header(group),
            size: arrival.size.map(|size| size.0),
            from: scenario.warmup,
            timestamps: group.stack.timestamps,
            own_echo: matches!(&group.cc.source, model::MechanismSource::Builtin(name) if name == "dctcp"),
            least_transit: onto_access + group.access.delay + there,
            least_return: back + group.access.delay,
            data_under_way: UnderWay::new(ordered, same_data),
            acks_under_way: UnderWay::new(acks_ordered, same_ack),
            datagrams_under_way: [false; 2].map(|ordered| UnderWay::new(ordered, same_datagram)),
            prefix: 0,
            arrived: vec![],
            acknowledged: 0,
            right_edge: 0,
            newest: None,
            next_new: 0,
            acked: 0,
            edge: None,
            fresh_bytes: 0,
            sent: 0,
            retransmitted: 0,
            lost: 0,
        }
    }

    fn has(&self, segment: u32) -> bool {
        segment < self.prefix || self.arrived.get(segment as usize).copied().unwrap_or(false)
    }

    /// The bytes of the segments below `segment`.
    pub fn bytes_below(&self, segment: u32) -> u64 {
        let bytes = segment as u64 * self.mss;
        self.size.map_or(bytes, |size| bytes.min(size))
    }

    /// The bytes that the application has received, in order and without a gap.
    pub fn delivered_bytes(&self) -> u64 {
        self.bytes_below(self.prefix)
    }

    /// The number of data packets between the hosts.
    pub fn unaccounted(&self) -> usize {
        self.data_under_way.count()
    }

    fn data_sent(&mut self, now: Nanos, data: &Data) {
        self.data_under_way.send(now, *data);
        let counts = now >= self.from && !data.is_handshake();
        assert_eq!(data.counts, counts, "its sender counts what it sends after the warm-up");
        if data.is_handshake() {
            let syn = data.flags & flag::SYN != 0;
            assert_eq!(self.edge.is_none(), syn, "a SYN opens the handshake, and nothing else does");
            return;
        }
        self.sent += counts as u64;
        let edge = self.edge.expect("data before the handshake");
        let payload = data.bytes as u64 - self.header;
        assert!(data.segment < edge, "segment {} beyond the window's edge {edge}", data.segment);
        assert!(data.segment >= self.acked, "segment {} sent, {} acknowledged", data.segment, self.acked);
        assert_eq!(
            payload,
            self.bytes_below(data.segment + 1) - self.bytes_below(data.segment),
            "payload of segment {}",
            data.segment
        );
        if data.flags & flag::RETRANSMISSION != 0 {
            self.retransmitted += counts as u64;
            assert!(data.segment < self.next_new, "segment {} sent again before it was sent", data.segment);
        } else {
            assert_eq!(data.segment, self.next_new, "new segments leave in order");
            self.next_new += 1;
        }
    }

    fn datagram(&mut self, now: Nanos, event: PacketEvent, datagram: &Datagram) {
        let under_way = &mut self.datagrams_under_way[usize::from(datagram.is_reply)];
        match event {
            PacketEvent::Sent => {
                under_way.send(now, *datagram);
                let counts = now >= self.from && !datagram.is_reply;
                assert_eq!(datagram.counts, counts, "its program counts what it sends after the warm-up");
                self.sent += u64::from(counts);
            }
            PacketEvent::Dropped | PacketEvent::Lost => {
                under_way.lose(datagram);
                self.lost += u64::from(datagram.counts);
            }
            PacketEvent::Arrived => {
                let left = under_way.arrive(datagram);
                let least = if datagram.is_reply { self.least_return } else { self.least_transit };
                assert!(now >= left + least, "faster than the path: {left:?} to {now:?}");
            }
            PacketEvent::Duplicated => {
                assert!(!datagram.counts, "its program does not count a copy");
                under_way.double(datagram);
            }
        }
    }

    fn data_lost(&mut self, data: &Data) {
        self.data_under_way.lose(data);
        self.lost += data.counts as u64;
    }

    fn data_duplicated(&mut self, data: &Data) {
        assert!(!data.counts, "its sender does not count a copy");
        self.data_under_way.double(data);
    }

    fn data_arrived(&mut self, now: Nanos, data: &Data) {
        let left = self.data_under_way.arrive(data);
        assert!(now >= left + self.least_transit, "faster than the path: {left:?} to {now:?}");
        if self.is_from_before(data) || data.is_handshake() || self.has(data.segment) {
            return;
        }
        self.fresh_bytes += data.bytes as u64 - self.header;
        let index = data.segment as usize;
        if self.arrived.len() <= index {
            self.arrived.resize(index + 1, false);
        }
        self.arrived[index] = true;
        while self.arrived.get(self.prefix as usize) == Some(&true) {
            self.prefix += 1;
        }
    }

    /// Reports whether a segment has an older timestamp than the newest, so that the receiver drops it (RFC 7323,
    /// section 5.3). Linux takes one that is a tick older.
    fn is_from_before(&mut self, data: &Data) -> bool {
        let age = self.newest.map_or(0, |newest| newest.wrapping_sub(data.tsval) as i32);
        let is_acceptable = data.is_handshake() || data.segment + 1 >= self.acknowledged;
        if age <= 0 && is_acceptable && data.segment <= self.acknowledged {
            self.newest = Some(data.tsval);
        }
        self.timestamps && age > 1
    }

    fn ack_sent(&mut self, now: Nanos, ack: &Ack) {
        self.acks_under_way.send(now, *ack);
        self.acknowledged = ack.next;
        assert!(
            ack.next == self.prefix || (self.own_echo && ack.next < self.prefix),
            "acknowledges {}, has {}",
            ack.next,
            self.prefix
        );
        // RFC 9293, section 3.8.6: a receiver does not take back its offer.
        let right_edge = ack.next as u64 * self.mss + ack.window as u64;
        assert!(right_edge >= self.right_edge, "the window's edge moves back from {} to {right_edge}", self.right_edge);
        self.right_edge = right_edge;
        assert_eq!(ack.tsecr != 0, self.timestamps, "timestamp echo");
        for block in ack.blocks() {
            assert!(block.start < block.end, "empty block {block:?}");
            assert!((block.start..block.end).all(|s| self.has(s)), "{block:?} has not arrived");
        }
        let fresh = &ack.blocks()[ack.blocks().first().is_some_and(|b| b.start < ack.next) as usize..];
        assert!(fresh.iter().all(|b| b.start > ack.next), "{fresh:?} below or at {}", ack.next);
    }

    fn ack_arrived(&mut self, now: Nanos, ack: &Ack) {
        let room = ack.next + (ack.window as u64 / self.mss) as u32;
        self.edge = Some(self.edge.map_or(room, |edge| edge.max(room)));
        self.acked = self.acked.max(ack.next);
        let left = self.acks_under_way.arrive(ack);
        assert!(now >= left + self.least_return, "faster than the reverse path: {left:?} to {now:?}");
    }
}

impl Tap for Auditor {
    fn data(&mut self, now: Nanos, event: PacketEvent, data: &Data) {
        self.count(event);
        let flow = self.at(now, data.flow);
        match event {
            PacketEvent::Sent => flow.data_sent(now, data),
            PacketEvent::Dropped | PacketEvent::Lost => flow.data_lost(data),
            PacketEvent::Arrived => flow.data_arrived(now, data),
            PacketEvent::Duplicated => flow.data_duplicated(data),
        }
    }

    fn ack(&mut self, now: Nanos, event: PacketEvent, ack: &Ack) {
        self.count(event);
        let flow = self.at(now, ack.flow);
        match event {
            PacketEvent::Sent => flow.ack_sent(now, ack),
            PacketEvent::Dropped | PacketEvent::Lost => flow.acks_under_way.lose(ack),
            PacketEvent::Arrived => flow.ack_arrived(now, ack),
            PacketEvent::Duplicated => flow.acks_under_way.double(ack),
        }
    }

    fn datagram(&mut self, now: Nanos, event: PacketEvent, datagram: &Datagram) {
        self.count(event);
        self.at(now, datagram.flow).datagram(now, event, datagram);
    }

    fn refused(&mut self, now: Nanos, data: &Data) {
        self.at(now, data.flow);
        self.dropped += 1;
    }

    fn loses(&mut self, _: Nanos, _: &Data) -> bool {
        self.losses.pop_front().unwrap_or(false)
    }
}
