//! Expands `[sweep]`, a grid over other keys, into grid points.

use crate::range;
use crate::tree;
use model::schema;
use model::value::{Node, Table, Value};
use model::{Error, Location, did_you_mean};
use std::collections::HashSet;

/// One axis of a sweep.
#[derive(Debug)]
pub(crate) struct Axis {
    /// A dotted key such as `flows.0.cc`, or the name of a list of cases.
    pub name: String,
    pub points: Vec<Point>,
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// The point's name in results.
    pub label: String,
    /// The dotted keys that the point sets, with their values.
    pub settings: Vec<(String, Node)>,
}

/// The largest number of grid points; more must be a mistake.
const MOST_POINTS: usize = 100_000;

/// Reads the axes from the value of `sweep`.
pub(crate) fn axes(sweep: Option<Node>) -> Result<Vec<Axis>, Error> {
    let Some(node) = sweep else {
        return Ok(Vec::new());
    };
    let Value::Table(table) = &node.value else {
        let message = format!(
            "must be a table of axes such as \"flows.0.cc\" = [\"reno\", \"cubic\"], not {}",
            node.value.kind()
        );
        return Err(Error::one(node.place, "sweep", message));
    };
    let mut axes = Vec::new();
    collect(table, "", &mut axes)?;
    let mut names = HashSet::new();
    if let Some(twice) = axes.iter().find(|axis| !names.insert(&axis.name)) {
        let key = format!("sweep.{}", twice.name);
        return Err(Error::one(node.place, key, "is written twice; write one axis with all values"));
    }
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.points.len()));
    match count.is_some_and(|count| count <= MOST_POINTS) {
        true => Ok(axes),
        false => Err(Error::one(node.place, "sweep", format!("has more than {MOST_POINTS} grid points"))),
    }
}

/// Collects the axes below `prefix`. Bare dots in a name make tables in tables, which end at a list or a range.
fn collect(table: &Table, prefix: &str, axes: &mut Vec<Axis>) -> Result<(), Error> {
    for (key, node) in &table.0 {
        let name = format!("{prefix}{key}");
        match &node.value {
            Value::Array(items) if items.is_empty() => {
                return Err(Error::one(
                    node.place.clone(),
                    format!("sweep.{name}"),
                    "is empty; an axis needs at least one value",
                ));
            }
            Value::Array(items) if is_scenario_key(&name) => axes.push(value_axis(name, items)),
            Value::Array(items) => axes.push(case_axis(name, items, &node.place)?),
            Value::Table(written) if is_scenario_key(&name) && range::is_range(written) => {
                axes.push(range_axis(name, written, &node.place)?);
            }
            Value::Table(inner) if is_scenario_key(&name) => collect(inner, &format!("{name}."), axes)?,
            other => {
                let message = match is_scenario_key(&name) {
                    true => format!(
                        "must be a list of values or a range such as {{ from = \"1mbit\", to = \"9mbit\", step = \
                         \"2mbit\" }}, not {}",
                        other.kind()
                    ),
                    false => no_such_axis(&name),
                };
                return Err(Error::one(node.place.clone(), format!("sweep.{name}"), message));
            }
        }
    }
    Ok(())
}

/// Whether a dotted key begins with a top-level key of scenario files.
pub(crate) fn is_scenario_key(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    first != "sweep" && schema::keys_of("").any(|key| key.name == first)
}

fn value_axis(name: String, items: &[Node]) -> Axis {
    let point = |item: &Node| Point { label: item.value.to_string(), settings: vec![(name.clone(), item.clone())] };
    Axis { points: items.iter().map(point).collect(), name }
}

fn range_axis(name: String, written: &Table, place: &Location) -> Result<Axis, Error> {
    let values = range::values(&name, written, place)?;
    let items: Vec<_> = values.into_iter().map(|value| Node { value, place: place.clone() }).collect();
    Ok(value_axis(name, &items))
}

