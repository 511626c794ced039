//! What the links use of the emulator around them: packet buffers, monitors and the packet trace.

use crate::buffers::Buffers;
use crate::flows::monitor::FlowMonitor;
use crate::packet::PacketInfo;
use crate::pcap::Pcap;
use measure::{Histogram, LinkInterfaces};
use model::units::Nanos;
use path::{DropReason, Observer, PortId};
use std::io;

/// The parts of the emulator that its links use.
pub struct Surroundings {
    /// The buffers with the packets' bytes.
    pub buffers: Buffers,
    /// One monitor for each flow; empty where nothing is measured.
    pub monitors: Vec<FlowMonitor>,
    /// Distribution of how late packets were handed to their hosts, or to the kernel.
    pub lateness: Histogram,
    /// The clock's time while the links catch up with it; none while a host hands a packet over.
    pub catching_up_at: Option<Nanos>,
    /// The packet trace, if one is written.
    pub pcap: Option<Pcap>,
    /// The interfaces of the packet trace that are links.
    pub interfaces: LinkInterfaces,
    failure: Option<io::Error>,
}

impl Surroundings {
    /// Makes surroundings for packets of up to `mtu` bytes; `monitors` watch the flows.
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

    /// Records how late a packet, due at `due`, is handed to the kernel.
    pub fn note_handing_over(&mut self, due: Nanos) {
        if let Some(now) = self.catching_up_at {
            self.lateness.record(now.since(due));
        }
    }

    /// Notes that a device has failed; later failures are ignored.
    pub fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }

    /// Reports the failure of a device since the last call.
    ///
    /// # Errors
    /// The error of the device, if one has failed.
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
