//! Keys under the names that earlier releases had for them.

use crate::sweep::is_scenario_key;
use model::value::{Node, Table, Value};
use model::{Error, Location, Problem};

/// Each key of an earlier release with its name of today; `*` stands for any part of a dotted key.
///
/// A file may use the old name for one release, and [`Experiment::warnings`](crate::Experiment::warnings) then says so.
const RENAMED: [(&str, &str); 2] =
    [("flows.*.receiver", "window_controller"), ("flows.*.receiver_params", "window_controller_params")];

/// Yields the last part of each renamed key with its name of today.
pub fn renamed_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    RENAMED.into_iter().map(|(old, new)| (old.rsplit('.').next().unwrap_or(old), new))
}

/// Gives keys their names of today, and notes the first use of each old name.
#[derive(Default)]
pub(crate) struct Renaming {
    /// One warning for each old name that was met.
    pub warnings: Vec<Problem>,
    met: Vec<&'static str>,
}

impl Renaming {
    /// Renames the keys of a whole file.
    pub fn file(&mut self, tree: &mut Table) -> Result<(), Error> {
        if let Some(Value::Table(axes)) = tree.get_value_mut("sweep") {
            self.axes(axes)?;
        }
        self.table(tree, &[])
    }

    /// Renames the dotted key of an override, and the keys in its value; returns the key's name of today.
    pub fn set(&mut self, key: &str, node: &mut Node) -> Result<String, Error> {
        match (key.strip_prefix("sweep."), &mut node.value) {
            (Some(axis), _) => Ok(format!("sweep.{}", self.axis(axis, node)?)),
            (None, Value::Table(axes)) if key == "sweep" => self.axes(axes).map(|()| key.to_string()),
            (None, _) => self.entry(key, node, &[]),
        }
    }

    fn axes(&mut self, axes: &mut Table) -> Result<(), Error> {
        for (name, node) in &mut axes.0 {
            *name = self.axis(name, node)?;
        }
        Ok(())
    }

    /// Renames the keys that an axis sets; `name` is one of them, or the name of a list of cases.
    fn axis(&mut self, name: &str, node: &mut Node) -> Result<String, Error> {
        if is_scenario_key(name) {
            return self.entry(name, node, &[]);
        }
        if let Value::Array(cases) = &mut node.value {
            cases.iter_mut().try_for_each(|case| self.value(&mut case.value, &[]))?;
        }
        Ok(name.to_string())
    }

    fn table(&mut self, table: &mut Table, path: &[String]) -> Result<(), Error> {
        for number in 0..table.0.len() {
            let (key, node) = &mut table.0[number];
            let name = self.entry(key, node, path)?;
            if name != table.0[number].0 && table.get(&name).is_some() {
                let (key, node) = &table.0[number];
                let key = path.iter().chain([key]).map(String::as_str).collect::<Vec<_>>().join(".");
                let message = format!("is the old name of {name}, which is set too; leave one of the two out");
                return Err(Error::one(node.place.clone(), key, message));
            }
            table.0[number].0 = name;
        }
        Ok(())
    }

    /// Renames a key, which may have dots, and the keys below it.
    fn entry(&mut self, key: &str, node: &mut Node, path: &[String]) -> Result<String, Error> {
        let above = path.len();
        let mut path = path.to_vec();
        for part in key.split('.') {
            path.push(part.to_string());
            if let Some((old, new)) = RENAMED.into_iter().find(|(old, _)| matches(old, &path)) {
                self.warn(old, new, &path.join("."), &node.place);
                path.pop();
                path.push(new.to_string());
            }
        }
        self.value(&mut node.value, &path)?;
        Ok(path[above..].join("."))
    }

    fn value(&mut self, value: &mut Value, path: &[String]) -> Result<(), Error> {
        match value {
            Value::Table(table) => self.table(table, path),
            Value::Array(items) => items.iter_mut().enumerate().try_for_each(|(number, item)| {
                let path: Vec<_> = path.iter().cloned().chain([number.to_string()]).collect();
                self.value(&mut item.value, &path)
            }),
            _ => Ok(()),
        }
    }

    fn warn(&mut self, old: &'static str, new: &str, key: &str, place: &Location) {
        if self.met.contains(&old) {
            return;
        }
        self.met.push(old);
        let name = old.rsplit('.').next().unwrap_or(old);
        let message = format!("{name} is called {new} now; the next release refuses the old name");
        self.warnings.push(Problem::new(place.clone(), key, message));
    }
}

fn matches(pattern: &str, path: &[String]) -> bool {
    let mut parts = pattern.split('.');
    path.iter().all(|part| parts.next().is_some_and(|wanted| wanted == "*" || wanted == part)) && parts.next().is_none()
}
