//! Reads Wi-Fi cells, and links that share the air of a cell, and checks both.

use crate::checks;
use model::bdp::Product;
use model::declare::Declared;
use model::did_you_mean;
use model::radio::ieee80211::{LARGEST_PACKET, Standard};
use model::section::Section;
use model::units::{Dbm, Rate};
use model::{Link, Member, Queue, Scenario, Service, StationKeys, WifiCell, WifiStation};

/// The keys of a link's own transmitter, which `wifi` replaces.
const OF_A_TRANSMITTER: [&str; 3] = ["rate", "trace", "rates"];
/// The keys of a link's Wi-Fi station.
const OF_A_STATION: [&str; 3] = ["signal", "phy_rate", "frame_errors"];

/// Reads a cell except for its queue, whose limit may depend on the flows through it.
pub(crate) fn cell(section: &Section) -> WifiCell {
    WifiCell { name: section.name().into(), ..WifiCell::read(section) }
}

/// Reads the station of a link on Wi-Fi, and reports mistakes in its keys; none for other links.
pub(crate) fn station(section: &Section, cells: &[WifiCell]) -> Option<WifiStation> {
    let StationKeys { wifi, signal, phy_rate, frame_errors } = StationKeys::read(section);
    let Some(name) = wifi else {
        for key in OF_A_STATION.into_iter().filter(|key| section.get(key).is_some()) {
            section.complain(key, "needs wifi, because it describes a station; write wifi = NAME beside it");
        }
        return None;
    };
    refuse_transmitter(section);
    let Some(cell) = cells.iter().position(|cell| cell.name == name) else {
        let known: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
        let valid = match known.is_empty() {
            true => format!("; write [wifi.{name}] with standard = \"802.11n\""),
            false => format!("{}; valid: {}", did_you_mean(&name, known.iter().copied()), known.join(", ")),
        };
        section.complain("wifi", format!("unknown Wi-Fi cell {name}{valid}"));
        return None;
    };
    let WifiCell { standard, slot, .. } = cells[cell];
    let phy_rate = rate_of(section, standard, signal, phy_rate)?;
    Some(WifiStation { cell, standard, slot, phy_rate, frame_errors })
}

/// Rejects the keys of a transmitter in a direction of a link on Wi-Fi.
pub(crate) fn refuse_transmitter(section: &Section) {
    for key in OF_A_TRANSMITTER.into_iter().filter(|key| section.get(key).is_some()) {
        section
            .complain(key, "cannot be set together with wifi, whose stations share the air; leave one of the two out");
    }
}

/// Returns the rate of the physical layer, from `phy_rate` or from the signal strength.
fn rate_of(section: &Section, standard: Standard, signal: Option<Dbm>, phy_rate: Option<Rate>) -> Option<Rate> {
    let name = standard.name();
    match (signal, phy_rate) {
        (Some(_), Some(_)) => {
            section.complain(
                "phy_rate",
                "cannot be set together with signal, which gives the rate; leave one of the two out",
            );
            None
        }
        (Some(Dbm(signal)), None) => {
            let rate = standard.rate_at(signal);
            if rate.is_none() {
                let least = Dbm(standard.modes()[0].sensitivity);
                let message = format!("{} is too weak for {name}, whose lowest rate needs {least}", Dbm(signal));
                section.complain("signal", message);
            }
            rate
        }
        (None, Some(rate)) if standard.mode_of(rate).is_none() => {
            let rates: Vec<_> = standard.modes().iter().map(|mode| mode.rate.to_string()).collect();
            section.complain("phy_rate", format!("{rate} is not a rate of {name}; valid: {}", rates.join(", ")));
            None
        }
        (None, Some(rate)) => Some(rate),
        (None, None) => {
            if OF_A_STATION.iter().all(|key| section.get(key).is_none()) && section.unknown_keys().next().is_none() {
                let message = "is missing; write signal such as \"-51dbm\", or phy_rate such as";
                section.complain("signal", format!("{message} \"{}\"", standard.modes()[7].rate));
            }
            None
        }
    }
}

/// Reads the queues of cells, which the links to their stations share.
pub(crate) fn queues(scenario: &mut Scenario, cells: &[Section], links: &[(Section, Section)]) {
    for (number, cell) in cells.iter().enumerate() {
        if cell.get("queue").is_none() {
            continue;
        }
        let queue = Queue::read(&cell.queue().with(Product::at_cell(scenario, number)));
        for link in scenario.links_of_cell(number).collect::<Vec<_>>() {
            let is_reverse = scenario.leads_from_station(link);
            let (reverse, forward) = &links[link];
            let section = if is_reverse { reverse } else { forward };
            for key in ["queue", "policer"].into_iter().filter(|key| section.get(key).is_some()) {
                let message = "cannot be set together with the cell's queue, which holds the packets of all stations; leave one \
                     of the two out";
                section.complain(key, message);
            }
            scenario.links[link].direction_mut(is_reverse).queue = queue.clone();
        }
        scenario.wifi[number].queue = Some(queue);
    }
}

/// Checks that each cell has a station, and that each link on Wi-Fi has only keys that fit its cell.
pub(crate) fn check(cells: &[Section], links: &[(Section, Section)], groups: &[Section], scenario: &Scenario) {
    for (number, cell) in cells.iter().enumerate() {
        let stations: Vec<_> = scenario.links_of_cell(number).collect();
        if let Some(queue) = &scenario.wifi[number].queue {
            let largest =
                stations.iter().map(|link| scenario.largest_packet(*link, scenario.leads_from_station(*link))).max();
            checks::queue(cell, queue, largest.unwrap_or_default());
        }
    }
    for ((reverse, forward), link) in links.iter().zip(&scenario.links) {
        if let Service::Shared(Member::Wifi(station)) = &link.forward.service {
            direction(forward, &link.forward, &cells[station.cell]);
            direction(reverse, &link.reverse, &cells[station.cell]);
        }
    }
    for (section, group) in groups.iter().zip(&scenario.flows) {
        let on_wifi = |link: &usize| matches!(scenario.links[*link].forward.service, Service::Shared(Member::Wifi(_)));
        let [there, back] = [&group.path, &group.reverse_path].map(|path| path.iter().any(on_wifi));
        let both_ways = group.app.is_some();
        if there && (both_ways || !group.reverse) || back && (both_ways || group.reverse) {
            let what = format!("a frame of Wi-Fi, which holds {LARGEST_PACKET}");
            checks::packet(section, group, LARGEST_PACKET, &what);
        }
    }
}

/// Checks that a Wi-Fi cell can have the queue and the outages of a direction.
fn direction(section: &Section, link: &Link, cell: &Section) {
    if link.queue.is_of_kernel() {
        let name = link.queue.name();
        let message = format!("{name} cannot share the air of {}; write a queue without \"kernel:\"", cell.name());
        let shared = section.get("queue").is_none();
        if shared { cell } else { section }.queue().complain("kind", message);
    }
}
