//! Infers which packets are inside a kernel qdisc from the packets that go in and come out.
//!
//! Packets of one connection stay in order in a qdisc. So when one comes out, the earlier packets of its connection
//! that are still inside must have been dropped.

use model::units::Nanos;
use path::PacketId;
use std::collections::{HashMap, VecDeque};

/// Protocol, addresses and ports of packets that stay in order.
type Connection = [u8; 13];
/// Length and identification of an IP packet, then ports, sequence number and acknowledgement number.
type Identity = [u8; 16];

/// The number of connections above which those without packets inside are forgotten.
const MANY: usize = 1000;

/// A packet inside the qdisc.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    identity: Identity,
    /// When the packet went in.
    pub at: Nanos,
    /// The packet's number in the pool of descriptors; the kernel has its bytes.
    pub id: PacketId,
    length: u32,
}

/// The packets inside a qdisc.
#[derive(Debug, Default)]
pub struct QueueTracker {
    connections: HashMap<Connection, VecDeque<Entry>>,
    bytes: u64,
    packets: u64,
}

impl QueueTracker {
    /// Notes a packet that goes in.
    pub fn enter(&mut self, packet: &[u8], at: Nanos, id: PacketId) {
        let length = packet.len() as u32;
        self.bytes += length as u64;
        self.packets += 1;
        let entry = Entry { identity: identity(packet), at, id, length };
        let connection = connection(packet);
        if self.connections.len() >= MANY && !self.connections.contains_key(&connection) {
            self.connections.retain(|_, queue| !queue.is_empty());
        }
        self.connections.entry(connection).or_default().push_back(entry);
    }

    /// Removes a packet that has come out, and calls `dropped` for each packet that must have been dropped. Returns
    /// none if the packet never went in.
    pub fn leave(&mut self, packet: &[u8], mut dropped: impl FnMut(&Entry)) -> Option<Entry> {
        let queue = self.connections.get_mut(&connection(packet))?;
        let identity = identity(packet);
        let place = queue.iter().position(|entry| entry.identity == identity)?;
        self.packets -= place as u64 + 1;
        for entry in queue.drain(..place) {
            self.bytes -= entry.length as u64;
            dropped(&entry);
        }
        let left = queue.pop_front()?;
        self.bytes -= left.length as u64;
        Some(left)
    }

    /// Returns the bytes and packets that are inside, as far as is known.
    pub fn waiting(&self) -> (u64, u64) {
        (self.bytes, self.packets)
    }
}

/// Returns the bytes of `packet` at `N` places, 0 beyond its end.
fn picked<const N: usize>(packet: &[u8], places: impl Iterator<Item = usize>) -> [u8; N] {
    let mut picked = [0; N];
    picked.iter_mut().zip(places).for_each(|(to, at)| *to = packet.get(at).copied().unwrap_or(0));
    picked
}

fn connection(packet: &[u8]) -> Connection {
    picked(packet, (9..10).chain(12..24))
}

fn identity(packet: &[u8]) -> Identity {
    picked(packet, (2..6).chain(20..32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::sent;
    use kernel::tun::HEADER;

    #[test]
    fn what_is_overtaken_by_its_own_connection_is_gone() {
        let mut tracker = QueueTracker::default();
        // Packets of one connection, with different identifications, and one of another connection between them.
        let packet = |connection: u8, number: u8| {
            let mut packet = sent(100, 0);
            (packet[HEADER + 5], packet[HEADER + 21]) = (number, connection);
            packet
        };
        for (connection, number) in [(1, 1), (2, 1), (1, 2), (1, 3)] {
            let packet = packet(connection, number);
            tracker.enter(&packet[HEADER..], Nanos(number as u64), PacketId(connection as u32));
        }
        assert_eq!(tracker.waiting(), (4 * 140, 4));
        let mut gone = vec![];
        let mut leave = |connection, number| {
            let left = tracker.leave(&packet(connection, number)[HEADER..], |entry| gone.push(entry.at));
            left.map(|entry| (entry.id.0, entry.at))
        };
        assert_eq!(leave(1, 3), Some((1, Nanos(3))));
        assert_eq!(leave(1, 2), None);
        assert_eq!(leave(2, 1), Some((2, Nanos(1))));
        assert_eq!(gone, [Nanos(1), Nanos(2)]);
        assert_eq!(tracker.waiting(), (0, 0));
    }
}
