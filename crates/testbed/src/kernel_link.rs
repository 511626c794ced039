//! A link whose queue, and with `netem` whose wire, is the kernel's.
//!
//! The kernel's shaper paces what the queue lets go, so that packets wait where they would before a real transmitter. When each one's
//! transmission begins is worked out as for a link of ours: at once, or when all before it are out. What is left to the kernel is
//! which packet goes next, and which is dropped or marked.

use crate::error::Error;
use crate::hop::Hop;
use crate::inside::{Entry, Inside};
use crate::netlink::Netlink;
use crate::parcel::Parcel;
use crate::qdisc::{self, Qdisc};
use crate::tun;
use crate::way::Store;
use measure::{Histogram, LinkSample};
use netlink_packet_route::tc::TcHandle;
use path::{Fate, Line, Packet, Pipe, Usage};
use scenario::model::{self, Emulator, Loss, Queue, Scenario, Service};
use scenario::records;
use scenario::units::{Bytes, Nanos};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// How late the kernel's timers may let a packet go and make up for it with the next, so that the rate holds: what no timer is better
/// than, or where that is more a tenth of a packet's transmission.
const CATCH_UP: Nanos = Nanos::from_micros(200);
const CATCH_UP_SHARE: u64 = 10;
/// Both ECN bits: congestion experienced (RFC 3168).
const CE: u8 = 3;

/// Queue, transmitter and wire, with what was seen of them.
pub struct KernelLink {
    queue: Hop,
    waiting: Inside,
    catch_up: Nanos,
    pace: Pace,
    line: Line<Parcel>,
    wire: Option<Netem>,
}

impl KernelLink {
    /// One direction of the bottleneck of `scenario`, whose draws are for `purpose`.
    ///
    /// # Errors
    /// If the kernel does not have the discipline, or does not take its parameters.
    pub fn new(scenario: &Scenario, link: &model::Link, purpose: u64) -> Result<KernelLink, Error> {
        let Service::Rate(rate) = link.service else {
            return Err(Error::Machine("the kernel's shaper needs a rate".into()));
        };
        let mtu = scenario.flows.iter().map(|group| group.packet.0 as u32).max().unwrap_or(0);
        let key = format!("link.{}.queue.kind", link.name);
        let discipline = match &link.queue {
            Queue::Kernel(queue) => {
                qdisc::of_scenario(queue, rate).map_err(|why| Error::Scenario { key: key.clone(), why })?
            }
            Queue::Droptail { limit, .. } => qdisc::fifo(*limit),
            Queue::Discipline(discipline) => {
                return Err(Error::Machine(format!("{} is none of the kernel's own", discipline.name())));
            }
        };
        let catch_up = CATCH_UP.max(Nanos(rate.time_to_send(Bytes(mtu as u64)).0 / CATCH_UP_SHARE));
        let shaper = qdisc::shaper_class(rate, catch_up, mtu);
        let queue = Hop::new(mtu, |netlink| shape(netlink, &shaper, &discipline)).map_err(|why| refused(why, key))?;
        let (wire, link) = match scenario.emulator {
            Emulator::Unbloat => (None, link.clone()),
            Emulator::Netem => {
                let netem = Netem::new(mtu, link, scenario.seed.wrapping_add(purpose));
                let netem = netem.map_err(|why| refused(why, "emulator".into()))?;
                (Some(netem), model::Link { delay: Nanos::ZERO, loss: Loss::NONE, ..link.clone() })
            }
        };
        let line = Line::new(&link, scenario.seed, purpose, scenario.warmup, scenario.duration);
        Ok(KernelLink { queue, waiting: Inside::default(), catch_up, pace: Pace::default(), line, wire })
    }

    /// Where packets come out.
    pub fn exits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.queue.as_fd()).chain(self.wire.as_ref().map(|wire| wire.hop.as_fd()))
    }

    /// Hands a packet over that has come at `arrival`.
    pub fn offer(&mut self, arrival: Nanos, parcel: Parcel, store: &mut Store) -> io::Result<()> {
        self.line.usage.offered();
        let packet = store.pool.bytes(&parcel);
        if self.queue.offer(packet)? {
            self.waiting.enter(&packet[tun::HEADER..], arrival, parcel);
        } else {
            self.line.usage.dropped(arrival);
            store.gone.push((arrival, parcel));
        }
        store.pool.forget(parcel.slot);
        Ok(())
    }

    /// Takes in what the kernel has let go by `now`.
    pub fn collect(
        &mut self,
        now: Nanos,
        store: &mut Store,
        lateness: &mut Histogram,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<()> {
        while let Some(length) = self.queue.read(buffer)? {
            let packet = &buffer[tun::HEADER..length];
            let usage = &mut self.line.usage;
            let left = self.waiting.leave(packet, |entry| {
                usage.dropped(entry.at);
                store.gone.push((entry.at, entry.parcel));
            });
            let Some(Entry { at: arrival, mut parcel, .. }) = left else { continue };
            if packet[1] & CE == CE && parcel.ecn_capable() {
                usage.marked(arrival);
            }
            parcel.slot = store.pool.put(buffer);
            let mut ready = arrival.max(self.line.free_at());
            if let Some(late) = self.pace.late(now.since(ready)).filter(|late| *late > self.catch_up) {
                lateness.record(late);
                ready += late;
            }
            if self.line.send(arrival, ready, parcel) == Fate::LostOnTheWire {
                store.gone.push((arrival, parcel));
                store.pool.forget(parcel.slot);
            }
        }
        match &mut self.wire {
            Some(wire) => wire.collect(store, &mut self.line.usage, buffer),
            None => Ok(()),
        }
    }

    /// When the next packet is at the far end, or out of the transmitter before a wire of the kernel's.
    pub fn next(&self) -> Nanos {
        self.line.next().min(self.wire.as_ref().map_or(Nanos::NEVER, |wire| wire.arrived.next()))
    }

    /// Takes the packet that `next` announced; none if the wire lost it, or has it now.
    pub fn take(&mut self, now: Nanos, store: &mut Store) -> io::Result<Option<Parcel>> {
        match &mut self.wire {
            Some(wire) if wire.arrived.next() <= self.line.next() => return Ok(wire.arrived.take()),
            _ => {}
        }
        match (self.line.take(), &mut self.wire) {
            (Some(parcel), None) => Ok(Some(parcel)),
            (Some(parcel), Some(wire)) => wire.enter(now, parcel, store).map(|()| None),
            (None, _) => Ok(None),
        }
    }

    /// Packets that the kernel let go and nobody took in time.
    pub fn missed(&self) -> io::Result<u64> {
        let wire = self.wire.as_ref().map_or(Ok(0), |wire| wire.hop.missed());
        Ok(self.queue.missed()? + wire?)
    }

    /// This instant for the series, as link number `number`.
    pub fn sample(&self, number: u32) -> LinkSample {
        let Usage { total_drops, total_bytes, .. } = self.line.usage;
        LinkSample { link: number, waiting: self.waiting.waiting(), total_drops, total_sent: total_bytes }
    }

    /// What it counted.
    pub fn usage(&self) -> &Usage {
        &self.line.usage
    }

    /// Its record.
    pub fn record(&self) -> records::Link {
        self.line.record()
    }
}

