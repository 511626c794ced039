//! Carries packets between the hosts' network cards and the network, in real time.
//!
//! Two threads do it, one for each end. A packet that is written to a card runs through that host's TCP before the call
//! is back, so its answers are there to be collected at once, with their right time.

mod kernel_port;
pub mod network;
pub mod priority;

use crate::emulator::network::Network;
use crate::emulator::priority::RtPriority;
use crate::host::{End, Pair};
use crate::soundness;
use crate::timing::clock::Clock;
use crate::timing::lateness::Standstill;
use crate::timing::waiting::Waiting;
use scenario::model::Scenario;
use scenario::units::Nanos;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// A quiet emulator looks this often whether it is to stop.
pub const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);
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
            delays: [scenario.least_forward_delay(), scenario.least_reverse_delay()].map(|delay| delay.max(LEAST_POLL)),
            network: Mutex::new(network),
        }
    }

    /// Carries packets until `end`, or until `stopped` says so; gives how long the end that stood still longest did so,
    /// in all.
    ///
    /// # Errors
    /// When a device fails: then both ends stop at once.
    pub fn run(&self, end: Nanos, stopped: impl Fn() -> bool + Sync) -> io::Result<Nanos> {
        let failed = AtomicBool::new(false);
        let stopped = || failed.load(Ordering::Relaxed) || stopped();
        let serve = |side| {
            let served = self.serve(side, end, stopped);
            failed.fetch_or(served.is_err(), Ordering::Relaxed);
            served
        };
        let serve = &serve;
        let _awake = self.clock.is_real().then(priority::hold_cpu_latency);
        let stood_still = std::thread::scope(|scope| {
            let ends = [End::Receiver, End::Sender].map(|side| scope.spawn(move || serve(side)));
            let [receivers, senders] = ends.map(|end| end.join().expect("it does not panic"));
            Ok::<_, io::Error>(receivers?.max(senders?))
        })?;
        self.network().close()?;
        Ok(stood_still)
    }

    /// What the run has come to.
    pub fn finish(self) -> Network {
        self.network.into_inner().expect("no thread has panicked")
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().expect("no thread panics with the lock")
    }

    /// Serves one end; gives how long it stood still.
    fn serve(&self, end: End, until: Nanos, stopped: impl Fn() -> bool) -> io::Result<Nanos> {
        priority::raise(RtPriority::Emulator);
        let mut waiting = Waiting::new(self.slack)?;
        for (number, pair) in self.pairs.iter().enumerate() {
            waiting.watch(&pair.host(end).tun, number)?;
        }
        self.network().watch(end, &waiting, self.pairs.len())?;
        let mut buffer = self.network().buffer();
        let delay = self.delays[end as usize];
        let mut stalls = Standstill::from(self.clock.now());
        while !stopped() {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            stalls.look(now);
            self.hand_over(end, &mut buffer, &mut stalls)?;
            let next = {
                let mut network = self.network();
                network.sample(now)?;
                // What the other end sends meanwhile takes its time.
                network.next(end).min(network.next_sample()).min(now + delay.min(LONGEST_SLEEP)).min(until)
            };
            stalls.sleep_until(next + self.slack);
            for ready in waiting.until(&self.clock, next)? {
                match ready < self.pairs.len() {
                    true => self.collect(end, ready, None, &mut buffer, &mut stalls)?,
                    // Packets that a kernel qdisc has released.
                    false => self.network().collect(end, self.clock.now(), &mut buffer)?,
                }
            }
        }
        Ok(stalls.total)
    }

    /// Gives the hosts of an end, in virtual time those of both, what is due.
    fn hand_over(&self, end: End, buffer: &mut Box<[u8]>, stalls: &mut Standstill) -> io::Result<()> {
        loop {
            let now = self.clock.now();
            stalls.look(now);
            let Some(packet) = self.network().due(end, now, buffer)? else { return Ok(()) };
            self.pairs[packet.hosts].host(packet.to).tun.write(&buffer[..packet.length])?;
            // In virtual time hosts answer at once, as in the simulator: how long their instructions take is arbitrary.
            let answered = (!self.clock.is_real()).then_some(packet.due);
            self.collect(packet.to, packet.hosts, answered, buffer, stalls)?;
        }
    }

    /// Takes what a host has sent, at a given time or just now.
    fn collect(
        &self,
        end: End,
        hosts: usize,
        at: Option<Nanos>,
        buffer: &mut Box<[u8]>,
        stalls: &mut Standstill,
    ) -> io::Result<()> {
        let tun = &self.pairs[hosts].host(end).tun;
        while let Some(length) = tun.read(buffer)? {
            let now = self.clock.now();
            stalls.look(now);
            let mut network = self.network();
            match at {
                Some(at) => network.enter(end, at, hosts, length, buffer)?,
                None => network.enter_unasked(end, now, hosts, length, buffer)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::plan::Plan;
    use crate::host::Host;
    use crate::host::netlink::Netlink;
    use crate::host::tun;
    use crate::ip::Version;
    use crate::timing::clock::Time;
    use scenario::records::Options;

    const SCENARIO: &str = r#"
duration = "1s"
[link.bottleneck]
rate = "10mbit"
delay = "1s"
queue = {}
[[flows]]
cc = "kernel:reno"
"#;

    /// A device that is deleted fails its end of the emulator; the other end has nothing to do with it. This test needs
    /// root.
    #[test]
    fn both_ends_stop_when_one_fails() {
        const AN_HOUR: Nanos = Nanos::from_secs(3600);
        let scenario = scenario::load_text(SCENARIO, "test", "".as_ref(), &[]).unwrap().cells.remove(0).scenario;
        let (near, far) = (Version::V4.address(0, 0), Version::V4.address(1, 0));
        let host = |own, peer| Host::new(own, peer, 1500, &scenario.flows[0].stack, false, None).unwrap();
        let pairs = [Pair { sender: host(near, far), receiver: host(far, near), reverse: false }];
        let options = Options::default();
        let network = Network::new(&scenario, Plan::new(&scenario).unwrap(), vec![], Time::Real, &options).unwrap();
        let emulator = Emulator::new(&scenario, &pairs, network, Clock::start(Time::Real));
        pairs[0].receiver.namespace.within(|| Netlink::open()?.delete(tun::NAME)).unwrap();
        assert!(emulator.run(AN_HOUR, || false).is_err());
    }
}
