//! What the links need of the emulator around them: the packets' bytes, and those who watch.

use crate::buffers::Buffers;
use crate::flows::monitor::FlowMonitor;
use crate::packet::PacketInfo;
use crate::pcap::Pcap;
use measure::{Histogram, LinkInterfaces};
use model::units::Nanos;
use path::{DropReason, Observer, PortId};
use std::io;

/// The emulator, as its links see it.
pub struct Surroundings {
    /// The packets' bytes.
    pub buffers: Buffers,
    /// By flow; none where nothing is measured.
    pub monitors: Vec<FlowMonitor>,
    /// How much later than it should a packet was handed to its host, or to the kernel.
    pub lateness: Histogram,
    /// The time by the clock while the links do what was due by then; none while a host hands a packet over.
    pub catching_up_at: Option<Nanos>,
    /// The packet trace, if one is wanted.
    pub pcap: Option<Pcap>,
    /// Those of its interfaces that are links.
    pub interfaces: LinkInterfaces,
    failure: Option<io::Error>,
}

impl Surroundings {
    /// Those of packets of up to `mtu` bytes.
    pub fn new(mtu: u32, monitors: Vec<FlowMonitor>) -> Surroundings {
        Surroundings {
            buffers: Buffers::new(mtu),
            monitors,
            lateness: Histogram::default(),
            catching_up_at: None,
            pcap: None,
            interfaces: LinkInterfaces::default(),
            failure: None,
        }
    }

    /// A packet is handed to the kernel that should have been at `due`.
    pub fn note_handing_over(&mut self, due: Nanos) {
        if let Some(now) = self.catching_up_at {
            self.lateness.record(now.since(due));
        }
    }

    /// A device has failed; the first failure counts.
    pub fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }

    /// Whether a device has failed since the last call.
    ///
    /// # Errors
    /// What it said.
    pub fn check(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

impl Observer<PacketInfo> for Surroundings {
    const WATCHES_PORTS: bool = true;

    fn passed(&mut self, now: Nanos, port: PortId, info: &PacketInfo) {
        if let (Some(interface), Some(pcap)) = (self.interfaces.of_port(port), &mut self.pcap)
            && let Err(error) = pcap.write(now, interface, self.buffers.packet(info), info.flow)
        {
            self.fail(error);
        }
    }

    fn gone(&mut self, _: Nanos, _: DropReason, info: &PacketInfo) {
        self.buffers.release(info.slot);
        if info.counts
            && let Some(monitor) = self.monitors.get_mut(info.flow as usize)
        {
            monitor.lost += 1;
        }
    }

    fn duplicated(&mut self, _: Nanos, info: &PacketInfo) -> PacketInfo {
        // The packet itself is the one that counts if it is lost.
        let mut copy = *info;
        (copy.slot, copy.counts) = (self.buffers.copy(info), false);
        copy
    }
}
