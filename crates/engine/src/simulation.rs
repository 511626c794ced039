//! One run: the hosts, the network between them, and the loop that lets time pass.

use crate::crossing::Parcel;
use crate::network::{Network, Occasion};
use crate::packet::{Ack, Data};
use crate::receiver::{AckDecision, Receiver};
use crate::sender::{Env, Sender};
use crate::tap::{Event, Tap};
use crate::{Error, Outcome};
use measure::{FlowSample, Interval, ReceiverMeter, Sampler, SenderMeter};
use mechanism::{Control, Library};
use scenario::model::Scenario;
use scenario::records::Run;
use scenario::units::Nanos;
use scenario::workload::Opening;
use std::ops::ControlFlow;

/// Events between two calls of `progress`.
const EVENTS_BETWEEN_REPORTS: u32 = 1 << 16;

/// The state of a run.
pub struct Simulation<'a, T> {
    scenario: &'a Scenario,
    /// One per flow group.
    controls: Vec<Control>,
    group_of: Vec<u32>,
    pub senders: Vec<Sender>,
    pub receivers: Vec<Receiver>,
    pub network: Network,
    sampler: Option<Sampler>,
    pub tap: T,
}

impl<'a, T: Tap> Simulation<'a, T> {
    /// Sets up the hosts and loads one instance of each group's congestion control.
    pub fn new(scenario: &'a Scenario, library: &Library, series: Option<Nanos>, tap: T) -> Result<Self, Error> {
        let openings = scenario.openings();
        let counts: Vec<_> = openings.iter().map(|group| group.len() as u32).collect();
        let flows = counts.iter().sum::<u32>() as usize;
        let mut simulation = Simulation {
            scenario,
            controls: vec![],
            group_of: vec![],
            senders: vec![],
            receivers: vec![],
            network: Network::new(scenario, &counts),
            sampler: series.map(|step| Sampler::new(step, flows)),
            tap,
        };
        for (number, group) in scenario.flows.iter().enumerate() {
            let control = library.load(&group.cc, scenario.control_seed(number)).map_err(Error::Mechanism)?;
            simulation.add_group(number as u32, control, &openings[number]);
        }
        for flow in 0..simulation.senders.len() as u32 {
            let source = simulation.network.sender_timer(flow);
            simulation.network.agenda.set(source, simulation.senders[flow as usize].deadline());
        }
        if let Some(sampler) = &simulation.sampler {
            simulation.network.sample_at(sampler.next());
        }
        Ok(simulation)
    }

    fn add_group(&mut self, number: u32, control: Control, openings: &[Opening]) {
        let group = &self.scenario.flows[number as usize];
        let interval = Interval::new(self.scenario, group.stop);
        for opening in openings {
            let flow = self.senders.len() as u32;
            let meter = SenderMeter::new(Interval::new(self.scenario, None), opening.at);
            let sender = Sender::new(self.scenario.seed, flow, opening, group, control.needs_ecn(), meter);
            let own_echo = control.needs_ecn().then_some(&control);
            let meter = ReceiverMeter::new(interval);
            let room = self.scenario.ample_window(group);
            let mss = sender.sk.mss_cache;
            self.receivers.push(Receiver::new(self.scenario.seed, flow, group, room, own_echo, mss, meter));
            self.senders.push(sender);
            self.group_of.push(number);
        }
        self.controls.push(control);
    }

    /// Lets time pass until the end of the run.
    pub fn run(&mut self, progress: &mut dyn FnMut(Nanos) -> ControlFlow<()>) -> Result<(), Error> {
        loop {
            for _ in 0..EVENTS_BETWEEN_REPORTS {
                let (now, occasion) = self.network.first();
                if now > self.scenario.duration {
                    return Ok(());
                }
                self.handle(now, occasion);
            }
            if progress(self.network.first().0.min(self.scenario.duration)).is_break() {
                return Err(Error::Interrupted);
            }
        }
    }

    #[inline]
    fn handle(&mut self, now: Nanos, occasion: Occasion) {
        match occasion {
            Occasion::Forward => self.data_arrives(now),
            Occasion::Reverse => {
                if let Some(ack) = self.network.returned(now) {
                    self.ack_arrives(now, &ack);
                }
            }
            Occasion::Access(link) => self.network.pass_on(now, link, &mut self.tap),
            Occasion::AccessBack(pipe) => {
                if let Some(ack) = self.network.returned_through(pipe) {
                    self.ack_arrives(now, &ack);
                }
            }
            Occasion::Sender(flow) => self.sender_timer(now, flow),
            Occasion::Receiver(flow) => self.receiver_timer(now, flow),
            Occasion::Sample => self.sample(now),
            Occasion::Crossing(way) => match self.network.crossed(now, way) {
                Some(Parcel::Data(data)) => self.take_in::<true>(now, &data),
                Some(Parcel::Ack(ack)) => self.ack_arrives(now, &ack),
                None => {}
            },
        }
    }

    #[inline]
    fn data_arrives(&mut self, now: Nanos) {
        if let Some(data) = self.network.arrived() {
            self.take_in::<false>(now, &data);
        }
    }

