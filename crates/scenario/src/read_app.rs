//! Applications of flow groups.

use model::app::{App, DatagramKind, Datagrams, RequestKind, Requests, WhenFull};
use model::schema::{APPS, UDP};
use model::section::Section;
use model::units::{Bytes, Nanos, Rate};
use model::value::Value;

/// The bits of a byte.
const BITS: u64 = 8;

/// The application that a group names, alone or as a table's `kind`.
pub(crate) fn app(group: &Section) -> Option<App> {
    let node = group.get("app")?;
    let section = match &node.value {
        Value::Table(table) => {
            let kind = table.get("kind").and_then(|kind| kind.value.as_text());
            group.child("app", APPS.iter().find(|name| Some(**name) == kind).copied().unwrap_or(APPS[0]))
        }
        _ => {
            let kind: String = group.read("app")?;
            group.absent("app", APPS.iter().find(|name| **name == kind)?)
        }
    };
    if section.is_there() {
        section.read::<String>("kind")?;
    }
    Some(match section.shape {
        "ping" => datagrams(&section, DatagramKind::Ping, section.need("every")),
        "voice" => datagrams(&section, DatagramKind::Voice, section.need("every")),
        UDP => {
            let (rate, packet): (Rate, Bytes) = (section.read("rate")?, section.need("packet"));
            datagrams(&section, DatagramKind::Udp, rate.time_to_send(packet))
        }
        "upload" => {
            let kind = RequestKind::Chunks { pause: section.need("pause") };
            requests(kind, 1, section.need("chunk"), section.need("response"))
        }
        "web" => {
            let kind =
                RequestKind::Web { objects: section.need::<u64>("objects") as u32, pause: section.need("pause") };
            let connections = section.need::<u64>("connections") as u32;
            requests(kind, connections, section.need("request"), section.need("response"))
        }
        "video" => {
            let kind = RequestKind::Video {
                lowest: section.need("lowest"),
                highest: section.need("highest"),
                piece: section.need("piece"),
                startup: section.need("startup"),
                most: section.need("most"),
            };
            requests(kind, 1, section.need("request"), Bytes(1))
        }
        _ => {
            let when_full = WhenFull::named(&section.need::<String>("when_full"));
            let kind = RequestKind::Periodic { every: section.need("every"), when_full };
            requests(kind, 1, section.need("request"), section.need("response"))
        }
    })
}

fn datagrams(section: &Section, kind: DatagramKind, every: Nanos) -> App {
    App::Datagrams(Datagrams { kind, every, packet: section.need("packet") })
}

fn requests(kind: RequestKind, connections: u32, request: Bytes, response: Bytes) -> App {
    App::Requests(Requests { kind, connections, request, response })
}

/// Is nothing said of a group that an application says itself, and can its values be?
pub(crate) fn check(section: &Section, app: &App) {
    for key in ["size", "arrivals", "receiver", "tcp_rmem", "read_rate", "write_rate", "access"].into_iter() {
        if section.get(key).is_some() {
            section
                .complain(key, "cannot be set together with app, which decides what is sent; leave one of the two out");
        }
    }
    let App::Requests(Requests { kind: RequestKind::Video { lowest, highest, piece, startup, most }, .. }) = app else {
        return;
    };
    let table = || section.child("app", "video");
    if lowest > highest {
        table().complain("lowest", format!("{lowest} is more than highest, {highest}"));
    }
    if lowest.0 as f64 * piece.as_secs_f64() < (2 * BITS) as f64 {
        table().complain("piece", format!("{piece} of {lowest} have no bytes"));
    }
    if startup > most {
        table().complain("startup", format!("{startup} is more than most, {most}, so that it would never play"));
    }
}
