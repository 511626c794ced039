//! Random networks: those of `random`, with any queue discipline before any link, and any receivers.

use crate::random;
use crate::world::control_with;
use model::lte::{self, Scheduling};
use model::queue::{
    Atm, Cake, Codel, Diffserv, Discipline, FlowMode, FqCodel, FqPie, PfifoFast, Pie, Prio, Red, RedBounds,
};
use model::radio::ieee80211::{LARGEST_PACKET, Slot, Standard};
use model::radio::lte::{Bandwidth, Cqi, Direction};
use model::skb::truesize;
use model::units::{Bytes, Drift, Nanos, Offset, Rate};
use model::{
    Clock, Gemodel, Loss, MechanismRef, MechanismSource, Member, ParamValue, Queue, Scenario, Service, TcpRmem,
    WifiCell, WifiStation,
};
use proptest::prelude::*;

/// Types of service that the disciplines distinguish: best effort, low delay, bulk, background, video, voice, control.
const TYPES_OF_SERVICE: [u8; 7] = [0, 0x10, 0x08, 0x20, 0x88, 0xb8, 0xc0];

const DIFFSERVS: [Diffserv; 5] = {
    use Diffserv::*;
    [Diffserv3, Diffserv4, Diffserv8, Besteffort, Precedence]
};
const FLOW_MODES: [FlowMode; 8] = {
    use FlowMode::*;
    [Flowblind, Srchost, Dsthost, Hosts, Flows, DualSrchost, DualDsthost, TripleIsolate]
};

/// A time from `low` to `high` in whole microseconds, as the kernel counts them.
fn micros(low: f64, high: f64) -> impl Strategy<Value = Nanos> {
    random::log_uniform(low, high).prop_map(|us| Nanos::from_micros(us as u64))
}

/// A number from a single packet to more than any scenario sends.
pub fn packets() -> impl Strategy<Value = u32> {
    random::log_uniform(1.0, 10_000.0).prop_map(|n| n as u32)
}

fn red() -> impl Strategy<Value = Discipline> {
    let bounds = (random::log_uniform(1e3, 1e6), 0.05f64..1.0, 0.05f64..0.95, 100u64..2000);
    let switches = any::<[bool; 4]>();
    let red =
        (bounds, random::share(0.001, 1.0), 1.0..4.0, switches).prop_map(|(bounds, probability, more, switches)| {
            let (limit, share_of_limit, share_of_max, avpkt) = bounds;
            let [ecn, harddrop, adaptive, gentle] = switches;
            let (limit, avpkt) = (Bytes(limit as u64), Bytes(avpkt));
            let max = Bytes((limit.0 as f64 * share_of_limit) as u64);
            let min = Bytes((max.0 as f64 * share_of_max) as u64);
            let least = RedBounds { limit, min: Some(min), max: Some(max), avpkt, burst: None }.fill().2;
            let burst = (least as f64 * more) as u64;
            Red { limit, min, max, probability, avpkt, burst, ecn, harddrop, adaptive, gentle }
        });
    red.prop_filter("consistent", |red| red.arithmetic(Rate(1_000_000)).is_ok()).prop_map(Discipline::Red)
}

prop_compose! {
    fn codel()(
        limit in packets(),
        target in micros(1.0, 1e5),
        interval in micros(1.0, 1e6),
        ce_threshold in prop::option::of(micros(1.0, 1e5)),
        ecn in any::<bool>(),
    ) -> Codel {
        Codel { limit, target, interval, ce_threshold, ecn }
    }
}

prop_compose! {
    fn fq_codel()(
        codel in codel(),
        flows in random::log_uniform(1.0, 65_536.0),
        quantum in prop::option::of(random::log_uniform(256.0, 1e6)),
        memory_limit in random::log_uniform(1.0, 1e8),
        drop_batch in random::log_uniform(1.0, 1000.0),
    ) -> Discipline {
        let Codel { limit, target, interval, ce_threshold, ecn } = codel;
        let (flows, drop_batch) = (flows as u32, drop_batch as u32);
        let quantum = quantum.map(|bytes| Bytes(bytes as u64));
        let memory_limit = Bytes(memory_limit as u64);
        let queues = FqCodel { limit, flows, quantum, memory_limit, drop_batch, ..FqCodel::default() };
        Discipline::FqCodel(FqCodel { target, interval, ce_threshold, ecn, ..queues })
    }
}

prop_compose! {
    fn pie()(
        limit in packets(),
        target in micros(1.0, 1e6),
        tupdate in micros(1000.0, 1e6),
        (alpha, beta) in (0u32..33, 0u32..33),
        [ecn, bytemode, dq_rate_estimator] in any::<[bool; 3]>(),
    ) -> Pie {
        Pie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator }
    }
}

