//! Random networks of `networks` with more on them: hosts, applications, flows that come at random, and writers with a
//! rate of their own; and meshes.

use crate::meshed;
use crate::networks::{acceptable, network, packets};
use crate::random::{self, log_uniform};
use crate::world::{control, library, phone_of_2013};
use mechanism::Parameter;
use model::app::{App, Messenger, Ping, Traffic, Udp, Upload, Video, Voice, Web, WhenFull, Write, Writer};
use model::queue::{Discipline, Prio};
use model::units::{Bytes, Frequency, Nanos, Rate};
use model::workload::{Arrivals, Exponential, Lognormal, Pareto, Poisson, Sizes};
use model::{
    Access, FlowGroup, Host, Limit, MapContents, MechanismRef, MechanismSource, Member, ParamValue, Queue, Scenario,
    SendBuffer, SendTuning, Service,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Rates of datagrams of whole bytes whose intervals are whole nanoseconds.
const DATAGRAM_RATES: [u64; 6] = [10_000, 100_000, 500_000, 1_000_000, 2_000_000, 10_000_000];
/// Length of the largest acknowledgement, which every queue has to take, bytes.
const LARGEST_ACK: u64 = 80;

/// The source of a group's data.
#[derive(Clone, Debug)]
enum Source {
    /// A transfer of the group's own size.
    Transfer,
    Writer(Rate),
    Arrivals(Arrivals, Sizes),
    App(App),
}

/// Any scenario of these congestion controls that the tools search. Its flows may be an application's, may come from
/// one or two meshes, and may be on one or two hosts.
pub fn inhabited(controls: Vec<String>) -> impl Strategy<Value = Scenario> {
    let with_sources = network(controls).boxed().prop_flat_map(|scenario| {
        let sources = prop::collection::vec(source(), scenario.flows.len());
        let count = prop_oneof![17 => Just(0usize), 2 => Just(1), 2 => Just(2)];
        let meshes = count.prop_flat_map(|count| prop::collection::vec(meshed::mesh().boxed(), count));
        let hosts = prop::option::of(prop::collection::vec(host(), 2));
        (Just(scenario), sources, meshes, hosts)
    });
    with_sources.prop_map(|(mut scenario, sources, meshes, hosts)| {
        for (group, source) in scenario.flows.iter_mut().zip(sources) {
            source.moves(group);
        }
        let joined = meshes.into_iter().fold(scenario, meshed::join);
        let mut scenario = within_budget(joined);
        for (host, sorts) in hosts.into_iter().flatten() {
            attach_to_host(&mut scenario, host, sorts);
        }
        make_room(&mut scenario);
        scenario
    })
}

/// Shortens a scenario until its applications send no more datagrams than the budget allows.
fn within_budget(scenario: Scenario) -> Scenario {
    const DATAGRAMS: u64 = 20_000;
    let least = Nanos::from_millis(1500);
    let traffic = scenario.flows.iter().filter_map(|group| group.app.as_ref().map(App::traffic));
    let time =
        |traffic| if let Traffic::Datagrams(sent) = traffic { Some(Nanos(sent.every.0 * DATAGRAMS)) } else { None };
    let longest = traffic.filter_map(time).min().unwrap_or(scenario.duration);
    let duration = scenario.duration.min(longest.max(least));
    random::lasting(scenario, duration)
}

/// The parameters of each congestion control.
static PARAMETERS: LazyLock<BTreeMap<String, Vec<Parameter>>> = LazyLock::new(|| {
    let all = library().list().expect("they describe themselves");
    all.into_iter().map(|control| (control.name, control.parameters)).collect()
});

/// A value from the text of a mechanism's description.
fn value(text: &str) -> ParamValue {
    match (text.parse(), text.parse()) {
        (Ok(flag), _) => ParamValue::Bool(flag),
        (_, Ok(number)) => ParamValue::Integer(number),
        _ => ParamValue::Text(text.into()),
    }
}

/// A congestion control that reads its window and its threshold from maps, as none in `algorithms` does.
const WITH_MAPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mechanism/tests/sources/filled_maps.bpf.c");

/// The congestion control of [`WITH_MAPS`], with a window for each connection, and a threshold if there is one.
fn with_maps() -> impl Strategy<Value = MechanismRef> {
    let limit = (0i128..8, 2i128..100).prop_map(|(offset, least)| vec![1, offset, 0, least]);
    (1i128..200, prop::option::of(limit)).prop_map(|(window, limit)| {
        let rates = MapContents::from([("1".into(), vec![window])]);
        let limits = limit.map(|limit| ("limits".into(), MapContents::from([("80, 0x7f000001".into(), limit)])));
        let maps = [("rates".into(), rates)].into_iter().chain(limits).collect();
        MechanismRef { maps, ..MechanismRef::new(MechanismSource::File(WITH_MAPS.into()), BTreeMap::new()) }
    })
}

/// Any of these scenarios, now and then with parameters of congestion controls anywhere in their ranges, ends included.
/// Some have a congestion control that reads maps.
pub fn with_parameters(scenarios: impl Strategy<Value = Scenario>) -> impl Strategy<Value = Scenario> {
    let share = prop_oneof![1 => Just(0.0), 1 => Just(1.0), 3 => 0.0..1.0];
    let shares = prop::collection::vec(prop::option::weighted(0.2, share), 16);
    let maps = prop::option::weighted(0.06, with_maps());
    (scenarios, prop::option::weighted(0.4, shares), maps).prop_map(|(mut scenario, shares, maps)| {
        for group in scenario.flows.iter_mut() {
            let MechanismSource::Builtin(name) = &group.cc.source else { continue };
            let shares = shares.iter().flatten().cycle();
            let chosen = PARAMETERS[name].iter().zip(shares);
            let chosen = chosen.filter_map(|(one, share)| Some((one.name.clone(), value(&one.at((*share)?)))));
            group.cc.params = chosen.collect();
        }
        let takes_it = |group: &&mut FlowGroup| group.cc.source != MechanismSource::None;
        for (group, cc) in scenario.flows.iter_mut().filter(takes_it).zip(maps) {
            group.cc = cc;
        }
        scenario
    })
}

fn nanos(low: f64, high: f64) -> impl Strategy<Value = Nanos> {
    log_uniform(low * 1e6, high * 1e6).prop_map(|ns| Nanos(ns as u64))
}

fn bytes(low: f64, high: f64) -> impl Strategy<Value = Bytes> {
    log_uniform(low, high).prop_map(|bytes| Bytes(bytes as u64))
}

fn source() -> impl Strategy<Value = Source> {
    let writer = log_uniform(1e3, 2e7).prop_map(|rate| Source::Writer(Rate(rate as u64)));
    prop_oneof![
        4 => Just(Source::Transfer),
        1 => writer,
        1 => arrivals(),
        1 => datagrams().prop_map(Source::App),
        2 => requests().prop_map(Source::App),
    ]
}

fn arrivals() -> impl Strategy<Value = Source> {
    let sizes = prop_oneof![
        (bytes(100.0, 3e4), 1.05f64..4.0).prop_map(|(mean, shape)| Sizes::Pareto(Pareto {
            mean,
            shape,
            most: Some(Bytes(20 * mean.0))
        })),
        (bytes(100.0, 3e4), 0.1f64..2.0).prop_map(|(mean, sigma)| Sizes::Lognormal(Lognormal { mean, sigma })),
        bytes(100.0, 3e4).prop_map(|mean| Sizes::Exponential(Exponential { mean })),
    ];
    (log_uniform(0.3, 10.0), sizes).prop_map(|(rate, sizes)| {
        Source::Arrivals(Arrivals::Poisson(Poisson { rate: Frequency((rate * 1e6) as u64) }), sizes)
    })
}

fn datagrams() -> impl Strategy<Value = App> {
    let timed = || (nanos(2.0, 2000.0), (28u64..1501).prop_map(Bytes));
    let udp = (prop::sample::select(&DATAGRAM_RATES[..]), 28u64..1501)
        .prop_map(|(rate, packet)| App::Udp(Udp { rate: Rate(rate), packet: Bytes(packet) }));
    prop_oneof![
        timed().prop_map(|(every, packet)| App::Ping(Ping { every, packet })),
        timed().prop_map(|(every, packet)| App::Voice(Voice { every, packet })),
        udp
    ]
}

fn requests() -> impl Strategy<Value = App> {
    let whens_full = [WhenFull::Wait, WhenFull::Skip, WhenFull::Delay];
    let messages = || (bytes(1.0, 1e5), bytes(1.0, 3e5));
    let periodic = (nanos(2.0, 2000.0), prop::sample::select(whens_full.to_vec()), messages()).prop_map(
        |(every, when_full, (request, response))| App::Messenger(Messenger { every, when_full, request, response }),
    );
    let chunks = (nanos(0.001, 500.0), messages())
        .prop_map(|(pause, (chunk, response))| App::Upload(Upload { chunk, response, pause }));
    let web = (0u32..20, nanos(0.001, 1000.0), 1u32..5, messages()).prop_map(
        |(objects, pause, connections, (request, response))| {
            App::Web(Web { connections, objects, request, response, pause })
        },
    );
    let video = (log_uniform(1e5, 1e6), 1.0f64..20.0, nanos(50.0, 2000.0), 1u64..4, messages()).prop_map(
        |(lowest, more, piece, pieces, (request, _))| {
            let (lowest, highest) = (Rate(lowest as u64), Rate((lowest * more) as u64));
            let (startup, most) = (Nanos(piece.0 * pieces), Nanos(piece.0 * (pieces + 2)));
            App::Video(Video { lowest, highest, piece, startup, most, request })
        },
    );
    let write = (nanos(0.001, 1000.0), bytes(1.0, 1e5));
    let writer = (prop::collection::vec(write, 1..8), bytes(1.0, 1e5)).prop_map(|(writes, response)| {
        let write = |at: &mut Nanos, (gap, size)| {
            *at += gap;
            Some(Write { at: *at, size })
        };
        App::Writer(Writer { writes: writes.into_iter().scan(Nanos::ZERO, write).collect(), response })
    });
    prop_oneof![periodic, chunks, writer, web, video]
}

impl Source {
    /// Makes the group's flows send data of this source.
    fn moves(self, group: &mut FlowGroup) {
        match self {
            Source::Transfer => {}
            Source::Writer(rate) => group.write_rate = Some(rate),
            Source::Arrivals(arrivals, sizes) => {
                (group.arrivals, group.size, group.sizes) = (Some(arrivals), None, Some(sizes));
                (group.count, group.stagger, group.start_spread) = (1, Nanos::ZERO, Nanos::ZERO);
            }
            Source::App(app) => {
                if app.is_datagrams() {
                    group.cc.source = MechanismSource::None;
                }
                (group.app, group.size, group.access) = (Some(app), None, Access::default());
                (group.window_controller, group.tcp_rmem, group.read_rate) = (None, None, None);
            }
        }
    }
}

/// A host, with the bands of its queue and its classifier if it sorts.
fn host() -> impl Strategy<Value = (Host, Option<(Discipline, &'static str)>)> {
    let band = packets().prop_map(|limit| Discipline::Prio(Prio { bands: 3, limit }));
    let classifiers = ["single", "pfifo_fast", "sorpc", "sorpc_fair"];
    let sorts = prop::option::weighted(0.4, (band, prop::sample::select(classifiers.to_vec())));
    let ring = prop_oneof![Just(0u32), log_uniform(1.0, 300.0).prop_map(|slots| slots as u32)];
    let tuning = prop_oneof![Just(SendTuning::Linux), Just(SendTuning::TwiceCwnd)];
    let lowat = prop::option::of(bytes(1.0, 1e5));
    let buffer = (bytes(4096.0, 1e5), 1.0f64..100.0, tuning, lowat).prop_map(|(default, more, tuning, lowat)| {
        SendBuffer { default, max: Bytes((default.0 as f64 * more) as u64), tuning, notsent_lowat: lowat }
    });
    let switches = any::<[bool; 3]>();
    (switches, ring, prop::option::of(0u8..20), buffer, sorts).prop_map(
        |([small_queues, gso, limits], ring, pacing_shift, send_buffer, sorts)| {
            let byte_queue_limits = limits && ring > 0;
            let phone = phone_of_2013(Bytes(0));
            let host = Host { small_queues, gso, pacing_shift, ring, byte_queue_limits, send_buffer, ..phone };
            (host, sorts)
        },
    )
}

/// Puts the groups whose paths begin with one link on a host. The link is the first that no other host and no group
/// from a mesh uses.
fn attach_to_host(scenario: &mut Scenario, host: Host, sorts: Option<(Discipline, &'static str)>) {
    let begins = |group: &FlowGroup| group.path[0];
    let in_mesh: Vec<_> = scenario.flows.iter().filter(|group| group.origin.is_some()).map(begins).collect();
    let is_free = |group: &&FlowGroup| group.host.is_none() && !in_mesh.contains(&begins(group));
    let Some(uplink) = scenario.flows.iter().find(is_free).map(begins) else { return };
    let number = scenario.hosts.len();
    for group in scenario.flows.iter_mut().filter(|group| begins(group) == uplink) {
        (group.host, group.access, group.write_rate) = (Some(number), Access::default(), None);
    }
    let link = &mut scenario.links[uplink];
    let impairments = &mut link.forward.impairments;
    (impairments.jitter, impairments.reorder, impairments.duplicate) = (None, None, 0.0);
    (impairments.delays, impairments.slot, impairments.script) = (Vec::new(), None, Vec::new());
    let in_cell = matches!(link.forward.service, Service::Shared(Member::Wifi(_)) | Service::Shared(Member::Lte(_)));
    if let (Service::Shared(Member::Lte(_)), Service::Shared(Member::Lte(_))) =
        (&link.forward.service, &link.reverse.service)
    {
        std::mem::swap(&mut link.forward.service, &mut link.reverse.service);
    }
    if let Some(shared) = scenario.wifi.iter().find_map(|cell| cell.queue.clone()).filter(|_| in_cell) {
        link.reverse.queue = shared;
    }
    let byte_queue_limits = host.byte_queue_limits && !in_cell;
    let mut host = Host { name: format!("h{number}"), uplink, byte_queue_limits, ..host };
    if let Some((bands, classifier)) = sorts {
        link.forward.queue = bands.into();
        host.classifier = Some(control(classifier));
    }
    scenario.hosts.push(host);
}

/// Gives every queue room for a packet, because an application's data goes both ways.
fn make_room(scenario: &mut Scenario) {
    let packets = scenario.flows.iter().map(|group| group.packet.max(group.largest_packet()).0);
    let largest = packets.max().unwrap_or(0).max(LARGEST_ACK);
    let roomy = |queue: &mut Queue| {
        if let Queue::Droptail { limit: Some(Limit::Bytes(limit)), .. } = queue {
            limit.0 = limit.0.max(largest);
        }
        *queue = acceptable(queue.clone(), largest);
    };
    scenario.links.iter_mut().flat_map(|link| [&mut link.forward.queue, &mut link.reverse.queue]).for_each(roomy);
    scenario.wifi.iter_mut().flat_map(|cell| &mut cell.queue).for_each(roomy);
}
