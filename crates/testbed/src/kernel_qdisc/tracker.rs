//! Which packets are inside a kernel qdisc, inferred from the packets that go in and come out.
//!
//! Packets of one connection stay in order there, so when one comes out, those of its connection that went in before it
//! never will.

use model::units::Nanos;
use path::PacketId;
use std::collections::{HashMap, VecDeque};

/// Protocol, addresses and ports: what belongs together and stays in order.
type Connection = [u8; 13];
/// Length and identification of the IP packet; ports, sequence and acknowledgement number behind.
type Identity = [u8; 16];

/// So many connections are remembered although nothing of them is inside.
const MANY: usize = 1000;

/// A packet inside.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    identity: Identity,
    /// When it went in.
    pub at: Nanos,
    /// What it is; its bytes are with the kernel.
    pub id: PacketId,
    length: u32,
}

/// The packets inside.
#[derive(Debug, Default)]
pub struct QueueTracker {
    connections: HashMap<Connection, VecDeque<Entry>>,
    bytes: u64,
    packets: u64,
}

impl QueueTracker {
    /// A packet goes in.
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

    /// A packet comes out; `dropped` is told of those that it shows to be gone. None if it never went in.
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

    /// Bytes and packets inside, as far as is known.
    pub fn waiting(&self) -> (u64, u64) {
        (self.bytes, self.packets)
    }
}

/// `N` bytes of `packet` from here and there, 0 beyond its end.
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
        // One connection's packets, told apart by their identification; another's between them.
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
