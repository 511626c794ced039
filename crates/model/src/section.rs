//! Reads typed values from one section of a file, as the schema describes them.

use crate::app::App;
use crate::bdp::Product;
use crate::error::{Location, Problems, did_you_mean};
use crate::quantity::{Bdp, Between, Number, Share, Start};
use crate::schema::{self, Absence, Key, KeyType};
use crate::units::{Bytes, Dbm, Decibels, Drift, Frequency, Nanos, Offset, Rate};
use crate::value::{Node, Table, Value, in_quotes};
use crate::workload::Sizes;
use crate::{Limit, NamedProfile};
use std::str::FromStr;

/// One section of a file, which may be missing.
pub struct Section<'a> {
    table: Option<&'a Table>,
    /// The dotted key of the section, such as `flows.0`.
    pub path: String,
    /// The section's name in the schema, such as `flows`.
    pub shape: &'static str,
    /// The line of the section's header.
    pub place: Location,
    problems: &'a Problems,
    /// The bandwidth-delay product for limits such as `1bdp`.
    product: Option<Product>,
}

impl<'a> Section<'a> {
    /// Makes the section of a file's top-level keys.
    pub fn top(table: &'a Table, place: Location, problems: &'a Problems) -> Section<'a> {
        let top = Section { table: Some(table), path: String::new(), shape: "", place, problems, product: None };
        top.refuse_unknown_keys();
        top
    }

    /// Returns the section `name` in this one, which the schema describes under `shape`. If it is not a table, that is
    /// reported and the section is empty.
    pub fn child(&self, name: &str, shape: &'static str) -> Section<'a> {
        match self.table.and_then(|table| table.get(name)) {
            Some(node) => self.nested(node, self.path_of(name), shape),
            None => {
                self.refuse_absence(name);
                Section {
                    table: None,
                    path: self.path_of(name),
                    shape,
                    place: self.place.clone(),
                    problems: self.problems,
                    product: None,
                }
            }
        }
    }

    /// Returns the table in place of a group's size, as a section of its kind; none if the size is not a table.
    pub fn sizes(&self) -> Option<Section<'a>> {
        let kind = self.get("size")?.value.as_table()?.get("kind").and_then(|kind| kind.value.as_text());
        let shape = Sizes::KINDS.iter().find(|name| Some(**name) == kind);
        Some(self.child("size", shape.unwrap_or(&Sizes::KINDS[0])))
    }

    /// Returns the same table with another name in the schema.
    pub fn described_as(&self, shape: &'static str) -> Section<'a> {
        let Section { table, problems, product, .. } = *self;
        Section { table, path: self.path.clone(), shape, place: self.place.clone(), problems, product }
    }

    /// Returns the queue of a link, as a section of its kind.
    pub fn queue(&self) -> Section<'a> {
        let kind = self.get("queue").and_then(|node| node.value.as_table()?.get("kind")?.value.as_text());
        let own_section = schema::QUEUES.iter().find(|name| Some(**name) == kind && **name != schema::DROPTAIL);
        self.child("queue", own_section.unwrap_or(&"queue"))
    }

    /// Returns a missing section that the schema describes under `shape`: every key has its default.
    pub fn absent(&self, name: &str, shape: &'static str) -> Section<'a> {
        let place = self.place_of(name);
        Section { table: None, path: self.path_of(name), shape, place, problems: self.problems, product: None }
    }

    /// Returns the sections of a list of tables, and reports an empty list.
    pub fn children(&self, name: &'static str) -> Vec<Section<'a>> {
        if let Some(Value::Array(items)) = self.get(name).map(|node| &node.value)
            && items.is_empty()
        {
            self.complain(name, format!("is empty; write at least one [[{}]]", self.path_of(name)));
        }
        self.list(name)
    }

    /// Returns the sections of a list of tables.
    pub fn list(&self, name: &'static str) -> Vec<Section<'a>> {
        let path = self.path_of(name);
        let Some(node) = self.get(name) else {
            self.refuse_absence(name);
            return Vec::new();
        };
        let Value::Array(items) = &node.value else {
            self.complain(name, format!("must be written as [[{path}]], once for each, not as {}", node.value.kind()));
            return Vec::new();
        };
        let child = |(n, item)| self.nested(item, format!("{path}.{n}"), name);
        items.iter().enumerate().map(child).collect()
    }

    /// Returns the sections of a table whose keys are names chosen by the file, in its order.
    pub fn named_children(&self, shape: &'static str) -> Vec<Section<'a>> {
        let all = || self.table.map(|table| &table.0).into_iter().flatten();
        for (name, _) in all().filter(|(name, _)| !is_name(name)) {
            self.complain(name, "is not a valid name; use letters, digits, - and _");
        }
        let keys: Vec<_> = schema::keys_of(shape).map(|key| key.name).collect();
        if let Some((key, _)) = all().find(|(name, node)| node.value.as_table().is_none() && keys.contains(&&**name)) {
            self.complain(key, format!("needs a name: write [{shape}] above these keys, with a name for NAME"));
            return Vec::new();
        }
        all().map(|(name, node)| self.nested(node, self.path_of(name), shape)).collect()
    }

    /// Returns the section's own name, the last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }

    fn nested(&self, node: &'a Node, path: String, shape: &'static str) -> Section<'a> {
        let table = node.value.as_table();
        if table.is_none() {
            let known: Vec<_> = schema::keys_of(shape).map(|key| key.name).collect();
            let message = format!("must be a table of {}, not {}", known.join(", "), node.value.kind());
            self.problems.add(&node.place, &path, message);
        }
        let child = Section { table, path, shape, place: node.place.clone(), problems: self.problems, product: None };
        child.refuse_unknown_keys();
        child
    }

    /// Whether the file has the section.
    pub fn is_there(&self) -> bool {
        self.table.is_some()
    }

    /// Whether the file has the section without any key.
    pub fn is_empty(&self) -> bool {
        self.table.is_some_and(|table| table.0.is_empty())
    }

    /// Returns the value of `name` as in the file.
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        self.table?.get(name)
    }

    /// Returns the value of `name`, or the default from the schema; none if there is neither or the value is wrong.
    pub fn read<T: Readable>(&self, name: &str) -> Option<T> {
        let key = schema::find(self.shape, name);
        debug_assert!(T::reads(key.kind), "{} is read as another type than the schema says", key.path());
        let Some(node) = self.get(name) else {
            return self.read_default(key);
        };
        match T::from_value(&node.value, key.kind).and_then(|value| within(key, value, &node.value)) {
            Ok(value) => Some(value),
            Err(message) => {
                self.complain(name, message);
                None
            }
        }
    }

    /// Returns the value of `name` as [`read`](Self::read) does, with a placeholder for a wrong value, which is an
    /// error of the file anyway.
    pub fn need<T: Readable + Default>(&self, name: &str) -> T {
        self.read(name).unwrap_or_default()
    }

    /// Returns this section with limits that may be multiples of `product`.
    pub fn with(self, product: Product) -> Section<'a> {
        Section { product: Some(product), ..self }
    }

    /// Returns the limit of a queue, which may be written as a multiple of the section's bandwidth-delay product.
    pub fn read_limit(&self, name: &str) -> Option<Limit> {
        let written = self.get(name).map(|node| &node.value);
        let multiple = written.and_then(Value::as_text).filter(|text| Bdp::is_meant_by(text));
        let (Some(text), Some(product)) = (multiple, &self.product) else {
            return self.read(name);
        };
        let key = schema::find(self.shape, name);
        let in_packets = key.bounds().is_some_and(|(least, _)| matches!(least.parse(), Ok(Limit::Packets(_))));
        let limit = product.times(text, in_packets).map_err(|why| why.to_string());
        let in_range = |limit: Limit| within(key, limit, &Value::Text(format!("{text}, which is {limit},")));
        limit.and_then(in_range).map_err(|message| self.complain(name, message)).ok()
    }

    fn read_default<T: Readable>(&self, key: &Key) -> Option<T> {
        self.refuse_absence(key.name);
        key.default()
    }

    /// Reports a mistake at the line of `name`, or at the section's line if the key is missing.
    pub fn complain(&self, name: &str, message: impl Into<String>) {
        self.problems.add(&self.place_of(name), self.path_of(name), message);
    }

    /// Reports a mistake at another place; `path` is the whole dotted key.
    pub fn complain_about(&self, place: &Location, path: String, message: impl Into<String>) {
        self.problems.add(place, path, message);
    }

    /// Returns the line of `name`, or the section's line if the key is missing.
    pub fn place_of(&self, name: &str) -> Location {
        self.get(name).map_or(&self.place, |node| &node.place).clone()
    }

    /// Returns `name` with the sections around it, such as `link.bottleneck.rate`.
    pub fn path_of(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        }
    }

    /// Reports a missing required key, except beside an unknown key, which most likely is that key misspelled.
    fn refuse_absence(&self, name: &str) {
        let key = schema::find(self.shape, name);
        if self.is_there() && self.unknown_keys().next().is_none() && key.absence == Absence::Required {
            self.complain(name, format!("is missing; write {}: {}", key.kind.words(), key.meaning));
        }
    }

    fn refuse_unknown_keys(&self) {
        let known: Vec<_> = schema::keys_of(self.shape).map(|key| key.name).collect();
        for (name, node) in self.unknown() {
            let hint = did_you_mean(name, known.iter().copied());
            let message = format!("unknown key{hint}; valid keys: {}", known.join(", "));
            self.complain_about(&node.place, self.path_of(name), message);
        }
    }

    /// Returns the keys of the section that the schema does not have.
    pub fn unknown_keys(&self) -> impl Iterator<Item = &'a str> {
        self.unknown().map(|(name, _)| name.as_str())
    }

    fn unknown(&self) -> impl Iterator<Item = &'a (String, Node)> {
        let entries = self.table.map(|table| &table.0).into_iter().flatten();
        // The schema has NAME where files choose names.
        let known = |name: &str| schema::keys_of(self.shape).any(|key| key.name == name || key.name == "NAME");
        entries.filter(move |(name, _)| !known(name))
    }
}

