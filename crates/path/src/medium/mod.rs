//! Media: transmitters that several ports share, such as the air of a Wi-Fi cell or of a mesh, or the subframes of an
//! LTE cell.
//!
//! Each direction of a link that lies on a medium is one of its members, a port like any other for those who send
//! packets to it: it has statistics and a channel of its own, and a queue, its own or one that it shares with others.
//! On a medium that forwards, a mesh, a packet passes several members one after the other, as one hop of its route.
//! [`Members`] keeps all that; who may transmit when, and what arrives, is what the kinds of media differ in.

mod access_control;
mod from_scenario;
pub mod lte;
mod member;
mod members;
pub mod mesh;
pub mod wifi;

pub(crate) use from_scenario::member_port;
pub use member::{Member, MemberId, MemberPort, Rid};
use members::Departure;
pub use members::{Frame, Members};

use crate::channel::{PortId, Transit};
use crate::packet::{Packet, PacketId, Pool};
use crate::queued::Gone;
use access_control::AccessControl;
use model::Scenario;
use model::records;
use model::units::Nanos;

/// A medium with its members.
pub struct Medium {
    members: Members,
    mac: Mac,
}

/// What a step of a medium brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A packet is at the far end of a member with this port.
    Arrived(PortId, Transit),
    /// A packet is at the far end of a member with this port, and has to pass another one: it is to be handed to
    /// [`Medium::forward`].
    Onward(PortId, PacketId),
    /// The host whose device has this port is rid of this packet.
    Departed(PortId, PacketId),
    /// Nothing that concerns others, but for the packets that are gone.
    Nothing,
}

/// The kinds of media.
enum Mac {
    Wifi(Box<wifi::Cell>),
    Lte(Box<lte::Cell>),
    Mesh(Box<mesh::Mesh>),
}

macro_rules! each {
    ($mac:expr, $control:ident => $call:expr) => {
        match $mac {
            Mac::Wifi($control) => $call,
            Mac::Lte($control) => $call,
            Mac::Mesh($control) => $call,
        }
    };
}

impl Medium {
    /// A Wi-Fi cell.
    pub fn wifi(cell: wifi::Cell, members: Members) -> Medium {
        Medium { members, mac: Mac::Wifi(Box::new(cell)) }
    }

    /// An LTE cell.
    pub fn lte(cell: lte::Cell, members: Members) -> Medium {
        Medium { members, mac: Mac::Lte(Box::new(cell)) }
    }

    /// A mesh.
    pub fn mesh(mesh: mesh::Mesh, members: Members) -> Medium {
        Medium { members, mac: Mac::Mesh(Box::new(mesh)) }
    }

    /// Hands a packet over to a member at `now`, which never decreases from call to call of `offer` and `step`. The
    /// packets that are gone are appended to `gone`.
    pub fn offer<P: Packet>(
        &mut self,
        now: Nanos,
        member: MemberId,
        id: PacketId,
        packets: &mut Pool<P>,
        gone: &mut Vec<Gone>,
    ) {
        each!(&mut self.mac, control => control.offer(now, member, id, &mut self.members, packets));
        gone.append(&mut self.members.gone);
    }

    /// A packet goes on that was given as [`Step::Onward`].
    pub fn forward<P: Packet>(&mut self, now: Nanos, id: PacketId, packets: &Pool<P>, gone: &mut Vec<Gone>) {
        if let Mac::Mesh(mesh) = &mut self.mac {
            mesh.forward(now, id, &mut self.members, packets);
        }
        gone.append(&mut self.members.gone);
    }

    /// When the medium has something to do; `Nanos::NEVER` when it is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        each!(&self.mac, control => control.next()).min(self.members.next_arrival()).min(self.members.next_departure())
    }

    /// Does what `next` announced. At the same time a packet leaves its host before one arrives.
    pub fn step<P: Packet>(&mut self, now: Nanos, packets: &mut Pool<P>, gone: &mut Vec<Gone>) -> Step {
        let next = each!(&self.mac, control => control.next());
        if self.members.next_departure() <= self.members.next_arrival().min(next)
            && let Some(Departure { port, id, is_told, reason, .. }) = self.members.take_departure()
        {
            gone.extend(reason.map(|reason| Gone { id, reason }));
            return if is_told { Step::Departed(port, id) } else { Step::Nothing };
        }
        if self.members.next_arrival() <= next {
            let (port, transit) = self.members.take_arrival();
            return match transit {
                Transit::Packet(id) if each!(&self.mac, control => control.goes_on(id)) => Step::Onward(port, id),
                _ => Step::Arrived(port, transit),
            };
        }
        each!(&mut self.mac, control => control.step(now, &mut self.members, packets));
        gone.append(&mut self.members.gone);
        Step::Nothing
    }

    /// Whether the host of a member has no room for a packet, so that it is not sent.
    pub fn refuses<P: Packet>(&mut self, now: Nanos, member: MemberId, packet: &P, packets: &Pool<P>) -> bool {
        self.members.refuses(now, member, packet, packets)
    }

    /// The records of its nodes, if it is a mesh.
    pub fn node_records(&self) -> Vec<records::Node> {
        match &self.mac {
            Mac::Mesh(mesh) => mesh.node_records(&self.members),
            Mac::Wifi(_) | Mac::Lte(_) => vec![],
        }
    }

    /// What the sender of a member knows of the flows that come up its mesh: their mean rate in the last minute, in
    /// thousandths of a packet a second, or 0.
    pub fn mean_flow_rate(&mut self, now: Nanos, member: MemberId) -> u32 {
        match &mut self.mac {
            Mac::Mesh(mesh) => mesh.mean_flow_rate(now, member),
            Mac::Wifi(_) | Mac::Lte(_) => 0,
        }
    }

    /// A member's record.
    pub fn record(&self, member: MemberId) -> records::Link {
        self.members.record(member)
    }

    /// A member, with what it counted.
    pub fn member(&self, member: MemberId) -> &Member {
        self.members.get(member)
    }
}

/// The media of a scenario: its Wi-Fi cells, in its order, then its LTE cells, then its meshes.
pub(crate) fn media(scenario: &Scenario) -> Vec<Medium> {
    let cells = scenario.wifi.iter().enumerate().map(|(number, cell)| from_scenario::wifi_cell(scenario, number, cell));
    let wifi = cells.map(|(cell, members)| Medium::wifi(cell, members));
    let cells = scenario.lte.iter().enumerate().map(|(number, cell)| from_scenario::lte_cell(scenario, number, cell));
    let lte = cells.map(|(cell, members)| Medium::lte(cell, members));
    let meshes = scenario.meshes.iter().enumerate().map(|(number, mesh)| from_scenario::mesh(scenario, number, mesh));
    wifi.chain(lte).chain(meshes.map(|(mesh, members)| Medium::mesh(mesh, members))).collect()
}
