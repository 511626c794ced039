//! What has to be known of a source file before it is compiled.

use crate::Error;
use crate::compiler::unreadable;
use std::path::{Path, PathBuf};

/// Functions and macros of the contract's headers that a file may define itself (`UNBLOAT_OWN_name`).
const YIELDING: &[&str] = &[
    "inet_csk",
    "inet_csk_ca",
    "tcp_sk",
    "before",
    "after",
    "min",
    "max",
    "min_not_zero",
    "tcp_in_slow_start",
    "tcp_is_cwnd_limited",
    "tcp_cc_eq",
];

/// A source file with what it includes from beside itself.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// It and its own headers.
    pub(crate) files: Vec<(PathBuf, String)>,
    /// Functions of the contract that it defines itself.
    pub(crate) own_names: Vec<&'static str>,
}

impl Source {
    /// Reads the file and the headers that it includes with quotes and that lie beside it.
    pub(crate) fn read(path: &Path) -> Result<Source, Error> {
        let mut files: Vec<(PathBuf, String)> = Vec::new();
        let mut open = vec![path.to_path_buf()];
        while let Some(next) = open.pop() {
            if files.iter().any(|(known, _)| *known == next) {
                continue;
            }
            let bytes = std::fs::read(&next).map_err(|e| unreadable(&next, &e))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let folder = next.parent().unwrap_or(Path::new("."));
            open.extend(quoted_includes(&text).map(|name| folder.join(name)).filter(|header| header.is_file()));
            files.push((next, text));
        }
        let code: Vec<String> = files.iter().map(|(_, text)| without_comments(text)).collect();
        let own_names = YIELDING.iter().copied().filter(|name| defines(&code[0], name)).collect();
        Ok(Source { path: path.to_path_buf(), files, own_names })
    }
}

fn quoted_includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        rest.strip_prefix('"')?.split('"').next()
    })
}

/// Blanks comments out; strings that contain comment marks are not expected where this is used.
pub(crate) fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        code.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("//") { "\n" } else { "*/" };
        let Some(length) = rest[at + 2..].find(end) else {
            return code;
        };
        code.push(if end == "\n" { '\n' } else { ' ' });
        rest = &rest[at + 2 + length + end.len()..];
    }
    code.push_str(rest);
    code
}

/// Does `code` define a macro or a function called `name`: the name, its parameters in parentheses, a brace?
fn defines(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        let macro_name =
            before.trim_end_matches([' ', '\t']).ends_with("define") && before.len() > before.trim_end().len();
        let function = || after_parentheses(after.trim_start()).is_some_and(|body| body.trim_start().starts_with('{'));
        whole && (macro_name || function())
    })
}

/// What follows the closing parenthesis that belongs to the opening one at the start.
fn after_parentheses(text: &str) -> Option<&str> {
    let mut depth = 0;
    if !text.starts_with('(') {
        return None;
    }
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[at + 1..]);
        }
    }
    None
}