/// A list of names.
#[derive(Clone, Debug, Default, PartialEq, PartialOrd)]
pub struct Names(pub Vec<String>);

impl Readable for Names {
    fn reads(kind: KeyType) -> bool {
        kind == KeyType::Names
    }
    fn from_text(text: &str) -> Result<Names, String> {
        Ok(Names(text.split(", ").map(String::from).collect()))
    }
    fn from_value(value: &Value, kind: KeyType) -> Result<Names, String> {
        let Value::Array(items) = value else { return Err(not_the_kind(value, kind)) };
        let name = |item: &Node| {
            item.value.as_text().map(String::from).ok_or_else(|| not_the_kind(&item.value, KeyType::Text))
        };
        match items.is_empty() {
            true => Err(format!("must be {}, not an empty list", kind.words())),
            false => Ok(Names(items.iter().map(name).collect::<Result<_, _>>()?)),
        }
    }
    fn written(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|name| in_quotes(name)).collect();
        format!("[{}]", names.join(", "))
    }
}

impl Key {
    /// Returns the default of the key, if the schema has one.
    pub fn default<T: Readable>(&self) -> Option<T> {
        match self.absence {
            Absence::Default(text) => Some(T::from_text(text).expect("the schema's defaults are valid")),
            Absence::Required | Absence::Means(_) | Absence::LeftToKernel(_) => None,
        }
    }
}

