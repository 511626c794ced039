//! Loads a scenario file or text: overrides, sweep, grid points.

use crate::expect::{self, Expectation};
use crate::misspelled;
use crate::read::Reader;
use crate::renamed::Renaming;
use crate::sweep;
use crate::tree;
use model::mechanism_ref::{MAPS, MECHANISMS, is_for_one_control, mechanism_name};
use model::value::{Node, Table, Value};
use model::{Error, Location, Problem, Problems, did_you_mean};
use model::{Scenario, Service};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest part of a scenario file that is read, bytes.
const MOST_BYTES: u64 = 1 << 26;

/// The scenarios of a file, one for each point of its sweep's grid.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The file's name for itself (the key `name`), or the name of the file.
    pub name: String,
    /// The grid points, in the file's order with the last axis of the sweep fastest; never empty.
    pub points: Vec<GridPoint>,
    /// Accepted keys that the next release refuses, each with its place.
    pub warnings: Vec<Problem>,
}

/// One point of a sweep's grid, or the only scenario of a file without a sweep.
#[derive(Clone, Debug)]
pub struct GridPoint {
    /// The axes of the sweep, each with the label of this grid point; empty without a sweep.
    pub axes: Vec<(String, String)>,
    /// The scenario to run.
    pub scenario: Scenario,
    /// Statements that the results of its runs must fulfil.
    pub expectations: Vec<Expectation>,
    /// The keys and values of this grid point, with their places in the file.
    tree: Table,
    place: Location,
}

impl GridPoint {
    /// Wraps a scenario that another process has read. Without a file, [`locate`](GridPoint::locate) returns the key alone,
    /// after the mark `?`.
    pub fn resolved(scenario: Scenario) -> GridPoint {
        let place = Location::File("?".into());
        GridPoint { axes: vec![], scenario, expectations: vec![], tree: Table::default(), place }
    }

    /// Returns `FILE:LINE: KEY` for a dotted key such as `flows.0.cc`, for errors that only a later stage can find. A
    /// missing key has the line of the table around it, and an override has the key alone. Parameters and maps, such as
    /// `flows.0.params.NAME`, are also found in the table of the group's mechanism.
    pub fn locate(&self, key: &str) -> String {
        let of_this_control = self.param_of_this_control(key).or_else(|| self.map_of_this_control(key));
        let key = of_this_control.unwrap_or_else(|| key.to_string());
        tree::locate(&self.tree, &key).unwrap_or_else(|| self.place.clone()).of(&key)
    }

    /// Returns the written key of `flows.0.params.NAME` if it is in a table `flows.0.params.CONTROL`.
    fn param_of_this_control(&self, key: &str) -> Option<String> {
        let (rest, param) = key.rsplit_once('.')?;
        let (path, table) = rest.rsplit_once('.')?;
        let (chooser, _) = MECHANISMS.iter().find(|(_, params)| *params == table)?;
        let (_, section) = users(&self.tree).into_iter().find(|(user, _)| user == path)?;
        let params = section.value.as_table()?.get(table)?.value.as_table()?;
        let name = written_name(section, chooser)?;
        params.get(name)?.value.as_table()?.get(param)?;
        Some(format!("{path}.{table}.{name}.{param}"))
    }

    /// Returns the written key of `flows.0.maps.NAME.KEY` if it is in a table `flows.0.maps.CONTROL`.
    fn map_of_this_control(&self, key: &str) -> Option<String> {
        let (path, map) = key.split_once(&format!(".{}.", MAPS))?;
        let (_, section) = users(&self.tree).into_iter().find(|(user, _)| user == path)?;
        let name = written_name(section, "cc")?;
        let maps = section.value.as_table()?.get(MAPS)?.value.as_table()?;
        let mut node = maps.get(name).filter(|node| is_for_one_control(node))?;
        for part in map.split('.') {
            node = node.value.as_table()?.get(part)?;
        }
        Some(format!("{path}.{}.{name}.{map}", MAPS))
    }
}