prop_compose! {
    fn fq_pie()(
        pie in pie(),
        flows in random::log_uniform(1.0, 65_536.0),
        quantum in prop::option::of(random::log_uniform(256.0, 1e6)),
        ecn_prob in 0u32..101,
    ) -> Discipline {
        let Pie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator } = pie;
        let (flows, quantum) = (flows as u32, quantum.map(|bytes| Bytes(bytes as u64)));
        let queues = FqPie { limit, flows, quantum, ecn, ecn_prob, bytemode, ..FqPie::default() };
        Discipline::FqPie(FqPie { target, tupdate, alpha, beta, dq_rate_estimator, ..queues })
    }
}

prop_compose! {
    fn cake()(
        bandwidth in prop::option::of(random::log_uniform(2e5, 2e8)),
        diffserv in prop::sample::select(&DIFFSERVS[..]),
        flowmode in prop::sample::select(&FLOW_MODES[..]),
        rtt in micros(1000.0, 1e6),
        (overhead, mpu) in (0u32..257, 0u32..257),
        atm in prop::sample::select(&[Atm::Noatm, Atm::Atm, Atm::Ptm][..]),
        ingress in any::<bool>(),
        memlimit in prop::option::of(random::log_uniform(1.0, 1e8)),
    ) -> Discipline {
        let bandwidth = bandwidth.map(|rate| Rate(rate as u64));
        let memlimit = memlimit.map(|bytes| Bytes(bytes as u64));
        Discipline::Cake(Cake { bandwidth, diffserv, flowmode, rtt, overhead, mpu, atm, ingress, memlimit })
    }
}

/// Any discipline, with any parameters that a scenario file may give it.
pub fn discipline() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        red(),
        codel().prop_map(Discipline::Codel),
        fq_codel(),
        pie().prop_map(Discipline::Pie),
        fq_pie(),
        (3u32..17, packets()).prop_map(|(bands, limit)| Discipline::Prio(Prio { bands, limit })),
        packets().prop_map(|limit| Discipline::PfifoFast(PfifoFast { limit })),
        cake(),
    ]
}

/// The bounds of an auto-tuned buffer.
fn tcp_rmem() -> impl Strategy<Value = TcpRmem> {
    (random::log_uniform(4096.0, 1e6), random::log_uniform(1.0, 100.0))
        .prop_map(|(default, more)| TcpRmem { default: Bytes(default as u64), max: Bytes((default * more) as u64) })
}

/// The rate of a reader, from slow ones that most senders wait for to fast ones.
fn read_rate() -> impl Strategy<Value = Rate> {
    random::log_uniform(1e4, 1e8).prop_map(|rate| Rate(rate as u64))
}

/// A receiver's window controller with parameters.
fn window_controller() -> impl Strategy<Value = MechanismRef> {
    let number = |name, low, high| {
        random::log_uniform(low, high).prop_map(move |n| (name, ParamValue::Integer(n as i64))).boxed()
    };
    let text = |name, low, high, unit| {
        random::log_uniform(low, high)
            .prop_map(move |n| (name, ParamValue::Text(format!("{}{unit}", n as u64))))
            .boxed()
    };
    let flag = |name| any::<bool>().prop_map(move |flag| (name, ParamValue::Bool(flag))).boxed();
    let most = || number("most", 2.0, 5000.0);
    let rtt_weight = || text("rtt_weight", 1.0, 1024.0, "/1024");
    let alpha = || text("alpha", 1.0, 1023.0, "/1024");
    let theta = || text("theta", 101.0, 1000.0, "%");
    let of = |name, parameters: Vec<BoxedStrategy<_>>| {
        parameters.prop_map(move |parameters: Vec<(&str, ParamValue)>| control_with(name, &parameters))
    };
    let rtac = vec![
        number("bdp", 1.0, 20_000.0),
        theta(),
        alpha(),
        rtt_weight(),
        text("rtt_min_add", 1.0, 1e6, "us"),
        flag("skip_on_hole"),
        most(),
    ];
    prop_oneof![
        of("static", vec![most()]),
        of("autotuning", vec![rtt_weight(), most()]),
        of("drwa", vec![number("lambda", 1.0, 100.0), alpha(), rtt_weight(), most()]),
        of("rtac_auto", vec![theta(), number("probe_rounds", 8.0, 10_000.0), alpha(), rtt_weight(), most()]),
        of("rtac", rtac.clone()),
        of("rtac", [rtac, vec![number("inverse_k", 1.0, 1e6)]].concat()),
    ]
}

