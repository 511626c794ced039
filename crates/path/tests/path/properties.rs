//! Properties of every network with every train of packets.

use model::declare::Packets;
use model::impairments::{DelayChange, Distribution, Impairments, Jitter, Outage, Rates, Reorder, Slot};
use model::quantity::Between;
use model::units::{Bytes, Nanos, Rate};
use model::{self, Gemodel, Limit, Loss, Queue, Service, Trace, Transmitter};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::VecDeque;
use std::sync::Arc;
use unbloat_path::{
    AccessPort, DelayLine, DropReason, Ecn, FifoPort, Network, NetworkEvent, Observer, Packet, Port, PortId, Routes,
};

#[derive(Clone, Copy, Debug)]
struct Numbered {
    number: u32,
    route: u32,
    bytes: u32,
    marked: bool,
}

impl Numbered {
    /// Reports whether the packet may be marked: every other packet may.
    fn may_be_marked(&self) -> bool {
        self.number & 1 == 0
    }
}

impl Packet for Numbered {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        match (self.marked, self.may_be_marked()) {
            (true, _) => Ecn::Ce,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        }
    }
    fn mark_ce(&mut self) {
        self.marked = true;
    }
    fn tos(&self) -> u8 {
        0
    }
    fn flow(&self) -> u32 {
        self.route
    }
    fn is_from_sender(&self) -> bool {
        true
    }
}

const END: Nanos = Nanos::from_secs(100);

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(1u64..40).prop_map(Limit::Packets), (1500u64..60_000).prop_map(|b| Limit::Bytes(Bytes(b)))]
}

fn rate() -> impl Strategy<Value = Rate> {
    (100_000u64..100_000_000).prop_map(Rate)
}

fn service() -> impl Strategy<Value = Service> {
    let trace = prop::collection::vec(0u64..30, 1..40).prop_map(|gaps| {
        let instants = gaps.iter().scan(1, |at, gap| {
            *at += gap;
            Some(Nanos::from_millis(*at))
        });
        let opportunities: Vec<Nanos> = instants.collect();
        let period = opportunities[opportunities.len() - 1];
        Service::Own(Transmitter::Trace(Arc::new(Trace { path: "random".into(), opportunities, period })))
    });
    prop_oneof![rate().prop_map(Service::from), trace]
}

fn loss() -> impl Strategy<Value = Loss> {
    let share = || 0.0..0.5;
    let bursts = (share(), share(), share(), share()).prop_map(|(p, r, lost_while_bad, lost_while_good)| {
        Loss::Gemodel(Gemodel { p, r, lost_while_bad, lost_while_good })
    });
    prop_oneof![Just(Loss::NONE), share().prop_map(Loss::Uniform), bursts]
}

fn delay() -> impl Strategy<Value = Nanos> {
    (0u64..50).prop_map(Nanos::from_millis)
}

prop_compose! {
    fn link()(
        service in service(),
        delay in delay(),
        limit in prop::option::of(limit()),
        ecn_threshold in prop::option::of(limit()),
        loss in loss(),
    ) -> model::Link {
        let queue = Queue::Droptail { limit, ecn_threshold };
        model::Link { name: "link".into(), service, delay, queue, loss, impairments: Impairments::default() }
    }
}

/// Creates a link with a constant rate and no losses, for exact arithmetic.
fn plain(rate: u64, ecn_threshold: Option<Limit>) -> model::Link {
    let queue = Queue::Droptail { limit: None, ecn_threshold };
    model::Link {
        name: "link".into(),
        service: Service::Own(Transmitter::Rate(Rate(rate))),
        delay: Nanos::ZERO,
        queue,
        loss: Loss::NONE,
        impairments: Impairments::default(),
    }
}

/// Draws rates that change every few milliseconds.
fn rates() -> impl Strategy<Value = Service> {
    (rate(), prop::collection::vec((1u64..400, rate()), 1..5)).prop_map(|(first, changes)| {
        let changes: Vec<_> = changes
            .iter()
            .scan(0, |at, (gap, rate)| {
                *at += gap;
                Some((Nanos::from_millis(*at), *rate))
            })
            .collect();
        Service::Own(Transmitter::Rates(Rates::new(first, &changes, END)))
    })
}

