//! The ports that packets pass, route by route.

use crate::channel::{PortId, Transit};
use crate::packet::Packet;

/// A port on a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextHop {
    pub(super) port: PortId,
    /// Its number in [`Routes::hops`].
    pub(super) next: u32,
}

/// The ports that a packet passes, by the number of its route.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// The first hop of each route.
    pub(super) first: Vec<NextHop>,
    /// The hops of all routes that are not their first.
    pub(super) hops: Vec<NextHop>,
}

impl Routes {
    /// Does the route of a packet begin at this port, so that it is its sender's host that the packet leaves by it?
    pub(super) fn begins_at<P: Packet>(&self, packet: &P, port: PortId) -> bool {
        let route = 2 * packet.flow() + u32::from(!packet.is_from_sender());
        self.first.get(route as usize).is_some_and(|first| first.port == port)
    }

    /// Adds a route, whose number is the count of those before it.
    ///
    /// # Panics
    /// If it passes no port.
    pub fn add(&mut self, ports: impl IntoIterator<Item = PortId>) {
        let mut ports = ports.into_iter().peekable();
        let mut hop = |next: u32| {
            let port = ports.next()?;
            Some(NextHop { port, next: if ports.peek().is_some() { next } else { Transit::END } })
        };
        self.first.push(hop(self.hops.len() as u32).expect("a route has a port"));
        while let Some(next) = hop(self.hops.len() as u32 + 1) {
            self.hops.push(next);
        }
    }
}
