//! A host's egress: the queue and the transmitter of its network card, which report each packet
//! that leaves the host.
//!
//! The driver of a real card reports a packet when it frees it after transmission. A queue
//! discipline does so when it frees a packet that it drops.

use crate::channel::Transit;
use crate::delay_line::DelayLine;
use crate::output::LinkOutput;
use crate::packet::{Packet, PacketId, Pool};
use crate::qdisc::{DeviceRing, Skb};
use crate::queued::{Gone, QueuedPort};
use measure::LinkSample;
use model::Link;
use model::records;
use model::units::Nanos;

/// Queue and transmitter of a host, and the line to the next node.
pub struct EgressPort {
    /// Queue and transmitter of the network card; a packet that leaves them has left the host.
    card: QueuedPort<DeviceRing>,
    line: DelayLine,
    /// When `card` dropped packets that the network does not know of yet; `Nanos::NEVER` if it
    /// dropped none.
    dropped_at: Nanos,
}

/// The outcome of one step of an egress.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// This packet has left the host: it is on the line.
    Left(PacketId),
    /// The host's queue has dropped these packets.
    Dropped(Vec<Gone>),
    /// A packet is at the far end.
    Arrived(Transit),
    /// A transmission has started.
    Nothing,
}

impl EgressPort {
    /// Creates an idle egress. `output` makes the transmitter from a link, which is `link` without
    /// its delay; the delay follows behind the card.
    pub fn new(link: &Link, qdisc: DeviceRing, output: impl FnOnce(&Link) -> LinkOutput) -> EgressPort {
        let card = QueuedPort::new(qdisc, output(&Link { delay: Nanos::ZERO, ..link.clone() }));
        EgressPort { card, line: DelayLine::new(link.delay), dropped_at: Nanos::NEVER }
    }

    /// Queues a packet at `now`, which never decreases between calls. The next step, due at once,
    /// reports drops, since the sender is still busy with sending.
    pub fn offer<P: Packet>(&mut self, now: Nanos, id: PacketId, packets: &mut Pool<P>) {
        let packet = packets.get_mut(id);
        let (band, is_followed) = (packet.band(), packet.is_followed());
        packet.leave_host();
        self.card.offer_skb(now, Skb { band, is_followed, ..packets.skb(id, now) }, packets);
        self.note_drops(now);
    }

    /// Reports whether the queue has no room for a packet at `now`. Its sender then retains it
    /// (`NET_XMIT_DROP`), and the packet counts as dropped.
    pub fn refuses<P: Packet>(&mut self, now: Nanos, packet: &P, packets: &mut Pool<P>) -> bool {
        let refused = self.card.refuses(now, &Skb { band: packet.band(), ..packets.skb_of(packet, now) }, packets);
        self.note_drops(now);
        refused
    }

    fn note_drops(&mut self, now: Nanos) {
        if !self.card.gone.is_empty() {
            self.dropped_at = self.dropped_at.min(now);
        }
    }

    /// Returns when the port has its next event; `Nanos::NEVER` if it is empty.
    pub fn next(&self) -> Nanos {
        self.dropped_at.min(self.card.next()).min(self.line.next())
    }

    /// Carries out the event that `next` announced. At equal times a packet leaves the host before
    /// another reaches the far end.
    pub fn step<P: Packet>(&mut self, now: Nanos, packets: &mut Pool<P>) -> Step {
        if self.dropped_at <= now {
            self.dropped_at = Nanos::NEVER;
            return Step::Dropped(std::mem::take(&mut self.card.gone));
        }
        if self.line.next() < self.card.next() {
            return Step::Arrived(self.line.take());
        }
        let left = self.card.step(packets);
        self.note_drops(now);
        let (Transit::Packet(id) | Transit::Copy(id)) = left else { return Step::Nothing };
        self.line.send(now, left);
        Step::Left(id)
    }

    /// Samples the queue at `now` for the time series, as link number `link`.
    pub fn sample(&self, now: Nanos, link: u32) -> LinkSample {
        LinkSample { ring: self.card.qdisc().in_device(self.card.is_idle(now)), ..self.card.sample(link) }
    }

    /// Returns the row of the results. Packets in the discipline count against the limit, those in
    /// the card do not.
    pub fn record(&self) -> records::Link {
        let record = self.output().record();
        let held = self.card.qdisc().held();
        let queue_percent_mean =
            held.map_or(record.queue_percent_mean, |held| self.output().stats.percent_of_limit(held));
        records::Link { queue_percent_mean, ..record }
    }

