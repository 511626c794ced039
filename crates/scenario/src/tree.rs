//! The experiment file as a tree in which every value knows the line it stands in.

use crate::error::{Error, Location};
use std::fmt;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub place: Location,
}

/// What TOML can say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Table(Table),
    Array(Vec<Node>),
    Text(String),
    /// As wide as needed to tell "too large" from "no number".
    Integer(i128),
    /// As written.
    Float(String),
    Flag(bool),
    /// As written.
    Date(String),
}

/// Keys in the file's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table(pub Vec<(String, Node)>);

impl Table {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The keys, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub fn get_value_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.get_mut(key).map(|node| &mut node.value)
    }

    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    fn replace(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.0.push((key.to_string(), node)),
        }
    }
}

/// Reads TOML; `file` names it in errors.
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

/// The line that a byte of the text is in.
fn line_at(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    text[start..].lines().next().unwrap_or_default()
}

/// Reads the value of a `--set KEY=VALUE`: a TOML value, or else a string that lacks its quotes.
pub(crate) fn parse_override(text: &str) -> Node {
    let source = SourceMap { ends: line_ends(text), place: &|_| Location::Override };
    match DeValue::parse(text) {
        Ok(value) => source.node(&value),
        Err(_) => Node { value: Value::Text(text.to_string()), place: Location::Override },
    }
}

/// Gives offsets in a text their place.
struct SourceMap<'a> {
    /// Where each line ends.
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

    /// A value stands where its key stands.
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

impl Value {
    /// What it is, for "not X but Y".
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Table(_) => "a table",
            Value::Array(_) => "a list",
            Value::Text(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Flag(_) => "true or false",
            Value::Date(_) => "a date",
        }
    }

    pub fn as_table(&self) -> Option<&Table> {
        match self {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// As TOML; a string on its own without its quotes: the label of a sweep's value.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(text) | Value::Date(text) => f.write_str(text),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| quoted(&item.value)).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Table(table) => {
                let entries: Vec<_> =
                    table.0.iter().map(|(key, node)| format!("{key} = {}", quoted(&node.value))).collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// As TOML, strings in quotes.
pub(crate) fn quoted(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// A key with more parts than this is a slip of the pen; the longest that means anything has 7.
const MOST_PARTS: usize = 32;

/// Sets the value under a dotted key such as `flows.0.cc`; `flows.*.cc` sets it in every group. Tables on the way are
/// made if they are missing.
pub(crate) fn set(table: &mut Table, key: &str, node: &Node) -> Result<(), String> {
    let parts: Vec<&str> = key.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err("a key is a row of names with a dot between them, such as link.bottleneck.rate".into());
    }
    if parts.len() > MOST_PARTS {
        return Err(format!("has {} parts; a key may have {MOST_PARTS}", parts.len()));
    }
    set_in_table(table, &parts, node)
}

fn set_in_table(table: &mut Table, parts: &[&str], node: &Node) -> Result<(), String> {
    let (first, rest) = (parts[0], &parts[1..]);
    if rest.is_empty() {
        for other in exclusive_with(first) {
            table.remove(other);
        }
        if let ("wifi" | "lte", Some(Value::Table(reverse))) = (first, table.get_value_mut("reverse")) {
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
        // A profile's name is short for a table with the name as its base.
        let base = Node { value: Value::Text(base.clone()), place: next.place.clone() };
        next.value = Value::Table(Table(vec![("base".into(), base)]));
    }
    set_below(next, first, rest, node)
}

fn set_below(parent: &mut Node, name: &str, rest: &[&str], node: &Node) -> Result<(), String> {
    match &mut parent.value {
        Value::Table(table) => set_in_table(table, rest, node),
        Value::Array(items) => set_in_items(items, name, rest, node),
        other => Err(format!("{name} is {} here, so that nothing can be set below it", other.kind())),
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
        return Err(format!("there is no {name}.{index}; the file has {count}, counted from 0, and * stands for all"));
    }
    for n in chosen {
        match rest {
            [] => items[n] = node.clone(),
            _ => set_below(&mut items[n], name, rest, node)?,
        }
    }
    Ok(())
}

/// What a direction's own transmitter sends: the air of a Wi-Fi or LTE cell takes its place in both directions.
const OF_A_TRANSMITTER: [&str; 3] = ["rate", "rates", "trace"];

/// Keys that cannot stand beside `key`: setting it takes them out.
fn exclusive_with(key: &str) -> &'static [&'static str] {
    match key {
        "rate" => &["trace", "wifi", "signal", "phy_rate", "frame_errors", "lte", "snr", "cqi"],
        "trace" => &["rate", "rates", "wifi", "signal", "phy_rate", "frame_errors", "lte", "snr", "cqi"],
        "wifi" => &["rate", "rates", "trace", "lte", "snr", "cqi"],
        "lte" => &["rate", "rates", "trace", "wifi", "signal", "phy_rate", "frame_errors"],
        "snr" => &["cqi"],
        "cqi" => &["snr"],
        "signal" => &["phy_rate"],
        "phy_rate" => &["signal"],
        "arrivals" => &["count", "stagger"],
        "count" | "stagger" => &["arrivals"],
        _ => &[],
    }
}

/// The place of a dotted key, or of what it would stand in.
pub(crate) fn locate(table: &Table, key: &str) -> Option<Location> {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    let mut node = table.get(first)?;
    for part in rest.split('.').filter(|part| !part.is_empty()) {
        let next = match &node.value {
            Value::Table(table) => table.get(part),
            Value::Array(items) => part.parse::<usize>().ok().and_then(|n| items.get(n)),
            _ => None,
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    Some(node.place.clone())
}