/// A type that values of a file can have.
pub trait Readable: Sized + PartialOrd {
    /// Whether the type holds values of this kind.
    fn reads(kind: KeyType) -> bool;
    /// Parses the text of a string, or of the schema.
    fn from_text(text: &str) -> Result<Self, String>;
    /// Converts a value of a file.
    fn from_value(value: &Value, kind: KeyType) -> Result<Self, String>;
    /// Returns the value as a file has it.
    fn written(&self) -> String;
}

/// Returns `value` if it is in the schema's range; `written` is the value in the file, for the error.
fn within<T: Readable>(key: &Key, value: T, written: &Value) -> Result<T, String> {
    let Some((least, most)) = key.bounds() else {
        return Ok(value);
    };
    let bound = |text| T::from_text(text).expect("the schema's ranges are valid");
    if bound(least) <= value && value <= bound(most) {
        return Ok(value);
    }
    // Packets and bytes do not compare.
    let what = if value.partial_cmp(&bound(least)).is_none() { "has the wrong unit" } else { "is out of range" };
    Err(format!("{written} {what}; valid: {least} to {most}"))
}

/// Whether a section may have this name, which is between dots in dotted keys.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '-' || char == '_')
}

/// Returns the message "must be KIND, not VALUE".
fn not_the_kind(value: &Value, kind: KeyType) -> String {
    match value {
        Value::Table(_) => format!("must be {}, not a table", kind.words()),
        Value::Array(_) => {
            format!("must be {}, not a list; to compare several values, write them under [sweep]", kind.words())
        }
        Value::Text(text) => format!("must be {}, not \"{text}\"", kind.words()),
        other => format!("must be {}, not {other}", kind.words()),
    }
}

