//! Builds the media of a scenario and their members.

use super::member::{Member, MemberId, MemberPort, TxCompletion};
use super::members::Members;
use super::{lte, mesh, wifi};
use crate::channel::PortId;
use crate::direction::{self, discipline_of, purpose};
use crate::qdisc::DeviceRing;
use model::mesh::Hop;
use model::radio::lte::Cqi;
use model::{DuplexLink, Host, Link, Scenario, Service, WifiCell};

/// Finds the member that a port is; none if its link has a transmitter of its own.
pub(crate) fn member_port(scenario: &Scenario, port: PortId) -> Option<MemberPort> {
    let number = port as usize / 2;
    let medium_of = |link: &DuplexLink| match &link.forward.service {
        Service::Shared(member) => Some(member.medium()),
        Service::Own(_) => None,
    };
    let its_own = medium_of(scenario.links.get(number)?)?;
    let medium = scenario.media().position(|(kind, number, _)| (kind, number) == its_own)?;
    let place = scenario.links[..number].iter().filter(|link| medium_of(link) == Some(its_own)).count();
    // A cell's downlink comes first. A host sends in the forward direction of its link.
    let is_second = direction::is_reverse(port) ^ scenario.leads_from_station(number);
    let member = 2 * place as MemberId + is_second as MemberId;
    Some(MemberPort { medium: medium as u32, member })
}

/// Returns the ports of a link in a cell: the downlink to the station, and its uplink.
fn down_and_up(scenario: &Scenario, link: usize) -> [PortId; 2] {
    let (forward, reverse) = (direction::forward(link), direction::reverse(link));
    if scenario.leads_from_station(link) { [reverse, forward] } else { [forward, reverse] }
}

/// Creates the member for a direction of a link. Its packets wait in queue number `queue`.
fn member(scenario: &Scenario, port: PortId, queue: usize) -> Member {
    let Scenario { seed, warmup, duration, .. } = *scenario;
    let member = Member::new(link_of(scenario, port), port, queue, seed, purpose(port), warmup, duration);
    member.on_host(sends_by(scenario, port).map(|_| tx_completion(scenario, port)))
}

/// Says when a packet leaves the host that sends by a port. A modem takes packets into a buffer of
/// its own and gets grants for it. A Wi-Fi adapter reports the fate of each frame.
fn tx_completion(scenario: &Scenario, port: PortId) -> TxCompletion {
    match link_of(scenario, port).service {
        Service::Shared(model::Member::Lte(_)) => TxCompletion::OnDequeue,
        _ => TxCompletion::OnAir,
    }
}

/// Finds the host in a cell that sends by a port.
fn sends_by(scenario: &Scenario, port: PortId) -> Option<&Host> {
    let link = port as usize / 2;
    let is_its_own = !direction::is_reverse(port) && scenario.leads_from_station(link);
    scenario.hosts.iter().find(|host| is_its_own && host.uplink == link)
}

fn link_of(scenario: &Scenario, port: PortId) -> &Link {
    scenario.links[port as usize / 2].direction(direction::is_reverse(port))
}

/// Creates the queue before a direction of a link. If a host sends there, its device's ring
/// follows.
fn queue(scenario: &Scenario, port: PortId) -> DeviceRing {
    let host = sends_by(scenario, port);
    let ring = host.map_or(0, |host| host.ring);
    let queue = DeviceRing::new(discipline_of(link_of(scenario, port), scenario, purpose(port)), ring, false);
    let Some(_) = host else { return queue };
    let queue = queue.measuring(scenario.warmup, scenario.duration);
    if tx_completion(scenario, port) == TxCompletion::OnDequeue { queue.recording_taken() } else { queue }
}

/// Builds a Wi-Fi cell. The access point has one queue, or one for each station; the stations'
/// queues follow.
pub(super) fn wifi_cell(scenario: &Scenario, number: usize, cell: &WifiCell) -> (wifi::Cell, Members) {
    let (mut members, mut queues, mut of_stations, mut stations) = (vec![], vec![], vec![], vec![]);
    let links: Vec<_> = scenario.links_of_cell(number).collect();
    let shares_queue = cell.queue.is_some();
    let of_access_point = if shares_queue { 1 } else { links.len() };
    for (place, link) in links.into_iter().enumerate() {
        let [down, up] = down_and_up(scenario, link);
        if queues.len() < of_access_point {
            queues.push(queue(scenario, down));
        }
        of_stations.push(queue(scenario, up));
        let of_down = if shares_queue { 0 } else { place };
        members.extend(
            [(down, of_down), (up, of_access_point + place)].map(|(port, queue)| member(scenario, port, queue)),
        );
        if let Service::Shared(model::Member::Wifi(station)) = scenario.links[link].forward.service {
            stations.push(wifi::Station { mode: station.mode(), frame_errors: station.frame_errors });
        }
    }
    queues.append(&mut of_stations);
    let control = wifi::Cell::new(cell.standard, cell.slot, stations, shares_queue, scenario.seed, number as u64);
    (control, Members::new(members, queues))
}

/// Lists the links to the users of an LTE cell, each with the quality of its channel.
fn lte_users(scenario: &Scenario, cell: usize) -> impl Iterator<Item = (usize, Cqi)> {
    (0..).zip(&scenario.links).filter_map(move |(number, link)| match link.forward.service {
        Service::Shared(model::Member::Lte(user)) if user.cell == cell => Some((number, user.cqi)),
        _ => None,
    })
}

/// Builds an LTE cell, with a queue for each member.
pub(super) fn lte_cell(scenario: &Scenario, number: usize, cell: &model::lte::Cell) -> (lte::Cell, Members) {
    let (links, qualities): (Vec<_>, Vec<_>) = lte_users(scenario, number).unzip();
    let (mut members, mut queues) = (vec![], vec![]);
    for port in links.into_iter().flat_map(|link| down_and_up(scenario, link)) {
        members.push(member(scenario, port, queues.len()));
        queues.push(queue(scenario, port));
    }
    (lte::Cell::new(cell, &qualities, scenario.seed, number as u64), Members::new(members, queues))
}

/// Builds a mesh, with one queue for each node. Packets to all neighbours of a node share its
/// queue.
pub(super) fn mesh(scenario: &Scenario, number: usize, mesh: &model::mesh::Mesh) -> (mesh::Mesh, Members) {
    let Scenario { seed, warmup, duration, .. } = *scenario;
    let (mut members, mut hops) = (vec![], vec![]);
    for (link, up) in scenario.links_of_mesh(number) {
        let model = &scenario.links[link];
        let down = Hop { mesh: number, from: up.to, to: up.from };
        let both = [(&model.forward, direction::forward(link), up), (&model.reverse, direction::reverse(link), down)];
        for (direction, port, hop) in both {
            members.push(Member::new(direction, port, hop.from, seed, purpose(port), warmup, duration));
            hops.push(hop);
        }
    }
    let queue_of = |node: usize| {
        let sends = hops.iter().position(|hop| hop.from == node).expect("each node has a neighbour in the tree");
        let port = members[sends].port;
        queue(scenario, port)
    };
    let queues = (0..mesh.nodes.len()).map(queue_of).collect();
    let control = mesh::Mesh::new(mesh, hops, seed, number as u64, warmup, duration);
    (control, Members::new(members, queues))
}
