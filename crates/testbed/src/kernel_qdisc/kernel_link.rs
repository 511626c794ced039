//! A port whose queue is in the kernel, and with `netem` its channel too.
//!
//! The kernel's shaper paces the queue, so that packets wait where they would before a real transmitter. The start of
//! each transmission is computed as for a simulated link: immediately, or when all packets before it are out. So the
//! kernel decides only which packet goes next, and which ones are dropped or marked.

use crate::error::Error;
use crate::kernel_qdisc::device::QdiscDevice;
use crate::kernel_qdisc::kernel_draws::netem_seed;
use crate::kernel_qdisc::shaper_lag::{self, ShaperLag};
use crate::kernel_qdisc::tracker::{Entry, QueueTracker};
use crate::packet::PacketInfo;
use crate::surroundings::Surroundings;
use crate::timing::clock::Time;
use kernel::netlink::{Netlink, Qdisc};
use kernel::tc::qdisc;
use kernel::tun;
use measure::{Histogram, LinkSample};
use model::queue::{Cake, Discipline, Who};
use model::units::Nanos;
use model::{self, Emulator, Loss, Queue, Scenario, Service, Transmitter};
use netlink_packet_route::tc::TcHandle;
use path::qdisc::Policer;
use path::{
    DelayLine, DropReason, Ecn, External, ExternalPort, Gone, LinkOutput, LinkStats, Packet, PacketId, Pool, Transit,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Both ECN bits: congestion experienced (RFC 3168).
const CE: u8 = 3;

/// The queue, transmitter and channel of a link, with their statistics.
pub struct KernelLink {
    policer: Option<Policer>,
    queue: QdiscDevice,
    waiting: QueueTracker,
    /// The lag of the shaper; none where the discipline shapes too, and packets are ready when they come.
    lag: Option<ShaperLag>,
    output: LinkOutput,
    channel: Option<Netem>,
}

impl KernelLink {
    /// Makes one direction of a link of `scenario`; `purpose` selects its random stream.
    ///
    /// # Errors
    /// If the kernel does not have the discipline, or rejects its parameters.
    pub fn new(scenario: &Scenario, link: &model::Link, purpose: u64, time: Time) -> Result<KernelLink, Error> {
        let Service::Own(Transmitter::Rate(rate)) = link.service else {
            return Err(Error::Machine("the kernel's shaper needs a rate".into()));
        };
        let mtu = scenario.flows.iter().map(|group| group.largest_packet().0 as u32).max().unwrap_or(0);
        let key = format!("link.{}.queue.kind", link.name);
        let discipline = match &link.queue {
            Queue::Managed { who: Who::Kernel(said), discipline } => {
                let given = qdisc::of_discipline(discipline, *said, rate);
                given.map_err(|why| Error::Scenario { key: key.clone(), why })?
            }
            Queue::KernelFifo(fifo) => qdisc::kernel_fifo(fifo),
            Queue::Droptail { limit, .. } => qdisc::fifo(*limit),
            Queue::Managed { who: Who::Simulated, discipline } => {
                return Err(Error::Machine(format!("{} is not a queue of the kernel", discipline.name())));
            }
        };
        let tolerance = shaper_lag::tolerance(rate, mtu);
        let shaper = qdisc::htb_class(rate, rate, shaper_lag::ahead(time, tolerance), mtu, 0);
        let queue =
            QdiscDevice::new(mtu, |netlink| shape(netlink, &shaper, &discipline)).map_err(|why| refused(why, key))?;
        let (channel, link) = match scenario.emulator {
            Emulator::Unbloat => (None, link.clone()),
            Emulator::Netem => {
                let netem = Netem::new(mtu, link, netem_seed(scenario.seed, purpose));
                let netem = netem.map_err(|why| refused(why, "emulator".into()))?;
                (Some(netem), model::Link { delay: Nanos::ZERO, loss: Loss::NONE, ..link.clone() })
            }
        };
        let output = LinkOutput::new(&link, scenario.seed, purpose, scenario.warmup, scenario.duration);
        let lag = (!is_shaper(&link.queue)).then(|| ShaperLag::new(tolerance));
        let policer = link.impairments.policer.as_ref().map(Policer::new);
        Ok(KernelLink { policer, queue, waiting: QueueTracker::default(), lag, output, channel })
    }

    /// Returns the files at which packets come out of the kernel.
    pub fn exits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.queue.as_fd()).chain(self.channel.as_ref().map(|netem| netem.device.as_fd()))
    }

    /// Takes the packets that the kernel has released by `now`. The contents of `buffer` are arbitrary before and
    /// after.
    pub fn collect(
        &mut self,
        now: Nanos,
        packets: &mut Pool<PacketInfo>,
        around: &mut Surroundings,
        gone: &mut Vec<Gone>,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<()> {
        while let Some(length) = self.queue.read(buffer)? {
            let packet = &buffer[tun::HEADER..length];
            let stats = &mut self.output.stats;
            let left = self.waiting.leave(packet, |entry| {
                stats.dropped(entry.at);
                gone.push(Gone { id: entry.id, reason: DropReason::Queue });
            });
            let Some(Entry { at: arrival, id, .. }) = left else { continue };
            let info = packets.get_mut(id);
            if packet[1] & CE == CE && !matches!(info.ecn(), Ecn::NotEct | Ecn::Ce) {
                stats.marked(arrival);
            }
            info.slot = around.buffers.put(buffer);
            let ready = self.ready(now, arrival.max(self.output.free_at()), &mut around.lateness);
            let bytes = info.bytes();
            let (_, lost) = self.output.send(arrival, ready, bytes, id, packets);
            if lost {
                gone.push(Gone { id, reason: DropReason::Channel });
            }
        }
        match &mut self.channel {
            Some(netem) => netem.collect(packets, around, gone, &mut self.output.stats, buffer),
            None => Ok(()),
        }
    }

    /// Returns when the transmitter, free from `free_at` on, gets a packet that was read at `now`.
    fn ready(&mut self, now: Nanos, free_at: Nanos, lateness: &mut Histogram) -> Nanos {
        match &mut self.lag {
            Some(lag) => lag.ready(now, free_at, lateness),
            None => free_at.max(now),
        }
    }

    /// Returns the number of packets that the kernel released, but that were lost before they were taken.
    pub fn missed(&self) -> io::Result<u64> {
        let channel = self.channel.as_ref().map_or(Ok(0), |netem| netem.device.missed());
        Ok(self.queue.missed()? + channel?)
    }
}

