//! Descriptions of mechanisms for `unbloat list` and the documentation.

use crate::bind::parameter::Parameter;
use std::path::PathBuf;

/// The description of a mechanism, from its own file.
#[derive(Clone, Debug)]
pub struct Description {
    /// The name in a scenario.
    pub name: String,
    /// The summary, in one sentence.
    pub summary: String,
    /// The prose at the beginning of the file: the algorithm, its paper, and the departures from it.
    pub prose: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The parameters, in the file's order.
    pub parameters: Vec<Parameter>,
}

/// The first comment of a file after the licence's line, without the comment marks.
pub(crate) fn prose(text: &str) -> String {
    let mut rest = text;
    while let Some(comment) = rest.trim_start().strip_prefix("/*") {
        let (body, after) = comment.split_once("*/").unwrap_or((comment, ""));
        if !body.contains("SPDX-License-Identifier") {
            let lines = body.lines().map(|line| {
                let line = line.trim().trim_start_matches('*');
                line.strip_prefix(' ').unwrap_or(line).trim_end()
            });
            return lines.collect::<Vec<_>>().join("\n").trim().to_string();
        }
        rest = after;
    }
    String::new()
}

/// The first paragraph of the prose on one line, without the name in front.
pub(crate) fn summary(prose: &str) -> String {
    let paragraph: Vec<&str> = prose.lines().take_while(|line| !line.is_empty()).collect();
    let sentence = paragraph.join(" ");
    match sentence.split_once(": ") {
        Some((name, rest)) if !name.contains(' ') => rest.to_string(),
        _ => sentence,
    }
}
