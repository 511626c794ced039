//! Reader of a source file and its headers before the compilation.

use crate::build::debug_info::{DebugInfo, Place, Target};
use crate::build::tokens::{Token, behind_parentheses, tokens};
use crate::error::{Error, unreadable};
use model::Compile;
use model::regular_file;
use std::borrow::Cow;
use std::os::unix::ffi::OsStringExt;
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
    "tcp_slow_start",
    "tcp_cong_avoid_ai",
];

/// Size of the largest file that is read, bytes; the types of a whole kernel take 5 MB.
const MOST_BYTES: u64 = 1 << 26;

/// Headers that the contract replaces by its own, whatever is beside a file.
const REPLACED: &[&str] = &["vmlinux.h", "bpf_tcp_helpers.h", "bpf_trace_helpers.h", "bpf_tracing_net.h"];

/// A source file with the files that it includes, any of which may change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TranslationUnit {
    /// The path of the file.
    pub(crate) path: PathBuf,
    /// The file and its own headers, with their contents.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// The author's options for the compiler.
    pub(crate) options: Compile,
}

impl TranslationUnit {
    /// Reads the file and the headers beside it that it includes with quotes. `includes` gets the source up to there,
    /// and returns the other files that the compiler would read.
    pub(crate) fn read(
        path: &Path,
        options: &Compile,
        includes: impl FnOnce(&TranslationUnit) -> Vec<PathBuf>,
    ) -> Result<TranslationUnit, Error> {
        let mut source = TranslationUnit { path: path.to_path_buf(), files: Vec::new(), options: options.clone() };
        source.add(path)?;
        for file in includes(&source) {
            source.add(&file)?;
        }
        Ok(source)
    }

    /// The folder of the file.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Reports whether the files still have the contents that were read.
    pub(crate) fn is_current(&self) -> bool {
        self.files.iter().all(|(path, read)| std::fs::read(path).is_ok_and(|bytes| bytes == *read))
    }

    /// Checks that the files were compiled as they were read.
    ///
    /// # Errors
    /// If the files have changed since, so that the caller has to read them again.
    pub(crate) fn unchanged(&self) -> Result<(), Error> {
        let changed = || Error::input(format!("{} changed during its compilation; try again", self.path.display()));
        self.is_current().then_some(()).ok_or_else(changed)
    }

    fn add(&mut self, path: &Path) -> Result<(), Error> {
        let mut open = vec![path.to_path_buf()];
        while let Some(next) = open.pop() {
            if self.files.iter().any(|(known, _)| is_same(known, &next)) {
                continue;
            }
            let bytes = regular_file::read(&next, MOST_BYTES).map_err(|e| unreadable(&next, &e))?;
            if bytes.contains(&0) {
                return Err(Error::input(format!("{} is not C: it contains zero bytes", next.display())));
            }
            let text = String::from_utf8_lossy(&bytes);
            let folder = next.parent().unwrap_or(Path::new("."));
            open.extend(
                quoted_includes(&text)
                    .filter(|name| !REPLACED.contains(name))
                    .map(|name| folder.join(name))
                    .filter(|header| header.is_file()),
            );
            self.files.push((next, bytes));
        }
        Ok(())
    }

    /// The texts of the files, without headers that the contract replaces.
    fn texts(&self) -> impl Iterator<Item = (&Path, Cow<'_, str>)> {
        let counts = |path: &Path| !REPLACED.iter().any(|name| path.ends_with(name));
        let files = self.files.iter().filter(move |(path, _)| counts(path));
        files.map(|(path, bytes)| (path.as_path(), String::from_utf8_lossy(bytes)))
    }

    /// The types of private state to which the file casts `inet_csk_ca()`, as the debugging information describes them.
    pub(crate) fn states(&self, debug_info: &DebugInfo) -> Vec<Target> {
        let mut found = Vec::new();
        for (path, text) in self.texts() {
            let tokens = with_directives(&text);
            for call in (0..tokens.len()).filter(|at| tokens[*at].text == "inet_csk_ca") {
                found.extend(match receiver(&tokens[..call]) {
                    Some(Receiver::Variable(name)) => {
                        let line = 1 + text[..tokens[call].at].matches('\n').count();
                        debug_info.target_of(name, |file| is_same(file, path), line as u64)
                    }
                    Some(Receiver::Type(name)) => debug_info.type_named(name),
                    None => None,
                });
            }
        }
        found
    }

    /// A place as `file:line`, with the name of the file that the user gave.
    pub(crate) fn display(&self, place: &Place) -> String {
        let own = self.files.iter().map(|(path, _)| path).find(|path| is_same(path, &place.file));
        format!("{}:{}", own.unwrap_or(&place.file).display(), place.line)
    }

    /// Functions of the contract that the file defines itself.
    pub(crate) fn own_names(&self) -> Vec<&'static str> {
        let texts: Vec<_> = self.texts().map(|(_, text)| text).collect();
        let texts: Vec<_> = texts.iter().map(|text| tokens(text)).collect();
        YIELDING.iter().copied().filter(|name| texts.iter().any(|tokens| defines(tokens, name))).collect()
    }

    /// Reports whether the file declares a structure of this name itself.
    pub(crate) fn declares(&self, structure: &str) -> bool {
        let is_declaration =
            |three: &[Token]| [three[0].text, three[1].text, three[2].text] == ["struct", structure, "{"];
        self.texts().any(|(_, text)| tokens(&text).windows(3).any(is_declaration))
    }

    /// The text of the file itself.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.files[0].1)
    }
}

