//! Media: transmitters that several ports share, such as the air of a Wi-Fi cell or a mesh, or the
//! subframes of an LTE cell.
//!
//! Each direction of a link on a medium is one of its members. For those who send packets to it, a
//! member is a port like any other. It has statistics and a channel of its own, and a queue, its
//! own or one that it shares.
//!
//! On a medium that forwards, such as a mesh, one hop of a packet's route passes several members
//! one after the other. The type [`Members`] contains all of that. Kinds of media differ in who may
//! transmit when, and in what arrives.

mod access_control;
mod from_scenario;
pub mod lte;
mod member;
mod members;
pub mod mesh;
pub mod wifi;

pub(crate) use from_scenario::member_port;
pub use member::{Member, MemberId, MemberPort, TxCompletion};
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

/// The outcome of one step of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A packet has reached the far end of the member with this port.
    Arrived(PortId, Transit),
    /// A packet has reached the far end of the member with this port, and another member carries it
    /// on: pass it to [`Medium::forward`].
    Onward(PortId, PacketId),
    /// The packet has left the host whose device has this port.
    Departed(PortId, PacketId),
    /// Nothing for others to do, except to count the packets in `gone`.
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
    /// Creates a Wi-Fi cell.
    pub fn wifi(cell: wifi::Cell, members: Members) -> Medium {
        Medium { members, mac: Mac::Wifi(Box::new(cell)) }
    }

    /// Creates an LTE cell.
    pub fn lte(cell: lte::Cell, members: Members) -> Medium {
        Medium { members, mac: Mac::Lte(Box::new(cell)) }
    }

    /// Creates a mesh.
    pub fn mesh(mesh: mesh::Mesh, members: Members) -> Medium {
        Medium { members, mac: Mac::Mesh(Box::new(mesh)) }
    }

    /// Queues a packet at a member at `now`, which never decreases between calls of `offer` and
    /// `step`. Appends the packets that will not arrive to `gone`.
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

    /// Forwards a packet that [`Step::Onward`] gave.
    pub fn forward<P: Packet>(&mut self, now: Nanos, id: PacketId, packets: &Pool<P>, gone: &mut Vec<Gone>) {
        if let Mac::Mesh(mesh) = &mut self.mac {
            mesh.forward(now, id, &mut self.members, packets);
        }
        gone.append(&mut self.members.gone);
    }

    /// Returns when the medium has its next event; `Nanos::NEVER` if it is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        each!(&self.mac, control => control.next()).min(self.members.next_arrival()).min(self.members.next_departure())
    }

    /// Carries out the event that `next` announced. At equal times a packet leaves its host before
    /// another arrives.
    pub fn step<P: Packet>(&mut self, now: Nanos, packets: &mut Pool<P>, gone: &mut Vec<Gone>) -> Step {
        let next = each!(&self.mac, control => control.next());
        if self.members.next_departure() <= self.members.next_arrival().min(next)
            && let Some(Departure { port, id, is_reported, reason, .. }) = self.members.take_departure()
        {
            gone.extend(reason.map(|reason| Gone { id, reason }));
            return if is_reported { Step::Departed(port, id) } else { Step::Nothing };
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

    /// Reports whether the host of a member has no room for a packet, so that the packet is not
    /// sent.
    pub fn refuses<P: Packet>(&mut self, now: Nanos, member: MemberId, packet: &P, packets: &Pool<P>) -> bool {
        self.members.refuses(now, member, packet, packets)
    }

    /// Returns the results of the nodes of a mesh; empty for other media.
    pub fn node_records(&self) -> Vec<records::Node> {
        match &self.mac {
            Mac::Mesh(mesh) => mesh.node_records(&self.members),
            Mac::Wifi(_) | Mac::Lte(_) => vec![],
        }
    }

    /// Returns the mean rate of the flows upward in the last minute, as far as the sender of a
    /// mesh's member knows it. The rate is in thousandths of a packet a second; 0 if unknown.
    pub fn mean_flow_rate(&mut self, now: Nanos, member: MemberId) -> u32 {
        match &mut self.mac {
            Mac::Mesh(mesh) => mesh.mean_flow_rate(now, member),
            Mac::Wifi(_) | Mac::Lte(_) => 0,
        }
    }

    /// Returns a member's row of the results.
    pub fn record(&self, member: MemberId) -> records::Link {
        self.members.record(member)
    }

    /// Returns a member, with its statistics.
    pub fn member(&self, member: MemberId) -> &Member {
        self.members.get(member)
    }
}

/// Creates the media of a scenario: its Wi-Fi cells, its LTE cells and its meshes, each in the
/// scenario's order.
pub(crate) fn media(scenario: &Scenario) -> Vec<Medium> {
    let cells = scenario.wifi.iter().enumerate().map(|(number, cell)| from_scenario::wifi_cell(scenario, number, cell));
    let wifi = cells.map(|(cell, members)| Medium::wifi(cell, members));
    let cells = scenario.lte.iter().enumerate().map(|(number, cell)| from_scenario::lte_cell(scenario, number, cell));
    let lte = cells.map(|(cell, members)| Medium::lte(cell, members));
    let meshes = scenario.meshes.iter().enumerate().map(|(number, mesh)| from_scenario::mesh(scenario, number, mesh));
    wifi.chain(lte).chain(meshes.map(|(mesh, members)| Medium::mesh(mesh, members))).collect()
}
