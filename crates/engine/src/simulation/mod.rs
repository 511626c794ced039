//! One run: the hosts, the network between them, and the loop that lets time pass.
//!
//! * `programs`: actions of programs at their hosts, and datagrams
//! * `stepping`: a run that its caller drives
//! * `records`: samples and records

mod programs;
mod records;
mod stepping;

use crate::Error;
use crate::monitor::Monitor;
use crate::packet::{Ack, Data, Packet};
use crate::receiver::{AckDecision, Receiver};
use crate::sender::{Env, Sender};
use crate::tap::{PacketEvent, Silent, Tap};
use apps::Programs;
use measure::{Interval, ReceiverMeter, Sampler, SendBufferMeter, SenderMeter};
use mechanism::{Classifier, Control, Fault, Library, Role, WindowController};
use model::records::{Progress, ProgressUpdate};
use model::units::Nanos;
use model::workload::FlowArrival;
use model::{MechanismRef, MechanismSource, Scenario};
use path::{EventQueue, EventSource, Network, NetworkEvent, PacketId, Topology};
use std::rc::Rc;
pub use stepping::{End, Pause};

/// Events at the hosts between two calls of `progress`.
const EVENTS_BETWEEN_REPORTS: u32 = 1 << 16;

/// A run of a scenario, from its first packet to its records.
///
/// [`run`](crate::run) takes it to its end. To inspect a run, or to play an end of a flow, drive it step by step:
///
/// ```
/// use unbloat_engine::packet::{Ack, Packet};
/// use unbloat_engine::{End, Pause, Simulation};
/// use model::units::Nanos;
///
/// let text = r#"
///     duration = "5s"
///     [link.bottleneck]
///     rate  = "10mbit"
///     delay = "20ms"
///     queue = { limit = "50kb" }
///     [[flows]]
///     cc = "cubic"
/// "#;
/// let experiment = scenario::load_text(text, "text", "".as_ref(), &[])?;
/// let library = mechanism::Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
/// let mut simulation = Simulation::new(&experiment.points[0].scenario, &library)?;
///
/// // The receiver is ours: it acknowledges each segment at once, and offers 64 kB.
/// simulation.detach(End::Receiver(0));
/// let mut next = 0;
/// while let Pause::Arrived(Packet::Data(data)) = simulation.step_until(Nanos::from_secs(5))? {
///     next += u32::from(!data.is_handshake() && data.segment == next);
///     simulation.inject(Ack::answering(&data, next, 65_535));
/// }
///
/// let flow = simulation.flow(0).ok_or("no flow")?;
/// println!("a window of {} packets, and {} arrived", flow.row.cwnd_packets, next);
/// println!("{} packets wait at the link", simulation.links()[0].waiting.1);
/// let (outcome, _) = simulation.finish()?;
/// assert!(outcome.run.links[0].utilisation_percent > 90.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation<'a, T = Silent> {
    scenario: &'a Scenario,
    groups: Vec<Group>,
    /// The classifier of each host, if it has one.
    classifiers: Vec<Option<Rc<Classifier>>>,
    /// The index of each flow's group.
    group_of: Vec<u32>,
    pub(crate) senders: Vec<Sender>,
    pub(crate) receivers: Vec<Receiver>,
    programs: Programs,
    network: Network<Packet>,
    /// The next time at which each sample, sender, receiver and program has something to do. Packets at the same time
    /// go first.
    timers: EventQueue,
    sampler: Option<Sampler>,
    /// The simulated time at the last pause.
    now: Nanos,
    /// The ends of flows that the caller plays.
    foreign: Vec<End>,
    monitor: Monitor<T>,
}

/// State that the flows of a group share.
struct Group {
    control: Control,
    /// The window controller of the group's receivers, if there is one.
    window: Option<WindowController>,
}

/// An actor that has something to do at a time of its own.
enum Timer {
    /// The sampling of the series.
    Sample,
    /// A sender, by the number of its flow.
    Sender(u32),
    /// A receiver, by the number of its flow.
    Receiver(u32),
    /// A program, by its number.
    Program(u32),
    /// The end of the run, or a pause in it, after all other events of its time.
    End,
}

impl Timer {
    /// Gives the timer's number in the event queue of a run: at the same time the lower goes first.
    #[inline]
    fn source(self, flows: u32, programs: u32) -> EventSource {
        match self {
            Timer::Sample => 0,
            Timer::Sender(flow) => 1 + flow,
            Timer::Receiver(flow) => 1 + flows + flow,
            Timer::Program(program) => 1 + 2 * flows + program,
            Timer::End => 1 + 2 * flows + programs,
        }
    }

