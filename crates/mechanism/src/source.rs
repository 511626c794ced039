//! What has to be known of a source file before it is compiled.

use crate::compiler::unreadable;
use crate::error::Error;
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

/// Headers that the contract puts its own in place of, whatever lies beside a file.
const REPLACED: &[&str] = &["vmlinux.h", "bpf_tcp_helpers.h", "bpf_trace_helpers.h", "bpf_tracing_net.h"];

/// A source file with what it includes from beside itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// It and its own headers.
    pub(crate) files: Vec<(PathBuf, String)>,
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
            open.extend(
                quoted_includes(&text)
                    .filter(|name| !REPLACED.contains(name))
                    .map(|name| folder.join(name))
                    .filter(|header| header.is_file()),
            );
            files.push((next, text));
        }
        Ok(Source { path: path.to_path_buf(), files })
    }

    /// Functions of the contract that it defines itself.
    pub(crate) fn own_names(&self) -> Vec<&'static str> {
        let code: Vec<String> = self.files.iter().map(|(_, text)| without_comments(text)).collect();
        YIELDING.iter().copied().filter(|name| code.iter().any(|code| defines(code, name))).collect()
    }

    /// The file itself.
    pub(crate) fn text(&self) -> &str {
        &self.files[0].1
    }

    /// The variables that it declares as `struct tcp_congestion_ops`, in its order.
    pub(crate) fn operations(&self) -> Vec<String> {
        let code = without_comments(self.text());
        let words = Words::of(&code);
        words.after("tcp_congestion_ops").map(|at| words.0[at].to_string()).collect()
    }

    /// Its `const volatile` globals: name and what they hold.
    pub(crate) fn plain_parameters(&self) -> Vec<(String, Holds)> {
        let mut found = Vec::new();
        for (_, text) in &self.files {
            let code = without_comments(text);
            let words = Words::of(&code);
            for pair in [["const", "volatile"], ["volatile", "const"]] {
                for at in words.after(pair[1]).filter(|at| *at >= 2 && words.0[at - 2] == pair[0]) {
                    let end = words.0[at..].iter().position(|word| "=;[(".contains(word));
                    if let Some(end) = end.filter(|end| *end >= 2) {
                        let declaration = &words.0[at..at + end];
                        found.push((declaration[end - 1].to_string(), Holds::of(&declaration[..end - 1])));
                    }
                }
            }
        }
        found
    }
}

/// What a plain global holds, as far as the words of its type tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// `true` or `false`.
    Flag,
    /// Numbers from zero.
    Unsigned,
    /// Numbers of either sign.
    Signed,
    /// A type of the user's own.
    Unknown,
}

impl Holds {
    fn of(words: &[&str]) -> Holds {
        const UNSIGNED: &[&str] = &["unsigned", "u8", "u16", "u32", "u64", "size_t"];
        const SIGNED: &[&str] = &["int", "long", "short", "char", "signed", "s8", "s16", "s32", "s64"];
        let any_of = |names: &[&str]| words.iter().any(|word| names.contains(&word.trim_start_matches("__")));
        match () {
            () if any_of(&["bool", "_Bool"]) => Holds::Flag,
            () if any_of(UNSIGNED) => Holds::Unsigned,
            () if any_of(SIGNED) => Holds::Signed,
            () => Holds::Unknown,
        }
    }
}

/// C cut into words and single marks.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn of(code: &'a str) -> Words<'a> {
        let mut words = Vec::new();
        let mut rest = code.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(first.len_utf8());
            words.push(&rest[..length]);
            rest = rest[length..].trim_start();
        }
        Words(words)
    }

    /// The places behind each occurrence of `word`.
    fn after(&self, word: &str) -> impl Iterator<Item = usize> {
        let places = self.0.iter().enumerate().filter(move |(_, w)| **w == word).map(|(at, _)| at + 1);
        places.filter(|at| *at < self.0.len())
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
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
