//! Applications: what programs send, and what a person waits for. They know no TCP: they are told when time has come
//! and what has arrived, and answer with what is to be written or sent.
//!
//! * `datagrams`: pings, calls and UDP at a constant rate
//! * `requests`: requests and responses on connections, and when a client asks for what
//! * `video`: the player of a film
//! * `slow_writer`: a sensor that writes at a rate of its own
//!
//! ```
//! use unbloat_apps::SlowWriter;
//! use model::units::{Bytes, Nanos, Rate};
//!
//! // 100 bytes at 800 bit/s are one segment a second.
//! let mut sensor = SlowWriter::new(Rate(800), 100, Some(Bytes(300)), Nanos::ZERO);
//! assert_eq!(sensor.write(Nanos::from_secs(1), 0), 2);
//! assert_eq!(sensor.next(), Some(Nanos::from_secs(2)));
//! ```

#![forbid(unsafe_code)]

mod action;
mod datagrams;
mod requests;
mod slow_writer;
mod video;

pub use action::Action;
use datagrams::Stream;
use model::app::Traffic;
use model::records::AppStats;
use model::units::Nanos;
use model::{FlowGroup, Scenario};
use requests::Client;
pub use slow_writer::SlowWriter;

/// One program.
enum Program {
    Stream(Box<Stream>),
    Client(Box<Client>),
}

/// The programs of a run.
#[derive(Default)]
pub struct Programs {
    programs: Vec<Program>,
    /// The program of each flow that has one; empty if none has.
    of_flow: Vec<Option<u32>>,
}

impl Programs {
    /// Those of a scenario whose groups have these flows, each with the time at which it opens.
    pub fn new(scenario: &Scenario, flows: &[Vec<Nanos>]) -> Programs {
        let mut all = Programs::default();
        if scenario.flows.iter().all(|group| group.app.is_none()) {
            return all;
        }
        let mut first = 0;
        for (group, flows) in scenario.flows.iter().zip(flows) {
            all.add_group(scenario, group, first, flows);
            first += flows.len() as u32;
        }
        all
    }

    fn add_group(&mut self, scenario: &Scenario, group: &FlowGroup, first: u32, flows: &[Nanos]) {
        let Some(app) = &group.app else {
            self.of_flow.extend(vec![None; flows.len()]);
            return;
        };
        let end = group.stop.unwrap_or(scenario.duration).min(scenario.duration);
        let (a_program, traffic) = (app.flows(), app.traffic());
        for (number, opens) in flows.iter().step_by(a_program as usize).enumerate() {
            let first = first + number as u32 * a_program;
            self.of_flow.extend(vec![Some(self.programs.len() as u32); a_program as usize]);
            self.programs.push(match &traffic {
                Traffic::Datagrams(datagrams) => {
                    Program::Stream(Box::new(Stream::new(datagrams, first, *opens, end, scenario)))
                }
                Traffic::Requests(requests) => {
                    Program::Client(Box::new(Client::new(requests, group, first, *opens, end, scenario.warmup)))
                }
            });
        }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.programs.len() as u32
    }

    /// When one of them has something to do.
    pub fn next(&self, program: u32) -> Nanos {
        match &self.programs[program as usize] {
            Program::Stream(stream) => stream.next(),
            Program::Client(client) => client.next(),
        }
    }

    /// Its time has come.
    pub fn wake(&mut self, now: Nanos, program: u32, actions: &mut Vec<Action>) {
        match &mut self.programs[program as usize] {
            Program::Stream(stream) => stream.wake(now, actions),
            Program::Client(client) => client.wake(now, actions),
        }
    }

    /// The program that a flow belongs to.
    pub fn of(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).copied().flatten()
    }

    /// A program has tried to write.
    pub fn tried_to_write(&mut self, now: Nanos, flow: u32, was_written: bool) {
        if let Some(client) = self.client(flow) {
            client.tried_to_write(now, was_written);
        }
    }

    /// All that a program had to write to the sender of a flow is in its send buffer.
    pub fn written(&mut self, now: Nanos, flow: u32) {
        if let Some(client) = self.client(flow) {
            client.written(now);
        }
    }

    fn client(&mut self, flow: u32) -> Option<&mut Client> {
        match self.of(flow).map(|program| &mut self.programs[program as usize]) {
            Some(Program::Client(client)) => Some(client),
            _ => None,
        }
    }

    /// So many bytes of a flow have reached the program in all.
    pub fn delivered(&mut self, now: Nanos, flow: u32, bytes: u64, actions: &mut Vec<Action>) {
        if let Some(client) = self.client(flow) {
            client.delivered(now, flow, bytes, actions);
        }
    }

    /// A datagram that was sent at `sent_at` is at the other end; tells whether its host answers it. The program may
    /// have something to do then.
    pub fn datagram_arrived(&mut self, now: Nanos, flow: u32, sent_at: Nanos) -> bool {
        match self.of(flow).map(|program| &mut self.programs[program as usize]) {
            Some(Program::Stream(stream)) => stream.arrived(now, sent_at),
            _ => false,
        }
    }

    /// A datagram of the other end's that was sent at `sent_at` is here. Gives the round-trip times that this shows.
    pub fn datagram_came_back(&mut self, now: Nanos, flow: u32, sent_at: Nanos) -> Vec<Nanos> {
        match self.of(flow).map(|program| &mut self.programs[program as usize]) {
            Some(Program::Stream(stream)) => stream.came_back(now, sent_at),
            _ => vec![],
        }
    }

    /// Has a flow datagrams in place of a connection?
    pub fn is_stream(&self, flow: u32) -> bool {
        self.of(flow).is_some_and(|program| matches!(self.programs[program as usize], Program::Stream(_)))
    }

    /// What was counted of the program that has this flow as its first.
    pub fn stats(&mut self, flow: u32) -> Option<AppStats> {
        let program = self.of(flow)?;
        match &mut self.programs[program as usize] {
            Program::Stream(stream) => Some(stream.stats()),
            Program::Client(client) => client.stats(flow),
        }
    }
}
