//! The ports that packets pass on each route.

use crate::channel::PortId;
use crate::packet::Packet;

/// The place of a hop in [`Routes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HopId(pub(crate) u32);

impl HopId {
    /// Marks the end of a route: no hop has this number.
    pub(crate) const END: HopId = HopId(u32::MAX);
}

/// A port on a route, and the next hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) port: PortId,
    pub(crate) next: HopId,
}

/// The ports that packets pass, by the number of the route.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// The first hop of each route.
    first: Vec<Hop>,
    /// All hops but the first of each route.
    hops: Vec<Hop>,
}

impl Routes {
    /// Returns the first hop of a route.
    #[inline(always)]
    pub(super) fn first(&self, route: u32) -> Hop {
        self.first[route as usize]
    }

    /// Returns a hop that is not the first of its route; none at the end.
    #[inline(always)]
    pub(crate) fn hop(&self, id: HopId) -> Option<Hop> {
        self.hops.get(id.0 as usize).copied()
    }

    /// Reports whether the route of a packet begins at this port, so that the packet leaves its
    /// sender's host there.
    pub(super) fn begins_at<P: Packet>(&self, packet: &P, port: PortId) -> bool {
        let route = 2 * packet.flow() + u32::from(!packet.is_from_sender());
        self.first.get(route as usize).is_some_and(|first| first.port == port)
    }

    /// Adds a route. Routes get ascending numbers from 0.
    ///
    /// # Panics
    /// Panics if the route has no port.
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
