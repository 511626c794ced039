//! What has to be known of a source file before it is compiled.

use crate::error::{Error, unreadable};
use scenario::model::Compile;
use scenario::regular_file;
use std::borrow::Cow;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The section of BPF maps.
pub(crate) const MAPS: &str = ".maps";

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

/// Bytes of the largest file that is read; the types of a whole kernel take 5 MB.
const MOST_BYTES: u64 = 1 << 26;

/// Headers that the contract puts its own in place of, whatever lies beside a file.
const REPLACED: &[&str] = &["vmlinux.h", "bpf_tcp_helpers.h", "bpf_trace_helpers.h", "bpf_tracing_net.h"];

/// A source file with what it includes that may change by itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TranslationUnit {
    /// The file.
    pub(crate) path: PathBuf,
    /// It and its own headers.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// What its author gives the compiler.
    pub(crate) options: Compile,
}

impl TranslationUnit {
    /// Reads the file and the headers that it includes with quotes and that lie beside it. `includes`, told the source
    /// so far, gives what else the compiler would read.
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

    /// Do its files still hold what was read?
    pub(crate) fn is_current(&self) -> bool {
        self.files.iter().all(|(path, read)| std::fs::read(path).is_ok_and(|bytes| bytes == *read))
    }

    /// What was compiled is what was read.
    ///
    /// # Errors
    /// If somebody has written to its files since: whoever asked for it reads them again.
    pub(crate) fn unchanged(&self) -> Result<(), Error> {
        let changed = || Error::input(format!("{} changed while it was compiled", self.path.display()));
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
                return Err(Error::input(format!("{} is not C: there are zero bytes in it", next.display())));
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

    /// The texts of its files without their comments. Of a header that the contract takes the place of nothing counts.
    fn code(&self) -> impl Iterator<Item = String> {
        let counts = |path: &Path| !REPLACED.iter().any(|name| path.ends_with(name));
        let files = self.files.iter().filter(move |(path, _)| counts(path));
        files.map(|(_, bytes)| without_comments(&String::from_utf8_lossy(bytes)))
    }

    /// The types of private state that it has `inet_csk_ca()` lead to, as far as the words around the call tell.
    pub(crate) fn state_types(&self) -> Vec<String> {
        let mut found = Vec::new();
        for code in self.code() {
            let words = Words::of(&code);
            for at in words.after("inet_csk_ca").filter(|at| words.0[*at] == "(") {
                if let Some(name) = words.type_of_value(at - 1).filter(|name| !found.contains(name)) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Where a type is defined, as `file:line`.
    pub(crate) fn place_of_type(&self, kind: &str) -> Option<String> {
        let begins =
            |line: &str| line.trim_start().strip_prefix(kind).is_some_and(|rest| rest.trim_start().starts_with('{'));
        self.files.iter().find_map(|(path, bytes)| {
            let line = String::from_utf8_lossy(bytes).lines().position(begins)?;
            Some(format!("{}:{}", path.display(), line + 1))
        })
    }

    /// Functions of the contract that it defines itself.
    pub(crate) fn own_names(&self) -> Vec<&'static str> {
        let code: Vec<String> = self.code().collect();
        YIELDING.iter().copied().filter(|name| code.iter().any(|code| defines(code, name))).collect()
    }

    /// Does it declare a structure of this name itself?
    pub(crate) fn declares(&self, structure: &str) -> bool {
        self.code().any(|code| {
            let words = Words::of(&code);
            words.after(structure).any(|at| words.0[at] == "{" && at >= 2 && words.0[at - 2] == "struct")
        })
    }

    /// The file itself.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.files[0].1)
    }

    /// The variables that it declares as `struct tcp_congestion_ops`, in its order.
    pub(crate) fn operations(&self) -> Vec<String> {
        let code = without_comments(&self.text());
        let words = Words::of(&code);
        words.after("tcp_congestion_ops").map(|at| words.0[at].to_string()).collect()
    }

    /// Does it declare BPF maps?
    pub(crate) fn has_maps(&self) -> bool {
        self.code().any(|code| code.contains(MAPS))
    }

    /// Its `const volatile` globals: name and what they hold.
    pub(crate) fn plain_parameters(&self) -> Vec<(String, Holds)> {
        let mut found = Vec::new();
        for code in self.code() {
            let words = Words::of(&code);
            for pair in [["const", "volatile"], ["volatile", "const"]] {
                for at in words.after(pair[1]).filter(|at| *at >= 2 && words.0[at - 2] == pair[0]) {
                    let end = words.0[at..].iter().position(|word| "=;[(),".contains(word));
                    if let Some(end) = end.filter(|end| *end >= 2 && "=;[".contains(words.0[at + end])) {
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

impl Words<'_> {
    /// The type that the pointer at `at`, a function's name, is cast or assigned to: `struct mine *ca = f(`, `ca = f(`
    /// behind the declaration of `ca`, or `(struct mine *)f(`.
    fn type_of_value(&self, at: usize) -> Option<String> {
        let word = |back: usize| at.checked_sub(back).map(|at| self.0[at]);
        match (word(1)?, word(2)?) {
            (")", "*") => self.type_before(at - 2),
            ("=", variable) => {
                let pointer = |at: &usize| *at >= 2 && self.0[*at] == variable && self.0[at - 1] == "*";
                self.type_before((0..at - 1).rev().find(pointer)? - 1)
            }
            _ => None,
        }
    }

    /// The type whose pointer's star is at `at`.
    fn type_before(&self, at: usize) -> Option<String> {
        let name = self.0.get(at.checked_sub(1)?)?;
        let is_name = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
        let tag = at.checked_sub(2).map(|at| self.0[at]).filter(|word| matches!(*word, "struct" | "union"));
        let plain = !matches!(*name, "void" | "const" | "volatile" | "return" | "sizeof");
        (is_name && plain).then(|| tag.map_or(name.to_string(), |tag| format!("{tag} {name}")))
    }
}

/// Do both lead to the same file?
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The files that a rule for `make` names, as compilers write it (-M): spaces within names have a backslash in front,
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

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn quoted_includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        rest.strip_prefix('"')?.split('"').next()
    })
}

/// The code with its comments blanked out; comment marks in strings are none.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        let (before, here) = rest.split_at(at);
        code.push_str(before);
        let (length, stands_for) = match here.get(..2) {
            Some("/*") => (here.find("*/").map(|end| end + 2), " "),
            Some("//") => (here.find('\n'), ""),
            _ if here.starts_with('/') => (Some(1), "/"),
            _ => {
                let length = literal_length(here);
                (Some(length), &here[..length])
            }
        };
        code.push_str(stands_for);
        rest = &here[length.unwrap_or(here.len())..];
    }
    code.push_str(rest);
    code
}

/// The length of the string or character at the start of `text`, quotes included.
fn literal_length(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_strings_stay() {
        let code = without_comments("a /* b */ c // d\ne \"/* f */ \\\" // g\" h '\"' i / j /* k");
        assert_eq!(code, "a   c \ne \"/* f */ \\\" // g\" h '\"' i / j  ");
    }

    #[test]
    fn a_definition_is_told_from_a_call() {
        for definition in [
            "static bool before(__u32 a, __u32 b)\n{",
            "static inline struct tcp_sock *before(const struct sock *sk) {",
            "#define before(a, b) ((__s32)((a) - (b)) < 0)",
            "#\tdefine\tbefore after",
        ] {
            assert!(defines(definition, "before"), "{definition}");
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
            assert!(!defines(other, "before"), "{other}");
        }
    }

    #[test]
    fn the_type_of_private_state_is_found() {
        let types = |text: &str| {
            TranslationUnit {
                path: "x.c".into(),
                files: vec![("x.c".into(), text.into())],
                options: Compile::default(),
            }
            .state_types()
        };
        assert_eq!(types("struct mine *ca = inet_csk_ca(sk);"), ["struct mine"]);
        assert_eq!(types("const struct mine *const_ca, *ca;\nint a;\nca = inet_csk_ca(sk);"), [] as [&str; 0]);
        assert_eq!(
            types("mine_t *ca; ca = inet_csk_ca(sk); struct other *b = inet_csk_ca(sk);"),
            ["mine_t", "struct other"]
        );
        assert_eq!(types("return ((struct mine *)inet_csk_ca(sk))->a;"), ["struct mine"]);
        for none in ["return inet_csk_ca(sk);", "void *ca = inet_csk_ca(sk);", "x(inet_csk_ca(sk))", "inet_csk_ca("] {
            assert_eq!(types(none), [] as [&str; 0], "{none}");
        }
    }

    #[test]
    fn a_rule_names_files() {
        let names = prerequisites(b"x.o: a.c \\\n my\\ header.h cash$$.h\n");
        assert_eq!(names, ["a.c", "my header.h", "cash$.h"].map(PathBuf::from));
    }

    #[test]
    fn globals_are_found_by_their_type() {
        let text = "const volatile __u32 a = 1; volatile const bool b; static const volatile long c[2];\n\
                    const volatile my_type d=3; const int e = 4; int f(const volatile int *g);";
        let source = TranslationUnit {
            path: "x.c".into(),
            files: vec![("x.c".into(), text.into())],
            options: Compile::default(),
        };
        let mut found = source.plain_parameters();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [("a", Holds::Unsigned), ("b", Holds::Flag), ("c", Holds::Signed), ("d", Holds::Unknown)];
        assert_eq!(found, expected.map(|(name, holds)| (name.to_string(), holds)));
    }
}
