//! One run: sets up hosts, mechanisms, emulator and applications, lets them run, and makes the records.

use crate::controls::{self, GroupControl};
use crate::emulator::network::Network;
use crate::emulator::priority::{self, RtPriority};
use crate::emulator::{self, Emulator};
use crate::error::Error;
use crate::flows::apps::{Apps, Flow};
use crate::flows::monitor::FlowMonitor;
use crate::flows::plan::{Hosts, Plan, Planned};
use crate::host::stack;
use crate::host::{Host, Pair};
use crate::ip::Version;
use crate::series::Gathering;
use crate::soundness::{self, Processors};
use crate::timing::clock::{Clock, Time};
use crate::uplink::Uplink;
use measure::{Interval, ReceiverMeter, Sampler, SendBufferMeter, SenderMeter};
use mechanism::Library;
use model::records::{Options, Outcome, Progress, ProgressUpdate, Run};
use model::units::Nanos;
use model::{self, FlowGroup, Scenario, SendBuffer};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the `progress` callback is called.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// The shortest step of a series. Before each step the sampling threads poll the clock for as long as a wake-up may
/// take (`timing::clock`). Much shorter steps would leave no processor to the threads that carry packets.
pub const LEAST_STEP: Nanos = Nanos::from_millis(1);

/// Runs `scenario` with the kernel's TCP, in real or virtual time. The run calls `progress` again and again, which may
/// stop it.
///
/// # Errors
/// If the kernel cannot do what the scenario asks for, if a permission is missing, or if a connection or device fails.
pub fn run(
    scenario: &Scenario,
    library: &Library,
    time: Time,
    options: &Options,
    progress: Progress,
) -> Result<Outcome, Error> {
    check(scenario, kernel::running_version())?;
    kernel::require_hosts().map_err(|error| Error::Machine(error.message))?;
    kernel::clean().map_err(|error| Error::Machine(error.message))?;
    let controls = controls::load(scenario, library)?;
    run_with(scenario, library, &controls, time, options, progress)
}

/// Runs `scenario` like [`run`], with mechanisms that the caller has loaded ([`load`](crate::load_controls)).
///
/// # Errors
/// The errors of [`run`].
pub fn run_with(
    scenario: &Scenario,
    library: &Library,
    controls: &[GroupControl],
    time: Time,
    options: &Options,
    progress: Progress,
) -> Result<Outcome, Error> {
    if let Some(step) = options.series.filter(|step| *step < LEAST_STEP) {
        return Err(Error::Step { step, least: LEAST_STEP });
    }
    let plan = Plan::new(scenario)?;
    let pairs = pairs(scenario, &plan, controls)?;
    let uplinks = uplinks(scenario, &plan, &pairs, library, time)?;
    let clock = Clock::of_run(time).map_err(Error::machine)?;
    let mut network = Network::new(scenario, plan.clone(), monitors(scenario, &plan), time, options)?;
    for (near, uplink) in &uplinks {
        let queue = uplink.queue(near.host, clock.origin()).map_err(Error::machine)?;
        let send_buffers = uplink.send_buffers(clock.origin()).map_err(Error::machine)?;
        network.stand_behind(near.hosts, near.link, queue, send_buffers);
    }
    let links = network.samples();
    let emulator = Emulator::new(scenario, &pairs, network, clock);
    let mut apps = Apps::new(scenario, &plan, &pairs, controls, options.series, clock).map_err(Error::machine)?;
    let sampler = options.series.map(|step| Sampler::new(step, plan.flows.len()));
    let mut gathering = sampler.map(|sampler| Gathering::new(sampler, links, apps.samples()));
    let mut watch = Watch { gathering: gathering.as_mut(), progress };
    let Driven { interrupted, stalls, processors } = drive(scenario.duration, clock, &emulator, &mut apps, &mut watch)?;
    let mut network = emulator.finish();
    if interrupted {
        return Err(Error::Interrupted);
    }
    let cpu_idle_percent = processors.idle_percent();
    network.finish().map_err(Error::machine)?;
    let (saturation, standstill) = match time {
        Time::Real => (None, soundness::standstill(scenario, stalls)),
        Time::Virtual => (soundness::saturation(cpu_idle_percent), None),
    };
    let complaint = saturation
        .or(late(scenario, &plan, &pairs, &network, &apps).map_err(Error::machine)?)
        .or(standstill)
        .or_else(|| soundness::missed_steps(&apps.steps, options.series))
        .or_else(|| silent(scenario, &plan, &network, &apps))
        .or_else(|| apps.flows.iter().find_map(|flow| flow.stray_ssthresh).map(soundness::skipped_program));
    let rtt = network.around.monitors.iter().map(|monitor| &monitor.sender.rtt);
    let series = gathering.map(|gathering| gathering.finish().finish(rtt, network.queue_delays()));
    let lateness_us_p99 = network.around.lateness.quantile_ms(0.99).map(|ms| ms * 1000.0);
    let flows = flow_records(&plan, controls, &mut network, &mut apps);
    let run = Run {
        scenario: scenario.name.clone(),
        on: match time {
            Time::Real => "kernel".into(),
            Time::Virtual => "vm".into(),
        },
        kernel: Some(kernel::release()),
        seed: scenario.seed,
        duration_s: scenario.duration.as_secs_f64(),
        jain_index: measure::jain_index(&flows),
        sound: complaint.is_none(),
        unsound_because: complaint,
        lateness_us_p99,
        cpu_idle_percent,
        flows,
        links: network.records(),
        nodes: network.node_records(),
    };
    let data_packets = network.around.monitors.iter().map(|monitor| monitor.sender.total_sent()).sum();
    Ok(Outcome { run, series, data_packets })
}