prop_compose! {
    /// Draws a link that has outages, jitter, reordering and duplication. If `ordered`, its packets
    /// stay in order.
    fn impaired(ordered: bool)(
        link in link(),
        rates in prop::option::of(rates()),
        jitter in prop::option::of((0u64..50_000_000, any::<bool>(), any::<bool>())),
        reorder in prop::option::of((0.0..0.3, 1u64..10, prop::option::of(1u64..50))),
        duplicate in prop_oneof![Just(0.0), 0.0..0.5],
        outages in prop::collection::vec((0u64..200, 1u64..200, any::<bool>()), 0..4),
        delays in prop::collection::vec((1u64..200, 0u64..50), 0..3),
        slot in prop::option::of((1u64..20, prop::option::of(1u32..9))),
    ) -> model::Link {
        let jitter = jitter.map(|(ns, normal, reorder)| Jitter {
            spread: Nanos(ns),
            distribution: if normal { Distribution::Normal } else { Distribution::Uniform },
            reorder: reorder && !ordered,
        });
        let reorder = reorder.map(|(share, gap, by)| Reorder { share, gap, by: by.map(Nanos::from_millis) });
        let outages = outages.iter().scan(Nanos::ZERO, |end, (gap, lasts, lose)| {
            let at = *end + Nanos::from_millis(*gap);
            let outage = Outage { at, lasts: Nanos::from_millis(*lasts), lose: *lose };
            *end = outage.end();
            Some(outage)
        });
        let reorder = reorder.filter(|_| !ordered);
        let delays = delays.iter().scan(Nanos::ZERO, |at, (gap, ms)| {
            *at += Nanos::from_millis(*gap);
            Some(DelayChange { at: *at, delay: Nanos::from_millis(*ms) })
        });
        let delays = delays.collect();
        let wait = |ms| Between::only(Nanos::from_millis(ms));
        let slot = slot.map(|(ms, most)| Slot { wait: wait(ms), most: most.map(Packets) });
        let impairments = Impairments { jitter, reorder, duplicate, outages: outages.collect(), delays, slot, ..Impairments::default() };
        model::Link { impairments, service: rates.unwrap_or(link.service), ..link }
    }
}

/// The parameters of a port.
#[derive(Clone, Debug)]
enum Plan {
    Direction(Box<model::Link>),
    Access(Rate, Nanos),
    Delay(Nanos),
}

impl Plan {
    fn port(&self, seed: u64, purpose: u64) -> Port<unbloat_path::NoExternal> {
        match self {
            Plan::Direction(link) => {
                let Queue::Droptail { limit, ecn_threshold } = link.queue else { unreachable!("made here") };
                Port::Fifo(FifoPort::new(link, (limit, ecn_threshold), seed, purpose, Nanos::ZERO, END))
            }
            Plan::Access(rate, delay) => {
                Port::Access(AccessPort::new("access".into(), *rate, *delay, Nanos::ZERO, END))
            }
            Plan::Delay(delay) => Port::Delay(DelayLine::new(*delay)),
        }
    }
}

/// The parameters of ports, and the routes through them.
#[derive(Clone, Debug)]
struct Layout {
    ports: Vec<Plan>,
    routes: Vec<Vec<PortId>>,
}

impl Layout {
    /// Creates a layout of one link, one route over it, and the link's other direction.
    fn of_one(link: &model::Link) -> Layout {
        Layout { ports: [link; 2].map(|link| Plan::Direction(Box::new(link.clone()))).into(), routes: vec![vec![0]] }
    }
}

/// Draws both directions of one to five links, some access links and pure delays, in any order.
/// Routes share them at random.
fn layout(link: impl Strategy<Value = model::Link>) -> impl Strategy<Value = Layout> {
    let other = prop_oneof![
        (rate(), delay()).prop_map(|(rate, delay)| Plan::Access(rate, delay)),
        delay().prop_map(Plan::Delay),
    ];
    let directions = prop::collection::vec(link.prop_map(|link| Plan::Direction(Box::new(link))), 2..11);
    let ports = (directions, prop::collection::vec(other, 0..4)).prop_map(|(a, b)| [a, b].concat()).prop_shuffle();
    let routes = prop::collection::vec(prop::collection::vec(any::<Index>(), 1..7), 1..6);
    (ports, routes).prop_map(|(ports, routes)| {
        let route = |route: Vec<Index>| route.iter().map(|port| port.index(ports.len()) as PortId).collect();
        let routes = routes.into_iter().map(route).collect();
        Layout { ports, routes }
    })
}