/// Returns the sections that may name mechanisms, with their keys: the flow groups, then the hosts.
fn users(tree: &Table) -> Vec<(String, &Node)> {
    let groups = match tree.get("flows").map(|node| &node.value) {
        Some(Value::Array(items)) => items.as_slice(),
        _ => &[],
    };
    let groups = groups.iter().enumerate().map(|(number, group)| (format!("flows.{number}"), group));
    let hosts = tree.get("host").and_then(|node| node.value.as_table()).into_iter().flat_map(|hosts| &hosts.0);
    groups.chain(hosts.map(|(name, host)| (format!("host.{name}"), host))).collect()
}

fn written_name<'a>(section: &'a Node, chooser: &str) -> Option<&'a str> {
    section.value.as_table()?.get(chooser)?.value.as_text().map(mechanism_name)
}

/// Reads a scenario file. `overrides` are dotted keys with values (TOML, or a bare string), as in `--set`. They win
/// over the file and its sweep: an axis over overridden keys only disappears.
pub fn load(path: &Path, overrides: &[(String, String)]) -> Result<Experiment, Error> {
    let name = path.display().to_string();
    let mut text = String::new();
    // A user may name a pipe too.
    let read = std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    read.map_err(|why| Error::one(Location::File(name.as_str().into()), "", format!("cannot be read: {why}")))?;
    load_text(&text, &name, path.parent().unwrap_or(Path::new("")), overrides)
}

/// Reads a scenario from a text that errors call `file`; relative paths in it start at `folder`.
pub fn load_text(text: &str, file: &str, folder: &Path, overrides: &[(String, String)]) -> Result<Experiment, Error> {
    let file: Arc<str> = file.into();
    let mut tree = tree::parse(text, &file)?;
    let mut renaming = Renaming::default();
    renaming.file(&mut tree)?;
    let rename = |(key, value): &(String, String)| {
        let mut node = tree::parse_override(value);
        Ok((renaming.set(key, &mut node)?, node))
    };
    let overrides = overrides.iter().map(rename).collect::<Result<Vec<_>, Error>>()?;
    let overrides: Vec<_> = overrides.iter().map(|(key, node)| (key.as_str(), node.clone())).collect();
    misspelled::refuse(&tree, &overrides)?;
    for (key, node) in &overrides {
        sweep::make_room(&mut tree, key);
        sweep::set(&mut tree, key, node)?;
    }
    let mut axes = sweep::axes(tree.remove("sweep"))?;
    axes.retain(|axis| !overrides.iter().any(|(key, _)| sweep::is_covered(axis, key)));
    let mut trees = point_trees(&tree, &axes, &overrides)?;

    let stem = PathBuf::from(&*file).file_stem().map_or("scenario".into(), |stem| stem.to_string_lossy().into_owned());
    let place = Location::File(file);
    let reader = Reader::new(folder, &stem, place.clone());
    let problems = Problems::default();
    let expected: Vec<_> = trees.iter_mut().map(|(_, tree)| expect::expectations(tree, &problems)).collect();
    let scenarios: Vec<_> = trees.iter().map(|(_, tree)| reader.scenario(tree, &problems)).collect();
    for (chooser, params) in MECHANISMS.into_iter().chain([("cc", MAPS)]) {
        if !overrides.iter().any(|(key, _)| key.ends_with(&format!(".{chooser}"))) {
            refuse_params_for_nobody(trees.iter().map(|(_, tree)| tree), chooser, params, &problems);
        }
    }
    let point = |(((labels, tree), scenario), expectations): ((_, Option<Scenario>), _)| {
        let axes = axes.iter().map(|axis| axis.name.clone()).zip::<Vec<String>>(labels).collect();
        Some(GridPoint { axes, scenario: scenario?, expectations, tree, place: place.clone() })
    };
    let points: Vec<_> = trees.into_iter().zip(scenarios).zip(expected).filter_map(point).collect();
    if problems.count() == 0 {
        refuse_air_for_nobody(&points, &problems);
    }
    problems.unless_any(Experiment { name: experiment_name(&points), points, warnings: renaming.warnings })
}

