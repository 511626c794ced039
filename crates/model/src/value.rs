//! The values of a scenario file as a tree; each value has its line in the file.

use crate::error::Location;
use std::fmt;

/// A value and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// The value's place in the file.
    pub place: Location,
}

/// A value of TOML.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A table.
    Table(Table),
    /// A list.
    Array(Vec<Node>),
    /// A string.
    Text(String),
    /// A whole number, wide enough to distinguish "too large" from "not a number".
    Integer(i128),
    /// A number with a fraction or an exponent, as written.
    Float(String),
    /// `true` or `false`.
    Flag(bool),
    /// A date or a time of day, as written.
    Date(String),
}

/// A table: keys and values, in the file's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<(String, Node)>);

impl Table {
    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Returns the keys, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns mutable access to the value of `key` and its place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Returns mutable access to the value of `key`.
    pub fn get_value_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.get_mut(key).map(|node| &mut node.value)
    }

    /// Removes `key` and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Sets the value of `key`; a new key is added at the end.
    pub fn replace(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.0.push((key.to_string(), node)),
        }
    }
}

impl Value {
    /// Returns the kind of the value with its article, for errors.
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

    /// Returns the table, if the value is one.
    pub fn as_table(&self) -> Option<&Table> {
        match self {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the string, if the value is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Writes the value as TOML, but a string without quotes: this is the label of a sweep's value.
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
                let entries: Vec<_> = table
                    .0
                    .iter()
                    .map(|(key, node)| format!("{} = {}", bare_or_quoted(key), quoted(&node.value)))
                    .collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// Returns the value as TOML, with strings in quotes.
pub fn quoted(value: &Value) -> String {
    match value {
        Value::Text(text) => in_quotes(text),
        other => other.to_string(),
    }
}

/// Returns a text as a string of TOML.
pub fn in_quotes(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_ascii_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Returns a key of TOML, in quotes if it needs them.
pub fn bare_or_quoted(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { key.to_string() } else { in_quotes(key) }
}