/// Returns why the figures of the run mean nothing because packets were late or missed; none if they are sound.
fn late(
    scenario: &Scenario,
    plan: &Plan,
    pairs: &[Pair],
    network: &Network,
    apps: &Apps,
) -> io::Result<Option<String>> {
    let lived: Vec<_> = plan.flows.iter().zip(&apps.flows).collect();
    soundness::complaint(scenario, &network.around.lateness, network.missed()?, pairs, &lived)
}

/// Makes the records of the flows.
fn flow_records(
    plan: &Plan,
    controls: &[GroupControl],
    network: &mut Network,
    apps: &mut Apps,
) -> Vec<model::records::Flow> {
    let seen = network.around.monitors.iter_mut().zip(&apps.flows).zip(plan.flows.iter().zip(0..));
    let record = |((monitor, flow), (planned, number)): ((_, _), (&Planned, _))| {
        flow_record(number, &controls[planned.group].listed, planned.arrival.at, monitor, flow)
    };
    let mut flows: Vec<_> = seen.map(record).collect();
    for flow in &mut flows {
        flow.app = apps.counted(flow.flow);
    }
    flows
}

/// Checks that a kernel of this version supports everything that `scenario` asks for.
///
/// # Errors
/// The first unsupported key.
pub fn check(scenario: &Scenario, version: (u32, u32)) -> Result<(), Error> {
    for (group, flows) in scenario.flows.iter().enumerate() {
        if let Some(switch) = stack::unswitchable(&flows.stack, version) {
            return Err(Error::Unswitchable { group, switch });
        }
    }
    match scenario.only_in_the_simulator() {
        Some(refused) => Err(Error::Scenario { key: refused.key.clone(), why: refused.to_string() }),
        None => Ok(()),
    }
}

fn pairs(scenario: &Scenario, plan: &Plan, controls: &[GroupControl]) -> Result<Vec<Pair>, Error> {
    let pair = |(hosts, number): (&Hosts, _)| {
        let control = &controls[hosts.group];
        let first = &plan.flows[hosts.flows[0]];
        let pair = match hosts.host {
            Some(host) => shared_pair(number, &scenario.hosts[host], plan, hosts, control.needs_ecn),
            None => {
                let version = Version::of_group(scenario, &first.settings);
                pair(number, &first.settings, version, control.needs_ecn, None)
            }
        };
        let pair = pair.map_err(Error::machine)?;
        control.attach_to(pair.host(first.from().opposite())).map_err(Error::machine)?;
        Ok(pair)
    };
    plan.hosts.iter().zip(0..).map(pair).collect()
}

