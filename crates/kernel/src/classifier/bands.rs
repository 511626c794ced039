//! The queues of a device: `prio`, or classes of `htb`.
//!
//! Classes of `htb` serve kernels without `prio`, and devices with a rate of their own: packets
//! then wait here, and not in a modem.

use crate::device::{Device, netlink};
use crate::netlink::Netlink;
use crate::netlink::{Qdisc, RootQdisc};
use crate::tc::qdisc::{htb, htb_class, prio};
use mechanism::Error;
use model::units::{Nanos, Rate};
use netlink_packet_route::tc::TcHandle;
use serde::{Deserialize, Serialize};
use std::io;

/// Major number of the queue discipline, which `tc` shows as `4247:`.
const MAJOR: u16 = 0x4247;
/// Handle of the queue discipline; its classes are `handle:1` and so on.
pub const HANDLE: u32 = (MAJOR as u32) << 16;
/// Number of queues, as many as the kernel's own `prio` and `pfifo_fast` have.
pub(super) const BANDS: u32 = 3;
/// Number of the class that contains the queues, if they are classes of `htb`.
const WHOLE: u16 = 0xff;
/// Idle time that `htb` may make up for at once, beside a packet.
const AHEAD: Nanos = Nanos::from_millis(1);
const PACKET: u32 = 1600;
/// A rate above that of any device, which then limits itself.
const NO_RATE: Rate = Rate(1_000_000_000_000);
/// Rate that each queue has even if the queues before it fill the device: `htb` requires one. No
/// device can have a lower rate.
pub const LEAST_RATE: Rate = Rate(8_000);
/// Disciplines that can be restored: the options that the kernel reports are those that it accepts.
/// A `noqueue` that a user has chosen has no options.
const KNOWN: [&str; 10] =
    ["noqueue", "pfifo", "bfifo", "pfifo_fast", "codel", "fq_codel", "fq", "pie", "fq_pie", "cake"];

/// The queue discipline that a device had before; none if it was the kernel's own choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Name of the discipline in `tc`.
    pub kind: String,
    options: Option<Vec<u8>>,
}

/// Returns the discipline that a user has chosen for a device; none if the kernel chose.
///
/// # Errors
/// Fails if the discipline could not be restored.
pub(super) fn before(device: &Device) -> Result<Option<Before>, Error> {
    let root = netlink()?.root_qdisc(device.index).map_err(|error| refused(device, &error))?;
    let Some(root) = root.filter(|root| root.handle != 0) else { return Ok(None) };
    let (kind, name) = (root.kind, &device.name);
    if !KNOWN.contains(&kind.as_str()) {
        return Err(Error::machine(format!(
            "{name} has the queue discipline {kind}, which unbloat could not restore exactly: remove it (tc qdisc del \
             dev {name} root)"
        )));
    }
    Ok(Some(Before { kind, options: root.options }))
}

/// Reports whether the device takes every packet at once, so that none waits before it. It then has
/// `noqueue`, the kernel's choice for Wi-Fi, bridges, tunnels and `lo`.
///
/// # Errors
/// Fails if the kernel does not answer.
pub(super) fn takes_all(device: &Device) -> Result<bool, Error> {
    let root = netlink()?.root_qdisc(device.index).map_err(|error| refused(device, &error))?;
    Ok(root.is_some_and(|root| root.kind == "noqueue"))
}

/// Gives a device the queues, and returns their kind of discipline. With a `rate`, no more than
/// that leaves the device.
///
/// # Errors
/// Returns the kernel's error.
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

/// Creates classes of `htb` at a device. The first may use the whole rate, each other what the
/// classes before it leave. Up to `ahead` of idle time may be made up for.
pub fn classes(netlink: &Netlink, device: &str, rate: Rate, ahead: Nanos, bands: u32) -> io::Result<()> {
    let class = |minor: u16| TcHandle::from(HANDLE | u32::from(minor));
    let parameters = |own: Rate, prio: u32| htb_class(own, rate, ahead, PACKET, prio);
    netlink.set_qdisc(device, TcHandle::ROOT, TcHandle::from(HANDLE), &htb(1))?;
    netlink.add_class(device, class(0), class(WHOLE), &parameters(rate, 0))?;
    netlink.add_class(device, class(WHOLE), class(1), &parameters(rate, 0))?;
    let last = (1..).take_while(|band| *band < bands);
    last.into_iter().try_for_each(|band| {
        netlink.add_class(device, class(WHOLE), class(band as u16 + 1), &parameters(LEAST_RATE.min(rate), band))
    })
}

/// Reports whether a device has this crate's discipline.
pub(super) fn has(device: u32) -> bool {
    let root = netlink().ok().and_then(|netlink| netlink.root_qdisc(device).ok().flatten());
    root.is_some_and(|root| root.handle == HANDLE)
}

/// Restores a device's discipline in one step, so that a killed process has done it or not begun.
/// If somebody has removed this crate's discipline, the old one returns too, unless they have
/// chosen another.
///
/// # Errors
/// Returns the kernel's error; the device then keeps this crate's discipline.
pub(super) fn take(device: &Device, before: Option<&Before>) -> Result<(), Error> {
    let netlink = netlink()?;
    let root = netlink.root_qdisc(device.index).map_err(|error| kept(device, before, &error))?;
    let is_chosen = |root: &RootQdisc| root.handle != 0 && root.handle != HANDLE;
    let is_ours = root.as_ref().is_some_and(|root| root.handle == HANDLE);
    let known = |before: &Before| KNOWN.into_iter().find(|kind| *kind == before.kind);
    match before.and_then(|before| Some((known(before)?, before))) {
        _ if root.as_ref().is_some_and(is_chosen) => Ok(()),
        Some((kind, Before { options, .. })) => {
            let qdisc = Qdisc { kind, options: options.clone() };
            netlink.set_qdisc(&device.name, TcHandle::ROOT, TcHandle::UNSPEC, &qdisc)
        }
        // The kernel chooses a discipline for a device without one.
        None if is_ours => netlink.delete_root_qdisc(device.index),
        None => Ok(()),
    }
    .map_err(|error| kept(device, before, &error))
}

fn kept(device: &Device, before: Option<&Before>, error: &io::Error) -> Error {
    let (name, kind) = (&device.name, before.map_or("discipline of the kernel's choice", |before| &before.kind));
    Error::machine(format!("the {kind} of {name} cannot be restored, and the classifier stays: {error}"))
}

fn refused(device: &Device, error: &io::Error) -> Error {
    Error::machine(format!("{} cannot get unbloat's queues: {error}", device.name))
}