/// How late the shaper is against the transmitter that it is to be in step with, told from packets that are read later than it lets them
/// go: the least lateness of a row of them.
#[derive(Default)]
struct Pace {
    seen: u32,
    least: Nanos,
}

impl Pace {
    /// So many in a row are never all read late.
    const ROW: u32 = 16;

    /// Takes note of how late a packet was seen; at the end of a row the shaper's own lateness.
    fn late(&mut self, late: Nanos) -> Option<Nanos> {
        self.least = if self.seen == 0 { late } else { self.least.min(late) };
        self.seen = (self.seen + 1) % Self::ROW;
        (self.seen == 0).then_some(self.least)
    }
}

/// A wire of the kernel's.
struct Netem {
    hop: Hop,
    inside: Inside,
    delay: Nanos,
    /// What has come out, with the time at which it should have.
    arrived: Pipe<Parcel>,
}

impl Netem {
    fn new(mtu: u32, link: &model::Link, seed: u64) -> io::Result<Netem> {
        let discipline = qdisc::netem(link.delay, &link.loss, seed);
        let hop = Hop::new(mtu, |netlink| netlink.set_qdisc(tun::NAME, TcHandle::ROOT, handle(1, 0), &discipline))?;
        Ok(Netem { hop, inside: Inside::default(), delay: link.delay, arrived: Pipe::default() })
    }

    /// A packet is out of the transmitter.
    fn enter(&mut self, now: Nanos, parcel: Parcel, store: &mut Store) -> io::Result<()> {
        let packet = store.pool.bytes(&parcel);
        self.hop.offer(packet)?;
        self.inside.enter(&packet[tun::HEADER..], now, parcel);
        store.pool.forget(parcel.slot);
        Ok(())
    }

    /// Takes in what is at the far end.
    fn collect(&mut self, store: &mut Store, usage: &mut Usage, buffer: &mut Box<[u8]>) -> io::Result<()> {
        while let Some(length) = self.hop.read(buffer)? {
            let left = self.inside.leave(&buffer[tun::HEADER..length], |entry| {
                usage.lost(entry.at);
                store.gone.push((entry.at, entry.parcel));
            });
            let Some(Entry { at, mut parcel, .. }) = left else { continue };
            parcel.slot = store.pool.put(buffer);
            usage.total_arrived += 1;
            self.arrived.push(at + self.delay, parcel);
        }
        Ok(())
    }
}

/// The shaper with the queue's discipline inside.
fn shape(netlink: &Netlink, shaper: &Qdisc, discipline: &Qdisc) -> io::Result<()> {
    const CLASS: u16 = 1;
    let (root, class) = (handle(1, 0), handle(1, CLASS));
    netlink.set_qdisc(tun::NAME, TcHandle::ROOT, root, &qdisc::shaper(CLASS))?;
    netlink.add_class(tun::NAME, root, class, shaper)?;
    netlink.set_qdisc(tun::NAME, class, handle(2, 0), discipline)
}

fn handle(major: u16, minor: u16) -> TcHandle {
    TcHandle { major, minor }
}

/// What the kernel does not have or take stands behind `key`; everything else is the machine's.
fn refused(error: io::Error, key: String) -> Error {
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
        let shaper = qdisc::shaper_class(scenario::units::Rate(1_000_000), CATCH_UP, 1500);
        let error = Hop::new(1500, |netlink| shape(netlink, &shaper, &unknown)).err().expect("there is none");
        let Error::Scenario { key, why } = refused(error, "link.bottleneck.queue.kind".into()) else {
            panic!("it is the scenario's")
        };
        assert_eq!(key, "link.bottleneck.queue.kind");
        assert_eq!(
            why,
            "this kernel has no queue discipline nonesuch (module sch_nonesuch); --on vm runs one that has it"
        );
    }
}