/// Makes pair `number` of hosts for all flows of a host of the scenario, which is the near one.
fn shared_pair(number: u32, host: &model::Host, plan: &Plan, hosts: &Hosts, ecn: bool) -> io::Result<Pair> {
    let groups = || hosts.flows.iter().map(|flow| &plan.flows[*flow].settings);
    let first = groups().next().expect("a host has flows");
    // The other flows have the same settings. The interface allows the longest packets; the sockets limit theirs.
    let packet = groups().map(|group| group.largest_packet()).max().unwrap_or(first.packet);
    let group = FlowGroup { packet, app: None, reverse: false, ..FlowGroup::clone(first) };
    let pair = pair(number, &group, Version::V4, ecn, None)?;
    let tune = |end: &Host, send_buffer: &SendBuffer| {
        end.namespace.within(|| {
            stack::tune_send_buffers(send_buffer)?;
            group.tcp_rmem.map_or(Ok(()), stack::tune_receive_buffers)
        })
    };
    if host.gso {
        pair.sender.allow_batches()?;
    }
    tune(&pair.sender, &host.send_buffer)?;
    tune(&pair.receiver, &SendBuffer::default())?;
    Ok(pair)
}

/// The near host of a pair, the number of the pair, and the uplink of the host.
struct Near<'a> {
    host: &'a Host,
    hosts: usize,
    link: usize,
}