/// The queue with a limit that a packet fits, as the reader of scenario files demands, and a threshold that can be
/// reached.
pub fn acceptable(queue: Queue, largest: u64) -> Queue {
    match queue {
        Queue::Managed { who, discipline: Discipline::Red(red) } if red.limit.0 < largest => {
            Queue::Managed { who, discipline: Discipline::Red(Red { limit: Bytes(largest), ..red }) }
        }
        Queue::Droptail { limit: Some(limit), ecn_threshold: Some(threshold) } if threshold > limit => {
            Queue::Droptail { limit: Some(limit), ecn_threshold: None }
        }
        queue => queue,
    }
}

/// The clock of a receiver, which may not change any event.
fn clock() -> impl Strategy<Value = Clock> {
    (-1_000_000_000_000_000i64..1_000_000_000_000_001, -10_000_000i64..10_000_001)
        .prop_map(|(offset, drift)| Clock { offset: Offset(offset), drift: Drift(drift) })
}

/// Any scenario of these congestion controls. It has one to three links with any queues and impairments, some of them
/// on Wi-Fi or in LTE cells. It has any routes, data in either direction, access links, and receivers of any kind.
pub fn network(controls: Vec<String>) -> impl Strategy<Value = Scenario> {
    let with_receivers = on_any_links(controls).prop_flat_map(|scenario| {
        let controllers = prop::option::weighted(0.3, window_controller().boxed());
        let buffers = (prop::option::weighted(0.3, tcp_rmem()), prop::option::weighted(0.2, read_rate()));
        let clocks = prop::option::weighted(0.3, clock());
        let receivers = prop::collection::vec((controllers, buffers, clocks), scenario.flows.len());
        (Just(scenario), receivers)
    });
    with_receivers.prop_map(|(mut scenario, receivers)| {
        for (group, (controller, (tcp_rmem, read_rate), clock)) in scenario.flows.iter_mut().zip(receivers) {
            group.clock = clock.unwrap_or_default();
            // All window controllers except this one measure RTTs by timestamps.
            let is_static = |controller: &MechanismRef| controller.source == MechanismSource::Builtin("static".into());
            group.window_controller = controller.filter(|controller| group.stack.timestamps || is_static(controller));
            // A textbook's receiver has no buffer.
            if group.stack.quick_ack {
                let least = Bytes(2 * truesize(group.packet.0));
                let fits =
                    |TcpRmem { default, max }: TcpRmem| TcpRmem { default: default.max(least), max: max.max(least) };
                group.tcp_rmem = tcp_rmem.filter(|_| group.receive_window.is_none()).map(fits);
                group.read_rate = read_rate;
            }
        }
        scenario
    })
}

fn on_any_links(controls: Vec<String>) -> impl Strategy<Value = Scenario> {
    let [on_wires, on_wifi_, in_cells] = [(); 3].map(|()| wired(controls.clone()).boxed());
    prop_oneof![3 => on_wires, 1 => on_wifi(on_wifi_).boxed(), 1 => in_lte_cells(in_cells).boxed()]
}

/// Any scenario with one link or more in a Wi-Fi cell.
fn on_wifi(wired: BoxedStrategy<Scenario>) -> impl Strategy<Value = Scenario> {
    let station = (0..8usize, prop_oneof![Just(0.0), random::share(0.01, 0.9)]);
    let stations = prop::collection::vec((prop::bool::weighted(0.7), station), 3);
    let standard = prop::sample::select(&[Standard::G, Standard::N][..]);
    let slot = prop::sample::select(&[Slot::Short, Slot::Long][..]);
    let cell = (standard, slot, any::<bool>(), stations);
    (wired, cell).prop_map(|(mut scenario, (standard, slot, shares_queue, stations))| {
        for group in &mut scenario.flows {
            group.packet = group.packet.min(LARGEST_PACKET);
        }
        let queue = scenario.links[0].forward.queue.clone();
        for (number, (link, (is_on, (mode, frame_errors)))) in scenario.links.iter_mut().zip(stations).enumerate() {
            if number > 0 && !is_on {
                continue;
            }
            let phy_rate = standard.modes()[mode].rate;
            let station = WifiStation { cell: 0, standard, slot, phy_rate, frame_errors };
            for direction in [&mut link.forward, &mut link.reverse] {
                direction.service = Service::Shared(Member::Wifi(station));
                direction.impairments.outages.retain(|outage| outage.lose);
                direction.impairments.script.clear();
            }
            if shares_queue {
                link.forward.queue = queue.clone();
            }
        }
        let queue = shares_queue.then_some(queue);
        scenario.wifi = vec![WifiCell { name: "cell".into(), standard, slot, queue }];
        random::within_budget(scenario)
    })
}

