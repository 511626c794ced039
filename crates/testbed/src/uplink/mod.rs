//! The uplink of a host of the scenario: a queue in the kernel, on the host's device, and a simulated transmitter
//! behind it.
//!
//! The host's device has the link's discipline inside the kernel's shaper (`htb`) at the link's rate. A packet comes
//! out when its transmission begins. So packets wait where the host sorts them, and a queued packet still counts for
//! its socket (TCP small queues). The emulator has no queue of its own then.

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

/// The classifier that sorts by type of service, as `prio` and `pfifo_fast` do without one.
const BY_SERVICE: &str = "pfifo_fast";

/// The discipline of a host's device, with the programs before it.
pub struct Uplink {
    stamp: Stamp,
    classifier: Option<ClassifierProgram>,
    device: u32,
}

/// Reads the state of the queue of a host's device: waiting and dropped packets.
pub struct HostQueue {
    netlink: Netlink,
    device: u32,
    classifier: Option<ClassifierDrops>,
    /// The reader of the times at which packets entered the queue.
    pub reader: StampReader,
}

impl Uplink {
    /// Sets up the discipline, classifier and time stamps on the device of host `number`.
    ///
    /// # Errors
    /// If the kernel does not have the discipline, or the classifier cannot be loaded.
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
        // Where TCP may fill the queue, the discipline that a kernel may lack is netem.
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

    /// Returns a reader of the queue of `host`, whose uplink this is. The kernel's clock shows `origin` at the start of
    /// the run.
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
    /// Returns the number of packets that the classifier and the queue have dropped.
    pub fn dropped(&self) -> io::Result<u64> {
        let by_classifier = self.classifier.as_ref().map_or(0, ClassifierDrops::total);
        Ok(u64::from(self.netlink.queue_counts(self.device)?.dropped) + by_classifier)
    }

    /// Returns the bytes and packets that wait in the queue.
    pub fn waiting(&self) -> io::Result<(u64, u64)> {
        let counts = self.netlink.queue_counts(self.device)?;
        Ok((counts.bytes.into(), counts.packets.into()))
    }
}

/// Returns the host's classifier. A host without one gets a program that sorts by type of service. It also works where
/// the kernel has no `prio` and bands are classes of the shaper.
fn classifier_of(host: &model::Host) -> MechanismRef {
    let by_service = || MechanismRef::new(MechanismSource::Builtin(BY_SERVICE.into()), BTreeMap::new());
    host.classifier.clone().unwrap_or_else(by_service)
}

/// Returns how long a packet waits at most: twice the time to send a full queue, or the duration of the run. Only a
/// packet of a lower band can wait longer, while packets of higher bands overtake it.
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

    /// Checks two bands of 1000 packets of 1 ms, and a queue without a limit.
    #[test]
    fn what_waits_is_out_when_all_before_it_is() {
        let link = |queue: &str| {
            let change = [("link.line.queue".to_string(), queue.to_string())];
            let overrides = if queue.is_empty() { &[][..] } else { &change };
            let mut experiment = scenario::load_text(SCENARIO, "test", "".as_ref(), overrides).unwrap();
            experiment.points.remove(0).scenario.links.remove(0).forward
        };
        let wait = |queue: &str| longest_wait(&link(queue), 1500, Nanos::from_secs(60));
        assert_eq!(wait(""), Nanos::from_secs(4));
        assert_eq!(wait("{ limit = \"15kb\" }"), Nanos::from_millis(20));
        assert_eq!(wait("{}"), Nanos::from_secs(60));
    }
}
