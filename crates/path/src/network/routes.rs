//! The ports that packets pass, route by route.

use crate::channel::PortId;
use crate::packet::Packet;

/// The place of a hop in [`Routes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HopId(pub(crate) u32);

impl HopId {
    /// What follows the last hop of a route: no hop has this number.
    pub(crate) const END: HopId = HopId(u32::MAX);
}

/// A port on a route, and the hop behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) port: PortId,
    pub(crate) next: HopId,
}

/// The ports that a packet passes, by the number of its route.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// The first hop of each route.
    first: Vec<Hop>,
    /// The hops of all routes that are not their first.
    hops: Vec<Hop>,
}

impl Routes {
    /// The first hop of a route.
    #[inline(always)]
    pub(super) fn first(&self, route: u32) -> Hop {
        self.first[route as usize]
    }

    /// A hop that is not the first of its route; none behind the last.
    #[inline(always)]
    pub(crate) fn hop(&self, id: HopId) -> Option<Hop> {
        self.hops.get(id.0 as usize).copied()
    }

    /// Whether the route of a packet begins at this port, by which the packet then leaves its sender's host.
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
        let mut hop = |next: usize| {
            let port = ports.next()?;
            Some(Hop { port, next: if ports.peek().is_some() { HopId(next as u32) } else { HopId::END } })
        };
        self.first.push(hop(self.hops.len()).expect("a route has a port"));
        while let Some(next) = hop(self.hops.len() + 1) {
            self.hops.push(next);
        }
    }
}
