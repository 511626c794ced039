//! Properties of every queue discipline with every train of packets.

use model::queue::{
    Atm, Cake, Codel, Diffserv, Discipline, Drophead, FlowMode, FqCodel, FqPie, PfifoFast, Pie, Prio, Red, RedBounds,
};
use model::units::{Bytes, Nanos, Rate};
use model::{Limit, Queue};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_path::qdisc::{AnyQdisc, Ecn, Qdisc, Skb, of};

const MTU: u32 = 1500;
const RATE: Rate = Rate(10_000_000);

fn packets() -> impl Strategy<Value = u32> {
    prop_oneof![1u32..20, 1u32..300]
}

fn time(from_us: u64, to_us: u64) -> impl Strategy<Value = Nanos> {
    (from_us..to_us).prop_map(Nanos::from_micros)
}

prop_compose! {
    fn red()(
        min in 3000u64..30_000,
        width in 1000u64..60_000,
        room in 0u64..60_000,
        avpkt in 100u64..1500,
        probability in 0.001..1.0,
        (ecn, harddrop, adaptive, gentle) in any::<(bool, bool, bool, bool)>(),
    ) -> Discipline {
        let bounds = RedBounds {
            limit: Bytes(min + width + room),
            min: Some(Bytes(min)),
            max: Some(Bytes(min + width)),
            avpkt: Bytes(avpkt),
            burst: None,
        };
        let (min, max, burst) = bounds.fill();
        let burst = burst.max(min.0.div_ceil(avpkt));
        let (limit, avpkt) = (bounds.limit, bounds.avpkt);
        Discipline::Red(Red { limit, min, max, probability, avpkt, burst, ecn, harddrop, adaptive, gentle })
    }
}

prop_compose! {
    fn codel()(
        limit in packets(),
        target in time(1, 20_000),
        interval in time(100, 200_000),
        ce_threshold in prop::option::of(time(1, 20_000)),
        ecn: bool,
    ) -> Codel {
        Codel { limit, target, interval, ce_threshold, ecn }
    }
}

prop_compose! {
    fn fq_codel()(
        Codel { limit, target, interval, ce_threshold, ecn } in codel(),
        flows in prop_oneof![1u32..8, Just(1024)],
        quantum in prop::option::of((256u64..5000).prop_map(Bytes)),
        memory_limit in (2304u64..300_000).prop_map(Bytes),
        drop_batch in 1u32..100,
    ) -> Discipline {
        let fq_codel = FqCodel { limit, flows, quantum, target, interval, ce_threshold, ecn, memory_limit, drop_batch };
        Discipline::FqCodel(fq_codel)
    }
}

prop_compose! {
    fn pie()(
        limit in packets(),
        target in time(100, 30_000),
        tupdate in time(1, 300_000),
        alpha in 0u32..33,
        beta in 0u32..33,
        (ecn, bytemode, dq_rate_estimator) in any::<(bool, bool, bool)>(),
    ) -> Pie {
        Pie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator }
    }
}

prop_compose! {
    fn fq_pie()(
        pie in pie(),
        flows in prop_oneof![1u32..8, Just(1024)],
        quantum in prop::option::of((256u64..5000).prop_map(Bytes)),
        ecn_prob in 0u32..101,
    ) -> Discipline {
        let Pie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator } = pie;
        let fq_pie =
            FqPie { limit, flows, quantum, target, tupdate, alpha, beta, ecn, ecn_prob, bytemode, dq_rate_estimator };
        Discipline::FqPie(fq_pie)
    }
}

const DIFFSERVS: [Diffserv; 5] =
    [Diffserv::Besteffort, Diffserv::Diffserv3, Diffserv::Diffserv4, Diffserv::Diffserv8, Diffserv::Precedence];
const FLOW_MODES: [FlowMode; 8] = [
    FlowMode::Flowblind,
    FlowMode::Srchost,
    FlowMode::Dsthost,
    FlowMode::Hosts,
    FlowMode::Flows,
    FlowMode::DualSrchost,
    FlowMode::DualDsthost,
    FlowMode::TripleIsolate,
];

