//! Applications: the data that programs send, and the delays that a person experiences. They know
//! no TCP. The caller reports the time and arrivals, and they answer with what to write or send.
//!
//! * `datagrams`: pings, calls and UDP at a constant rate
//! * `requests`: requests and responses on connections, and the times of a client's requests
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

/// A program of any kind.
enum Program {
    Stream(Box<Stream>),
    Client(Box<Client>),
}

/// The programs of a run.
#[derive(Default)]
pub struct Programs {
    programs: Vec<Program>,
    /// The program of each flow, if any; empty if no flow has one.
    of_flow: Vec<Option<u32>>,
}

impl Programs {
    /// Creates the programs of a scenario. `flows` has, for each group, the time at which each flow
    /// opens.
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

    /// Returns the number of programs.
    pub fn count(&self) -> u32 {
        self.programs.len() as u32
    }

    /// Returns when a program acts next.
    pub fn next(&self, program: u32) -> Nanos {
        match &self.programs[program as usize] {
            Program::Stream(stream) => stream.next(),
            Program::Client(client) => client.next(),
        }
    }

    /// Lets a program act whose time has come.
    pub fn wake(&mut self, now: Nanos, program: u32, actions: &mut Vec<Action>) {
        match &mut self.programs[program as usize] {
            Program::Stream(stream) => stream.wake(now, actions),
            Program::Client(client) => client.wake(now, actions),
        }
    }

    /// Returns the program that a flow belongs to.
    pub fn of(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).copied().flatten()
    }

    /// Reports to a program whether its attempt to write succeeded.
    pub fn tried_to_write(&mut self, now: Nanos, flow: u32, was_written: bool) {
        if let Some(client) = self.client(flow) {
            client.tried_to_write(now, was_written);
        }
    }

    /// Reports that all writes of a program to the sender of a flow are in its send buffer.
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

    /// Reports that `bytes` bytes of a flow have reached the program in all.
    pub fn delivered(&mut self, now: Nanos, flow: u32, bytes: u64, actions: &mut Vec<Action>) {
        if let Some(client) = self.client(flow) {
            client.delivered(now, flow, bytes, actions);
        }
    }

    /// Reports that a datagram sent at `sent_at` has reached the other end, and returns whether the
    /// host there answers it. The time of the program's next action may change.
    pub fn datagram_arrived(&mut self, now: Nanos, flow: u32, sent_at: Nanos) -> bool {
        match self.of(flow).map(|program| &mut self.programs[program as usize]) {
            Some(Program::Stream(stream)) => stream.arrived(now, sent_at),
            _ => false,
        }
    }

    /// Reports that a datagram of the other end, sent at `sent_at`, has arrived here. Returns the
    /// round-trip times that this shows.
    pub fn datagram_came_back(&mut self, now: Nanos, flow: u32, sent_at: Nanos) -> Vec<Nanos> {
        match self.of(flow).map(|program| &mut self.programs[program as usize]) {
            Some(Program::Stream(stream)) => stream.came_back(now, sent_at),
            _ => vec![],
        }
    }

    /// Reports whether a flow has datagrams instead of a connection.
    pub fn is_stream(&self, flow: u32) -> bool {
        self.of(flow).is_some_and(|program| matches!(self.programs[program as usize], Program::Stream(_)))
    }

    /// Returns the statistics of the program whose first flow this is.
    pub fn stats(&mut self, flow: u32) -> Option<AppStats> {
        let program = self.of(flow)?;
        match &mut self.programs[program as usize] {
            Program::Stream(stream) => Some(stream.stats()),
            Program::Client(client) => client.stats(flow),
        }
    }
}