impl ExternalPort for KernelLink {
    /// Returns when the next packet reaches the far end, or leaves the transmitter before a `netem`.
    fn next(&self) -> Nanos {
        self.output.next().min(self.channel.as_ref().map_or(Nanos::NEVER, |netem| netem.channel.next()))
    }

    fn sample(&self, link: u32) -> LinkSample {
        let LinkStats { total_drops, total_bytes, .. } = self.output.stats;
        LinkSample { link, waiting: self.waiting.waiting(), ring: None, total_drops, total_sent: total_bytes }
    }

    fn output(&self) -> &LinkOutput {
        &self.output
    }
}

impl External<PacketInfo, Surroundings> for KernelLink {
    fn offer(
        &mut self,
        now: Nanos,
        id: PacketId,
        packets: &mut Pool<PacketInfo>,
        around: &mut Surroundings,
        gone: &mut Vec<Gone>,
    ) {
        around.note_handing_over(now);
        let info = packets.get_mut(id);
        let packet = around.buffers.bytes(info);
        let conforms = self.policer.as_mut().is_none_or(|policer| policer.admits(now, info.bytes()));
        match if conforms { self.queue.offer(packet) } else { Ok(false) } {
            Ok(true) => self.waiting.enter(&packet[tun::HEADER..], now, id),
            Ok(false) => {
                self.output.stats.dropped(now);
                gone.push(Gone { id, reason: DropReason::Queue });
            }
            Err(error) => around.fail(error),
        }
        around.buffers.release(info.slot);
        info.slot = PacketInfo::NO_BUFFER;
    }

    fn step(
        &mut self,
        now: Nanos,
        packets: &mut Pool<PacketInfo>,
        around: &mut Surroundings,
        _: &mut Vec<Gone>,
    ) -> Transit {
        match &mut self.channel {
            Some(netem) if netem.channel.next() <= self.output.next() => netem.channel.take(),
            Some(netem) => {
                if let Transit::Packet(id) = self.output.take() {
                    netem.enter(now, id, packets, around);
                }
                Transit::Nothing
            }
            None => self.output.take(),
        }
    }
}