/// Draws packets: the time since the one before in microseconds, the size, and the route.
fn train() -> impl Strategy<Value = Vec<(u64, u32, Index)>> {
    let gap = prop_oneof![Just(0u64), 0u64..5_000, 0u64..100_000];
    prop::collection::vec((gap, 40u32..1501, any::<Index>()), 1..300)
}

/// All events of packets, in order.
#[derive(Debug, Default, PartialEq)]
struct Log {
    arrived: Vec<(Nanos, u32)>,
    gone: Vec<(Nanos, u32, DropReason)>,
    doubled: Vec<(Nanos, u32)>,
}

impl Observer<Numbered> for Log {
    fn gone(&mut self, now: Nanos, reason: DropReason, packet: &Numbered) {
        self.gone.push((now, packet.number, reason));
    }

    fn duplicated(&mut self, now: Nanos, packet: &Numbered) -> Numbered {
        self.doubled.push((now, packet.number));
        *packet
    }
}

/// A network that the test feeds, and the test's account of it.
struct Feeder<'a> {
    layout: &'a Layout,
    network: Network<Numbered>,
    log: Log,
    sent: u32,
    /// Whether all ports preserve the order.
    ordered: bool,
    /// The packets of each route that have not arrived and are not gone, in order. A packet that
    /// was duplicated appears twice from then on.
    inside: Vec<VecDeque<u32>>,
    marked: u64,
    last_event: Nanos,
}

