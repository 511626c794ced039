//! The two queues of a device: `prio`, or two classes of `htb` where the kernel has no `prio`, or where the device is
//! to send at a rate of its own: what waits then waits here, and not in a modem.

use crate::host::netlink::Netlink;
use crate::host::netlink::Qdisc;
use crate::kernel::device::{Device, netlink};
use crate::kernel::error::Error;
use crate::kernel_qdisc::qdisc::{htb, htb_class, prio};
use netlink_packet_route::tc::TcHandle;
use scenario::units::{Nanos, Rate};
use serde::{Deserialize, Serialize};
use std::io;

/// Our discipline, as `tc` shows it: `4247:`.
const MAJOR: u16 = 0x4247;
/// The number by which its classes are named, `handle:1` and so on.
pub(crate) const HANDLE: u32 = (MAJOR as u32) << 16;
/// Queues.
pub(super) const BANDS: u32 = 2;
/// The class that holds both where they are classes of `htb`.
const WHOLE: u16 = 0xff;
/// What `htb` may do at once, beside a packet.
const AHEAD: Nanos = Nanos::from_millis(1);
const PACKET: u32 = 1600;
/// Faster than any device, which says itself what it takes.
const NO_RATE: Rate = Rate(1_000_000_000_000);
/// What the second queue has even if the first has more than there is: `htb` wants a rate.
const LEAST: Rate = Rate(8_000);
/// Disciplines that are put back as they were: what the kernel says of their options is what it takes.
const KNOWN: [&str; 9] = ["pfifo", "bfifo", "pfifo_fast", "codel", "fq_codel", "fq", "pie", "fq_pie", "cake"];

/// The discipline that a device had before; none if it was the kernel's own choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// As `tc` calls it.
    pub kind: String,
    options: Option<Vec<u8>>,
}

/// What a device has that somebody has chosen.
///
/// # Errors
/// If it could not be put back as it is.
pub(super) fn before(device: &Device) -> Result<Option<Before>, Error> {
    let root = netlink()?.root_qdisc(device.index).map_err(|error| refused(device, &error))?;
    let Some(root) = root.filter(|root| root.handle != 0) else { return Ok(None) };
    let (kind, name) = (root.kind, &device.name);
    if !KNOWN.contains(&kind.as_str()) {
        return Err(Error::machine(format!(
            "{name} has the queue discipline {kind}, which could not be put back as it is: remove it (tc qdisc del dev \
             {name} root)"
        )));
    }
    Ok(Some(Before { kind, options: root.options }))
}

/// Gives a device the two queues; gives the kind of discipline that they are. With a rate no more than that leaves.
///
/// # Errors
/// What the kernel says.
pub(super) fn give(device: &Device, rate: Option<Rate>) -> Result<&'static str, Error> {
    let netlink = netlink()?;
    let failed = |error: io::Error| refused(device, &error);
    if rate.is_none() {
        match netlink.set_qdisc(&device.name, TcHandle::ROOT, TcHandle::from(HANDLE), &prio(BANDS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            given => return given.map(|()| "prio").map_err(failed),
        }
    }
    classes(&netlink, &device.name, rate.unwrap_or(NO_RATE), AHEAD, BANDS).map(|()| "htb").map_err(failed)
}

/// `htb`: the first class has all of the rate for its own, each other what those before leave. It makes up for so much
/// idle time.
pub(crate) fn classes(netlink: &Netlink, device: &str, rate: Rate, ahead: Nanos, bands: u32) -> io::Result<()> {
    let class = |minor: u16| TcHandle::from(HANDLE | u32::from(minor));
    let parameters = |own: Rate, prio: u32| htb_class(own, rate, ahead, PACKET, prio);
    netlink.set_qdisc(device, TcHandle::ROOT, TcHandle::from(HANDLE), &htb(1))?;
    netlink.add_class(device, class(0), class(WHOLE), &parameters(rate, 0))?;
    netlink.add_class(device, class(WHOLE), class(1), &parameters(rate, 0))?;
    let last = (1..).take_while(|band| *band < bands);
    last.into_iter().try_for_each(|band| {
        netlink.add_class(device, class(WHOLE), class(band as u16 + 1), &parameters(LEAST.min(rate), band))
    })
}

/// Has the device our discipline?
pub(super) fn has(device: u32) -> bool {
    let root = netlink().ok().and_then(|netlink| netlink.root_qdisc(device).ok().flatten());
    root.is_some_and(|root| root.handle == HANDLE)
}

/// Takes ours away, and puts back what was there.
pub(super) fn take(device: &Device, before: Option<&Before>) {
    let Ok(netlink) = netlink() else { return };
    if !has(device.index) {
        return;
    }
    // The kernel gives a device without a discipline one of its own choice.
    let _ = netlink.delete_root_qdisc(device.index);
    let known = |before: &Before| KNOWN.into_iter().find(|kind| *kind == before.kind);
    if let Some((kind, before)) = before.and_then(|before| Some((known(before)?, before))) {
        let qdisc = Qdisc { kind, options: before.options.clone() };
        let _ = netlink.set_qdisc(&device.name, TcHandle::ROOT, TcHandle::UNSPEC, &qdisc);
    }
}

fn refused(device: &Device, error: &io::Error) -> Error {
    Error::machine(format!("{} cannot have two queues: {error}", device.name))
}
