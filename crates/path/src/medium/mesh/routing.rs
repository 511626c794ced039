//! The routes of packets: up to the border router, from parent to parent, or down from it, through
//! the child above the destination.
//!
//! The tree may change while packets wait. They then follow the new tree from their present node. A
//! node knows its parent and the nodes below it, as in RPL's storing mode (RFC 6550, section 9),
//! and has no route to others.

use crate::medium::member::MemberId;
use crate::packet::PacketId;
use model::mesh::{self, Hop};

/// A packet inside the mesh.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    /// The node that has the packet.
    at: usize,
    destination: usize,
}

/// The tree of a mesh, and the packets on it.
pub(super) struct Routing {
    border_router: usize,
    parents: Vec<Option<usize>>,
    /// The two nodes of each member.
    hops: Vec<Hop>,
    /// The member from each node to its parent; the member from the parent is the next.
    upward: Vec<Option<MemberId>>,
    /// Packets by their numbers.
    routes: Vec<Route>,
}

impl Routing {
    /// Creates the routes of a mesh. Members `2n` and `2n + 1` lead from a node to its parent and
    /// back.
    pub fn new(model: &mesh::Mesh, hops: Vec<Hop>) -> Routing {
        let of_node = |node: usize| hops.iter().step_by(2).position(|hop| hop.from == node);
        let upward = |node: usize| Some(2 * of_node(node)? as MemberId);
        Routing {
            border_router: model.border_router,
            parents: model.nodes.iter().map(|node| node.parent).collect(),
            upward: (0..model.nodes.len()).map(upward).collect(),
            hops,
            routes: vec![],
        }
    }

    /// Returns the two nodes that a member connects.
    pub fn hop(&self, member: MemberId) -> Hop {
        self.hops[member as usize]
    }

    /// Lists all members with their numbers.
    pub fn members(&self) -> impl Iterator<Item = (MemberId, Hop)> {
        (0..).zip(self.hops.iter().copied())
    }

    /// Reports whether a member leads towards the border router.
    pub fn is_up(member: MemberId) -> bool {
        member.is_multiple_of(2)
    }

    /// Switches to another tree.
    pub fn follow(&mut self, parents: &[Option<usize>]) {
        self.parents.copy_from_slice(parents);
        for (node, parent) in parents.iter().enumerate() {
            if let (Some(member), Some(parent)) = (self.upward[node], *parent) {
                let up = &mut self.hops[member as usize];
                up.to = parent;
                self.hops[member as usize + 1] = Hop { from: parent, to: node, ..*up };
            }
        }
    }

    /// Admits a packet to the mesh through a member. On a member up, it starts at the node below.
    /// On a member down, it starts at the border router and is for that node.
    pub fn enter(&mut self, member: MemberId, id: PacketId) {
        let node = self.hops[(member & !1) as usize].from;
        let (at, destination) =
            if Routing::is_up(member) { (node, self.border_router) } else { (self.border_router, node) };
        let place = id.0 as usize;
        if place >= self.routes.len() {
            self.routes.resize(place + 1, Route::default());
        }
        self.routes[place] = Route { at, destination };
    }

    /// Returns the member that a packet takes next; none if its node has no route.
    pub fn next_member(&self, id: PacketId) -> Option<MemberId> {
        let Route { at, destination } = self.routes[id.0 as usize];
        if destination == self.border_router {
            return self.parents[at].and(self.upward[at]);
        }
        let mut node = destination;
        while let Some(parent) = self.parents[node] {
            if parent == at {
                return Some(self.upward[node]? + 1);
            }
            node = parent;
        }
        None
    }

    /// Notes that a packet has reached a node.
    pub fn comes_to(&mut self, id: PacketId, node: usize) {
        self.routes[id.0 as usize].at = node;
    }

    /// Reports whether a packet has more hops in the mesh.
    pub fn goes_on(&self, id: PacketId) -> bool {
        self.routes.get(id.0 as usize).is_some_and(|route| route.at != route.destination)
    }

    /// Returns the node that has a packet.
    pub fn node_of(&self, id: PacketId) -> usize {
        self.routes[id.0 as usize].at
    }

    /// Returns a member on the packet's first hop, which counts its loss if it has no route.
    pub fn entrance(&self, id: PacketId) -> MemberId {
        let Route { at, destination } = self.routes[id.0 as usize];
        match destination == self.border_router {
            true => self.upward[at].expect("the border router does not send upward"),
            false => self.upward[destination].expect("nothing goes down to the border router") + 1,
        }
    }
}
