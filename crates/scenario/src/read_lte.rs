//! Reads LTE cells, and the links to their users.

use model::declare::Declared;
use model::did_you_mean;
use model::lte::{Cell, User, UserKeys};
use model::radio::lte::{Cqi, Direction};
use model::section::Section;
use model::units::Decibels;

/// Reads the LTE cells of a file.
pub(crate) fn cells(top: &Section) -> Vec<Cell> {
    let cell = |cell: Section| Cell { name: cell.name().into(), ..Cell::read(&cell) };
    top.child("lte", "lte").named_children("lte.NAME").into_iter().map(cell).collect()
}

/// Reads the directions of a link to an LTE user, the forward one first; none for other links.
pub(crate) fn user(link: &Section, cells: &[Cell]) -> Option<(User, User)> {
    if link.get("lte").is_none() {
        for key in ["snr", "cqi"].into_iter().filter(|key| link.get(key).is_some()) {
            link.complain(
                key,
                "needs lte, because it describes the link to a user of an LTE cell; write lte beside \
                                it, or leave it out",
            );
        }
        return None;
    }
    for key in ["rate", "rates", "trace", "wifi"].into_iter().filter(|key| link.get(key).is_some()) {
        link.complain(
            key,
            "cannot be set together with lte, because the cell decides the rate; leave one of the two \
                            out",
        );
    }
    let UserKeys { lte, snr, cqi } = UserKeys::read(link);
    let (number, cqi) = (cell(link, lte?, cells)?, quality(link, snr, cqi)?);
    let user = |direction| cells[number].user(number, direction, cqi);
    Some((user(Direction::Down), user(Direction::Up)))
}

/// Rejects the keys of a transmitter: an LTE user sends what the cell grants it.
pub(crate) fn refuse_transmitter(reverse: &Section) {
    for key in ["rate", "rates", "trace"].into_iter().filter(|key| reverse.get(key).is_some()) {
        reverse.complain(key, "cannot be set on an LTE uplink, because the cell grants its rate; leave it out");
    }
}

fn cell(link: &Section, name: String, cells: &[Cell]) -> Option<usize> {
    let found = cells.iter().position(|cell| cell.name == name);
    if found.is_none() {
        let known: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
        let message = match known.is_empty() {
            true => format!("unknown LTE cell {name}; write [lte.{name}] with bandwidth = \"20mhz\""),
            false => {
                let hint = did_you_mean(&name, known.iter().copied());
                format!("unknown LTE cell {name}{hint}; valid: {}", known.join(", "))
            }
        };
        link.complain("lte", message);
    }
    found
}

fn quality(link: &Section, snr: Option<Decibels>, cqi: Option<u8>) -> Option<Cqi> {
    match (link.get("snr").is_some(), link.get("cqi").is_some()) {
        (true, true) => {
            link.complain("cqi", "cannot be set together with snr, which gives it; leave one of the two out")
        }
        (false, false) if link.unknown_keys().next().is_none() => {
            link.complain("lte", "needs a channel quality; write snr such as \"18db\", or cqi from 1 to 15");
        }
        _ => {}
    }
    // The schema's range of ratios ends where the table ends.
    snr.map(Decibels::as_f64).and_then(Cqi::at_snr).or(cqi.map(Cqi))
}