/// Sets up the queues on the devices of the scenario's hosts.
fn uplinks<'a>(
    scenario: &Scenario,
    plan: &Plan,
    pairs: &'a [Pair],
    library: &Library,
    time: Time,
) -> Result<Vec<(Near<'a>, Uplink)>, Error> {
    let near = plan.hosts.iter().zip(pairs).enumerate();
    let give = |(hosts, (planned, pair)): (usize, (&Hosts, &'a Pair))| {
        let (number, host) = (planned.host?, &pair.sender);
        let near = Near { host, hosts, link: scenario.hosts[number].uplink };
        Some(Uplink::give(scenario, number, host, library, time).map(|uplink| (near, uplink)))
    };
    near.filter_map(give).collect()
}

/// Makes pair `number` of hosts; `preferred` is the congestion control of programs that do not choose one.
pub(crate) fn pair(
    number: u32,
    group: &FlowGroup,
    version: Version,
    ecn: bool,
    preferred: Option<&str>,
) -> io::Result<Pair> {
    let mtu = group.largest_packet().0 as u32;
    let (near, far) = (version.address(0, number), version.address(1, number));
    let sender = Host::new(near, far, mtu, &group.stack, ecn, preferred)?;
    let receiver = Host::new(far, near, mtu, &group.stack, ecn, preferred)?;
    if let Some(tcp_rmem) = group.tcp_rmem {
        receiver.namespace.within(|| stack::tune_receive_buffers(tcp_rmem))?;
    }
    if group.app.is_some() {
        sender.namespace.within(|| stack::tune_send_buffers(&SendBuffer::default()))?;
    }
    Ok(Pair { sender, receiver, reverse: group.reverse })
}

fn monitors(scenario: &Scenario, plan: &Plan) -> Vec<FlowMonitor> {
    let monitor = |planned: &Planned| {
        let Planned { settings, arrival, .. } = planned;
        let sender = SenderMeter::new(Interval::new(scenario, None), arrival.at);
        let receiver = ReceiverMeter::new(Interval::new(scenario, settings.stop));
        let mut monitor = FlowMonitor::new(sender, receiver, arrival.size.map(|size| size.0));
        monitor.send_buffer =
            planned.sends_from_host().then(|| SendBufferMeter::new(Interval::new(scenario, settings.stop), arrival.at));
        monitor
    };
    plan.flows.iter().map(monitor).collect()
}

/// Returns why nothing was measured, if an application opened a flow but the emulator did not even see its SYN.
fn silent(scenario: &Scenario, plan: &Plan, network: &Network, apps: &Apps) -> Option<String> {
    let late = scenario.duration.since(emulator::LONGEST_SLEEP);
    let flows = plan.flows.iter().zip(&apps.flows).zip(&network.around.monitors);
    let silent =
        flows.filter(|((planned, flow), monitor)| flow.opened && planned.arrival.at < late && !monitor.has_begun);
    soundness::nothing_carried(silent.count())
}

/// How a run went, apart from its packets.
struct Driven {
    /// Whether `progress` stopped the run.
    interrupted: bool,
    /// The total time for which the emulator stood still.
    stalls: Nanos,
    /// The processors' idle time since the start of the run.
    processors: Processors,
}

/// Reports the progress of a run to the caller.
struct Watch<'a, 'p> {
    gathering: Option<&'a mut Gathering>,
    progress: Progress<'p>,
}

impl Watch<'_, '_> {
    /// Reports the steps that both threads have sampled. Returns whether the caller stops the run.
    fn steps(&mut self, now: Nanos) -> bool {
        let mut stops = false;
        while let Some(step) = self.gathering.as_mut().and_then(|gathering| gathering.next()) {
            stops |= (self.progress)(ProgressUpdate { now, step: Some(step) }).is_break();
        }
        stops
    }

    /// Reports the present time. Returns whether the caller stops the run.
    fn time(&mut self, now: Nanos) -> bool {
        (self.progress)(ProgressUpdate { now, step: None }).is_break()
    }
}

/// Lets the emulator and the applications run until `end`, until one of them fails, or until the caller stops the run.
fn drive(end: Nanos, clock: Clock, emulator: &Emulator, apps: &mut Apps, watch: &mut Watch) -> Result<Driven, Error> {
    let stop = AtomicBool::new(false);
    let stopped = || stop.load(Ordering::Relaxed);
    let driven = std::thread::scope(|scope| {
        let carrying = scope.spawn(|| {
            // The thread that ends first ends the other: neither can go on alone.
            let result = emulator.run(end, stopped);
            stop.store(true, Ordering::Relaxed);
            result
        });
        let living = scope.spawn(|| {
            priority::raise(RtPriority::Application);
            clock.wait_for_start();
            let result = apps.run(end, stopped);
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            result
        });
        clock.wait_for_start();
        let processors = Processors::watch();
        let mut interrupted = false;
        while !stopped() && !interrupted {
            std::thread::sleep(TICK);
            let now = clock.now().min(end);
            // In virtual time nobody watches, and reporting would take time from the run.
            interrupted = clock.is_real() && watch.steps(now) || watch.time(now);
        }
        stop.store(true, Ordering::Relaxed);
        living.join().expect("the applications do not panic")?;
        let stalls = carrying.join().expect("the emulator does not panic")?;
        interrupted |= watch.steps(clock.now().min(end));
        Ok::<_, io::Error>(Driven { interrupted, stalls, processors })
    });
    driven.map_err(Error::machine)
}

fn flow_record(number: u32, cc: &str, start: Nanos, monitor: &mut FlowMonitor, flow: &Flow) -> model::records::Flow {
    monitor.refused(&flow.refused);
    monitor.measured(&flow.round_trips);
    let sender = &mut monitor.sender;
    // An acknowledgement after the application has stopped does not complete the flow.
    let completed_at = monitor.completed_at.filter(|at| flow.stopped_at.is_none_or(|stopped| *at <= stopped));
    let ended = completed_at.or(flow.stopped_at);
    for &(at, cwnd) in flow.windows.iter().take_while(|(at, _)| ended.is_none_or(|ended| *at <= ended)) {
        sender.cwnd(at, cwnd);
    }
    match (completed_at, flow.stopped_at) {
        (Some(at), _) => sender.complete(at, start),
        (None, Some(at)) => sender.stop(at),
        (None, None) => {}
    }
    sender.timeouts = flow.timeouts;
    let mut receiver = monitor.receiver.clone();
    receiver.delivered_bytes = flow.receiver_meter.delivered_bytes;
    let mut record = measure::flow_record(number, cc, sender, &receiver, monitor.lost);
    record.send_buffer = monitor.send_buffer.as_ref().map(SendBufferMeter::stats);
    record
}