/// The receiver of the pointer to private state.
#[derive(Debug, PartialEq, Eq)]
enum Receiver<'a> {
    /// `... = inet_csk_ca(`
    Variable(&'a str),
    /// `(struct mine *)inet_csk_ca(`
    Type(&'a str),
}

/// The receiver of a call's value, from the tokens before the function's name.
fn receiver<'a>(before: &[Token<'a>]) -> Option<Receiver<'a>> {
    let last_name = |before: &[Token<'a>]| before.last().filter(|token| token.is_name()).map(|token| token.text);
    match before {
        [rest @ .., mark] if mark.text == "=" => last_name(rest).map(Receiver::Variable),
        [rest @ .., star, mark] if (star.text, mark.text) == ("*", ")") => last_name(rest).map(Receiver::Type),
        _ => None,
    }
}

/// The tokens of a text, including those of its directives.
fn with_directives(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for token in tokens(text) {
        match token.text.strip_prefix('#') {
            Some(rest) => {
                found.extend(tokens(rest).into_iter().map(|inner| Token { at: token.at + 1 + inner.at, ..inner }));
            }
            None => found.push(token),
        }
    }
    found
}

/// Reports whether both paths lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The files in a rule for `make` as compilers write it (-M). Spaces within names have a backslash in front, and
/// dollars are doubled.
pub(crate) fn prerequisites(rule: &[u8]) -> Vec<PathBuf> {
    let mut names = vec![Vec::new()];
    let colon = rule.windows(2).position(|pair| pair[0] == b':' && pair[1].is_ascii_whitespace());
    let mut bytes = rule[colon.map_or(0, |at| at + 1)..].iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let last = names.last_mut().expect("one at least");
        match (byte, bytes.peek()) {
            (b'\\', Some(b'\n')) => {}
            (b'\\', Some(next @ (b' ' | b'#' | b'\\'))) => {
                last.push(*next);
                bytes.next();
            }
            (b'$', Some(b'$')) => {
                last.push(b'$');
                bytes.next();
            }
            (byte, _) if byte.is_ascii_whitespace() => names.push(Vec::new()),
            (byte, _) => last.push(byte),
        }
    }
    let named = names.into_iter().filter(|name| !name.is_empty());
    named.map(|name| PathBuf::from(std::ffi::OsString::from_vec(name))).collect()
}

fn quoted_includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        rest.strip_prefix('"')?.split('"').next()
    })
}

/// Reports whether the tokens define a macro or a function called `name`: the name, its parameters in parentheses, a
/// brace.
fn defines(tokens: &[Token], name: &str) -> bool {
    let is_function = |at: usize| {
        behind_parentheses(tokens, at + 1).and_then(|behind| tokens.get(behind)).is_some_and(|token| token.text == "{")
    };
    tokens.iter().enumerate().any(|(at, token)| match token.text.strip_prefix('#') {
        Some(directive) => macro_name(directive) == Some(name),
        None => token.text == name && is_function(at),
    })
}

/// The macro that a directive defines.
fn macro_name(directive: &str) -> Option<&str> {
    let name = directive.trim_start().strip_prefix("define")?.trim_start_matches([' ', '\t']);
    name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_told_from_a_call() {
        for definition in [
            "static bool before(__u32 a, __u32 b)\n{",
            "static inline struct tcp_sock *before(const struct sock *sk) {",
            "#define before(a, b) ((__s32)((a) - (b)) < 0)",
            "#\tdefine\tbefore after",
        ] {
            assert!(defines(&tokens(definition), "before"), "{definition}");
        }
        for other in [
            "if (before(a, b)) {",
            "while (before(a, f(b)) && c) {",
            "return before(a, b);",
            "static bool not_before(int a) {",
            "static bool before_all(int a) {",
            "extern bool before(__u32 a, __u32 b);",
            "#define after(a, b) before(b, a)",
        ] {
            assert!(!defines(&tokens(other), "before"), "{other}");
        }
    }

    #[test]
    fn what_takes_private_state_is_found() {
        let takes = |text: &'static str| {
            let tokens = with_directives(text);
            let call = tokens.iter().position(|token| token.text == "inet_csk_ca").expect("a call");
            receiver(&tokens[..call])
        };
        assert_eq!(takes("struct mine *ca = inet_csk_ca(sk);"), Some(Receiver::Variable("ca")));
        assert_eq!(takes("mine_t *ca; int a; ca = inet_csk_ca(sk);"), Some(Receiver::Variable("ca")));
        assert_eq!(takes("return ((struct mine *)inet_csk_ca(sk))->a;"), Some(Receiver::Type("mine")));
        assert_eq!(takes("#define CA(sk) ((const mine_t *) inet_csk_ca(sk))"), Some(Receiver::Type("mine_t")));
        for none in ["return inet_csk_ca(sk);", "x(inet_csk_ca(sk))", "inet_csk_ca(", "*= inet_csk_ca("] {
            assert_eq!(takes(none), None, "{none}");
        }
    }

    #[test]
    fn a_rule_names_files() {
        let names = prerequisites(b"x.o: a.c \\\n my\\ header.h cash$$.h\n");
        assert_eq!(names, ["a.c", "my header.h", "cash$.h"].map(PathBuf::from));
    }
}