prop_compose! {
    fn cake()(
        bandwidth in prop::option::of((100_000u64..100_000_000).prop_map(Rate)),
        diffserv in prop::sample::select(DIFFSERVS.to_vec()),
        flowmode in prop::sample::select(FLOW_MODES.to_vec()),
        rtt in time(100, 300_000),
        (overhead, mpu) in (0u32..100, 0u32..100),
        atm in prop::sample::select(vec![Atm::Noatm, Atm::Atm, Atm::Ptm]),
        ingress: bool,
        memlimit in prop::option::of((2304u64..300_000).prop_map(Bytes)),
    ) -> Discipline {
        Discipline::Cake(Cake { bandwidth, diffserv, flowmode, rtt, overhead, mpu, atm, ingress, memlimit })
    }
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        packets().prop_map(|n| Limit::Packets(n.into())),
        (1500u64..60_000).prop_map(|bytes| Limit::Bytes(Bytes(bytes)))
    ]
}

fn queue() -> impl Strategy<Value = Queue> {
    let droptail = (prop::option::of(limit()), prop::option::of(limit()))
        .prop_map(|(limit, ecn_threshold)| Queue::Droptail { limit, ecn_threshold });
    let discipline = prop_oneof![
        limit().prop_map(|limit| Discipline::Drophead(Drophead { limit })),
        red(),
        codel().prop_map(Discipline::Codel),
        fq_codel(),
        pie().prop_map(Discipline::Pie),
        fq_pie(),
        (3u32..17, packets()).prop_map(|(bands, limit)| Discipline::Prio(Prio { bands, limit })),
        packets().prop_map(|limit| Discipline::PfifoFast(PfifoFast { limit })),
        cake(),
    ];
    prop_oneof![1 => droptail, 9 => discipline.prop_map(Queue::from)]
}

/// A step of a train: after `gap_us`, `arrive` packets of a flow arrive, then the discipline is
/// polled `leave` times.
#[derive(Clone, Debug)]
struct Step {
    gap_us: u64,
    flow: u32,
    bytes: u32,
    arrive: u32,
    leave: u32,
}

fn train() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![10 => 0u64..3000, 3 => Just(0u64), 1 => 0u64..2_000_000];
    let step = (gap, 0u32..12, prop_oneof![Just(1500u32), 40u32..1501], 0u32..6, 0u32..5)
        .prop_map(|(gap_us, flow, bytes, arrive, leave)| Step { gap_us, flow, bytes, arrive, leave });
    prop::collection::vec(step, 1..250)
}

/// Creates the packet `id` of a flow. Flows differ in hosts, type of service and ECN.
fn skb(id: u32, flow: u32, bytes: u32) -> Skb {
    Skb {
        id,
        bytes,
        ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][flow as usize % 3],
        tos: [0, 0x10, 0x08, 0xb8, 0x20, 0x88][flow as usize % 6],
        band: None,
        is_followed: false,
        flow_hash: flow.wrapping_mul(0x1234_5677),
        source: flow % 4,
        destination: 100 + flow % 3,
        enqueued_at: Nanos::NEVER,
    }
}

/// The fate of a packet, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketEvent {
    Sent(Skb, Nanos),
    Dropped(Skb, Nanos),
}

/// Runs a train through a discipline, and checks the properties of every discipline after each
/// call.
struct Examiner {
    qdisc: AnyQdisc,
    now: Nanos,
    /// The packets that wait, by id; `bytes` is their sum.
    inside: BTreeMap<u32, Skb>,
    bytes: u64,
    /// The packet of each flow that left last.
    last: BTreeMap<u32, u32>,
    events: Vec<PacketEvent>,
}

impl Examiner {
    fn new(queue: &Queue, seed: u64) -> Examiner {
        let qdisc = of(queue, RATE, MTU, seed, 7).expect("ours");
        Examiner { qdisc, now: Nanos::ZERO, inside: BTreeMap::new(), bytes: 0, last: BTreeMap::new(), events: vec![] }
    }