    #[inline]
    fn of_source(source: EventSource, flows: u32, programs: u32) -> Timer {
        match source {
            0 => Timer::Sample,
            _ if source <= flows => Timer::Sender(source - 1),
            _ if source <= 2 * flows => Timer::Receiver(source - 1 - flows),
            _ if source <= 2 * flows + programs => Timer::Program(source - 1 - 2 * flows),
            _ => Timer::End,
        }
    }
}

/// The reason for which the loop ends.
enum Left {
    /// The loop has carried out its share of events.
    Tired,
    /// The loop has taken a sample.
    Sampled,
    /// A packet has come to an end of a flow that the caller plays.
    Arrived(PacketId),
    /// The run has reached its end, or the pause.
    Ended,
}

impl<'a> Simulation<'a> {
    /// Sets up the hosts, and the congestion controls of `library`, at the time 0.
    ///
    /// # Errors
    /// The scenario uses a feature that only the kernel has, or a mechanism does not build or load.
    pub fn new(scenario: &'a Scenario, library: &Library) -> Result<Self, Error> {
        Simulation::watched(scenario, library, None, Silent)
    }
}

impl<'a, T: Tap> Simulation<'a, T> {
    /// Sets up a run whose packet events `tap` sees, with a sample at every step of `series`.
    ///
    /// # Errors
    /// The errors of [`new`](Simulation::new).
    pub fn watched(scenario: &'a Scenario, library: &Library, series: Option<Nanos>, tap: T) -> Result<Self, Error> {
        if let Some(refused) = scenario.only_in_the_kernel() {
            return Err(Error::OnlyInTheKernel(refused));
        }
        Fault::catch(|| Simulation::set_up(scenario, library, series, tap)).map_err(Error::Fault)?
    }

    /// Sets up the hosts and loads one instance of each group's congestion control.
    fn set_up(scenario: &'a Scenario, library: &Library, series: Option<Nanos>, tap: T) -> Result<Self, Error> {
        let arrivals = scenario.flow_arrivals();
        let counts: Vec<_> = arrivals.iter().map(|group| group.len() as u32).collect();
        let flows = counts.iter().sum::<u32>() as usize;
        let opens: Vec<Vec<_>> = arrivals.iter().map(|group| group.iter().map(|flow| flow.at).collect()).collect();
        let programs = Programs::new(scenario, &opens);
        let mut simulation = Simulation {
            scenario,
            groups: vec![],
            classifiers: vec![],
            group_of: vec![],
            senders: vec![],
            receivers: vec![],
            network: Topology::new(scenario, &counts).network(),
            timers: EventQueue::new(2 + 2 * flows as u32 + programs.count()),
            programs,
            sampler: series.map(|step| Sampler::new(step, flows)),
            now: Nanos::ZERO,
            foreign: vec![],
            monitor: Monitor::new(tap, flows),
        };
        simulation.load_classifiers(library)?;
        for (number, group) in scenario.flows.iter().enumerate() {
            // Senders of datagrams never open, so they call no congestion control.
            let inert = MechanismRef { source: MechanismSource::Builtin("reno".into()), ..group.cc.clone() };
            let cc = if group.cc.source == MechanismSource::None { &inert } else { &group.cc };
            let control = library.load(cc, scenario.control_seed(number));
            let mut control = control.map_err(|error| error.of(Role::CongestionControl(number)))?;
            control.set_group(number);
            let load = |controller| library.load_window(controller, scenario.control_seed(number));
            let window = group.window_controller.as_ref().map(load).transpose();
            let mut window = window.map_err(|error| error.of(Role::WindowController(number)))?;
            if let Some(window) = &mut window {
                window.set_group(number);
            }
            simulation.add_group(number as u32, Group { control, window }, &arrivals[number]);
        }
        for flow in 0..simulation.senders.len() as u32 {
            simulation.set_timer(Timer::Sender(flow), simulation.senders[flow as usize].deadline());
        }
        (0..simulation.programs.count()).for_each(|program| simulation.set_program_timer(program));
        if let Some(sampler) = &simulation.sampler {
            let first = sampler.next();
            simulation.set_timer(Timer::Sample, first);
        }
        simulation.set_timer(Timer::End, scenario.duration);
        Ok(simulation)
    }

    fn load_classifiers(&mut self, library: &Library) -> Result<(), Error> {
        for (number, host) in self.scenario.hosts.iter().enumerate() {
            // Faults number the hosts after the groups.
            let place = self.scenario.flows.len() + number;
            let load = |classifier| library.load_classifier(classifier, self.scenario.control_seed(place));
            let loaded = host.classifier.as_ref().map(load).transpose();
            let mut classifier = loaded.map_err(|error| error.of(Role::Classifier(host.name.clone())))?;
            if let Some(classifier) = &mut classifier {
                classifier.set_place(place);
            }
            self.classifiers.push(classifier.map(Rc::new));
        }
        Ok(())
    }

