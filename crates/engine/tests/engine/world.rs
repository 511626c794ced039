//! Scenarios to start from, and ways to run them.

use mechanism::Library;
use model::units::{Bytes, Nanos, Rate};
use model::{DuplexLink, FlowGroup, Limit, Link, Loss, MechanismRef, MechanismSource, ParamValue, Queue, Scenario};
use model::{Emulator, Host, SendBuffer, SendTuning, Service, Transmitter};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;
use unbloat_engine::packet::{Ack, Data, flag};
use unbloat_engine::tap::{PacketEvent, Tap};
use unbloat_engine::{Options, Outcome};

static LIBRARY: LazyLock<Library> =
    LazyLock::new(|| Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms")));

/// The library of the built-in congestion controls.
pub fn library() -> &'static Library {
    &LIBRARY
}

/// A link without loss, mark or bound.
pub fn link(name: &str, mbit: f64, delay: Nanos) -> Link {
    Link {
        name: name.into(),
        service: Service::Own(Transmitter::Rate(Rate((mbit * 1e6) as u64))),
        delay,
        queue: Queue::Droptail { limit: None, ecn_threshold: None },
        loss: Loss::NONE,
        impairments: Default::default(),
    }
}

/// A bounded queue that never marks.
pub fn droptail(limit: Limit) -> Queue {
    Queue::Droptail { limit: Some(limit), ecn_threshold: None }
}

/// A built-in congestion control, without parameters.
pub fn control(name: &str) -> MechanismRef {
    MechanismRef::new(MechanismSource::Builtin(name.into()), Default::default())
}

/// A built-in congestion control with parameters.
pub fn control_with(name: &str, params: &[(&str, ParamValue)]) -> MechanismRef {
    let params = params.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
    MechanismRef { params, ..control(name) }
}

/// A congestion control with a constant window of `packets` packets.
pub fn fixed_window(packets: i64) -> MechanismRef {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/fixed_window.bpf.c"));
    let params = [("window".to_string(), ParamValue::Integer(packets))];
    MechanismRef::new(MechanismSource::File(path), params.into())
}

/// A congestion control with a window of `window` packets that shows one more than a member of its socket, as ssthresh.
pub fn socket_seen(window: i64, what: Seen) -> MechanismRef {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources/socket_seen.bpf.c"));
    let params = [("window", window), ("what", what as i64)];
    let params = params.map(|(name, value)| (name.to_string(), ParamValue::Integer(value)));
    MechanismRef::new(MechanismSource::File(path), params.into())
}

/// The member that [`socket_seen`] shows.
#[derive(Clone, Copy)]
pub enum Seen {
    ReorderingSteps,
    Delivered,
    DelayedSamples,
    RetransmittedSamples,
    NoMinimum,
    BytesAcked,
    BytesRetransmitted,
    PrrOut,
}

/// One endless flow of 1500-byte packets.
pub fn flow(cc: &str) -> FlowGroup {
    FlowGroup::bulk(control(cc))
}

/// One Reno flow over 10 Mbit/s and 40 ms there and back, with a queue that never drops.
pub fn scenario(seconds: u64) -> Scenario {
    Scenario {
        compile: Default::default(),
        name: "test".into(),
        duration: Nanos::from_secs(seconds),
        warmup: Nanos::ZERO,
        seed: 1,
        emulator: Emulator::Unbloat,
        wifi: vec![],
        links: vec![DuplexLink {
            forward: link("bottleneck", 10.0, Nanos::from_millis(20)),
            reverse: link("bottleneck.reverse", 1000.0, Nanos::from_millis(20)),
        }],
        lte: vec![],
        hosts: vec![],
        meshes: vec![],
        flows: vec![flow("reno")],
    }
}

/// Runs a scenario with a tap.
pub fn watch<T: Tap>(scenario: &Scenario, options: &Options, tap: T) -> (Outcome, T) {
    unbloat_engine::watch(scenario, &LIBRARY, options, &mut |_| ControlFlow::Continue(()), tap)
        .unwrap_or_else(|e| panic!("{e:?}"))
}