/// Reads an axis of named cases: tables with a `label` that set several keys together.
fn case_axis(name: String, items: &[Node], place: &Location) -> Result<Axis, Error> {
    let key = format!("sweep.{name}");
    let mut labels = HashSet::new();
    let mut points = Vec::new();
    for item in items {
        let Some(table) = item.value.as_table() else {
            return Err(Error::one(place.clone(), key, no_such_axis(&name)));
        };
        let Some(label) = table.get("label").and_then(|label| label.value.as_text()) else {
            return Err(Error::one(
                item.place.clone(),
                key,
                "each case needs a label, a string that names it in the results",
            ));
        };
        if !labels.insert(label.to_string()) {
            return Err(Error::one(item.place.clone(), key, format!("the label \"{label}\" is used twice")));
        }
        let mut settings = Vec::new();
        flatten(table, "", &mut settings);
        settings.retain(|(key, _)| key != "label");
        points.push(Point { label: label.to_string(), settings });
    }
    Ok(Axis { name, points })
}

fn no_such_axis(name: &str) -> String {
    let known: Vec<_> = schema::keys_of("").map(|key| key.name).filter(|key| *key != "sweep").collect();
    let hint = did_you_mean(name.split('.').next().unwrap_or(name), known.iter().copied());
    format!(
        "unknown axis{hint}; write a list of cases such as {{ label = \"a\", \"flows.0.cc\" = \"reno\" }}, or a \
         dotted key that begins with {}",
        known.join(", ")
    )
}

/// Turns tables in tables, which bare dots make, back into dotted keys. A table under a quoted dotted key is a value.
fn flatten(table: &Table, prefix: &str, settings: &mut Vec<(String, Node)>) {
    for (key, node) in &table.0 {
        let name = format!("{prefix}{key}");
        match &node.value {
            Value::Table(inner) if !key.contains('.') => flatten(inner, &format!("{name}."), settings),
            _ => settings.push((name, node.clone())),
        }
    }
}

/// Returns every combination of points, with the last axis fastest; one empty combination if there are no axes.
pub(crate) fn combinations(axes: &[Axis]) -> Vec<Vec<&Point>> {
    let mut found = vec![Vec::new()];
    for axis in axes {
        let extend = |before: Vec<_>| {
            axis.points.iter().map(move |point| before.iter().copied().chain([point]).collect::<Vec<_>>())
        };
        found = found.into_iter().flat_map(extend).collect();
    }
    found
}

/// Whether an override of `key` replaces every setting of the axis. `*` in `key` matches any number.
pub(crate) fn is_covered(axis: &Axis, key: &str) -> bool {
    axis.points
        .iter()
        .all(|point| !point.settings.is_empty() && point.settings.iter().all(|(name, _)| matches(key, name)))
}

fn matches(pattern: &str, key: &str) -> bool {
    let (mut pattern, mut key) = (pattern.split('.'), key.split('.'));
    loop {
        match (pattern.next(), key.next()) {
            (None, _) => return true,
            (Some(a), Some(b)) if a == b || a == "*" => {}
            _ => return false,
        }
    }
}

/// Applies the settings of one grid point.
pub(crate) fn apply(tree: &mut Table, points: &[&Point]) -> Result<(), Error> {
    for (key, node) in points.iter().flat_map(|point| &point.settings) {
        set(tree, key, node)?;
    }
    Ok(())
}

/// Removes the axis that an override `sweep.NAME` replaces, if the file has its name in quotes.
pub(crate) fn make_room(tree: &mut Table, key: &str) {
    if let (Some(name), Some(Value::Table(axes))) = (key.strip_prefix("sweep."), tree.get_value_mut("sweep")) {
        axes.remove(name);
    }
}

/// Sets one dotted key; the error has its place in the file and the reason.
pub(crate) fn set(tree: &mut Table, key: &str, node: &Node) -> Result<(), Error> {
    tree::set(tree, key, node).map_err(|message| Error::one(node.place.clone(), key, message))
}
