//! Carries packets between the hosts' network cards and the network.
//!
//! In real time two threads carry packets, one for each end. In virtual time, where there is one processor, one thread
//! does it all, and wakes up for packets only. A packet that is written to a card runs through that host's TCP before
//! the call returns. So its answers can be collected at once, with the right time.

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
use model::Scenario;
use model::units::Nanos;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// How often an idle emulator checks whether it should stop.
pub const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);
/// The shortest time between two looks of one end for packets of the other, on a link without delay.
const LEAST_POLL: Nanos = Nanos::from_micros(50);

/// The state that the emulator's threads share.
pub struct Emulator<'a> {
    pairs: &'a [Pair],
    clock: Clock,
    /// How much longer than needed a wait may take, so that more packets are handled at once.
    slack: Nanos,
    /// The shortest delay of a packet to the receivers, and to the senders.
    delays: [Nanos; 2],
    network: Mutex<Network>,
}

impl<'a> Emulator<'a> {
    /// Makes an emulator of pairs of hosts and the network between them.
    pub fn new(scenario: &Scenario, pairs: &'a [Pair], network: Network, clock: Clock) -> Emulator<'a> {
        Emulator {
            pairs,
            clock,
            slack: clock.slack(soundness::slack(scenario)),
            delays: [scenario.least_forward_delay(), scenario.least_reverse_delay()].map(|delay| delay.max(LEAST_POLL)),
            network: Mutex::new(network),
        }
    }

    /// Carries packets until `end`, or until `stopped` returns true. Returns for how long the most delayed thread stood
    /// still, in total.
    ///
    /// # Errors
    /// If a device fails: then both ends stop at once.
    pub fn run(&self, end: Nanos, stopped: impl Fn() -> bool + Sync) -> io::Result<Nanos> {
        let failed = AtomicBool::new(false);
        let stopped = || failed.load(Ordering::Relaxed) || stopped();
        let serve = |ends| {
            let served = self.serve(ends, end, stopped);
            failed.fetch_or(served.is_err(), Ordering::Relaxed);
            served
        };
        let serve = &serve;
        let _awake = self.clock.is_real().then(priority::hold_cpu_latency);
        let stood_still = std::thread::scope(|scope| {
            let threads = self.threads().iter().map(|ends| scope.spawn(move || serve(ends))).collect::<Vec<_>>();
            let mut served = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
            served.try_fold(Nanos::ZERO, |longest, stood_still| Ok::<_, io::Error>(longest.max(stood_still?)))
        })?;
        self.network().close()?;
        Ok(stood_still)
    }

    /// Returns the ends that each thread serves.
    fn threads(&self) -> &'static [&'static [End]] {
        match self.clock.is_real() {
            true => &[&[End::Receiver], &[End::Sender]],
            false => &[&[End::Receiver, End::Sender]],
        }
    }

    /// Returns the network, with what it recorded.
    pub fn finish(self) -> Network {
        self.network.into_inner().expect("no thread has panicked")
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().expect("no thread panics with the lock")
    }

    /// Carries packets at these ends. Returns for how long the thread stood still, in total.
    fn serve(&self, ends: &[End], until: Nanos, stopped: impl Fn() -> bool) -> io::Result<Nanos> {
        priority::raise(RtPriority::Emulator);
        let mut waiting = self.sources(ends)?;
        let mut buffer = self.network().buffer();
        let mut stalls = Standstill::from(self.clock.now());
        while !stopped() {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            stalls.look(now);
            for end in ends {
                self.hand_over(*end, &mut buffer, &mut stalls)?;
            }
            let next = self.next(ends, now)?.min(until);
            stalls.sleep_until(next + self.slack);
            for ready in waiting.until(&self.clock, next)? {
                let (end, hosts) = (End::BOTH[ready % 2], ready / 2);
                match hosts < self.pairs.len() {
                    true => self.collect(end, hosts, None, &mut buffer, &mut stalls)?,
                    // Packets that a kernel qdisc has released.
                    false => self.network().collect(end, self.clock.now(), &mut buffer)?,
                }
            }
        }
        Ok(stalls.total)
    }

    /// Watches every file that packets of these ends come from, each under a number. A host's number is twice the
    /// number of its pair, plus the number of its end. The kernel's qdiscs of an end come after all pairs.
    fn sources(&self, ends: &[End]) -> io::Result<Waiting> {
        let waiting = Waiting::new(self.slack)?;
        for end in ends {
            for (number, pair) in self.pairs.iter().enumerate() {
                waiting.watch(&pair.host(*end).tun, 2 * number + *end as usize)?;
            }
            self.network().watch(*end, &waiting, 2 * self.pairs.len() + *end as usize)?;
        }
        Ok(waiting)
    }

    /// When to look at these ends again, unless a packet comes before.
    fn next(&self, ends: &[End], now: Nanos) -> io::Result<Nanos> {
        let mut network = self.network();
        network.sample(now)?;
        let due = ends.iter().map(|end| network.next(*end)).fold(network.next_sample(), Nanos::min);
        // A packet that another thread sends meanwhile takes its delay.
        let others = match ends {
            [end] => self.delays[*end as usize],
            _ => LONGEST_SLEEP,
        };
        Ok(due.min(now + others.min(LONGEST_SLEEP)))
    }

    /// Hands the packets that are due to the hosts of an end; in virtual time, of both ends.
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

    /// Takes the packets that a host has sent. They count as sent at `at`, or without it at the present time.
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
    use crate::ip::Version;
    use crate::timing::clock::Time;
    use kernel::netlink::Netlink;
    use kernel::tun;
    use model::records::Options;

    const SCENARIO: &str = r#"
duration = "1s"
[link.bottleneck]
rate = "10mbit"
delay = "1s"
queue = {}
[[flows]]
cc = "kernel:reno"
"#;

    /// Deleting a device makes its end of the emulator fail, and then the other end stops too. This test needs root.
    #[test]
    fn both_ends_stop_when_one_fails() {
        const AN_HOUR: Nanos = Nanos::from_secs(3600);
        let scenario = scenario::load_text(SCENARIO, "test", "".as_ref(), &[]).unwrap().points.remove(0).scenario;
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
