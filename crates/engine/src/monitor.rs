//! Observation of packets on their way, for the run's tap and for the loss count of each flow.

use crate::packet::{Data, Packet};
use crate::tap::{PacketEvent, Tap};
use model::units::Nanos;
use path::{DropReason, Observer, PortId};

/// Reports every packet event to a tap, and counts the data packets that do not arrive.
pub struct Monitor<T> {
    /// The tap, which sees every packet event.
    pub tap: T,
    /// The number of data packets of each flow that were sent in the measuring interval and were dropped or lost.
    lost: Vec<u64>,
    /// Data packets that have left their senders' hosts, to be reported to the senders.
    pub departed: Vec<Data>,
}

impl<T: Tap> Monitor<T> {
    /// A monitor of `flows` flows, with no loss yet.
    pub fn new(tap: T, flows: usize) -> Monitor<T> {
        Monitor { tap, lost: vec![0; flows], departed: vec![] }
    }

    /// Notes that the host of a flow has no memory for a packet. The packet counts as sent and as lost if `counts`.
    pub fn refused(&mut self, flow: u32, counts: bool) {
        self.lost[flow as usize] += u64::from(counts);
    }

    /// The number of data packets of a flow that were sent in the measuring interval and were dropped or lost.
    pub fn lost(&self, flow: u32) -> u64 {
        self.lost[flow as usize]
    }
}

impl<T: Tap> Observer<Packet> for Monitor<T> {
    const WATCHES_PORTS: bool = T::WATCHES_LINKS;

    fn passed(&mut self, now: Nanos, port: PortId, packet: &Packet) {
        self.tap.passed(now, port, packet);
    }

    fn departed(&mut self, _: Nanos, packet: &Packet) {
        if let Packet::Data(data) = packet {
            self.departed.push(*data);
        }
    }

    fn gone(&mut self, now: Nanos, reason: DropReason, packet: &Packet) {
        let event = if reason == DropReason::Queue { PacketEvent::Dropped } else { PacketEvent::Lost };
        match packet {
            Packet::Data(data) => {
                self.tap.data(now, event, data);
                self.lost[data.flow as usize] += data.counts as u64;
            }
            Packet::Ack(ack) => self.tap.ack(now, event, ack),
            Packet::Datagram(datagram) => {
                self.tap.datagram(now, event, datagram);
                self.lost[datagram.flow as usize] += datagram.counts as u64;
            }
        }
    }

    fn duplicated(&mut self, now: Nanos, packet: &Packet) -> Packet {
        let mut copy = *packet;
        match &mut copy {
            Packet::Data(data) => {
                // Only the loss of the original counts.
                data.counts = false;
                self.tap.data(now, PacketEvent::Duplicated, data);
            }
            Packet::Ack(ack) => self.tap.ack(now, PacketEvent::Duplicated, ack),
            Packet::Datagram(datagram) => {
                datagram.counts = false;
                self.tap.datagram(now, PacketEvent::Duplicated, datagram);
            }
        }
        copy
    }
}
