//! Observers of packet events, which cost nothing in a run without one.

use crate::packet::{Ack, Data, Datagram, Packet};
use model::units::Nanos;
use path::PortId;

/// An event in the life of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// The packet leaves its host.
    Sent,
    /// A queue drops the packet.
    Dropped,
    /// The channel will lose the packet.
    Lost,
    /// The packet is at the other host.
    Arrived,
    /// A second copy of the packet leaves the channel that made it.
    Duplicated,
}

/// Sees every packet event in the order of simulated time.
pub trait Tap {
    /// Something happens to a data packet.
    fn data(&mut self, now: Nanos, event: PacketEvent, data: &Data);
    /// Something happens to an acknowledgement.
    fn ack(&mut self, now: Nanos, event: PacketEvent, ack: &Ack);
    /// Something happens to a datagram.
    #[inline(always)]
    fn datagram(&mut self, _now: Nanos, _event: PacketEvent, _datagram: &Datagram) {}
    /// The queue of a sender's own host has no room for this packet, which stays with its sender; the queue counts it
    /// as dropped. A buffer of several segments is one packet here.
    #[inline(always)]
    fn refused(&mut self, _now: Nanos, _data: &Data) {}
    /// True if the simulator is to call [`Tap::passed`].
    const WATCHES_LINKS: bool = false;
    /// A packet is at the far end of a port of the network.
    #[inline(always)]
    fn passed(&mut self, _now: Nanos, _port: PortId, _packet: &Packet) {}
    /// Reports whether this data packet is to be lost as it leaves its host. Tests script their losses with it.
    #[inline(always)]
    fn loses(&mut self, _now: Nanos, _data: &Data) -> bool {
        false
    }
}

/// A tap that ignores every event.
pub struct Silent;

impl Tap for Silent {
    #[inline(always)]
    fn data(&mut self, _: Nanos, _: PacketEvent, _: &Data) {}
    #[inline(always)]
    fn ack(&mut self, _: Nanos, _: PacketEvent, _: &Ack) {}
}

/// Two taps that both see every event.
impl<A: Tap, B: Tap> Tap for (A, B) {
    const WATCHES_LINKS: bool = A::WATCHES_LINKS || B::WATCHES_LINKS;
    fn passed(&mut self, now: Nanos, port: PortId, packet: &Packet) {
        self.0.passed(now, port, packet);
        self.1.passed(now, port, packet);
    }
    #[inline]
    fn data(&mut self, now: Nanos, event: PacketEvent, data: &Data) {
        self.0.data(now, event, data);
        self.1.data(now, event, data);
    }
    #[inline]
    fn ack(&mut self, now: Nanos, event: PacketEvent, ack: &Ack) {
        self.0.ack(now, event, ack);
        self.1.ack(now, event, ack);
    }
    fn datagram(&mut self, now: Nanos, event: PacketEvent, datagram: &Datagram) {
        self.0.datagram(now, event, datagram);
        self.1.datagram(now, event, datagram);
    }
    fn refused(&mut self, now: Nanos, data: &Data) {
        self.0.refused(now, data);
        self.1.refused(now, data);
    }
    #[inline]
    fn loses(&mut self, now: Nanos, data: &Data) -> bool {
        // Both taps see the packet, whatever the first answers.
        self.0.loses(now, data) | self.1.loses(now, data)
    }
}

/// An optional tap, without which nothing sees the events.
impl<T: Tap> Tap for Option<T> {
    const WATCHES_LINKS: bool = T::WATCHES_LINKS;
    fn passed(&mut self, now: Nanos, port: PortId, packet: &Packet) {
        if let Some(tap) = self {
            tap.passed(now, port, packet);
        }
    }
    #[inline]
    fn data(&mut self, now: Nanos, event: PacketEvent, data: &Data) {
        if let Some(tap) = self {
            tap.data(now, event, data);
        }
    }
    #[inline]
    fn ack(&mut self, now: Nanos, event: PacketEvent, ack: &Ack) {
        if let Some(tap) = self {
            tap.ack(now, event, ack);
        }
    }
    fn datagram(&mut self, now: Nanos, event: PacketEvent, datagram: &Datagram) {
        if let Some(tap) = self {
            tap.datagram(now, event, datagram);
        }
    }
    fn refused(&mut self, now: Nanos, data: &Data) {
        if let Some(tap) = self {
            tap.refused(now, data);
        }
    }
    #[inline]
    fn loses(&mut self, now: Nanos, data: &Data) -> bool {
        self.as_mut().is_some_and(|tap| tap.loses(now, data))
    }
}

/// A hash over the event trace: any change of behaviour changes it.
#[derive(Clone, Debug)]
pub struct Fingerprint(pub u64);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint::new()
    }
}

impl Fingerprint {
    /// The hash of an empty trace.
    pub fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, word: u64) {
        // FNV-1a over 64-bit words, with a rotation so that high bits reach low ones.
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    }
}

impl Tap for Fingerprint {
    fn data(&mut self, now: Nanos, event: PacketEvent, data: &Data) {
        self.add(now.0);
        self.add((event as u64) << 56 | (data.flags as u64) << 48 | data.bytes as u64);
        self.add((data.flow as u64) << 32 | data.segment as u64);
    }

    fn ack(&mut self, now: Nanos, event: PacketEvent, ack: &Ack) {
        self.add(now.0);
        self.add(1 << 63 | (event as u64) << 56 | (ack.flags as u64) << 48 | ack.bytes as u64);
        self.add((ack.flow as u64) << 32 | ack.next as u64);
        for block in ack.blocks() {
            self.add((block.start as u64) << 32 | block.end as u64);
        }
    }

    fn datagram(&mut self, now: Nanos, event: PacketEvent, datagram: &Datagram) {
        self.add(now.0);
        self.add(1 << 62 | (event as u64) << 56 | (datagram.is_reply as u64) << 48 | datagram.bytes as u64);
        self.add((datagram.flow as u64) << 32);
        self.add(datagram.sent_at.0);
    }
}