    fn enqueue(&mut self, skb: Skb) {
        let mut dropped = vec![];
        self.qdisc.enqueue(self.now, skb, &mut dropped);
        self.inside.insert(skb.id, Skb { enqueued_at: self.now, ..skb });
        self.bytes += skb.bytes as u64;
        self.take_dropped(dropped);
        self.check_backlog();
    }

    /// Polls the discipline for a packet, and returns true if it had one.
    fn dequeue(&mut self) -> bool {
        let next = self.qdisc.next(self.now);
        let held_before = self.inside.len();
        assert_eq!(next == Nanos::NEVER, held_before == 0);
        let mut dropped = vec![];
        let sent = self.qdisc.dequeue(self.now, &mut dropped);
        if next > self.now {
            assert!(sent.is_none() && dropped.is_empty(), "held back until {next}, at {}", self.now);
        }
        let any_dropped = !dropped.is_empty();
        self.take_dropped(dropped);
        if let Some(skb) = &sent {
            self.leave(skb);
            let last = self.last.insert(skb.flow_hash, skb.id);
            assert!(last.is_none_or(|last| last < skb.id), "flow {} out of order", skb.flow_hash);
            self.events.push(PacketEvent::Sent(*skb, self.now));
        } else {
            // At the ingress, drops take their time: after them CAKE may hold back the rest.
            let next_now = self.qdisc.next(self.now);
            assert!(next_now > self.now, "it said {next} at {}, gave nothing, and says {next_now}", self.now);
            assert!(next > self.now || any_dropped);
        }
        self.check_backlog();
        sent.is_some()
    }

    /// Removes a packet that waited and is unchanged but for a mark that it may have.
    fn leave(&mut self, skb: &Skb) {
        let came = self.inside.remove(&skb.id).expect("it is inside, once");
        assert!(came.ecn != Ecn::NotEct || skb.ecn == Ecn::NotEct, "a mark that may not be");
        assert_eq!(Skb { ecn: came.ecn, ..*skb }, came);
        assert!(skb.ecn == came.ecn || skb.ecn == Ecn::Ce);
        self.bytes -= skb.bytes as u64;
    }

    fn take_dropped(&mut self, dropped: Vec<Skb>) {
        for skb in dropped {
            self.leave(&skb);
            self.events.push(PacketEvent::Dropped(skb, self.now));
        }
    }

    fn check_backlog(&self) {
        assert_eq!(self.qdisc.backlog(), (self.bytes, self.inside.len() as u64));
    }

    /// Checks that no limit is exceeded.
    fn check_limits(&self, queue: &Queue) {
        let packets = self.inside.len() as u64;
        match queue.limit() {
            Some(Limit::Packets(most)) => assert!(packets <= most, "{packets} packets"),
            Some(Limit::Bytes(most)) => assert!(self.bytes <= most.0, "{} bytes", self.bytes),
            None => {}
        }
        let memory = match queue.simulated() {
            Some(Discipline::FqCodel(FqCodel { memory_limit, .. })) => Some(memory_limit.0),
            Some(Discipline::Cake(Cake { memlimit, .. })) => memlimit.map(|limit| limit.0),
            _ => None,
        };
        // The smallest packet takes 768 bytes of the kernel's memory.
        assert!(memory.is_none_or(|memory| packets * 768 <= memory), "{packets} packets");
        if let Some(Discipline::PfifoFast(PfifoFast { limit }) | Discipline::Prio(Prio { limit, .. })) =
            queue.simulated()
        {
            let in_band = |tos: &[u8]| self.inside.values().filter(|skb| tos.contains(&skb.tos)).count() as u32;
            assert!(in_band(&[0x10]) <= *limit && in_band(&[0x08, 0x88]) <= *limit);
        }
    }