    fn add_group(&mut self, number: u32, shared: Group, arrivals: &[FlowArrival]) {
        let Group { control, .. } = &shared;
        let whole = &self.scenario.flows[number as usize];
        let interval = Interval::new(self.scenario, whole.stop);
        for (arrival, place) in arrivals.iter().zip(0..) {
            let flow = self.senders.len() as u32;
            let group = &whole.of_flow(place);
            let mut meter = SenderMeter::new(Interval::new(self.scenario, None), arrival.at);
            meter.loss_events = group.origin.is_some().then_some(0);
            let ahead = self.scenario.written_ahead(group);
            let sends = &group.with_payload(self.scenario.segment_payload(group));
            let mut sender = Sender::new(self.scenario.seed, flow, arrival, sends, control.needs_ecn(), ahead, meter);
            let own_echo = control.needs_ecn().then_some(control);
            let meter = ReceiverMeter::new(interval);
            let receives = &whole.of_receiver(place);
            let buffer = self.scenario.receive_buffer(receives);
            let mss = sender.sk.mss_cache;
            let mut receiver = Receiver::new(self.scenario.seed, flow, receives, buffer, own_echo, mss, meter);
            if let Some(number) = group.host {
                let (host, classifier) = (&self.scenario.hosts[number], &self.classifiers[number]);
                if group.reverse {
                    receiver.attach_to_host(host, classifier.as_deref());
                } else {
                    let (uplink, meter) =
                        (&self.scenario.links[host.uplink].forward, SendBufferMeter::new(interval, arrival.at));
                    sender.attach_to_host(host, uplink, classifier.clone(), meter);
                }
            }
            match &group.app {
                Some(app) if !app.is_datagrams() => {
                    sender.serve_application(SendBufferMeter::new(interval, arrival.at))
                }
                Some(_) => sender.stay_closed(),
                None => {}
            }
            self.receivers.push(receiver);
            self.senders.push(sender);
            self.group_of.push(number);
        }
        self.groups.push(shared);
    }

    #[inline]
    fn set_timer(&mut self, timer: Timer, at: Nanos) {
        self.timers.set(timer.source(self.senders.len() as u32, self.programs.count()), at);
    }

    /// Sets a timer to `at`, unless it is due earlier.
    #[inline(always)]
    fn set_timer_no_later(&mut self, timer: Timer, at: Nanos) {
        self.timers.no_later_than(timer.source(self.senders.len() as u32, self.programs.count()), at);
    }

    /// Lets time pass until the end of the run.
    pub(crate) fn run(&mut self, progress: Progress) -> Result<(), Error> {
        Fault::catch(|| self.run_to_end(progress)).map_err(Error::Fault)?
    }

    fn run_to_end(&mut self, progress: Progress) -> Result<(), Error> {
        loop {
            let sampled = match self.carry_out_events() {
                Left::Ended => return Ok(()),
                left => matches!(left, Left::Sampled),
            };
            let now = self.network.next().min(self.timers.first().0);
            let step = self.sampler.as_ref().filter(|_| sampled).map(Sampler::latest);
            if progress(ProgressUpdate { now, step }).is_break() {
                return Err(Error::Interrupted);
            }
        }
    }

    /// The loop: carries out one event after the other, until its caller has to act.
    fn carry_out_events(&mut self) -> Left {
        for _ in 0..EVENTS_BETWEEN_REPORTS {
            match self.network.run_until(self.timers.first().0, &mut self.monitor) {
                Some(NetworkEvent::Delivered(now, id)) => {
                    if !self.foreign.is_empty() && self.arrives_abroad(id) {
                        self.now = now;
                        return Left::Arrived(id);
                    }
                    self.packet_arrives(now, id);
                }
                Some(NetworkEvent::Departed(now)) => self.packets_depart(now),
                None => {
                    if let Some(left) = self.timer_expires() {
                        return left;
                    }
                }
            }
        }
        Left::Tired
    }

    /// Delivers a packet at the end of its route.
    #[inline(always)]
    fn packet_arrives(&mut self, now: Nanos, id: PacketId) {
        match *self.network.packets.remove(id) {
            Packet::Data(data) => self.data_arrives(now, &data),
            Packet::Ack(ack) => self.ack_arrives(now, &ack),
            Packet::Datagram(datagram) => self.datagram_arrives(now, &datagram),
        }
    }

    /// Reports to senders the packets that have left their hosts.
    #[cold]
    #[inline(never)]
    fn packets_depart(&mut self, now: Nanos) {
        while let Some(data) = self.monitor.departed.pop() {
            if self.is_foreign(End::Sender(data.flow)) {
                continue;
            }
            self.with_sender(now, data.flow, |sender, env| sender.on_departure(env, &data));
        }
    }

