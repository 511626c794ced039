//! Which way packets go: up to the border router, from parent to parent, or down from it to a node, over the child that
//! the node is behind.
//!
//! The tree may change while packets wait. Then they go by the new one, from where they are: a node knows its parent
//! and those behind it, as in RPL's storing mode (RFC 6550, section 9), and has no way for others.

use crate::medium::member::MemberId;
use crate::packet::PacketId;
use model::mesh::{self, Hop};

/// A packet that is in the mesh.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    /// The node that has it.
    at: usize,
    destination: usize,
}

/// The tree, and the packets on it.
pub(super) struct Routing {
    border_router: usize,
    parents: Vec<Option<usize>>,
    /// By member, from whom to whom.
    hops: Vec<Hop>,
    /// By node, the member to its parent; that from its parent is the next.
    upward: Vec<Option<MemberId>>,
    /// By the number of a packet.
    routes: Vec<Route>,
}

impl Routing {
    /// Those of a mesh. Members `2n` and `2n + 1` are a node's way to its parent and back.
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

    /// From whom to whom a member is.
    pub fn hop(&self, member: MemberId) -> Hop {
        self.hops[member as usize]
    }

    /// All members with their numbers.
    pub fn members(&self) -> impl Iterator<Item = (MemberId, Hop)> {
        (0..).zip(self.hops.iter().copied())
    }

    /// Does a member go towards the border router?
    pub fn is_up(member: MemberId) -> bool {
        member.is_multiple_of(2)
    }

    /// Another tree holds.
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

    /// A packet comes into the mesh: from a node, whose member to its parent it is handed to, or from the border
    /// router, to the node whose member from its parent that is.
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

    /// The member that brings a packet on its way; none from where there is no way.
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

    /// A packet has come to a node.
    pub fn comes_to(&mut self, id: PacketId, node: usize) {
        self.routes[id.0 as usize].at = node;
    }

    /// Has a packet still to go on in the mesh?
    pub fn goes_on(&self, id: PacketId) -> bool {
        self.routes.get(id.0 as usize).is_some_and(|route| route.at != route.destination)
    }

    /// The node that has a packet.
    pub fn node_of(&self, id: PacketId) -> usize {
        self.routes[id.0 as usize].at
    }

    /// A member of the way on which a packet came in: one to whose account it goes if there is no way for it.
    pub fn entrance(&self, id: PacketId) -> MemberId {
        let Route { at, destination } = self.routes[id.0 as usize];
        match destination == self.border_router {
            true => self.upward[at].expect("the border router does not send upward"),
            false => self.upward[destination].expect("nothing goes down to the border router") + 1,
        }
    }
}
