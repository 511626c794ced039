//! The uplink of a host of the scenario: the queue of its device, which is the kernel's, and the transmitter behind it,
//! which is ours.
//!
//! The host's device has the link's discipline inside the kernel's shaper (`htb`) at the link's rate: a packet comes
//! out when its transmission begins, so that packets wait where the host sorts them, and what is in the queue is still
//! its socket's (TCP small queues). The emulator then has nothing to queue.

mod discipline;
pub mod port;

use crate::error::Error;
use crate::host::Host;
use crate::timing::clock::Time;
use kernel::netlink::Netlink;
use kernel::tun;
use kernel::{ClassifierDrops, ClassifierPlace, ClassifierProgram, SendBuffers, Stamp, StampReader};
use mechanism::{Library, Role};
use model::units::{Bytes, Nanos};
use model::{self, Limit, Link, MechanismRef, MechanismSource, Scenario};
use nix::net::if_::if_nametoindex;
use std::collections::BTreeMap;
use std::io;

/// The classifier that does what `prio` and `pfifo_fast` do by themselves.
const BY_SERVICE: &str = "pfifo_fast";

/// The discipline of a host's device, with the programs before it.
pub struct Uplink {
    stamp: Stamp,
    classifier: Option<ClassifierProgram>,
    device: u32,
}

/// Tells what a device's queue has, and what did not get through it.
pub struct HostQueue {
    netlink: Netlink,
    device: u32,
    classifier: Option<ClassifierDrops>,
    /// What reads when packets came to it.
    pub reader: StampReader,
}

impl Uplink {
    /// Gives the device of host `number` its discipline.
    ///
    /// # Errors
    /// If the kernel does not have it, or the classifier cannot be had.
    pub fn give(
        scenario: &Scenario,
        number: usize,
        host: &Host,
        library: &Library,
        time: Time,
    ) -> Result<Uplink, Error> {
        let model = &scenario.hosts[number];
        let link = &scenario.links[model.uplink].forward;
        let bands = discipline::bands(link);
        let failed = |error: mechanism::Error| error.of(Role::Classifier(model.name.clone()));
        let place = |bands| ClassifierPlace { link_header: 0, bands, timed: None };
        let classifier = bands.map(|bands| ClassifierProgram::load(library, &classifier_of(model), place(bands)));
        let classifier = classifier.transpose().map_err(failed)?;
        let stamp = Stamp::load(longest_wait(link, host.mtu, scenario.duration))
            .map_err(|error| Error::Machine(error.message))?;
        // Where TCP is to fill the queue it is netem that a kernel may not have.
        let key = || match model.small_queues {
            true => format!("link.{}.queue.kind", link.name),
            false => format!("host.{}.small_queues", model.name),
        };
        let given = host.namespace.within(|| {
            let (netlink, device) = (Netlink::open()?, if_nametoindex(tun::NAME)?);
            discipline::give(&netlink, link, host.mtu, time, model.small_queues)?;
            stamp.attach(device).map_err(io::Error::other)?;
            classifier.as_ref().map_or(Ok(()), |program| program.attach(device)).map_err(io::Error::other)?;
            Ok(device)
        });
        let device = given.map_err(|error| discipline::refused(error, key()))?;
        Ok(Uplink { stamp, classifier, device })
    }

    /// What tells of the queue of `host`, whose uplink this is, in a run at whose start the kernel's clock shows
    /// `origin`.
    pub fn queue(&self, host: &Host, origin: Nanos) -> io::Result<HostQueue> {
        let drops = self.classifier.as_ref().map(ClassifierProgram::drops);
        let classifier = drops.transpose().map_err(io::Error::other)?;
        let netlink = host.namespace.within(Netlink::open)?;
        Ok(HostQueue { netlink, device: self.device, classifier, reader: self.stamp.reader(origin) })
    }

    /// Returns a reader of the send buffers whose segments enter the uplink's queue.
    pub fn send_buffers(&self, origin: Nanos) -> io::Result<SendBuffers> {
        self.stamp.send_buffers(origin).map_err(io::Error::other)
    }
}

impl HostQueue {
    /// Packets that did not get into the queue, or not out of it, so far.
    pub fn dropped(&self) -> io::Result<u64> {
        let by_classifier = self.classifier.as_ref().map_or(0, ClassifierDrops::total);
        Ok(u64::from(self.netlink.queue_counts(self.device)?.dropped) + by_classifier)
    }

    /// Bytes and packets that wait.
    pub fn waiting(&self) -> io::Result<(u64, u64)> {
        let counts = self.netlink.queue_counts(self.device)?;
        Ok((counts.bytes.into(), counts.packets.into()))
    }
}

/// The host's classifier. Without one the type of service chooses: told by a program, it does so also where a kernel
/// has no discipline with bands, but a shaper with classes.
fn classifier_of(host: &model::Host) -> MechanismRef {
    let by_service = || MechanismRef::new(MechanismSource::Builtin(BY_SERVICE.into()), BTreeMap::new());
    host.classifier.clone().unwrap_or_else(by_service)
}

/// How long a packet waits at most: twice as long as it takes to send all that the queue has room for, or until the run
/// ends. Only one that those before it in the order of bands keep waiting can wait for longer.
fn longest_wait(link: &Link, mtu: u32, duration: Nanos) -> Nanos {
    let room = match link.queue.limit() {
        Some(Limit::Bytes(bytes)) => bytes,
        Some(Limit::Packets(packets)) => Bytes(packets.saturating_mul(mtu.into())),
        None => return duration,
    };
    let all_out = Nanos((8e9 * room.0 as f64 / link.service.capacity().mean) as u64);
    duration.min(all_out + all_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
duration = "60s"
[link.line]
rate = "12mbit"
delay = "5ms"
queue = { kind = "prio", bands = 2 }
[[flows]]
cc = "reno"
"#;

    /// Two bands of 1000 packets of 1 ms, and a queue without end.
    #[test]
    fn what_waits_is_out_when_all_before_it_is() {
        let link = |queue: &str| {
            let change = [("link.line.queue".to_string(), queue.to_string())];
            let overrides = if queue.is_empty() { &[][..] } else { &change };
            let mut experiment = scenario::load_text(SCENARIO, "test", "".as_ref(), overrides).unwrap();
            experiment.cells.remove(0).scenario.links.remove(0).forward
        };
        let wait = |queue: &str| longest_wait(&link(queue), 1500, Nanos::from_secs(60));
        assert_eq!(wait(""), Nanos::from_secs(4));
        assert_eq!(wait("{ limit = \"15kb\" }"), Nanos::from_millis(20));
        assert_eq!(wait("{}"), Nanos::from_secs(60));
    }
}