/// Any scenario with one link or more of users of LTE cells.
fn in_lte_cells(wired: BoxedStrategy<Scenario>) -> impl Strategy<Value = Scenario> {
    let place = || (0..2usize, 1..16u8);
    let places = (place(), prop::collection::vec(prop::option::weighted(0.6, place()), 2));
    (wired, lte_cell(0), lte_cell(1), places).prop_map(|(mut scenario, first, second, (place, places))| {
        put_into_cells(&mut scenario, [first, second], &[vec![Some(place)], places].concat());
        random::within_budget(scenario)
    })
}

/// An LTE cell.
fn lte_cell(number: usize) -> impl Strategy<Value = lte::Cell> {
    let schedulings = vec![Scheduling::ProportionalFair, Scheduling::RoundRobin];
    let scheduler = prop::sample::select(schedulings);
    (prop::sample::select(Bandwidth::NAMES.to_vec()), scheduler, 0u32..91).prop_map(
        move |(bandwidth, scheduler, percent)| lte::Cell {
            name: format!("cell{number}"),
            bandwidth: Bandwidth::named(bandwidth).expect("it is one of the names"),
            scheduler,
            error_rate: f64::from(percent) / 100.0,
        },
    )
}

/// Puts each link into the cell of its number, with a channel of its quality, or into none.
fn put_into_cells(scenario: &mut Scenario, cells: [lte::Cell; 2], places: &[Option<(usize, u8)>]) {
    let places = &places[..scenario.links.len()];
    let used: Vec<_> = (0..2).filter(|cell| places.iter().flatten().any(|(place, _)| place == cell)).collect();
    scenario.lte = used.iter().map(|cell| cells[*cell].clone()).collect();
    for (link, place) in scenario.links.iter_mut().zip(places) {
        let Some((cell, cqi)) = *place else { continue };
        let number = used.iter().position(|used| *used == cell).expect("it is in use");
        for (way, direction) in [(&mut link.forward, Direction::Down), (&mut link.reverse, Direction::Up)] {
            way.service = Service::Shared(Member::Lte(scenario.lte[number].user(number, direction, Cqi(cqi))));
            way.impairments.outages.retain(|outage| outage.lose);
            way.impairments.script.clear();
        }
    }
}

/// Losses that come in bursts.
fn bursts() -> impl Strategy<Value = Loss> {
    let share = random::share;
    let while_good = prop_oneof![Just(0.0), share(0.001, 0.05)];
    (share(1e-4, 0.1), share(0.05, 1.0), share(0.1, 1.0), while_good).prop_map(
        |(p, r, lost_while_bad, lost_while_good)| Loss::Gemodel(Gemodel { p, r, lost_while_bad, lost_while_good }),
    )
}

/// Any scenario all of whose links have transmitters of their own.
fn wired(controls: Vec<String>) -> impl Strategy<Value = Scenario> {
    let with_queues = random::impaired_of(controls).boxed().prop_flat_map(|scenario| {
        let of_links = (prop::option::weighted(0.6, discipline().boxed()), prop::option::weighted(0.2, bursts()));
        let queues = prop::collection::vec(of_links, 2 * scenario.links.len());
        let services = prop::collection::vec(prop::sample::select(&TYPES_OF_SERVICE[..]), scenario.flows.len());
        let of_senders = (prop::option::of(discipline()), any::<bool>());
        let of_senders = prop::collection::vec(of_senders, scenario.flows.len());
        (Just(scenario), queues, services, of_senders)
    });
    with_queues.prop_map(|(mut scenario, queues, services, of_senders)| {
        // Acknowledgements, which have up to 80 bytes, may take any of them.
        let largest = scenario.flows.iter().map(|group| group.packet.0).max().unwrap_or(0).max(80);
        let directions = scenario.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]);
        for (link, (discipline, bursts)) in directions.zip(queues) {
            link.loss = bursts.unwrap_or(link.loss);
            link.queue = acceptable(discipline.map_or(link.queue.clone(), Queue::from), largest);
        }
        for ((group, tos), (queue, small_queues)) in scenario.flows.iter_mut().zip(services).zip(of_senders) {
            group.tos = tos;
            if group.access.rate.is_some() {
                group.access.queue = queue.map(|queue| acceptable(queue.into(), largest));
                group.access.small_queues = small_queues;
            }
        }
        scenario
    })
}