fn experiment_name(points: &[GridPoint]) -> String {
    points.first().map_or_else(String::new, |point| point.scenario.name.clone())
}

/// Returns the labels and the tree of every grid point.
fn point_trees(
    base: &Table,
    axes: &[sweep::Axis],
    overrides: &[(&str, Node)],
) -> Result<Vec<(Vec<String>, Table)>, Error> {
    let mut trees = Vec::new();
    for points in sweep::combinations(axes) {
        let mut tree = base.clone();
        sweep::apply(&mut tree, &points)?;
        for (key, node) in overrides.iter().filter(|(key, _)| key.split('.').next() != Some("sweep")) {
            sweep::set(&mut tree, key, node)?;
        }
        trees.push((points.iter().map(|point| point.label.clone()).collect(), tree));
    }
    Ok(trees)
}

/// Rejects a Wi-Fi or LTE grid point that no link names at any grid point, because it must be misspelled.
fn refuse_air_for_nobody<'a>(points: &'a [GridPoint], problems: &Problems) {
    let links =
        || points.iter().flat_map(|point| point.scenario.links.iter().map(move |link| (point, &link.forward.service)));
    let medium = |(point, service): (&'a GridPoint, &Service)| match service {
        Service::Shared(member) => point.scenario.media().find(|(kind, number, _)| (*kind, *number) == member.medium()),
        Service::Own(_) => None,
    };
    let used: BTreeSet<(&str, &str)> = links().filter_map(medium).map(|(kind, _, name)| (kind, name)).collect();
    for point in points {
        for (kind, _, name) in point.scenario.media() {
            if !used.contains(&(kind, name)) {
                let key = format!("{kind}.{name}");
                let place = tree::locate(&point.tree, &key).unwrap_or_else(|| point.place.clone());
                let message =
                    format!("has no user; write {kind} = \"{name}\" for a link, or leave [{kind}.{name}] out");
                problems.add(&place, key, message);
            }
        }
    }
}

/// Rejects a table `params.NAME` or `maps.NAME` whose mechanism its group or host runs at no grid point, because it
/// must be misspelled.
fn refuse_params_for_nobody<'a>(
    trees: impl Iterator<Item = &'a Table>,
    chooser: &str,
    table: &str,
    problems: &Problems,
) {
    let mut all: BTreeMap<String, Vec<&Node>> = BTreeMap::new();
    for (path, section) in trees.flat_map(users) {
        all.entry(path).or_default().push(section);
    }
    for (path, sections) in all {
        let run: BTreeSet<&str> = sections.iter().filter_map(|section| written_name(section, chooser)).collect();
        for section in sections {
            refuse_params_beside(&run, section, &format!("{path}.{table}"), problems);
        }
    }
}

fn refuse_params_beside(run: &BTreeSet<&str>, flow: &Node, key: &str, problems: &Problems) {
    let table = key.rsplit('.').next().unwrap_or(key);
    let params = flow.value.as_table().and_then(|flow| flow.get(table)?.value.as_table());
    for (name, node) in params.into_iter().flat_map(|params| &params.0) {
        let is_for_one = if table == MAPS { is_for_one_control(node) } else { node.value.as_table().is_some() };
        if is_for_one && !run.contains(name.as_str()) {
            let hint = did_you_mean(name, run.iter().copied());
            let names: Vec<_> = run.iter().copied().collect();
            let who = if key.starts_with("host.") { "host" } else { "group" };
            let message = format!("this {who} never runs {name}{hint}; it runs {}", names.join(", "));
            problems.add(&node.place, format!("{key}.{name}"), message);
        }
    }
}
