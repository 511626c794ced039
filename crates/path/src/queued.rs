//! A port whose queue discipline chooses a packet when its transmission can start. That is when the
//! transmitter is free or, on a link with delivery opportunities, at the next of them.

use crate::channel::Transit;
use crate::output::{DropReason, LinkOutput};
use crate::packet::{Packet, PacketId, Pool};
use crate::qdisc::{Ecn, Qdisc, Skb};
use measure::LinkSample;
use model::units::Nanos;

/// A packet that will not arrive, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The packet, which is still in the pool.
    pub id: PacketId,
    /// [`DropReason::Queue`] or [`DropReason::Channel`].
    pub reason: DropReason,
}

/// A queue discipline, a transmitter and a channel, with their statistics.
pub struct QueuedPort<Q> {
    qdisc: Q,
    /// Transmitter, channel and statistics.
    pub output: LinkOutput,
    /// When to poll the discipline for its next packet; `Nanos::NEVER` while it has none.
    ask_at: Nanos,
    /// When the discipline is polled while empty, after its last packet; `Nanos::NEVER` once that
    /// is done.
    idle_at: Nanos,
    dropped: Vec<Skb>,
    /// Packets that left the port and will not arrive. The caller counts and releases them.
    pub gone: Vec<Gone>,
}

impl<Q: Qdisc> QueuedPort<Q> {
    /// Creates an empty port.
    pub fn new(qdisc: Q, output: LinkOutput) -> QueuedPort<Q> {
        QueuedPort { qdisc, output, ask_at: Nanos::NEVER, idle_at: Nanos::NEVER, dropped: vec![], gone: vec![] }
    }

    /// Offers a packet at `now`, which never decreases between calls. Packets due to leave at `now`
    /// leave first, as from a [`FifoPort`](crate::FifoPort).
    pub fn offer<P: Packet>(&mut self, now: Nanos, id: PacketId, packets: &mut Pool<P>) {
        self.offer_skb(now, packets.skb(id, now), packets);
    }

    /// Offers a packet, with the discipline's view of it in `skb`.
    pub(crate) fn offer_skb<P: Packet>(&mut self, now: Nanos, skb: Skb, packets: &mut Pool<P>) {
        self.catch_up(now, packets);
        self.idle_at = Nanos::NEVER;
        self.qdisc.enqueue(now, skb, &mut self.dropped);
        self.note_drops(now);
        self.ask_at = self.output.next_start(now);
        if self.ask_at <= now {
            self.transmit(now, packets);
        }
    }

    /// Reports whether the discipline has no room for a packet at `now`; the packet then counts as
    /// dropped.
    pub(crate) fn refuses<P: Packet>(&mut self, now: Nanos, skb: &Skb, packets: &mut Pool<P>) -> bool {
        self.catch_up(now, packets);
        let refused = !self.qdisc.has_room(skb);
        if refused {
            self.output.stats.dropped_after(now, now, skb.bytes);
        }
        refused
    }

    /// Carries out all transmissions that are due until `now`.
    fn catch_up<P: Packet>(&mut self, now: Nanos, packets: &mut Pool<P>) {
        while self.ask_at <= now {
            self.transmit(self.ask_at, packets);
        }
        if self.idle_at <= now {
            self.find_empty();
        }
    }