    /// Carries out the work of the next timer.
    fn timer_expires(&mut self) -> Option<Left> {
        let (now, source) = self.timers.first();
        match Timer::of_source(source, self.senders.len() as u32, self.programs.count()) {
            Timer::Sample => {
                self.sample(now);
                return Some(Left::Sampled);
            }
            Timer::Sender(flow) => self.sender_timer(now, flow),
            Timer::Receiver(flow) => self.receiver_timer(now, flow),
            Timer::Program(program) => self.program_timer(now, program),
            Timer::End => return Some(Left::Ended),
        }
        None
    }

    #[inline]
    fn data_arrives(&mut self, now: Nanos, data: &Data) {
        self.monitor.tap.data(now, PacketEvent::Arrived, data);
        let Simulation { groups, group_of, receivers, network, monitor, .. } = self;
        let Group { control, window } = &groups[group_of[data.flow as usize] as usize];
        let receiver = &mut receivers[data.flow as usize];
        let AckDecision { early, is_due } = receiver.on_data(control, now, data);
        if let Some(mut ack) = early {
            receiver.lower_window(window.as_ref(), now, &mut ack);
            reply_first(now, ack, network, monitor);
        }
        if is_due {
            let mut ack = receiver.acknowledge(now);
            receiver.lower_window(window.as_ref(), now, &mut ack);
            reply(now, ack, network, monitor);
        }
        let deadline = receiver.deadline();
        self.set_timer_no_later(Timer::Receiver(data.flow), deadline);
    }

    #[inline]
    fn ack_arrives(&mut self, now: Nanos, ack: &Ack) {
        self.monitor.tap.ack(now, PacketEvent::Arrived, ack);
        self.with_sender(now, ack.flow, |sender, env| sender.on_ack(env, ack));
    }

    fn sender_timer(&mut self, now: Nanos, flow: u32) {
        // The event queue may hold an earlier time than the timer has by now.
        if self.senders[flow as usize].deadline() <= now {
            self.with_sender(now, flow, |sender, env| sender.wake(env));
        }
        let deadline = self.senders[flow as usize].deadline();
        self.set_timer(Timer::Sender(flow), deadline);
    }

    /// Lets a sender act, and sets the timer that wakes it in time after that.
    #[inline]
    fn with_sender(&mut self, now: Nanos, flow: u32, act: impl FnOnce(&mut Sender, &mut Env<T>)) {
        let Group { control, .. } = &self.groups[self.group_of[flow as usize] as usize];
        control.set_now(crate::clock::ktime(now));
        let mut env = Env {
            now,
            jiffies: crate::clock::jiffies(now),
            control,
            network: &mut self.network,
            monitor: &mut self.monitor,
        };
        let sender = &mut self.senders[flow as usize];
        act(sender, &mut env);
        #[cfg(debug_assertions)]
        sender.check_invariants(now);
        let deadline = sender.earliest_deadline();
        if sender.application_has_written() {
            self.program_has_written(now, flow);
        }
        self.set_timer_no_later(Timer::Sender(flow), deadline);
    }

    fn receiver_timer(&mut self, now: Nanos, flow: u32) {
        let receiver = &mut self.receivers[flow as usize];
        let ack = receiver.wake(now);
        let deadline = receiver.deadline();
        if let Some(mut ack) = ack {
            let Group { window, .. } = &self.groups[self.group_of[flow as usize] as usize];
            receiver.lower_window(window.as_ref(), now, &mut ack);
            reply_first(now, ack, &mut self.network, &mut self.monitor);
        }
        self.set_timer(Timer::Receiver(flow), deadline);
        if let Some(program) = self.programs.of(flow) {
            let mut actions = vec![];
            let bytes = self.receivers[flow as usize].meter.total_delivered;
            self.programs.delivered(now, flow, bytes, &mut actions);
            self.act(now, program, &actions);
        }
    }
}

/// Sends a receiver's acknowledgement from its host.
#[inline]
fn reply<T: Tap>(now: Nanos, ack: Ack, network: &mut Network<Packet>, monitor: &mut Monitor<T>) {
    monitor.tap.ack(now, PacketEvent::Sent, &ack);
    network.send(now, ack.route(), Packet::Ack(ack), monitor);
}

/// Cold path: sends an acknowledgement that no data segment triggered, or that leaves before the receiver takes a
/// segment.
#[cold]
#[inline(never)]
fn reply_first<T: Tap>(now: Nanos, ack: Ack, network: &mut Network<Packet>, monitor: &mut Monitor<T>) {
    reply(now, ack, network, monitor);
}
