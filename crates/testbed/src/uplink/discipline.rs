//! Sets up the kernel's disciplines on a host's device.

pub use crate::kernel_qdisc::kernel_link::refused;
use crate::kernel_qdisc::shaper_lag;
use crate::timing::clock::Time;
use kernel::netlink::{Netlink, Qdisc};
use kernel::tc::qdisc::{fifo, htb, htb_class, kernel_fifo, of_discipline, prio, sockets_fifo};
use kernel::tun;
use kernel::{BANDS_HANDLE, band_classes};
use model::queue::{Discipline, PfifoFast, Prio, Said};
use model::units::{Nanos, Rate};
use model::{Limit, Link, Queue, Service, Transmitter};
use netlink_packet_route::tc::TcHandle;
use std::io;

/// The handle of the shaper; [`CLASS`] is its only class, which contains the discipline.
const SHAPER: u16 = 1;
const CLASS: u16 = 1;

/// Returns the number of bands of a link's queue, if it has bands.
pub fn bands(link: &Link) -> Option<u32> {
    banded(&link.queue).map(|(bands, _)| bands)
}

/// Returns the number of bands and the room in each, packets.
fn banded(queue: &Queue) -> Option<(u32, u32)> {
    match queue.simulated()? {
        Discipline::Prio(prio) => Some((prio.bands, prio.limit)),
        Discipline::PfifoFast(PfifoFast { limit }) => Some((Prio::default().bands, *limit)),
        _ => None,
    }
}

/// Returns how late the shaper before a link may be, with packets of up to `mtu` bytes.
pub fn tolerance(link: &Link, mtu: u32) -> Nanos {
    match link.service {
        Service::Own(Transmitter::Rate(rate)) => shaper_lag::tolerance(rate, mtu),
        _ => Nanos::ZERO,
    }
}

/// Sets up the queue of `link` on the device of the calling thread's namespace, for packets of up to `mtu` bytes.
///
/// # Errors
/// Any refusal of the kernel, of kind `NotFound` if it does not have the discipline.
pub fn give(netlink: &Netlink, link: &Link, mtu: u32, time: Time, small_queues: bool) -> io::Result<()> {
    let Service::Own(Transmitter::Rate(rate)) = link.service else {
        return Err(io::Error::other("the kernel's shaper needs a rate"));
    };
    let queue = |limit: Option<Limit>| match (small_queues, limit) {
        (true, _) => fifo(limit),
        (false, Some(Limit::Packets(packets))) => sockets_fifo(Some(packets)),
        (false, _) => sockets_fifo(None),
    };
    let ahead = shaper_lag::ahead(time, tolerance(link, mtu));
    match banded(&link.queue) {
        Some((bands, limit)) => {
            let room = queue(Some(Limit::Packets(limit.into())));
            give_bands(netlink, bands, &room, rate, mtu, ahead)
        }
        None => {
            let discipline = match &link.queue {
                Queue::Droptail { limit, .. } => queue(*limit),
                Queue::Managed { discipline, .. } => {
                    of_discipline(discipline, Said::ALL, rate).map_err(io::Error::other)?
                }
                Queue::KernelFifo(fifo) => kernel_fifo(fifo),
            };
            give_one(netlink, &discipline, rate, mtu, ahead)
        }
    }
}

/// Sets up the shaper with one discipline inside.
fn give_one(netlink: &Netlink, discipline: &Qdisc, rate: Rate, mtu: u32, ahead: Nanos) -> io::Result<()> {
    let class = shape(netlink, rate, mtu, ahead)?;
    netlink.set_qdisc(tun::NAME, class, handle(SHAPER + 1, 0), discipline)
}

fn shape(netlink: &Netlink, rate: Rate, mtu: u32, ahead: Nanos) -> io::Result<TcHandle> {
    let (root, class) = (handle(SHAPER, 0), handle(SHAPER, CLASS));
    netlink.set_qdisc(tun::NAME, TcHandle::ROOT, root, &htb(CLASS))?;
    netlink.add_class(tun::NAME, root, class, &htb_class(rate, rate, ahead, mtu, 0))?;
    Ok(class)
}

/// Sets up bands with the queue `room` in each: `prio` inside the shaper, or classes of the shaper where the kernel has
/// no `prio`.
fn give_bands(netlink: &Netlink, bands: u32, room: &Qdisc, rate: Rate, mtu: u32, ahead: Nanos) -> io::Result<()> {
    let class = shape(netlink, rate, mtu, ahead)?;
    match netlink.set_qdisc(tun::NAME, class, TcHandle::from(BANDS_HANDLE), &prio(bands)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            netlink.delete_root_qdisc(nix::net::if_::if_nametoindex(tun::NAME)?)?;
            band_classes(netlink, tun::NAME, rate, ahead, bands)?;
        }
        given => given?,
    }
    (1..=bands)
        .try_for_each(|band| netlink.set_qdisc(tun::NAME, TcHandle::from(BANDS_HANDLE | band), TcHandle::UNSPEC, room))
}

fn handle(major: u16, minor: u16) -> TcHandle {
    TcHandle { major, minor }
}
