//! What every link does with every train of packets.

use path::{Fate, Link, Packet};
use proptest::prelude::*;
use scenario::model::{self, Gemodel, Limit, Loss, Queue, Service, Trace};
use scenario::units::{Bytes, Nanos, Rate};
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
struct Parcel {
    id: usize,
    bytes: u32,
    marked: bool,
}

impl Packet for Parcel {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.id & 1 == 0
    }
    fn mark_ce(&mut self) {
        self.marked = true;
    }
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(1u64..40).prop_map(Limit::Packets), (1500u64..60_000).prop_map(|b| Limit::Bytes(Bytes(b)))]
}

fn service() -> impl Strategy<Value = Service> {
    let trace = prop::collection::vec(0u64..30, 1..40).prop_map(|gaps| {
        let instants = gaps.iter().scan(1, |at, gap| {
            *at += gap;
            Some(Nanos::from_millis(*at))
        });
        let opportunities: Vec<Nanos> = instants.collect();
        let period = opportunities[opportunities.len() - 1];
        Service::Trace(Arc::new(Trace { path: "random".into(), opportunities, period }))
    });
    prop_oneof![(100_000u64..100_000_000).prop_map(|r| Service::Rate(Rate(r))), trace]
}

fn loss() -> impl Strategy<Value = Loss> {
    let share = || 0.0..0.5;
    let bursts = (share(), share(), share(), share()).prop_map(|(p, r, lost_while_bad, lost_while_good)| {
        Loss::Gemodel(Gemodel { p, r, lost_while_bad, lost_while_good })
    });
    prop_oneof![Just(Loss::NONE), share().prop_map(Loss::Uniform), bursts]
}

prop_compose! {
    fn link()(
        service in service(),
        delay_ms in 0u64..50,
        limit in prop::option::of(limit()),
        ecn_threshold in prop::option::of(limit()),
        loss in loss(),
    ) -> model::Link {
        let queue = Queue::Droptail { limit, ecn_threshold };
        model::Link { name: "link".into(), service, delay: Nanos::from_millis(delay_ms), queue, loss }
    }
}

/// Packets with the time since the one before, us.
fn train() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((prop_oneof![Just(0u64), 0u64..5_000, 0u64..100_000], 40u32..1501), 1..300)
}

/// What the test knows of a link that it feeds and empties.
struct Feeder {
    link: Link<Parcel>,
    /// Accepted and not lost, in order, with the announced arrival.
    expected: VecDeque<(usize, Nanos)>,
    doomed: usize,
    drops: u64,
    arrived: u64,
    last_arrival: Nanos,
}

const END: Nanos = Nanos::from_secs(100);

impl Feeder {
    fn new(link: &model::Link, seed: u64) -> Feeder {
        let link = Link::new(link, seed, 0, Nanos::ZERO, END);
        Feeder { link, expected: VecDeque::new(), doomed: 0, drops: 0, arrived: 0, last_arrival: Nanos::ZERO }
    }

    /// Takes out what has reached the far end by `now`.
    fn drain(&mut self, now: Nanos) {
        while self.link.next() <= now {
            let at = self.link.next();
            assert!(at >= self.last_arrival, "arrivals run backwards");
            self.last_arrival = at;
            match self.link.take() {
                Some(parcel) => {
                    assert_eq!(self.expected.pop_front(), Some((parcel.id, at)), "first in, first out, when announced");
                    self.arrived += 1;
                }
                None => self.doomed -= 1,
            }
        }
    }

    fn offer(&mut self, now: Nanos, id: usize, bytes: u32) {
        match self.link.offer(now, Parcel { id, bytes, marked: false }) {
            Fate::Arrives(at) => self.expected.push_back((id, at)),
            Fate::LostOnTheWire => self.doomed += 1,
            Fate::Dropped => self.drops += 1,
        }
    }
}

