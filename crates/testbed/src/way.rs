//! One direction of the bottleneck: a link of ours, or one of the kernel's.

use crate::error::Error;
use crate::kernel_link::KernelLink;
use crate::parcel::{Parcel, Pool};
use measure::{Histogram, LinkSample};
use path::{FORWARD_DRAWS, Fate, Link, REVERSE_DRAWS, Usage};
use scenario::model::{Emulator, Queue, Scenario};
use scenario::records;
use scenario::units::Nanos;
use std::io;
use std::os::fd::BorrowedFd;

/// Where the packets of both directions lie.
pub struct Store {
    /// Their bytes.
    pub pool: Pool,
    /// Those that will not arrive, for whoever counts them.
    pub gone: Vec<Parcel>,
}

/// One direction of the bottleneck.
pub enum Way {
    /// The simulator's own.
    Ours(Link<Parcel>),
    /// With a queue of the kernel's.
    Kernels(KernelLink),
}

impl Way {
    /// From the senders to the receivers.
    pub fn forward(scenario: &Scenario) -> Result<Way, Error> {
        match is_the_kernels(scenario, &scenario.bottleneck.queue) {
            false => Ok(Way::Ours(Link::forward(scenario))),
            true => Ok(Way::Kernels(KernelLink::new(scenario, &scenario.bottleneck, FORWARD_DRAWS)?)),
        }
    }

    /// The way back.
    pub fn reverse(scenario: &Scenario) -> Result<Way, Error> {
        match is_the_kernels(scenario, &scenario.reverse.queue) {
            false => Ok(Way::Ours(Link::reverse(scenario))),
            true => Ok(Way::Kernels(KernelLink::new(scenario, &scenario.reverse, REVERSE_DRAWS)?)),
        }
    }

    /// Does a packet go to the kernel as it is offered, so that it has to be offered in time?
    pub fn is_the_kernels(&self) -> bool {
        matches!(self, Way::Kernels(_))
    }

    /// Hands a packet over that has come at `arrival`, which never decreases from call to call.
    #[inline]
    pub fn offer(&mut self, arrival: Nanos, parcel: Parcel, store: &mut Store) -> io::Result<()> {
        match self {
            Way::Ours(link) => {
                if !matches!(link.offer(arrival, parcel), Fate::Arrives(_)) {
                    store.gone.push(parcel);
                    store.pool.forget(parcel.slot);
                }
                Ok(())
            }
            Way::Kernels(link) => link.offer(arrival, parcel, store),
        }
    }

    /// When there is something to `take`; `Nanos::NEVER` if nothing is known to come.
    #[inline]
    pub fn next(&self) -> Nanos {
        match self {
            Way::Ours(link) => link.next(),
            Way::Kernels(link) => link.next(),
        }
    }

    /// Takes what `next` announced; none if it does not arrive, or not yet.
    #[inline]
    pub fn take(&mut self, now: Nanos, store: &mut Store) -> io::Result<Option<Parcel>> {
        match self {
            Way::Ours(link) => Ok(link.take()),
            Way::Kernels(link) => link.take(now, store),
        }
    }

    /// Where packets come out of the kernel's parts, for which `collect` is there.
    pub fn exits(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Way::Ours(_) => vec![],
            Way::Kernels(link) => link.exits().collect(),
        }
    }

    /// Takes in what has come out of the kernel's parts; `buffer` holds nothing in particular before and after.
    pub fn collect(
        &mut self,
        now: Nanos,
        store: &mut Store,
        lateness: &mut Histogram,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<()> {
        match self {
            Way::Ours(_) => Ok(()),
            Way::Kernels(link) => link.collect(now, store, lateness, buffer),
        }
    }

    /// Packets that the kernel's parts let go and nobody took in time.
    pub fn missed(&self) -> io::Result<u64> {
        match self {
            Way::Ours(_) => Ok(0),
            Way::Kernels(link) => link.missed(),
        }
    }

    /// This instant for the series, as link number `number`.
    pub fn sample(&mut self, now: Nanos, number: u32) -> LinkSample {
        match self {
            Way::Ours(link) => link.sample(now, number),
            Way::Kernels(link) => link.sample(number),
        }
    }

    /// What it counted.
    pub fn usage(&self) -> &Usage {
        match self {
            Way::Ours(link) => link.usage(),
            Way::Kernels(link) => link.usage(),
        }
    }

    /// Its record.
    pub fn record(&self) -> records::Link {
        match self {
            Way::Ours(link) => link.record(),
            Way::Kernels(link) => link.record(),
        }
    }
}

fn is_the_kernels(scenario: &Scenario, queue: &Queue) -> bool {
    scenario.emulator == Emulator::Netem || matches!(queue, Queue::Kernel(_))
}
