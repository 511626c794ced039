//! From a scenario to its media and their members.

use super::member::{Member, MemberId, MemberPort};
use super::members::Members;
use super::{lte, mesh, wifi};
use crate::channel::PortId;
use crate::direction::{self, discipline_of, purpose};
use scenario::lte::Cqi;
use scenario::mesh::Hop;
use scenario::model::{Link, Scenario, Service, WifiCell};

/// Which member a port is; none if its link has a transmitter of its own.
pub(crate) fn member_port(scenario: &Scenario, port: PortId) -> Option<MemberPort> {
    let number = port as usize / 2;
    let (medium, place) = match scenario.links.get(number)?.forward.service {
        Service::Wifi(station) => (station.cell, scenario.links_of_cell(station.cell).position(|link| link == number)?),
        Service::Lte(user) => {
            let place = lte_users(scenario, user.cell).position(|(link, _)| link == number)?;
            (scenario.wifi.len() + user.cell, place)
        }
        Service::Mesh(hop) => {
            let place = scenario.links_of_mesh(hop.mesh).position(|(link, _)| link == number)?;
            (scenario.wifi.len() + scenario.lte.len() + hop.mesh, place)
        }
        _ => return None,
    };
    let member = 2 * place as MemberId + direction::is_reverse(port) as MemberId;
    Some(MemberPort { medium: medium as u32, member })
}

/// A cell, with the queue of its access point, or one for each of its stations, and then those of the stations.
pub(super) fn wifi_cell(scenario: &Scenario, number: usize, cell: &WifiCell) -> (wifi::Cell, Members) {
    let Scenario { seed, warmup, duration, .. } = *scenario;
    let (mut members, mut queues, mut of_stations, mut stations) = (vec![], vec![], vec![], vec![]);
    let links: Vec<_> = scenario.links_of_cell(number).collect();
    let shares_queue = cell.queue.is_some();
    let of_access_point = if shares_queue { 1 } else { links.len() };
    let discipline = |link: &Link, port| discipline_of(link, scenario, purpose(port));
    for (place, link) in links.into_iter().enumerate() {
        let (forward, reverse) = (direction::forward(link), direction::reverse(link));
        let link = &scenario.links[link];
        if queues.len() < of_access_point {
            queues.push(discipline(&link.forward, forward));
        }
        of_stations.push(discipline(&link.reverse, reverse));
        let queue = if shares_queue { 0 } else { place };
        let both = [(&link.forward, forward, queue), (&link.reverse, reverse, of_access_point + place)];
        members.extend(both.map(|(direction, port, queue)| {
            Member::new(direction, port, queue, seed, purpose(port), warmup, duration)
        }));
        if let Service::Wifi(station) = link.forward.service {
            stations.push(wifi::Station { mode: station.mode(), frame_errors: station.frame_errors });
        }
    }
    queues.append(&mut of_stations);
    let control = wifi::Cell::new(cell.standard, cell.slot, stations, shares_queue, seed, number as u64);
    (control, Members::new(members, queues))
}

/// The links to the users of an LTE cell, each with the quality of its channel.
fn lte_users(scenario: &Scenario, cell: usize) -> impl Iterator<Item = (usize, Cqi)> {
    (0..).zip(&scenario.links).filter_map(move |(number, link)| match link.forward.service {
        Service::Lte(user) if user.cell == cell => Some((number, user.cqi)),
        _ => None,
    })
}

/// An LTE cell, with a queue for each of its members.
pub(super) fn lte_cell(scenario: &Scenario, number: usize, cell: &scenario::lte::Cell) -> (lte::Cell, Members) {
    let Scenario { seed, warmup, duration, .. } = *scenario;
    let (links, qualities): (Vec<_>, Vec<_>) = lte_users(scenario, number).unzip();
    let (mut members, mut queues) = (vec![], vec![]);
    for port in links.into_iter().flat_map(|link| [direction::forward(link), direction::reverse(link)]) {
        let link = scenario.links[port as usize / 2].direction(direction::is_reverse(port));
        members.push(Member::new(link, port, queues.len(), seed, purpose(port), warmup, duration));
        queues.push(discipline_of(link, scenario, purpose(port)));
    }
    (lte::Cell::new(cell, &qualities, seed, number as u64), Members::new(members, queues))
}

/// A mesh, with a queue for each of its nodes, which the packets to all of the node's neighbours share.
pub(super) fn mesh(scenario: &Scenario, number: usize, mesh: &scenario::mesh::Mesh) -> (mesh::Mesh, Members) {
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
    let queue = |node: usize| {
        let sends = hops.iter().position(|hop| hop.from == node).expect("each node has a neighbour in the tree");
        let port = members[sends].port;
        let link = scenario.links[port as usize / 2].direction(direction::is_reverse(port));
        discipline_of(link, scenario, purpose(port))
    };
    let queues = (0..mesh.nodes.len()).map(queue).collect();
    let control = mesh::Mesh::new(mesh, hops, seed, number as u64, warmup, duration);
    (control, Members::new(members, queues))
}