proptest! {
    /// Offered = dropped + lost + arrived + inside, after every step; the queue within its limit; order kept; nothing faster than the wire.
    #[test]
    fn packets_are_conserved(model in link(), train in train(), seed: u16) {
        let mut feeder = Feeder::new(&model, seed as u64);
        let mut now = Nanos::ZERO;
        for (id, (gap_us, bytes)) in train.iter().enumerate() {
            now += Nanos::from_micros(*gap_us);
            feeder.drain(now);
            feeder.offer(now, id, *bytes);
            let limit = model.queue.limit();
            let (waiting_bytes, waiting_packets) = feeder.link.waiting();
            match limit {
                None => prop_assert_eq!(feeder.drops, 0),
                Some(Limit::Packets(most)) => prop_assert!(waiting_packets <= most),
                Some(Limit::Bytes(most)) => prop_assert!(waiting_bytes <= most.0),
            }
            let inside = feeder.expected.len() + feeder.doomed;
            prop_assert_eq!(feeder.link.inside(), inside);
            let usage = feeder.link.usage();
            prop_assert_eq!(usage.total_offered, id as u64 + 1);
            prop_assert_eq!(usage.total_drops, feeder.drops);
            prop_assert_eq!(usage.total_offered, feeder.drops + usage.total_wire_losses + feeder.arrived + feeder.expected.len() as u64);
            if let Some((_, arrival)) = feeder.expected.back() {
                prop_assert!(*arrival >= model.delay);
            }
        }
        feeder.drain(Nanos(u64::MAX - 1));
        prop_assert_eq!((feeder.link.inside(), feeder.link.waiting()), (0, (0, 0)));
    }

    /// The same train and seed meet the same fate; another seed changes nothing but the losses.
    #[test]
    fn a_link_repeats_itself(model in link(), train in train(), seed: u16) {
        let fates = |seed: u64| {
            let mut link = Link::new(&model, seed, 0, Nanos::ZERO, END);
            let mut now = Nanos::ZERO;
            let offered = train.iter().enumerate().map(|(id, (gap_us, bytes))| {
                now += Nanos::from_micros(*gap_us);
                link.offer(now, Parcel { id, bytes: *bytes, marked: false })
            });
            offered.collect::<Vec<_>>()
        };
        let first = fates(seed as u64);
        prop_assert_eq!(&first, &fates(seed as u64));
        let dropped = |fates: &[Fate]| fates.iter().map(|f| *f == Fate::Dropped).collect::<Vec<_>>();
        prop_assert_eq!(dropped(&first), dropped(&fates(seed as u64 + 1)));
    }

    /// A wire without loss delivers its rate and no more: a busy link's packets follow each other at its pace.
    #[test]
    fn a_busy_transmitter_keeps_its_rate(rate in 100_000u64..1_000_000_000, sizes in prop::collection::vec(40u32..1501, 2..100)) {
        let queue = Queue::Droptail { limit: None, ecn_threshold: None };
        let model = model::Link { name: "link".into(), service: Service::Rate(Rate(rate)), delay: Nanos::ZERO, queue, loss: Loss::NONE };
        let mut link = Link::new(&model, 1, 0, Nanos::ZERO, END);
        let mut last = Nanos::ZERO;
        for (id, bytes) in sizes.iter().enumerate() {
            link.offer(Nanos::ZERO, Parcel { id, bytes: *bytes, marked: false });
        }
        while link.next() != Nanos::NEVER {
            last = link.next();
            link.take();
        }
        let bits = sizes.iter().map(|b| *b as f64 * 8.0).sum::<f64>();
        let expected_ns = bits / rate as f64 * 1e9;
        // Each transmission is rounded up to a nanosecond.
        prop_assert!(last.0 as f64 >= expected_ns - 1.0 && last.0 as f64 <= expected_ns + sizes.len() as f64);
    }

    /// Only packets that may be marked are, and only when the threshold is reached.
    #[test]
    fn marks_follow_the_threshold(threshold in 1u64..20, count in 1usize..40) {
        let queue = Queue::Droptail { limit: None, ecn_threshold: Some(Limit::Packets(threshold)) };
        let model = model::Link { name: "link".into(), service: Service::Rate(Rate(1_000_000)), delay: Nanos::ZERO, queue, loss: Loss::NONE };
        let mut link = Link::new(&model, 1, 0, Nanos::ZERO, END);
        for id in 0..count {
            link.offer(Nanos::ZERO, Parcel { id, bytes: 1500, marked: false });
        }
        for id in 0..count {
            let parcel = link.take().expect("nothing is lost");
            // The first is in transmission at once; parcel n finds n - 1 waiting.
            let found = (id as u64).saturating_sub(1);
            prop_assert_eq!(parcel.marked, found >= threshold && id & 1 == 0);
        }
    }
}