impl<'a> Feeder<'a> {
    fn new(layout: &'a Layout, seed: u64) -> Feeder<'a> {
        let ports = (0..).zip(&layout.ports).map(|(purpose, plan)| plan.port(seed, purpose)).collect();
        let mut routes = Routes::default();
        layout.routes.iter().for_each(|route| routes.add(route.iter().copied()));
        let overtakes = |plan: &Plan| match plan {
            Plan::Direction(link) => {
                let impairments = &link.impairments;
                impairments.reorder.is_some() || impairments.jitter.is_some_and(|jitter| jitter.reorder)
            }
            _ => false,
        };
        let counting = (0..layout.ports.len() as PortId).collect();
        Feeder {
            layout,
            network: Network::new(ports, vec![], routes, vec![], counting),
            log: Log::default(),
            sent: 0,
            ordered: !layout.ports.iter().any(overtakes),
            inside: vec![VecDeque::new(); layout.routes.len()],
            marked: 0,
            last_event: Nanos::ZERO,
        }
    }

    fn of_train(layout: &'a Layout, seed: u64, train: &[(u64, u32, Index)]) -> Feeder<'a> {
        let mut feeder = Feeder::new(layout, seed);
        let mut now = Nanos::ZERO;
        for (gap_us, bytes, route) in train {
            now += Nanos::from_micros(*gap_us);
            feeder.send(now, *bytes, route.index(layout.routes.len()) as u32);
        }
        feeder.drain(Nanos(u64::MAX - 1));
        feeder
    }

    /// Carries out the events up to `now`.
    fn drain(&mut self, now: Nanos) {
        loop {
            let at = self.network.next();
            if at > now {
                break;
            }
            assert!(at >= self.last_event, "time goes from {:?} back to {at:?}", self.last_event);
            self.last_event = at;
            let (known_gone, known_doubled) = (self.log.gone.len(), self.log.doubled.len());
            let arrived = self.network.step(at, &mut self.log);
            for (_, number) in &self.log.doubled[known_doubled..] {
                let (route, place) = place_of(&mut self.inside, *number);
                route.insert(place, *number);
            }
            self.forget_gone(known_gone);
            if let Some(id) = arrived {
                let packet = *self.network.packets.remove(id);
                assert!(!packet.marked || packet.may_be_marked());
                self.marked += packet.marked as u64;
                let (route, place) = place_of(&mut self.inside, packet.number);
                assert!(place == 0 || !self.ordered, "a route is first in, first out");
                route.remove(place);
                self.log.arrived.push((at, packet.number));
            }
            self.check();
        }
    }

    fn send(&mut self, now: Nanos, bytes: u32, route: u32) {
        self.drain(now);
        let number = self.sent;
        self.sent += 1;
        self.inside[route as usize].push_back(number);
        let known_gone = self.log.gone.len();
        self.network.send(now, route, Numbered { number, route, bytes, marked: false }, &mut self.log);
        self.forget_gone(known_gone);
        self.check();
    }

    fn forget_gone(&mut self, known: usize) {
        for (_, number, _) in &self.log.gone[known..] {
            let (route, place) = place_of(&mut self.inside, *number);
            route.remove(place);
        }
    }

    /// Checks that sent and duplicated packets equal those that arrived, are gone or are inside.
    /// The pool contains those inside, and no queue exceeds its limit.
    fn check(&self) {
        let inside: usize = self.inside.iter().map(VecDeque::len).sum();
        assert_eq!(self.network.packets.count(), inside);
        let all = self.sent as usize + self.log.doubled.len();
        assert_eq!(all, self.log.arrived.len() + self.log.gone.len() + inside);
        for (number, plan) in (0..).zip(&self.layout.ports) {
            let (Plan::Direction(link), Port::Fifo(port)) = (plan, self.network.port(number)) else { continue };
            let (bytes, packets) = port.backlog();
            match link.queue.limit() {
                None => assert_eq!(port.output.stats.total_drops, 0),
                Some(Limit::Packets(most)) => assert!(packets <= most),
                Some(Limit::Bytes(most)) => assert!(bytes <= most.0),
            }
        }
    }

    /// Sums a count over all directions of links.
    fn sum(&self, count: impl Fn(&unbloat_path::LinkStats) -> u64) -> u64 {
        let ports = (0..self.layout.ports.len() as PortId).filter_map(|port| self.network.port(port).output());
        ports.map(|output| count(&output.stats)).sum()
    }

    fn drops(&self, reason: DropReason) -> u64 {
        self.log.gone.iter().filter(|(_, _, f)| *f == reason).count() as u64
    }
}

/// Returns the route of a packet, and its first place there.
fn place_of(inside: &mut [VecDeque<u32>], number: u32) -> (&mut VecDeque<u32>, usize) {
    let place = inside.iter_mut().find_map(|route| {
        let place = route.iter().position(|inside| *inside == number)?;
        Some((route, place))
    });
    place.expect("sent or doubled before, and neither gone nor arrived since")
}

/// A textbook network without losses: a packet starts when it has arrived and the packet before it
/// is out.
struct Textbook<'a> {
    layout: &'a Layout,
    /// When each port has sent all of its packets.
    free_at: Vec<Nanos>,
    /// When each packet of each port starts its transmission, with its size.
    starts: Vec<Vec<(Nanos, u32)>>,
    /// For each port, its packets with the number of their hop, and when they reach its far end.
    in_flight: Vec<VecDeque<(Nanos, Numbered, usize)>>,
    log: Log,
}

impl<'a> Textbook<'a> {
    fn log_of(layout: &'a Layout, train: &[(u64, u32, Index)]) -> Log {
        let ports = layout.ports.len();
        let (free_at, starts) = (vec![Nanos::ZERO; ports], vec![vec![]; ports]);
        let mut book =
            Textbook { layout, free_at, starts, in_flight: vec![VecDeque::new(); ports], log: Log::default() };
        let mut now = Nanos::ZERO;
        for (number, (gap_us, bytes, route)) in (0..).zip(train) {
            now += Nanos::from_micros(*gap_us);
            book.pass_until(now);
            let route = route.index(layout.routes.len()) as u32;
            book.offer(now, Numbered { number, route, bytes: *bytes, marked: false }, 0);
        }
        book.pass_until(Nanos(u64::MAX - 1));
        book.log
    }

    fn pass_until(&mut self, now: Nanos) {
        loop {
            let heads = self.in_flight.iter().enumerate();
            let next = heads.filter_map(|(port, queue)| Some((queue.front()?.0, port))).min();
            let Some((at, port)) = next.filter(|(at, _)| *at <= now) else { break };
            let (_, packet, hop) = self.in_flight[port].pop_front().expect("found above");
            match hop + 1 < self.layout.routes[packet.route as usize].len() {
                true => self.offer(at, packet, hop + 1),
                false => self.log.arrived.push((at, packet.number)),
            }
        }
    }

