//! What `unbloat list` and the documentation say of a mechanism.

use crate::bind::parameter::Parameter;
use std::path::PathBuf;

/// A mechanism as it describes itself.
#[derive(Clone, Debug)]
pub struct Description {
    /// What a scenario calls it.
    pub name: String,
    /// What it does, in one sentence.
    pub summary: String,
    /// The prose that its file opens with: what it does, from which paper, where it departs from it.
    pub prose: String,
    /// Its file.
    pub path: PathBuf,
    /// What can be set, in the file's order.
    pub parameters: Vec<Parameter>,
}

/// The first comment of a file that is more than the licence's line, without the comment marks.
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
