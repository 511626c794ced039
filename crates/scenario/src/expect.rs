//! Reads `[expect]`: statements that the results of a run must fulfil, each under a name of its own.

use model::value::{Table, Value};
use model::{Location, Problems};

/// A statement that the results of a run must fulfil, such as `rtt_p99 < 50ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The key below `expect`.
    pub name: String,
    /// The text, in the language of claims.
    pub statement: String,
    /// The place of the key, for errors.
    pub place: Location,
}

/// Removes `[expect]` from the keys of a grid point and returns its statements, in the file's order.
pub(crate) fn expectations(tree: &mut Table, problems: &Problems) -> Vec<Expectation> {
    let Some(node) = tree.remove("expect") else {
        return Vec::new();
    };
    let Value::Table(table) = &node.value else {
        let message =
            format!("must be a table of statements such as fast = \"goodput >= 8mbit\", not {}", node.value.kind());
        problems.add(&node.place, "expect", message);
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, node) in &table.0 {
        match node.value.as_text() {
            Some(text) => {
                found.push(Expectation { name: name.clone(), statement: text.to_string(), place: node.place.clone() });
            }
            None => {
                let message = format!("must be a statement such as \"rtt_p99 < 50ms\", not {}", node.value.kind());
                problems.add(&node.place, format!("expect.{name}"), message);
            }
        }
    }
    found
}