    /// Returns the transmitter and the channel, with the port's statistics.
    pub fn output(&self) -> &LinkOutput {
        &self.card.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccessPort;
    use crate::packet::tests::TestPacket;
    use crate::qdisc::{AnyQdisc, Fifo};
    use model::units::Rate;
    use model::{Limit, Loss, Queue, Service};
    use proptest::prelude::*;

    const RATE: Rate = Rate(12_000_000);
    const DELAY: Nanos = Nanos::from_millis(5);

    /// 12 Mbit/s, where a packet of 1500 bytes takes 1 ms, then a delay of 5 ms.
    fn egress(limit: Option<Limit>) -> EgressPort {
        let link = Link {
            name: "access".into(),
            service: Service::Own(model::Transmitter::Rate(RATE)),
            delay: DELAY,
            queue: Queue::Droptail { limit, ecn_threshold: None },
            loss: Loss::NONE,
            impairments: Default::default(),
        };
        let output = |link: &Link| LinkOutput::new(link, 1, 0, Nanos::ZERO, Nanos::from_secs(1));
        EgressPort::new(&link, DeviceRing::new(AnyQdisc::Fifo(Fifo::new(limit, None)), 0, false), output)
    }

    /// Of seven packets that arrive at once, where two may wait, the card takes three and drops
    /// four at once. Each of the three is reported when its last bit is out, and again at the far
    /// end. An eighth packet, sent when the third arrives, fares the same.
    #[test]
    fn departures_and_drops_are_told_of_when_they_happen() {
        let ms = Nanos::from_millis;
        let (mut port, mut packets, mut seen) = (egress(Some(Limit::Packets(2))), Pool::default(), vec![]);
        let offer = |at: Nanos, port: &mut EgressPort, packets: &mut Pool<TestPacket>| {
            let id = packets.insert(TestPacket::new(0));
            port.offer(at, id, packets);
        };
        (0..7).for_each(|_| offer(Nanos::ZERO, &mut port, &mut packets));
        while port.next() != Nanos::NEVER {
            let at = port.next();
            match port.step(at, &mut packets) {
                Step::Left(id) => seen.push((at, "left", id.0)),
                Step::Arrived(Transit::Packet(id)) => seen.push((at, "arrived", id.0)),
                Step::Dropped(gone) => seen.extend(gone.iter().map(|gone| (at, "dropped", gone.id.0))),
                Step::Arrived(_) | Step::Nothing => {}
            }
            if seen.len() == 8 {
                offer(at, &mut port, &mut packets);
            }
        }
        let dropped = (3..7).map(|number| (Nanos::ZERO, "dropped", number));
        let then = [(1, "left", 0), (2, "left", 1), (3, "left", 2), (6, "arrived", 0), (7, "left", 7)];
        let last = [(7, "arrived", 1), (8, "arrived", 2), (12, "arrived", 7)];
        let expected: Vec<_> =
            dropped.chain(then.into_iter().chain(last).map(|(at, what, number)| (ms(at), what, number))).collect();
        assert_eq!(seen, expected);
    }

    proptest! {
        /// Without a limit, arrivals match those over a plain link. Each packet leaves the host one
        /// line delay before it arrives.
        #[test]
        fn an_egress_delivers_as_an_access_link(train in prop::collection::vec((0..3000u64, 40..1501u32), 1..60)) {
            let (mut port, mut packets) = (egress(None), Pool::default());
            let mut link = AccessPort::new("access".into(), RATE, DELAY, Nanos::ZERO, Nanos::from_secs(1));
            let (mut now, mut left, mut arrived) = (Nanos::ZERO, vec![], vec![]);
            let mut run = |port: &mut EgressPort, packets: &mut Pool<TestPacket>, until: Nanos| {
                while port.next() < until {
                    let at = port.next();
                    match port.step(at, packets) {
                        Step::Left(id) => left.push((at + DELAY, Transit::Packet(id))),
                        Step::Arrived(transit) => arrived.push((at, transit)),
                        Step::Dropped(gone) => panic!("{gone:?} without a limit"),
                        Step::Nothing => {}
                    }
                }
            };
            for (gap_us, bytes) in train {
                now += Nanos::from_micros(gap_us);
                run(&mut port, &mut packets, now);
                let id = packets.insert(TestPacket { bytes, ..TestPacket::new(0) });
                port.offer(now, id, &mut packets);
                link.send(now, bytes, id);
            }
            run(&mut port, &mut packets, Nanos::NEVER);
            let expected: Vec<_> = std::iter::from_fn(|| {
                let at = link.next();
                (at != Nanos::NEVER).then(|| (at, link.take()))
            }).collect();
            prop_assert_eq!(&arrived, &expected);
            prop_assert_eq!(&left, &expected);
        }
    }
}
