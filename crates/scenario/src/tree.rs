//! Parses TOML into a tree of values, which `--set` and sweeps change.

use model::schema::SERVICES;
use model::value::{Node, Table, Value};
use model::{Error, Location};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Parses TOML; errors call it `file`.
pub(crate) fn parse(text: &str, file: &Arc<str>) -> Result<Table, Error> {
    let source = SourceMap { ends: line_ends(text), place: &|line| Location::Line(file.clone(), line) };
    let document = DeTable::parse(text).map_err(|why| {
        let place = why.span().map_or(Location::File(file.clone()), |span| source.at(span.start));
        let is_second_group = why.span().is_some_and(|span| line_at(text, span.start).trim() == "[flows]");
        let hint = if is_second_group { "; write [[flows]] above each group of flows" } else { "" };
        Error::one(place, "", format!("not valid TOML: {}{hint}", why.message().replace('\n', ", ")))
    })?;
    Ok(source.table(document.get_ref()))
}

/// Returns the line of the text with the byte at `offset`.
fn line_at(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    text[start..].lines().next().unwrap_or_default()
}

/// Parses the value of a `--set KEY=VALUE`: a TOML value, or else a string without quotes.
pub(crate) fn parse_override(text: &str) -> Node {
    let source = SourceMap { ends: line_ends(text), place: &|_| Location::Override };
    match DeValue::parse(text) {
        Ok(value) => source.node(&value),
        Err(_) => Node { value: Value::Text(text.to_string()), place: Location::Override },
    }
}

/// Converts offsets in a text into lines of a file.
struct SourceMap<'a> {
    /// The offset at which each line ends.
    ends: Vec<usize>,
    place: &'a dyn Fn(usize) -> Location,
}

fn line_ends(text: &str) -> Vec<usize> {
    text.match_indices('\n').map(|(end, _)| end).collect()
}

impl SourceMap<'_> {
    fn at(&self, offset: usize) -> Location {
        (self.place)(1 + self.ends.partition_point(|end| *end < offset))
    }

    fn node(&self, value: &Spanned<DeValue>) -> Node {
        Node { value: self.value(value.get_ref()), place: self.at(value.span().start) }
    }

    fn value(&self, value: &DeValue) -> Value {
        match value {
            DeValue::Table(table) => Value::Table(self.table(table)),
            DeValue::Array(array) => Value::Array(self.array(array)),
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Value::Integer(number),
                Err(_) => Value::Float(number.to_string()),
            },
            DeValue::Float(number) => Value::Float(number.to_string()),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
        }
    }

    fn array(&self, array: &DeArray) -> Vec<Node> {
        array.iter().map(|item| self.node(item)).collect()
    }

    /// Converts a table. The place of a value is that of its key.
    fn table(&self, table: &DeTable) -> Table {
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue>)| {
            let node = Node { value: self.value(value.get_ref()), place: self.at(key.span().start) };
            (key_text(key), node)
        };
        Table(table.iter().map(entry).collect())
    }
}

fn key_text(key: &Spanned<std::borrow::Cow<'_, str>>) -> String {
    key.get_ref().to_string()
}

/// The largest number of parts of a dotted key; real keys have at most 7.
const MOST_PARTS: usize = 32;

/// Sets the value of a dotted key such as `flows.0.cc`; `flows.*.cc` sets it in every group. Missing tables on the way
/// are made.
pub(crate) fn set(table: &mut Table, key: &str, node: &Node) -> Result<(), String> {
    let parts: Vec<&str> = key.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err("is not a key; write names with dots between them, such as link.bottleneck.rate".into());
    }
    if parts.len() > MOST_PARTS {
        return Err(format!("has {} parts; a key has at most {MOST_PARTS}", parts.len()));
    }
    set_in_table(table, &parts, node)
}

