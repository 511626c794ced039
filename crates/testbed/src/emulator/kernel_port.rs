//! The ports of the network whose queues are in the kernel: of links, and of the devices of hosts.

use crate::error::Error;
use crate::kernel_qdisc::kernel_link::KernelLink;
use crate::packet::PacketInfo;
use crate::surroundings::Surroundings;
use crate::timing::clock::Time;
use crate::uplink::port::UplinkPort;
use measure::LinkSample;
use model::units::Nanos;
use model::{Emulator, Link, Scenario};
use path::{External, ExternalPort, Gone, LinkOutput, PacketId, Pool, Transit};

/// A port of the network whose queue is in the kernel.
pub enum KernelPort {
    /// A link whose packets the emulator sends through a kernel queue and, with `netem`, a kernel channel.
    Link(Box<KernelLink>),
    /// The transmitter and channel behind the queue of a host's device.
    Uplink(Box<UplinkPort>),
}

impl KernelPort {
    /// Makes the port of one direction of a link, if its queue is in the kernel; `purpose` selects its random stream.
    ///
    /// # Errors
    /// If the kernel does not support the queue that the scenario asks for.
    pub fn of(scenario: &Scenario, link: &Link, purpose: u64, time: Time) -> Result<Option<KernelPort>, Error> {
        let is_uplink = |host: &model::Host| scenario.links[host.uplink].forward.name == link.name;
        if scenario.hosts.iter().any(is_uplink) {
            return Ok(Some(KernelPort::Uplink(Box::new(UplinkPort::new(scenario, link, purpose)))));
        }
        let is_the_kernels = scenario.emulator == Emulator::Netem || link.queue.is_of_kernel();
        let of_link = || Ok(KernelPort::Link(Box::new(KernelLink::new(scenario, link, purpose, time)?)));
        is_the_kernels.then(of_link).transpose()
    }

    /// Returns the port as a link; none if it is a host's uplink.
    pub fn link(&self) -> Option<&KernelLink> {
        match self {
            KernelPort::Link(link) => Some(link),
            KernelPort::Uplink(_) => None,
        }
    }
}

impl ExternalPort for KernelPort {
    fn next(&self) -> Nanos {
        match self {
            KernelPort::Link(link) => link.next(),
            KernelPort::Uplink(uplink) => uplink.next(),
        }
    }

    fn sample(&self, number: u32) -> LinkSample {
        match self {
            KernelPort::Link(link) => link.sample(number),
            KernelPort::Uplink(uplink) => uplink.sample(number),
        }
    }

    fn output(&self) -> &LinkOutput {
        match self {
            KernelPort::Link(link) => link.output(),
            KernelPort::Uplink(uplink) => uplink.output(),
        }
    }
}

impl External<PacketInfo, Surroundings> for KernelPort {
    fn offer(
        &mut self,
        now: Nanos,
        id: PacketId,
        packets: &mut Pool<PacketInfo>,
        around: &mut Surroundings,
        gone: &mut Vec<Gone>,
    ) {
        match self {
            KernelPort::Link(link) => link.offer(now, id, packets, around, gone),
            KernelPort::Uplink(uplink) => uplink.offer(now, id, packets, around, gone),
        }
    }

    fn step(
        &mut self,
        now: Nanos,
        packets: &mut Pool<PacketInfo>,
        around: &mut Surroundings,
        gone: &mut Vec<Gone>,
    ) -> Transit {
        match self {
            KernelPort::Link(link) => link.step(now, packets, around, gone),
            KernelPort::Uplink(uplink) => uplink.step(now, packets, around, gone),
        }
    }
}
