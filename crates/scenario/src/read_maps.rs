//! What the BPF maps of a congestion control hold when a run begins.

use model::MapContents;
use model::section::Section;
use model::value::{Node, Table, Value};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The group's key.
pub(crate) const KEY: &str = "maps";

/// What a value may be: no number of a BPF map has more than 64 bits.
const NUMBERS: RangeInclusive<i128> = i64::MIN as i128..=u64::MAX as i128;

const EXAMPLE: &str = "such as { rates = { 0 = 1250000, 1 = 2500000 } }";

/// The contents for the control `name`: those for all, then those of the table with its name.
pub(crate) fn maps(group: &Section, name: &str) -> BTreeMap<String, MapContents> {
    let mut maps: BTreeMap<String, MapContents> = BTreeMap::new();
    let Some(node) = group.get(KEY) else { return maps };
    let Some(table) = node.value.as_table() else {
        group.complain(KEY, format!("must be a table of maps {EXAMPLE}, not {}", node.value.kind()));
        return maps;
    };
    let for_all = table.0.iter().filter(|(_, node)| !is_for_one_control(node));
    let for_this = table.get(name).filter(|node| is_for_one_control(node));
    let for_this = for_this.and_then(|node| node.value.as_table()).into_iter().flat_map(|table| &table.0);
    for (map, node) in for_all.chain(for_this) {
        let Some(entries) = node.value.as_table() else {
            let message = format!("must be a table of keys and values {EXAMPLE}, not {}", node.value.kind());
            group.complain_about(&node.place, group.path_of(&format!("{KEY}.{map}")), message);
            continue;
        };
        maps.entry(map.clone()).or_default().extend(contents(group, map, entries));
    }
    maps
}

/// Does a table below `maps` have the name of a control, not of a map? Then it holds maps, which are tables.
pub(crate) fn is_for_one_control(node: &Node) -> bool {
    let entries = node.value.as_table().map_or(&[][..], |table| &table.0);
    entries.iter().any(|(_, node)| node.value.as_table().is_some())
}

fn contents(group: &Section, map: &str, entries: &Table) -> MapContents {
    let mut contents = MapContents::new();
    for (key, node) in &entries.0 {
        match numbers(&node.value) {
            Ok(numbers) => drop(contents.insert(key.clone(), numbers)),
            Err(message) => {
                group.complain_about(&node.place, group.path_of(&format!("{KEY}.{map}.{key}")), message);
            }
        }
    }
    contents
}

fn numbers(value: &Value) -> Result<Vec<i128>, String> {
    match value {
        Value::Integer(number) if NUMBERS.contains(number) => Ok(vec![*number]),
        Value::Integer(number) => Err(format!("{number} is out of range: no number in a map has more than 64 bits")),
        Value::Array(items) if !items.iter().any(|item| matches!(item.value, Value::Array(_))) => {
            let numbers: Result<Vec<_>, _> = items.iter().map(|item| numbers(&item.value)).collect();
            Ok(numbers?.concat())
        }
        other => Err(format!("must be a whole number, or a list of them for a struct's members, not {}", other.kind())),
    }
}
