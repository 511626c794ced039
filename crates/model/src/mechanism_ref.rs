//! Mechanisms as a scenario names them, with their parameters and the contents of their maps.

use crate::declare::{Field, table};
use crate::schema::{Key, KeyType};
use crate::section::Section;
use crate::value::{Node, Table, Value, in_quotes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Names a congestion control, a receiver's window controller or a host's classifier, and sets its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MechanismRef {
    /// The source of the mechanism: a built-in name or a file.
    pub source: MechanismSource,
    /// The parameters to set, by name. A duration is converted into the unit that the parameter declares.
    pub params: BTreeMap<String, ParamValue>,
    /// The contents of the mechanism's BPF maps at the start of the run, by name.
    pub maps: BTreeMap<String, MapContents>,
}

/// The contents of a BPF map: by key, the whole numbers that make up each value. A key of several numbers has commas
/// between them.
pub type MapContents = BTreeMap<String, Vec<i128>>;

impl MechanismRef {
    /// Refers to a mechanism without changes to its maps.
    pub fn new(source: MechanismSource, params: BTreeMap<String, ParamValue>) -> MechanismRef {
        MechanismRef { source, params, maps: BTreeMap::new() }
    }

    /// Whether the reference names no mechanism.
    pub fn is_none(&self) -> bool {
        *self == MechanismRef::default()
    }
}

/// The source of a mechanism.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MechanismSource {
    /// A built-in, by its name: a file of `algorithms/congestion`, `algorithms/window` or `algorithms/classify`.
    Builtin(String),
    /// A user's own `.bpf.c` file; `#NAME` after the path chooses one of several congestion controls in it.
    File(PathBuf),
    /// The running kernel's own congestion control, by the kernel's name for it; the simulator has none of these.
    Kernel(String),
    /// No mechanism: the group's programs send datagrams.
    #[default]
    None,
}

/// A parameter's value as in the scenario; the mechanism's declaration decides which values are valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParamValue {
    /// `true` or `false`.
    Bool(bool),
    /// A bare number.
    Integer(i64),
    /// A string: a quantity with its unit, such as `"100ms"`.
    Text(String),
}

/// The keys with which a group or a host names a mechanism, each with the key of its parameters.
pub const MECHANISMS: [(&str, &str); 3] =
    [("cc", "params"), ("window_controller", "window_controller_params"), ("classifier", "classifier_params")];

/// The key of the contents of a congestion control's maps.
pub const MAPS: &str = "maps";

/// Whether a text is the path of a mechanism, not a name. A path contains a slash or ends in `.c`; `#NAME` may follow.
pub fn is_path(mechanism: &str) -> bool {
    let file = mechanism.split_once('#').map_or(mechanism, |(file, _)| file);
    file.contains('/') || file.ends_with(".c")
}

/// Returns the name of a mechanism in `params.NAME`. It is the mechanism's name, the `#NAME` of a path, or else the
/// file's name up to the first dot.
pub fn mechanism_name(mechanism: &str) -> &str {
    if !is_path(mechanism) {
        return mechanism;
    }
    let file = mechanism.rsplit('/').next().unwrap_or(mechanism);
    file.split_once('#').map_or_else(|| file.split('.').next().unwrap_or(file), |(_, name)| name)
}

/// Whether a table below `maps` is for one congestion control, not a map: then it contains maps, which are tables.
pub fn is_for_one_control(node: &Node) -> bool {
    entries(node).iter().any(|(_, node)| node.value.as_table().is_some())
}

fn entries(node: &Node) -> &[(String, Node)] {
    node.value.as_table().map_or(&[], |table| &table.0)
}

/// Returns the name of the mechanism that a section sets with `key`.
fn named_in<'a>(section: &Section<'a>, key: &str) -> Option<&'a str> {
    section.get(key)?.value.as_text().map(mechanism_name)
}

/// Returns the entries of a section's table `name` for all mechanisms, then those for the mechanism that the section
/// sets with `chooser`.
fn chosen<'a>(
    section: &Section<'a>,
    (name, what): (&str, &str),
    chooser: &str,
    is_for_one: fn(&Node) -> bool,
) -> Option<Vec<&'a (String, Node)>> {
    let node = section.get(name)?;
    let Some(table) = node.value.as_table() else {
        section.complain(name, format!("must be a table of {what}, not {}", node.value.kind()));
        return None;
    };
    let for_all = table.0.iter().filter(|(_, node)| !is_for_one(node));
    let for_this = named_in(section, chooser).and_then(|name| table.get(name)).filter(|node| is_for_one(node));
    Some(for_all.chain(for_this.map_or(&[][..], entries)).collect())
}

/// The parameters of the mechanism that a section names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(pub BTreeMap<String, ParamValue>);