    fn offer(&mut self, now: Nanos, packet: Numbered, hop: usize) {
        let port = self.layout.routes[packet.route as usize][hop] as usize;
        let waiting = || self.starts[port].iter().filter(|(start, _)| *start > now).map(|(_, bytes)| *bytes as u64);
        let (rate, delay) = match &self.layout.ports[port] {
            Plan::Delay(delay) => (None, *delay),
            Plan::Access(rate, delay) => (Some(*rate), *delay),
            Plan::Direction(link) => {
                let full = match link.queue.limit() {
                    None => false,
                    Some(Limit::Packets(most)) => waiting().count() as u64 >= most,
                    Some(Limit::Bytes(most)) => waiting().sum::<u64>() + packet.bytes as u64 > most.0,
                };
                if full {
                    return self.log.gone.push((now, packet.number, DropReason::Queue));
                }
                let Service::Own(Transmitter::Rate(rate)) = link.service else { unreachable!("made without traces") };
                (Some(rate), link.delay)
            }
        };
        let mut out = now;
        if let Some(rate) = rate {
            let start = now.max(self.free_at[port]);
            out = start + rate.time_to_send(Bytes(packet.bytes as u64));
            self.free_at[port] = out;
            self.starts[port].push((start, packet.bytes));
        }
        self.in_flight[port].push_back((out + delay, packet, hop));
    }
}

/// Runs a train with a driver that lets the network run up to each arrival without polling for its
/// events, and returns the log.
fn log_of_runs(layout: &Layout, seed: u64, train: &[(u64, u32, Index)]) -> Log {
    let Feeder { mut network, mut log, .. } = Feeder::new(layout, seed);
    let run = |network: &mut Network<Numbered>, log: &mut Log, until: Nanos| {
        while let Some(event) = network.run_until(until, log) {
            let NetworkEvent::Delivered(at, id) = event else { panic!("no port tells of departures") };
            log.arrived.push((at, network.packets.remove(id).number));
        }
    };
    let mut now = Nanos::ZERO;
    for (number, (gap_us, bytes, route)) in (0..).zip(train) {
        now += Nanos::from_micros(*gap_us);
        run(&mut network, &mut log, now);
        let route = route.index(layout.routes.len()) as u32;
        network.send(now, route, Numbered { number, route, bytes: *bytes, marked: false }, &mut log);
    }
    run(&mut network, &mut log, Nanos(u64::MAX - 1));
    log
}

/// Draws a link at a constant rate that loses nothing.
fn lossless() -> impl Strategy<Value = model::Link> {
    (link(), rate()).prop_map(|(link, rate)| model::Link {
        service: Service::Own(Transmitter::Rate(rate)),
        loss: Loss::NONE,
        ..link
    })
}

proptest! {
    /// A network that runs up to each arrival gives the results of one that runs step by step.
    #[test]
    fn runs_do_what_steps_do(layout in layout(impaired(true)), train in train(), seed: u16) {
        let stepped = Feeder::of_train(&layout, seed as u64, &train);
        prop_assert_eq!(log_of_runs(&layout, seed as u64, &train), stepped.log);
    }

    /// After every event, packets sent equal packets arrived, dropped, lost and inside. Queues are
    /// within their limits, routes are in order, and time never goes back.
    #[test]
    fn packets_are_conserved(layout in layout(link()), train in train(), seed: u16) {
        let feeder = Feeder::of_train(&layout, seed as u64, &train);
        prop_assert_eq!((feeder.network.next(), feeder.network.packets.count()), (Nanos::NEVER, 0));
        prop_assert_eq!(feeder.log.arrived.len() + feeder.log.gone.len(), train.len());
        prop_assert_eq!(feeder.sum(|stats| stats.total_drops), feeder.drops(DropReason::Queue));
        prop_assert_eq!(feeder.sum(|stats| stats.total_losses), feeder.drops(DropReason::Channel));
        prop_assert!(feeder.sum(|stats| stats.marks) >= feeder.marked);
    }

    /// Impaired links conserve packets too. Each copy is counted by its link, and only links that
    /// permit it let packets overtake.
    #[test]
    fn packets_are_conserved_by_impaired_links(
        layout in prop_oneof![layout(impaired(false)), layout(impaired(true))],
        train in train(),
        seed: u16,
    ) {
        let feeder = Feeder::of_train(&layout, seed as u64, &train);
        prop_assert_eq!((feeder.network.next(), feeder.network.packets.count()), (Nanos::NEVER, 0));
        let all = train.len() + feeder.log.doubled.len();
        prop_assert_eq!(feeder.log.arrived.len() + feeder.log.gone.len(), all);
        prop_assert_eq!(feeder.sum(|stats| stats.total_drops), feeder.drops(DropReason::Queue));
        prop_assert_eq!(feeder.sum(|stats| stats.total_losses), feeder.drops(DropReason::Channel));
        prop_assert_eq!(feeder.sum(|stats| stats.duplicates.unwrap_or(0)), feeder.log.doubled.len() as u64);
        for (port, plan) in (0..).zip(&layout.ports) {
            let (Plan::Direction(link), Port::Fifo(fifo)) = (plan, feeder.network.port(port)) else { continue };
            let used = fifo.output.utilisation_percent();
            prop_assert!((0.0..=100.0 + 1e-6).contains(&used), "{} % of {:?}", used, link.service);
        }
        let again = Feeder::of_train(&layout, seed as u64, &train);
        prop_assert_eq!(feeder.log, again.log);
    }

    /// Each packet arrives or is dropped at the very nanosecond at which a chain of
    /// first-in-first-out queues says so.
    #[test]
    fn arrivals_are_those_of_a_chain_of_queues(layout in layout(lossless()), train in train(), seed: u16) {
        let feeder = Feeder::of_train(&layout, seed as u64, &train);
        prop_assert_eq!(feeder.log, Textbook::log_of(&layout, &train));
    }

    /// One train and one seed always have one result.
    #[test]
    fn a_network_repeats_itself(layout in layout(link()), train in train(), seed: u16) {
        let log = || Feeder::of_train(&layout, seed as u64, &train).log;
        prop_assert_eq!(log(), log());
    }

    /// Another seed changes only the losses of a link.
    #[test]
    fn what_a_queue_drops_does_not_depend_on_the_seed(link in link(), train in train(), seed: u16) {
        let layout = Layout::of_one(&link);
        let dropped = |seed: u64| {
            let log = Feeder::of_train(&layout, seed, &train).log;
            log.gone.into_iter().filter(|(_, _, reason)| *reason == DropReason::Queue).collect::<Vec<_>>()
        };
        prop_assert_eq!(dropped(seed as u64), dropped(seed as u64 + 1));
    }

    /// Over links in a row without losses or limits, all packets arrive. They need at least the
    /// time of the slowest link, and at most the time of links that each wait for the train's last
    /// bit.
    #[test]
    fn the_slowest_link_of_a_row_decides(
        rates in prop::collection::vec(1_000_000u64..1_000_000_000, 1..6),
        sizes in prop::collection::vec(40u32..1501, 2..100),
    ) {
        // The second port is not on the route: a link has two directions.
        let ports: Vec<_> = rates.iter().map(|rate| Plan::Direction(Box::new(plain(*rate, None)))).collect();
        let routes = vec![(0..ports.len() as PortId).collect()];
        let layout = Layout { routes, ports: [ports, vec![Plan::Delay(Nanos::ZERO)]].concat() };
        let mut feeder = Feeder::new(&layout, 1);
        sizes.iter().for_each(|bytes| feeder.send(Nanos::ZERO, *bytes, 0));
        feeder.drain(END);
        let last = feeder.log.arrived.last().expect("nothing is lost").0.0 as f64;
        prop_assert_eq!(feeder.log.arrived.len(), sizes.len());
        let bits = sizes.iter().map(|b| *b as f64 * 8.0).sum::<f64>();
        let needs_ns = |rate: &u64| bits / *rate as f64 * 1e9;
        let slowest = rates.iter().map(needs_ns).fold(0.0, f64::max);
        // Each transmission is rounded up to a nanosecond.
        let rounding = (sizes.len() * rates.len()) as f64;
        prop_assert!(last >= slowest - 1.0);
        prop_assert!(last <= rates.iter().map(needs_ns).sum::<f64>() + rounding);
        if rates.len() == 1 {
            prop_assert!(last <= slowest + rounding);
        }
    }

    /// Packets are marked only if they may be, and only when the threshold is reached.
    #[test]
    fn marks_follow_the_threshold(threshold in 1u64..20, count in 1u32..40) {
        let layout = Layout::of_one(&plain(1_000_000, Some(Limit::Packets(threshold))));
        let mut feeder = Feeder::new(&layout, 1);
        (0..count).for_each(|_| feeder.send(Nanos::ZERO, 1500, 0));
        feeder.drain(END);
        // The first is in transmission at once; packet n finds n - 1 waiting.
        let marked = (0..count as u64).filter(|n| n.saturating_sub(1) >= threshold && n & 1 == 0).count() as u64;
        prop_assert_eq!((feeder.marked, feeder.sum(|stats| stats.marks)), (marked, marked));
        prop_assert_eq!(feeder.log.arrived.len(), count as usize);
    }
}
