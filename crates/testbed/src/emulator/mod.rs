//! Carries packets between the hosts' network cards and the network, in real time.
//!
//! Two threads do it, one for each end. A packet that is written to a card runs through that host's TCP before the call is back, so
//! its answers are there to be collected at once, with their right time.

pub mod clock;
pub mod direction;
pub mod network;
pub mod priority;
pub mod waiting;
pub mod way;

use crate::emulator::clock::Clock;
use crate::emulator::network::Network;
use crate::emulator::priority::RtPriority;
use crate::emulator::waiting::Waiting;
use crate::host::{End, Pair};
use crate::soundness;
use scenario::model::Scenario;
use scenario::units::Nanos;
use std::io;
use std::sync::{Mutex, MutexGuard};

/// A quiet emulator looks this often whether it is to stop.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);
/// An end looks no more often than this for what the other has sent on a link without delay.
const LEAST_POLL: Nanos = Nanos::from_micros(50);

/// The two threads' common ground.
pub struct Emulator<'a> {
    pairs: &'a [Pair],
    clock: Clock,
    /// What a wait may take too long, to do more at once.
    slack: Nanos,
    /// How long a packet is on its way at least, to the receivers and to the senders.
    delays: [Nanos; 2],
    network: Mutex<Network>,
}

impl<'a> Emulator<'a> {
    /// Hosts and the network between them.
    pub fn new(scenario: &Scenario, pairs: &'a [Pair], network: Network, clock: Clock) -> Emulator<'a> {
        Emulator {
            pairs,
            clock,
            slack: clock.slack(soundness::slack(scenario)),
            delays: [scenario.bottleneck.delay, scenario.reverse.delay].map(|delay| delay.max(LEAST_POLL)),
            network: Mutex::new(network),
        }
    }

    /// Carries packets until `end`, or until `stopped` says so.
    ///
    /// # Errors
    /// When a device fails.
    pub fn run(&self, end: Nanos, stopped: impl Fn() -> bool + Sync) -> io::Result<()> {
        let stopped = &stopped;
        let _awake = self.clock.is_real().then(priority::hold_cpu_latency);
        std::thread::scope(|scope| {
            let receivers = scope.spawn(move || self.serve(End::Receiver, end, stopped));
            let senders = scope.spawn(move || self.serve(End::Sender, end, stopped));
            receivers.join().expect("it does not panic").and(senders.join().expect("it does not panic"))
        })?;
        self.network().close()
    }

    /// What the run has come to.
    pub fn finish(self) -> Network {
        self.network.into_inner().expect("no thread has panicked")
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().expect("no thread panics with the lock")
    }

    fn serve(&self, end: End, until: Nanos, stopped: impl Fn() -> bool) -> io::Result<()> {
        priority::raise(RtPriority::Emulator);
        let mut waiting = Waiting::new(self.slack)?;
        for (number, pair) in self.pairs.iter().enumerate() {
            waiting.watch(&pair.host(end).tun, number)?;
        }
        self.network().watch(end, &waiting, self.pairs.len())?;
        let mut buffer = self.network().buffer();
        let delay = self.delays[end as usize];
        while !stopped() {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            self.hand_over(end, &mut buffer)?;
            let next = {
                let mut network = self.network();
                network.sample(now)?;
                // What the other end sends meanwhile takes its time.
                network.next(end).min(network.next_sample()).min(now + delay.min(LONGEST_SLEEP)).min(until)
            };
            for ready in waiting.until(&self.clock, next)? {
                match ready < self.pairs.len() {
                    true => self.collect(end, ready, &mut buffer)?,
                    // What a queue of the kernel's has let go.
                    false => self.network().collect(end, self.clock.now(), &mut buffer)?,
                }
            }
        }
        Ok(())
    }

    /// Gives the hosts of an end what is due.
    fn hand_over(&self, end: End, buffer: &mut Box<[u8]>) -> io::Result<()> {
        loop {
            let now = self.clock.now();
            let Some(packet) = self.network().due(end, now, buffer)? else { return Ok(()) };
            self.pairs[packet.hosts].host(end).tun.write(&buffer[..packet.length])?;
            self.collect(end, packet.hosts, buffer)?;
        }
    }

    /// Takes what a host has sent.
    fn collect(&self, end: End, hosts: usize, buffer: &mut Box<[u8]>) -> io::Result<()> {
        let tun = &self.pairs[hosts].host(end).tun;
        while let Some(length) = tun.read(buffer)? {
            let now = self.clock.now();
            self.network().enter(end, now, hosts, length, buffer)?;
        }
        Ok(())
    }
}