/// Runs a scenario.
pub fn run(scenario: &Scenario, options: &Options) -> Outcome {
    unbloat_engine::run(scenario, &LIBRARY, options, &mut |_| ControlFlow::Continue(()))
        .unwrap_or_else(|e| panic!("{e:?}"))
}

/// Runs a scenario, and hashes its events.
pub fn fingerprint(scenario: &Scenario, options: &Options) -> (Outcome, u64) {
    unbloat_engine::fingerprint(scenario, &LIBRARY, options, &mut |_| ControlFlow::Continue(()))
        .unwrap_or_else(|e| panic!("{e:?}"))
}

/// Runs a scenario for its records and a series.
pub fn run_with_series(scenario: &Scenario, step: Nanos) -> (model::records::Run, model::series::Series) {
    let outcome = run(scenario, &Options { series: Some(step), ..Options::default() });
    (outcome.run, outcome.series.expect("asked for"))
}

/// A script that decides which data packets are lost as they leave.
type Losses<'a> = Box<dyn FnMut(Nanos, &Data) -> bool + 'a>;

/// A tap that records the packets that hosts sent and got, and loses the data packets that its script names.
///
/// The script is in a box, because for each type of script the compiler would make another simulator.
pub struct Script<'a> {
    loses: Losses<'a>,
    /// Data packets, with the time at which they left the sender.
    pub sent: Vec<(Nanos, Data)>,
    /// Data packets, with the time at which they reached the receiver.
    pub arrived: Vec<(Nanos, Data)>,
    /// Acknowledgements, with the time at which they left the receiver.
    pub acks: Vec<(Nanos, Ack)>,
    /// Acknowledgements, with the time at which they reached the sender.
    pub returned: Vec<(Nanos, Ack)>,
}

impl<'a> Script<'a> {
    /// A script whose `loses` sees every data packet as it leaves, SYNs included.
    pub fn new(loses: impl FnMut(Nanos, &Data) -> bool + 'a) -> Script<'a> {
        Script { loses: Box::new(loses), sent: vec![], arrived: vec![], acks: vec![], returned: vec![] }
    }

    /// Time and number of the segments that left for a second time.
    pub fn retransmissions(&self) -> Vec<(Nanos, u32)> {
        self.sent.iter().filter(|(_, d)| d.flags & flag::RETRANSMISSION != 0).map(|(at, d)| (*at, d.segment)).collect()
    }
}

impl Tap for Script<'_> {
    fn data(&mut self, now: Nanos, event: PacketEvent, data: &Data) {
        match event {
            PacketEvent::Sent => self.sent.push((now, *data)),
            PacketEvent::Arrived => self.arrived.push((now, *data)),
            _ => {}
        }
    }

    fn ack(&mut self, now: Nanos, event: PacketEvent, ack: &Ack) {
        match event {
            PacketEvent::Sent => self.acks.push((now, *ack)),
            PacketEvent::Arrived => self.returned.push((now, *ack)),
            _ => {}
        }
    }

    fn loses(&mut self, now: Nanos, data: &Data) -> bool {
        (self.loses)(now, data)
    }
}

/// Reports whether a packet has data, and does not belong to the handshake.
pub fn is_data(data: &Data) -> bool {
    !data.is_handshake()
}

/// A script that loses the first transmissions of segments: `plan` has a segment and their number.
pub fn losing<const N: usize>(mut plan: [(u32, u32); N]) -> impl FnMut(Nanos, &Data) -> bool {
    move |_, data| {
        let planned = plan.iter_mut().find(|(segment, times)| is_data(data) && *segment == data.segment && *times > 0);
        planned.map(|(_, times)| *times -= 1).is_some()
    }
}

/// A host behind the first link, as in the dissertation on SORPC. It has a send buffer of twice the window, up to
/// `max`, and nothing that keeps its queue short.
pub fn phone_of_2013(max: Bytes) -> Host {
    Host {
        name: "phone".into(),
        uplink: 0,
        classifier: None,
        small_queues: false,
        gso: false,
        pacing_shift: None,
        ring: 0,
        byte_queue_limits: false,
        send_buffer: SendBuffer { max, tuning: SendTuning::TwiceCwnd, ..SendBuffer::default() },
    }
}