    /// Returns when the port has its next event; `Nanos::NEVER` if it is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.output.next().min(self.ask_at)
    }

    /// Carries out the event that `next` announced: returns a packet at the far end, or starts a
    /// transmission.
    pub fn step<P: Packet>(&mut self, packets: &mut Pool<P>) -> Transit {
        if self.output.next() <= self.ask_at {
            return self.output.take();
        }
        self.transmit(self.ask_at, packets);
        Transit::Nothing
    }

    /// Starts the transmission of the discipline's next packet, if it has one.
    fn transmit<P: Packet>(&mut self, now: Nanos, packets: &mut Pool<P>) {
        let chosen = self.qdisc.dequeue(now, &mut self.dropped);
        self.note_drops(now);
        let Some(skb) = chosen else {
            self.ask_at = self.output.next_start(self.qdisc.next(now));
            return;
        };
        let id = PacketId(skb.id);
        let packet = packets.get_mut(id);
        if skb.ecn == Ecn::Ce && packet.ecn() != Ecn::Ce {
            packet.mark_ce();
            self.output.stats.marked(skb.enqueued_at);
        }
        let (_, lost) = self.output.send(skb.enqueued_at, now, skb.bytes, id, packets);
        if lost {
            self.gone.push(Gone { id, reason: DropReason::Channel });
        }
        if self.qdisc.backlog().1 > 0 {
            self.ask_at = self.output.next_start(now);
        } else {
            self.ask_at = Nanos::NEVER;
            self.idle_at = self.output.free_at();
        }
    }

    /// Polls the empty discipline when its last packet is out, as a device does, so that it learns
    /// since when it has been idle. A packet that arrives before then finds it busy. Only the next
    /// packet depends on it, so the poll needs no event of its own.
    #[cold]
    fn find_empty(&mut self) {
        let none = self.qdisc.dequeue(self.idle_at, &mut self.dropped);
        debug_assert!(none.is_none(), "the queue was empty");
        self.idle_at = Nanos::NEVER;
    }

    fn note_drops(&mut self, now: Nanos) {
        for skb in self.dropped.drain(..) {
            self.output.stats.dropped_after(skb.enqueued_at, now, skb.bytes);
            self.gone.push(Gone { id: PacketId(skb.id), reason: DropReason::Queue });
        }
    }

    /// Returns the discipline.
    pub(crate) fn qdisc(&self) -> &Q {
        &self.qdisc
    }

    /// Reports whether all packets have been transmitted at `now`.
    pub(crate) fn is_idle(&self, now: Nanos) -> bool {
        self.backlog().1 == 0 && self.output.free_at() <= now
    }

    /// Returns the bytes and the packets that wait.
    pub fn backlog(&self) -> (u64, u64) {
        self.qdisc.backlog()
    }

    /// Samples the queue now for the time series, as link number `link`.
    pub fn sample(&self, link: u32) -> LinkSample {
        let stats = &self.output.stats;
        LinkSample {
            link,
            waiting: self.backlog(),
            ring: None,
            total_drops: stats.total_drops,
            total_sent: stats.total_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FifoPort;
    use crate::packet::tests::TestPacket;
    use crate::qdisc::{Fifo, Prio};
    use model::impairments::{Distribution, Impairments, Jitter, Outage, Rates, Reorder};
    use model::records;
    use model::units::{Bytes, Rate};
    use model::{Limit, Link, Loss, Queue, Service, Trace};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// The calls that both kinds of port have in common.
    trait Port {
        fn offer(&mut self, now: Nanos, id: PacketId, packets: &mut Pool<TestPacket>);
        fn next(&self) -> Nanos;
        fn step(&mut self, packets: &mut Pool<TestPacket>) -> Transit;
        fn record(&self) -> records::Link;
    }

    impl Port for FifoPort {
        fn offer(&mut self, now: Nanos, id: PacketId, packets: &mut Pool<TestPacket>) {
            FifoPort::offer(self, now, packets.get(id).bytes, id, packets);
        }
        fn next(&self) -> Nanos {
            FifoPort::next(self)
        }
        fn step(&mut self, _: &mut Pool<TestPacket>) -> Transit {
            self.take()
        }
        fn record(&self) -> records::Link {
            self.output.record()
        }
    }

    impl Port for QueuedPort<Fifo> {
        fn offer(&mut self, now: Nanos, id: PacketId, packets: &mut Pool<TestPacket>) {
            QueuedPort::offer(self, now, id, packets);
        }
        fn next(&self) -> Nanos {
            QueuedPort::next(self)
        }
        fn step(&mut self, packets: &mut Pool<TestPacket>) -> Transit {
            QueuedPort::step(self, packets)
        }
        fn record(&self) -> records::Link {
            self.output.record()
        }
    }

    /// Passes packets through a port. Each element of `train` has the microseconds since the packet
    /// before, and the size in bytes. Returns when each packet arrives, with its number and its ECN
    /// bits, and the port's results.
    fn pass(mut port: impl Port, train: &[(u64, u32)]) -> (Vec<(Nanos, u32, Ecn)>, String) {
        let (mut packets, mut arrivals, mut now) = (Pool::default(), vec![], Nanos::ZERO);
        let mut run_until = |port: &mut dyn Port, until: Nanos, packets: &mut Pool<TestPacket>| {
            while port.next() < until {
                let (at, taken) = (port.next(), port.step(packets));
                if let Transit::Packet(id) = taken {
                    arrivals.push((at, packets.get(id).number, packets.get(id).ecn));
                }
            }
        };
        for (number, &(gap, bytes)) in (0..).zip(train) {
            now += Nanos::from_micros(gap);
            run_until(&mut port, now, &mut packets);
            let id = packets.insert(TestPacket { bytes, ..TestPacket::new(number) });
            port.offer(now, id, &mut packets);
        }
        run_until(&mut port, Nanos::NEVER, &mut packets);
        (arrivals, format!("{:?}", port.record()))
    }

    fn limit() -> impl Strategy<Value = Option<Limit>> {
        prop_oneof![
            Just(None),
            (1..6u64).prop_map(|packets| Some(Limit::Packets(packets))),
            (3000..9000u64).prop_map(|bytes| Some(Limit::Bytes(Bytes(bytes)))),
        ]
    }

    fn trace() -> impl Strategy<Value = Service> {
        (prop::collection::vec(0..8u64, 1..12), 0..2u64).prop_map(|(mut gaps, last)| {
            gaps[0] += 1;
            let mut at = Nanos::ZERO;
            let mut after = |gap: u64| {
                at += Nanos::from_micros(500 * gap);
                at
            };
            let opportunities: Vec<_> = gaps.into_iter().map(&mut after).collect();
            Service::Own(model::Transmitter::Trace(Arc::new(Trace {
                path: "t".into(),
                period: after(last),
                opportunities,
            })))
        })
    }

    /// A FIFO that records when it is polled while empty.
    struct Noting {
        fifo: Fifo,
        idle_since: Vec<Nanos>,
    }

    impl Qdisc for Noting {
        fn enqueue(&mut self, now: Nanos, skb: Skb, dropped: &mut Vec<Skb>) {
            self.fifo.enqueue(now, skb, dropped);
        }
        fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
            let skb = self.fifo.dequeue(now, dropped);
            self.idle_since.extend(skb.is_none().then_some(now));
            skb
        }
        fn next(&self, now: Nanos) -> Nanos {
            self.fifo.next(now)
        }
        fn backlog(&self) -> (u64, u64) {
            self.fifo.backlog()
        }
    }

    /// A packet takes 3 ms. Those of 0 and 1 ms are out at 6 ms, and that of 20 ms at 23 ms. The
    /// last arrives at 26 ms, just when that of 23 ms is out.
    #[test]
    fn a_discipline_learns_since_when_it_is_idle() {
        let noting = Noting { fifo: Fifo::new(None, None), idle_since: vec![] };
        let mut port = QueuedPort::new(noting, output(Service::Own(model::Transmitter::Rate(Rate(4_000_000)))));
        let mut packets = Pool::default();
        for (number, ms) in (0..).zip([0, 1, 20, 23, 26]) {
            let id = packets.insert(TestPacket::new(number));
            port.offer(Nanos::from_millis(ms), id, &mut packets);
        }
        assert_eq!(port.qdisc.idle_since, [6, 23, 26].map(Nanos::from_millis));
    }

    fn output(service: Service) -> LinkOutput {
        let link = Link {
            name: "bottleneck".into(),
            service,
            delay: Nanos::ZERO,
            queue: Queue::Droptail { limit: None, ecn_threshold: None },
            loss: Loss::NONE,
            impairments: Impairments::default(),
        };
        LinkOutput::new(&link, 1, 0, Nanos::ZERO, Nanos::from_secs(1))
    }

    /// Creates a port with opportunities at 5, 5, 8 and 20 ms, then again every 20 ms.
    fn on_a_trace<Q: Qdisc>(qdisc: Q) -> QueuedPort<Q> {
        let opportunities: Vec<_> = [5, 5, 8, 20].map(Nanos::from_millis).into();
        let trace = Trace { path: "t".into(), period: Nanos::from_millis(20), opportunities };
        QueuedPort::new(qdisc, output(Service::Own(model::Transmitter::Trace(Arc::new(trace)))))
    }

    /// The port chooses the packets of 8 and 20 ms at those times. They are the urgent ones that
    /// arrived at 1 and 19 ms.
    #[test]
    fn a_discipline_is_asked_at_the_opportunity_that_carries_the_packet() {
        const LOW_DELAY: u8 = 0x10;
        let mut port = on_a_trace(Prio::new(&model::queue::Prio::default()));
        let mut packets = Pool::default();
        let (mut order, mut times) = (vec![], vec![]);
        for (number, (ms, tos)) in (0..).zip([(0, 0), (0, 0), (0, 0), (1, LOW_DELAY), (6, 0), (19, LOW_DELAY)]) {
            let id = packets.insert(TestPacket { tos, ..TestPacket::new(number) });
            port.offer(Nanos::from_millis(ms), id, &mut packets);
        }
        while port.next() < Nanos::NEVER {
            let (at, taken) = (port.next(), port.step(&mut packets));
            if let Transit::Packet(id) = taken {
                order.push(packets.get(id).number);
                times.push(at.as_micros() / 1000);
            }
        }
        assert_eq!((order, times), (vec![3, 0, 1, 5, 2, 4], vec![5, 5, 8, 20, 25, 25]));
    }

    /// Draws a constant rate of 12 Mbit/s, or one that falls to half from 10 to 20 ms.
    fn rates() -> impl Strategy<Value = Service> {
        let (whole, half) = (Rate(12_000_000), Rate(6_000_000));
        let changes = [(Nanos::from_millis(10), half), (Nanos::from_millis(20), whole)];
        let rates = Rates::new(whole, &changes, Nanos::from_secs(1));
        prop_oneof![
            Just(Service::Own(model::Transmitter::Rate(whole))),
            Just(Service::Own(model::Transmitter::Rates(rates)))
        ]
    }

    fn impairments() -> impl Strategy<Value = Impairments> {
        let jitter = (1..4u64, any::<bool>()).prop_map(|(ms, reorder)| {
            let (spread, distribution) = (Nanos::from_millis(ms), Distribution::Uniform);
            Jitter { spread, distribution, reorder }
        });
        let reorder = (1..4u64, prop::option::of(Just(Nanos::from_millis(2))));
        let reorder = reorder.prop_map(|(gap, by)| Reorder { share: 0.2, gap, by });
        let outage = (1..20u64, 1..20u64, any::<bool>()).prop_map(|(at, lasts, lose)| {
            vec![Outage { at: Nanos::from_millis(at), lasts: Nanos::from_millis(lasts), lose }]
        });
        let outages = prop_oneof![Just(vec![]), outage];
        (prop::option::of(jitter), prop::option::of(reorder), prop_oneof![Just(0.0), Just(0.2)], outages).prop_map(
            |(jitter, reorder, duplicate, outages)| Impairments {
                jitter,
                reorder,
                duplicate,
                outages,
                ..Impairments::default()
            },
        )
    }

    proptest! {
        /// The port without departure events matches a discipline that is polled at each departure.
        /// Both give equal arrivals, marks, drops, losses, impairments and statistics.
        ///
        /// Gaps of whole packets at 12 Mbit/s, and opportunities at such times, let departures and
        /// arrivals coincide.
        #[test]
        fn a_queued_fifo_is_a_fifo_port(
            train in prop::collection::vec((0..6u64, 1..3u32), 1..120),
            limit in limit(),
            ecn_threshold in limit(),
            loss in prop_oneof![Just(0.0), Just(0.2)],
            service in prop_oneof![rates(), trace()],
            impairments in impairments(),
        ) {
            let train: Vec<_> = train.iter().map(|&(gap, size)| (gap * 500, size * 750)).collect();
            let link = Link {
                name: "bottleneck".into(),
                service,
                delay: Nanos::from_millis(3),
                queue: Queue::Droptail { limit, ecn_threshold },
                loss: Loss::Uniform(loss),
                impairments,
            };
            let (from, to) = (Nanos::from_millis(5), Nanos::from_secs(1));
            let fifo = FifoPort::new(&link, (limit, ecn_threshold), 1, 0, from, to);
            let queued = QueuedPort::new(Fifo::new(limit, ecn_threshold), LinkOutput::new(&link, 1, 0, from, to));
            prop_assert_eq!(pass(fifo, &train), pass(queued, &train));
        }
    }
}