fn set_in_table(table: &mut Table, parts: &[&str], node: &Node) -> Result<(), String> {
    let (first, rest) = (parts[0], &parts[1..]);
    if rest.is_empty() {
        for other in exclusive_with(first) {
            table.remove(other);
        }
        let is_medium = is_service(first) && !OF_A_TRANSMITTER.contains(&first);
        if let (true, Some(Value::Table(reverse))) = (is_medium, table.get_value_mut("reverse")) {
            OF_A_TRANSMITTER.iter().for_each(|key| drop(reverse.remove(key)));
        }
        table.replace(first, node.clone());
        return Ok(());
    }
    if table.get(first).is_none() {
        let empty = Node { value: Value::Table(Table::default()), place: node.place.clone() };
        table.replace(first, empty);
    }
    let next = table.get_mut(first).expect("it was there or was made just now");
    if let (Value::Text(base), "profile") = (&next.value, first) {
        // A profile's name is short for a table with that name as the base.
        let base = Node { value: Value::Text(base.clone()), place: next.place.clone() };
        next.value = Value::Table(Table(vec![("base".into(), base)]));
    }
    set_below(next, first, rest, node)
}

fn set_below(parent: &mut Node, name: &str, rest: &[&str], node: &Node) -> Result<(), String> {
    match &mut parent.value {
        Value::Table(table) => set_in_table(table, rest, node),
        Value::Array(items) => set_in_items(items, name, rest, node),
        other => Err(format!("{name} is {} here and has no keys", other.kind())),
    }
}

fn set_in_items(items: &mut [Node], name: &str, rest: &[&str], node: &Node) -> Result<(), String> {
    let (index, rest) = (rest[0], &rest[1..]);
    let count = items.len();
    let chosen: Vec<usize> = match index {
        "*" => (0..count).collect(),
        _ => index.parse().ok().filter(|n| *n < count).into_iter().collect(),
    };
    if chosen.is_empty() {
        return Err(format!("unknown {name}.{index}; the file has {count}, counted from 0, and * means all"));
    }
    for n in chosen {
        match rest {
            [] => items[n] = node.clone(),
            _ => set_below(&mut items[n], name, rest, node)?,
        }
    }
    Ok(())
}

/// The keys of a direction's own transmitter, which a Wi-Fi or LTE cell replaces in both directions.
const OF_A_TRANSMITTER: [&str; 3] = ["rate", "rates", "trace"];

/// Returns the keys that setting `key` removes, because they exclude each other.
fn exclusive_with(key: &str) -> Vec<&'static str> {
    match key {
        key if is_service(key) => {
            let others = SERVICES.into_iter().filter(|(service, _)| *service != key);
            others.flat_map(|(service, own)| std::iter::once(service).chain(own.iter().copied())).collect()
        }
        "snr" => vec!["cqi"],
        "cqi" => vec!["snr"],
        "signal" => vec!["phy_rate"],
        "phy_rate" => vec!["signal"],
        "arrivals" => vec!["count", "stagger"],
        "count" | "stagger" => vec!["arrivals"],
        _ => vec![],
    }
}

/// Whether a key sets what transmits the packets of a link.
fn is_service(key: &str) -> bool {
    SERVICES.iter().any(|(service, _)| *service == key)
}

/// Returns the place of a dotted key, or of the innermost existing table around a missing one.
pub(crate) fn locate(table: &Table, key: &str) -> Option<Location> {
    place_of(table, key.split('.').filter(|part| !part.is_empty()))
}

/// Follows names and indices, and returns the place of the last value that exists.
fn place_of<'a>(table: &Table, mut keys: impl Iterator<Item = &'a str>) -> Option<Location> {
    let mut node = table.get(keys.next()?)?;
    for key in keys {
        let next = match &node.value {
            Value::Table(table) => table.get(key),
            Value::Array(items) => key.parse::<usize>().ok().and_then(|n| items.get(n)),
            _ => None,
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    Some(node.place.clone())
}

/// Returns the line, from 1, on which a key begins in a TOML text. `keys` are the names on the way to it and, in lists,
/// numbers from 0.
///
/// A missing key has the line of the innermost table around it. The line is 1 if that is the whole text, or if the text
/// is invalid TOML.
pub fn line_of(text: &str, keys: &[String]) -> usize {
    let place = parse(text, &Arc::from("")).ok().and_then(|table| place_of(&table, keys.iter().map(String::as_str)));
    match place {
        Some(Location::Line(_, line)) => line,
        _ => 1,
    }
}