impl Field for Params {
    const KIND: KeyType = KeyType::Table;
    fn find(section: &Section, name: &'static str) -> Option<Params> {
        let (chooser, _) = MECHANISMS.into_iter().find(|(_, params)| *params == name)?;
        let what = "parameters such as { period = \"100ms\" }";
        let is_for_one = |node: &Node| node.value.as_table().is_some();
        let mut params = BTreeMap::new();
        for (param, node) in chosen(section, (name, what), chooser, is_for_one)? {
            match ParamValue::read(&node.value) {
                Ok(value) => drop(params.insert(param.clone(), value)),
                Err(why) => section.complain_about(&node.place, section.path_of(&format!("{name}.{param}")), why),
            }
        }
        Some(Params(params))
    }
    fn absent(_: &Key) -> Params {
        Params::default()
    }
    fn written(&self) -> Option<String> {
        let params: Vec<_> = self.0.iter().map(|(name, value)| (name, value.written())).collect();
        (!params.is_empty()).then(|| table(&params))
    }
}

impl ParamValue {
    fn read(value: &Value) -> Result<ParamValue, String> {
        match value {
            Value::Flag(flag) => Ok(ParamValue::Bool(*flag)),
            Value::Integer(number) => {
                i64::try_from(*number).map(ParamValue::Integer).map_err(|_| format!("{number} is out of range"))
            }
            Value::Text(text) => Ok(ParamValue::Text(text.clone())),
            Value::Float(number) => Ok(ParamValue::Text(number.clone())),
            other => {
                Err(format!("must be a number, true or false, or a string such as \"100ms\", not {}", other.kind()))
            }
        }
    }

    fn written(&self) -> String {
        match self {
            ParamValue::Bool(flag) => flag.to_string(),
            ParamValue::Integer(number) => number.to_string(),
            ParamValue::Text(text) => in_quotes(text),
        }
    }
}

/// The contents of a congestion control's BPF maps at the start of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maps(pub BTreeMap<String, MapContents>);

/// The range of a value: numbers of a BPF map have at most 64 bits.
const NUMBERS: RangeInclusive<i128> = i64::MIN as i128..=u64::MAX as i128;

const MAPS_EXAMPLE: &str = "such as { rates = { 0 = 1250000, 1 = 2500000 } }";

impl Field for Maps {
    const KIND: KeyType = KeyType::Table;
    fn find(section: &Section, name: &'static str) -> Option<Maps> {
        let mut maps: BTreeMap<String, MapContents> = BTreeMap::new();
        for (map, node) in chosen(section, (name, &format!("maps {MAPS_EXAMPLE}")), "cc", is_for_one_control)? {
            let path = section.path_of(&format!("{name}.{map}"));
            match node.value.as_table() {
                Some(table) => maps.entry(map.clone()).or_default().extend(contents(section, &path, table)),
                None => {
                    let kind = node.value.kind();
                    let message = format!("must be a table of keys and values {MAPS_EXAMPLE}, not {kind}");
                    section.complain_about(&node.place, path, message);
                }
            }
        }
        Some(Maps(maps))
    }
    fn absent(_: &Key) -> Maps {
        Maps::default()
    }
    fn written(&self) -> Option<String> {
        let numbers = |numbers: &[i128]| match numbers {
            [number] => number.to_string(),
            several => format!("{several:?}"),
        };
        let contents = |map: &MapContents| table(&map.iter().map(|(key, to)| (key, numbers(to))).collect::<Vec<_>>());
        let maps: Vec<_> = self.0.iter().map(|(name, map)| (name, contents(map))).collect();
        (!maps.is_empty()).then(|| table(&maps))
    }
}

fn contents(section: &Section, path: &str, entries: &Table) -> MapContents {
    let mut contents = MapContents::new();
    for (key, node) in &entries.0 {
        match numbers(&node.value) {
            Ok(numbers) => drop(contents.insert(key.clone(), numbers)),
            Err(why) => section.complain_about(&node.place, format!("{path}.{key}"), why),
        }
    }
    contents
}

fn numbers(value: &Value) -> Result<Vec<i128>, String> {
    match value {
        Value::Integer(number) if NUMBERS.contains(number) => Ok(vec![*number]),
        Value::Integer(number) => Err(format!("{number} is out of range: numbers in maps have at most 64 bits")),
        Value::Array(items) if !items.iter().any(|item| matches!(item.value, Value::Array(_))) => {
            let numbers: Result<Vec<_>, _> = items.iter().map(|item| numbers(&item.value)).collect();
            Ok(numbers?.concat())
        }
        other => Err(format!("must be a whole number, or a list of them for a struct's members, not {}", other.kind())),
    }
}