/// A channel in the kernel: a device with `netem`.
struct Netem {
    device: QdiscDevice,
    tracker: QueueTracker,
    /// Packets that have come out, until the time at which they should have.
    channel: DelayLine,
}

impl Netem {
    fn new(mtu: u32, link: &model::Link, seed: u64) -> io::Result<Netem> {
        let discipline = qdisc::netem(link.delay, &link.loss, seed);
        let device =
            QdiscDevice::new(mtu, |netlink| netlink.set_qdisc(tun::NAME, TcHandle::ROOT, handle(1, 0), &discipline))?;
        Ok(Netem { device, tracker: QueueTracker::default(), channel: DelayLine::new(link.delay) })
    }

    /// Sends a packet that has left the transmitter through the channel.
    fn enter(&mut self, now: Nanos, id: PacketId, packets: &mut Pool<PacketInfo>, around: &mut Surroundings) {
        let info = packets.get_mut(id);
        let packet = around.buffers.bytes(info);
        match self.device.offer(packet) {
            Ok(_) => self.tracker.enter(&packet[tun::HEADER..], now, id),
            Err(error) => around.fail(error),
        }
        around.buffers.release(info.slot);
        info.slot = PacketInfo::NO_BUFFER;
    }

    /// Takes the packets that have come out of the channel.
    fn collect(
        &mut self,
        packets: &mut Pool<PacketInfo>,
        around: &mut Surroundings,
        gone: &mut Vec<Gone>,
        stats: &mut LinkStats,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<()> {
        while let Some(length) = self.device.read(buffer)? {
            let left = self.tracker.leave(&buffer[tun::HEADER..length], |entry| {
                stats.lost(entry.at);
                gone.push(Gone { id: entry.id, reason: DropReason::Channel });
            });
            let Some(Entry { at, id, .. }) = left else { continue };
            packets.get_mut(id).slot = around.buffers.put(buffer);
            self.channel.send(at, Transit::Packet(id));
        }
        Ok(())
    }
}

/// Sets up the shaper with the queue's discipline inside.
fn shape(netlink: &Netlink, shaper: &Qdisc, discipline: &Qdisc) -> io::Result<()> {
    const CLASS: u16 = 1;
    let (root, class) = (handle(1, 0), handle(1, CLASS));
    netlink.set_qdisc(tun::NAME, TcHandle::ROOT, root, &qdisc::htb(CLASS))?;
    netlink.add_class(tun::NAME, root, class, shaper)?;
    netlink.set_qdisc(tun::NAME, class, handle(2, 0), discipline)
}

/// Whether a discipline releases packets at a rate of its own.
fn is_shaper(queue: &Queue) -> bool {
    matches!(queue, Queue::Managed { discipline: Discipline::Cake(Cake { bandwidth: Some(_), .. }), .. })
}

fn handle(major: u16, minor: u16) -> TcHandle {
    TcHandle { major, minor }
}

/// Converts an error of the kernel. An unsupported discipline or a rejected parameter is an error of the key `key`,
/// everything else one of the machine.
pub fn refused(error: io::Error, key: String) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::Scenario { key, why: format!("{error}; --on vm runs one that has it") },
        io::ErrorKind::InvalidInput => Error::Scenario { key, why: error.to_string() },
        _ => Error::machine(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_kernel_does_not_have_is_named_with_its_module() {
        let unknown = Qdisc { kind: "nonesuch", options: None };
        let rate = model::units::Rate(1_000_000);
        let shaper = qdisc::htb_class(rate, rate, Nanos::from_micros(200), 1500, 0);
        let error = QdiscDevice::new(1500, |netlink| shape(netlink, &shaper, &unknown)).err().expect("there is none");
        let Error::Scenario { key, why } = refused(error, "link.bottleneck.queue.kind".into()) else {
            panic!("it is the scenario's")
        };
        assert_eq!(key, "link.bottleneck.queue.kind");
        assert_eq!(
            why,
            "this kernel lacks the queue discipline nonesuch (module sch_nonesuch); --on vm runs one that has it"
        );
    }
}