    /// Runs the whole train, then takes all packets that are left.
    fn run(mut self, queue: &Queue, train: &[Step]) -> Vec<PacketEvent> {
        let mut id = 0;
        for step in train {
            self.now += Nanos::from_micros(step.gap_us);
            for _ in 0..step.arrive {
                self.enqueue(skb(id, step.flow, step.bytes));
                id += 1;
                self.check_limits(queue);
            }
            for _ in 0..step.leave {
                self.dequeue();
            }
        }
        while !self.inside.is_empty() {
            self.now = self.qdisc.next(self.now).max(self.now);
            self.dequeue();
        }
        assert!(!self.dequeue());
        assert_eq!(self.events.len() as u32, id, "sent and dropped make all");
        self.events
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Disciplines follow their contract after every call. Packets in equal packets out, dropped
    /// and waiting, and each flow is first in, first out. The backlog is true, limits are
    /// respected, and `next` never lies. Only ECN-capable packets are marked, and one seed gives
    /// one series of events.
    #[test]
    fn disciplines_keep_their_contract(queue in queue(), train in train(), seed: u16) {
        let run = || Examiner::new(&queue, seed.into()).run(&queue, &train);
        prop_assert_eq!(run(), run());
    }

    /// A drop-head queue has a packet that just arrived, and all that wait are newer than each that
    /// it dropped.
    #[test]
    fn a_drop_head_queue_keeps_the_newest(limit in limit(), train in train()) {
        let mut examiner = Examiner::new(&Discipline::Drophead(Drophead { limit }).into(), 1);
        let mut id = 0;
        for Step { flow, bytes, arrive, leave, .. } in train {
            for _ in 0..arrive {
                examiner.enqueue(skb(id, flow, bytes));
                prop_assert!(examiner.inside.contains_key(&id));
                id += 1;
                if let Some(PacketEvent::Dropped(dropped, _)) = examiner.events.last() {
                    prop_assert!(examiner.inside.keys().all(|waiting| *waiting > dropped.id));
                }
            }
            (0..leave).for_each(|_| {
                examiner.dequeue();
            });
        }
    }

    /// CAKE's shaper takes, from one packet to the next, at least the time of the first on the
    /// wire, in the long run.
    #[test]
    fn cake_never_sends_faster_than_its_bandwidth(
        mbit in 1u64..100,
        overhead in 0u32..50,
        sizes in prop::collection::vec(40u32..1501, 50..200),
    ) {
        let (bandwidth, memlimit) = (Some(Rate(mbit * 1_000_000)), Some(Bytes(10_000_000)));
        let cake = Cake { bandwidth, overhead, memlimit, rtt: Nanos::from_secs(100), ..Cake::default() };
        let queue = Queue::from(Discipline::Cake(cake));
        let mut examiner = Examiner::new(&queue, 1);
        for (id, bytes) in sizes.iter().enumerate() {
            examiner.enqueue(skb(id as u32, 0, *bytes));
        }
        let mut due = 0.0;
        while !examiner.inside.is_empty() {
            examiner.now = examiner.qdisc.next(examiner.now);
            prop_assert!(examiner.dequeue());
            // Each packet's time is rounded down to a nanosecond.
            let tolerance = 1.0 + 2.0 * sizes.len() as f64;
            prop_assert!((examiner.now.0 as f64 - due).abs() < tolerance, "{} {due}", examiner.now);
            let Some(PacketEvent::Sent(skb, _)) = examiner.events.last() else { panic!("nothing is dropped") };
            due += f64::from(skb.bytes + overhead) * 8000.0 / mbit as f64;
        }
    }
}

/// Each flow with packets gets its turn, so that no flow waits forever behind others that always
/// have packets.
#[test]
fn no_flow_starves_where_flows_take_turns() {
    for discipline in [
        Discipline::FqCodel(FqCodel::default()),
        Discipline::FqPie(FqPie::default()),
        Discipline::Cake(Cake::default()),
    ] {
        let mut qdisc = of(&discipline.into(), RATE, MTU, 1, 1).expect("ours");
        let (mut dropped, mut served) = (vec![], BTreeSet::new());
        (0..40).for_each(|flow| qdisc.enqueue(Nanos::ZERO, Skb { tos: 0, ..skb(flow, flow, 1500) }, &mut dropped));
        for n in 0..200 {
            let now = Nanos::from_micros(n);
            let sent = qdisc.dequeue(now, &mut dropped).expect("it holds some");
            served.insert(sent.flow_hash);
            qdisc.enqueue(now, sent, &mut dropped);
        }
        assert_eq!(served.len(), 40, "{}", discipline.name());
    }
}
