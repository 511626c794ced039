//! The disciplines of a host's device, as the kernel has them.

pub use crate::kernel_qdisc::kernel_link::refused;
use crate::kernel_qdisc::shaper_lag;
use crate::timing::clock::Time;
use kernel::netlink::{Netlink, Qdisc};
use kernel::tc::qdisc::{fifo, htb, htb_class, of_scenario, prio, sockets_fifo};
use kernel::tun;
use kernel::{BANDS_HANDLE, band_classes};
use model::queue::{self, Cake, Codel, Discipline, FqCodel, PfifoFast};
use model::units::{Bytes, Nanos, Rate};
use model::{KernelQueue, Limit, Link, ParameterValue, Queue, Service};
use netlink_packet_route::tc::TcHandle;
use std::io;

/// The shaper, and the one class that it has around a discipline.
const SHAPER: u16 = 1;
const CLASS: u16 = 1;

/// The bands of a link's queue, if it has any.
pub fn bands(link: &Link) -> Option<u32> {
    banded(&link.queue).map(|(bands, _)| bands)
}

/// Bands, and the room in each.
fn banded(queue: &Queue) -> Option<(u32, u32)> {
    match queue {
        Queue::Discipline(Discipline::Prio(prio)) => Some((prio.bands, prio.limit)),
        Queue::Discipline(Discipline::PfifoFast(PfifoFast { limit })) => Some((queue::Prio::default().bands, *limit)),
        _ => None,
    }
}

/// How late the shaper may be before a link, with packets of up to `mtu` bytes.
pub fn tolerance(link: &Link, mtu: u32) -> Nanos {
    match link.service {
        Service::Rate(rate) => shaper_lag::tolerance(rate, mtu),
        _ => Nanos::ZERO,
    }
}

/// Gives the device of the calling thread's namespace the queue of `link`, for packets of up to `mtu` bytes.
///
/// # Errors
/// What the kernel refuses, of kind `NotFound` if it does not have what it is asked for.
pub fn give(netlink: &Netlink, link: &Link, mtu: u32, time: Time, small_queues: bool) -> io::Result<()> {
    let Service::Rate(rate) = link.service else { return Err(io::Error::other("the kernel's shaper needs a rate")) };
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
                other => discipline_of(other, rate)?,
            };
            give_one(netlink, &discipline, rate, mtu, ahead)
        }
    }
}

/// The shaper with one discipline inside.
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

/// Bands, each such a FIFO: `prio` inside the shaper, or the shaper's own classes where the kernel has
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

/// What the kernel calls a queue of ours that is no FIFO and has no bands.
fn discipline_of(queue: &Queue, rate: Rate) -> io::Result<Qdisc> {
    let packets = |limit: u32| ParameterValue::Limit(Limit::Packets(limit.into()));
    let (discipline, parameters) = match queue {
        Queue::Discipline(Discipline::Codel(Codel { limit, target, interval, ce_threshold, ecn })) => {
            let all = vec![
                ("limit", Some(packets(*limit))),
                ("target", Some(ParameterValue::Time(*target))),
                ("interval", Some(ParameterValue::Time(*interval))),
                ("ce_threshold", ce_threshold.map(ParameterValue::Time)),
                ("ecn", Some(ParameterValue::Flag(*ecn))),
            ];
            ("codel", all)
        }
        Queue::Discipline(Discipline::FqCodel(own)) => ("fq_codel", fq_codel(own)),
        Queue::Discipline(Discipline::Cake(own)) => ("cake", cake(own)),
        _ => return Err(io::Error::other("this queue is none of a host's")),
    };
    let parameters = parameters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    of_scenario(&KernelQueue { discipline, parameters }, rate).map_err(io::Error::other)
}

fn fq_codel(own: &FqCodel) -> Vec<(&'static str, Option<ParameterValue>)> {
    let size = |bytes: Bytes| ParameterValue::Size(bytes);
    vec![
        ("limit", Some(ParameterValue::Limit(Limit::Packets(own.limit.into())))),
        ("flows", Some(ParameterValue::Number(own.flows.into()))),
        ("quantum", own.quantum.map(size)),
        ("target", Some(ParameterValue::Time(own.target))),
        ("interval", Some(ParameterValue::Time(own.interval))),
        ("ce_threshold", own.ce_threshold.map(ParameterValue::Time)),
        ("ecn", Some(ParameterValue::Flag(own.ecn))),
        ("memory_limit", Some(size(own.memory_limit))),
        ("drop_batch", Some(ParameterValue::Number(own.drop_batch.into()))),
    ]
}

fn cake(own: &Cake) -> Vec<(&'static str, Option<ParameterValue>)> {
    // The names of choices stand in the order of the kernel's numbers.
    let number = |number: u32| Some(ParameterValue::Number(number.into()));
    vec![
        ("bandwidth", own.bandwidth.map(ParameterValue::Rate)),
        ("diffserv", number(own.diffserv as u32)),
        ("flowmode", number(own.flowmode as u32)),
        ("rtt", Some(ParameterValue::Time(own.rtt))),
        ("overhead", number(own.overhead)),
        ("mpu", number(own.mpu)),
        ("atm", number(own.atm as u32)),
        ("ingress", Some(ParameterValue::Flag(own.ingress))),
        ("memlimit", own.memlimit.map(ParameterValue::Size)),
    ]
}

fn handle(major: u16, minor: u16) -> TcHandle {
    TcHandle { major, minor }
}