    /// A data packet is at its host, having come over the network's `CROSSING` or its own links.
    #[inline]
    fn take_in<const CROSSING: bool>(&mut self, now: Nanos, data: &Data) {
        self.tap.data(now, Event::Arrived, data);
        let control = &self.controls[self.group_of[data.flow as usize] as usize];
        let receiver = &mut self.receivers[data.flow as usize];
        let (early, answers): AckDecision = receiver.on_data(control, now, data);
        if let Some(ack) = early {
            self.network.reply_out_of_turn(now, ack, &mut self.tap);
        }
        if answers {
            let ack = receiver.acknowledge(now);
            match CROSSING {
                false => self.network.reply(now, ack, &mut self.tap),
                true => self.network.reply_across(now, ack, &mut self.tap),
            }
        }
        let deadline = receiver.deadline();
        let source = self.network.receiver_timer(data.flow);
        self.network.agenda.no_later_than(source, deadline);
    }

    #[inline]
    fn ack_arrives(&mut self, now: Nanos, ack: &Ack) {
        self.tap.ack(now, Event::Arrived, ack);
        self.with_sender(now, ack.flow, |sender, env| sender.on_ack(env, ack));
        let deadline = self.senders[ack.flow as usize].deadline();
        let source = self.network.sender_timer(ack.flow);
        self.network.agenda.no_later_than(source, deadline);
    }

    fn sender_timer(&mut self, now: Nanos, flow: u32) {
        // The agenda may hold an earlier time than the timer has by now.
        if self.senders[flow as usize].deadline() <= now {
            self.with_sender(now, flow, |sender, env| sender.wake(env));
        }
        let deadline = self.senders[flow as usize].deadline();
        self.network.agenda.set(self.network.sender_timer(flow), deadline);
    }

    #[inline]
    fn with_sender(&mut self, now: Nanos, flow: u32, act: impl FnOnce(&mut Sender, &mut Env<T>)) {
        let control = &self.controls[self.group_of[flow as usize] as usize];
        control.set_now(crate::clock::ktime(now));
        let mut env = Env { now, control, network: &mut self.network, tap: &mut self.tap };
        act(&mut self.senders[flow as usize], &mut env);
        #[cfg(debug_assertions)]
        self.senders[flow as usize].check_invariants(now);
    }

    fn receiver_timer(&mut self, now: Nanos, flow: u32) {
        let receiver = &mut self.receivers[flow as usize];
        let ack = receiver.wake(now);
        let deadline = receiver.deadline();
        if let Some(ack) = ack {
            self.network.reply_out_of_turn(now, ack, &mut self.tap);
        }
        self.network.agenda.set(self.network.receiver_timer(flow), deadline);
    }

    /// Of flows that come at random, which may be many, only those that have lived since the last sample get one.
    fn sample(&mut self, now: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            let before = now.since(sampler.step());
            let many = |flow: u32| self.scenario.flows[self.group_of[flow as usize] as usize].arrivals.is_some();
            let lives = |s: &Sender| s.meter.opened <= now && (!many(s.number()) || s.has_lived_since(before));
            let ends = self.senders.iter().zip(&self.receivers).filter(|(sender, _)| lives(sender));
            let links = self.network.samples(now);
            sampler.take(now, ends.map(|(s, r)| flow_sample(s, r)), links.into_iter());
            self.network.sample_at(sampler.next());
        }
    }

    /// Makes the records. `fingerprint` is taken from the tap by the caller.
    pub fn finish(mut self) -> (Outcome, T) {
        let mut flows = vec![];
        for (flow, (sender, receiver)) in self.senders.iter_mut().zip(&mut self.receivers).enumerate() {
            let control = &self.controls[self.group_of[flow] as usize];
            flows.push(measure::flow_record(
                flow as u32,
                control.name(),
                &mut sender.meter,
                &receiver.meter,
                self.network.lost(flow as u32),
            ));
            sender.close(control);
            receiver.close(control);
        }
        let run = Run {
            scenario: self.scenario.name.clone(),
            on: "simulator".into(),
            kernel: None,
            seed: self.scenario.seed,
            duration_s: self.scenario.duration.as_secs_f64(),
            jain_index: measure::jain_index(&flows),
            sound: true,
            unsound_because: None,
            lateness_us_p99: None,
            cpu_idle_percent: None,
            links: self.network.records().into(),
            flows,
        };
        let data_packets = self.senders.iter().map(|s| s.meter.total_sent()).sum();
        let series = self.sampler.map(|sampler| {
            sampler.finish(self.senders.iter().map(|s| &s.meter.rtt), self.network.queue_delays().into_iter())
        });
        (Outcome { run, series, data_packets, fingerprint: None }, self.tap)
    }
}

/// A flow at this instant, for the series.
fn flow_sample(sender: &Sender, receiver: &Receiver) -> FlowSample {
    let sk = &sender.sk;
    FlowSample {
        flow: sender.number(),
        cwnd: sk.snd_cwnd,
        ssthresh: (sk.snd_ssthresh < mechanism::sock::INFINITE_SSTHRESH).then_some(sk.snd_ssthresh),
        in_flight: sk.packets_in_flight(),
        rtt_us: sender.meter.latest_rtt_us,
        srtt_ms: (sk.srtt_us > 0).then_some(sk.srtt_us as f64 / 8000.0),
        total_delivered: receiver.meter.total_delivered,
        total_retransmitted: sender.meter.total_retransmitted,
    }
}