macro_rules! readable_quantity {
    ($type:ty, $($kind:ident)|+) => {
        impl Readable for $type {
            fn reads(kind: KeyType) -> bool {
                matches!(kind, $(KeyType::$kind)|+)
            }
            fn from_text(text: &str) -> Result<$type, String> {
                <$type>::from_str(text).map_err(|why| why.to_string())
            }
            fn from_value(value: &Value, kind: KeyType) -> Result<$type, String> {
                match value {
                    Value::Text(text) => <$type>::from_text(text),
                    other => Err(not_the_kind(other, kind)),
                }
            }
            fn written(&self) -> String {
                format!("\"{self}\"")
            }
        }
    };
}
readable_quantity!(Rate, Rate);
readable_quantity!(Nanos, Time);
readable_quantity!(Start, Start);
readable_quantity!(Between<Rate>, RateRange);
readable_quantity!(Offset, Offset);
readable_quantity!(Drift, Drift);
readable_quantity!(Dbm, Signal);
readable_quantity!(Bytes, Size | Sizes);
readable_quantity!(Limit, Limit);
readable_quantity!(Share, Share | Loss);
readable_quantity!(Frequency, Frequency);
readable_quantity!(Decibels, Ratio);

impl Readable for Number {
    fn reads(kind: KeyType) -> bool {
        kind == KeyType::Number
    }
    fn from_text(text: &str) -> Result<Number, String> {
        text.parse().map_err(|why: crate::quantity::QuantityError| why.to_string())
    }
    fn from_value(value: &Value, kind: KeyType) -> Result<Number, String> {
        match value {
            Value::Float(text) => Number::from_text(text),
            Value::Integer(number) => Ok(Number(*number as f64)),
            other => Err(not_the_kind(other, kind)),
        }
    }
    fn written(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl Readable for Between<u64> {
    fn reads(kind: KeyType) -> bool {
        kind == KeyType::Numbers
    }
    fn from_text(text: &str) -> Result<Between<u64>, String> {
        text.parse().map_err(|why: crate::quantity::QuantityError| why.to_string())
    }
    fn from_value(value: &Value, kind: KeyType) -> Result<Between<u64>, String> {
        match value {
            Value::Text(text) => Between::from_text(text),
            Value::Integer(_) => u64::from_value(value, KeyType::Integer).map(Between::only),
            other => Err(not_the_kind(other, kind)),
        }
    }
    fn written(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Readable for u64 {
    fn reads(kind: KeyType) -> bool {
        kind == KeyType::Integer
    }
    fn from_text(text: &str) -> Result<u64, String> {
        text.parse().map_err(|_| format!("must be {}, not \"{text}\"", KeyType::Integer.words()))
    }
    fn from_value(value: &Value, kind: KeyType) -> Result<u64, String> {
        match value {
            Value::Integer(number) if *number < 0 => Err(format!("must be a whole number of at least 0, not {number}")),
            Value::Integer(number) => Ok(u64::try_from(*number).unwrap_or(u64::MAX)),
            other => Err(not_the_kind(other, kind)),
        }
    }
    fn written(&self) -> String {
        self.to_string()
    }
}

impl Readable for bool {
    fn reads(kind: KeyType) -> bool {
        kind == KeyType::Flag
    }
    fn from_text(text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| format!("must be {}, not \"{text}\"", KeyType::Flag.words()))
    }
    fn from_value(value: &Value, kind: KeyType) -> Result<bool, String> {
        match value {
            Value::Flag(flag) => Ok(*flag),
            other => Err(not_the_kind(other, kind)),
        }
    }
    fn written(&self) -> String {
        self.to_string()
    }
}

impl Readable for String {
    fn reads(kind: KeyType) -> bool {
        matches!(kind, KeyType::Text | KeyType::Choice(_) | KeyType::Profile | KeyType::App)
    }
    fn from_text(text: &str) -> Result<String, String> {
        Ok(text.to_string())
    }
    fn from_value(value: &Value, kind: KeyType) -> Result<String, String> {
        let text = value.as_text().ok_or_else(|| not_the_kind(value, kind))?;
        let names = match kind {
            KeyType::Choice(names) => names,
            KeyType::Profile => NamedProfile::NAMES,
            KeyType::App => App::KINDS,
            _ if text.is_empty() => return Err("must not be empty".into()),
            _ => return Ok(text.to_string()),
        };
        match names.contains(&text) {
            true => Ok(text.to_string()),
            false => Err(format!("{}{}", not_the_kind(value, kind), did_you_mean(text, names.iter().copied()))),
        }
    }
    fn written(&self) -> String {
        in_quotes(self)
    }
}

#[cfg(test)]
mod tests;
