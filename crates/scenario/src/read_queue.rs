//! From the table of a queue to its discipline.

use model::bdp::Product;
use model::quantity::Share;
use model::queue::{Discipline, RedBounds};
use model::schema::{self, KeyType, OF_THE_KERNEL};
use model::section::Section;
use model::{KernelQueue, ParameterValue, Queue};

/// The queue of a link, of an access link, or of a Wi-Fi cell.
pub(crate) fn queue(section: Section, product: Product) -> Queue {
    let section = &section.with(product);
    if let Some(discipline) = section.shape.strip_prefix(OF_THE_KERNEL) {
        section.read::<String>("kind");
        return Queue::Kernel(KernelQueue { discipline, parameters: settings(section) });
    }
    match Discipline::read(section) {
        Some(Discipline::Red(mut red)) => {
            let (min, max, burst) = (section.read("min"), section.read("max"), section.read("burst"));
            let bounds = RedBounds { limit: red.limit, min, max, avpkt: red.avpkt, burst };
            (red.min, red.max, red.burst) = bounds.fill();
            Queue::Discipline(Discipline::Red(red))
        }
        Some(discipline) => Queue::Discipline(discipline),
        None => {
            Queue::Droptail { limit: section.read_limit("limit"), ecn_threshold: section.read_limit("ecn_threshold") }
        }
    }
}

/// The parameters of a queue of the kernel's, those with a default included.
fn settings(section: &Section) -> Vec<(&'static str, ParameterValue)> {
    let setting = |name, kind| match kind {
        KeyType::Integer => section.read(name).map(ParameterValue::Number),
        KeyType::Flag => section.read(name).map(ParameterValue::Flag),
        KeyType::Time => section.read(name).map(ParameterValue::Time),
        KeyType::Size => section.read(name).map(ParameterValue::Size),
        KeyType::Limit => section.read_limit(name).map(ParameterValue::Limit),
        KeyType::Share => section.read::<Share>(name).map(|share| ParameterValue::Share(share.0)),
        KeyType::Rate => section.read(name).map(ParameterValue::Rate),
        // The kind itself is read already; other choices stand in the order of the kernel's numbers.
        KeyType::Choice(names) if name != "kind" => {
            let choice: Option<String> = section.read(name);
            names.iter().position(|name| Some(*name) == choice.as_deref()).map(|n| ParameterValue::Number(n as u64))
        }
        _ => None,
    };
    schema::keys_of(section.shape).filter_map(|key| Some((key.name, setting(key.name, key.kind)?))).collect()
}
