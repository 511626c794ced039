//! Adapts files that were written for a loader and a kernel's own headers to the simulator. Programs of other kinds in
//! the same file lose their bodies. Types that the file declares itself become the contract's, whose layout the
//! simulator uses. The numbers of lines do not change.

use crate::build::tokens::{Token, behind_braces, tokens};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

/// A program of another kind than the callbacks of a congestion control, such as `SEC("cgroup/setsockopt")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Companion {
    /// Section of the object file that the program goes into.
    pub(crate) section: String,
    /// Name of the program.
    pub(crate) name: String,
    /// The line of its section, from 1.
    pub(crate) line: usize,
    /// Body of the program, braces included.
    body: Range<usize>,
}

impl Companion {
    /// A sentence on the treatment of the program.
    pub(crate) fn note(&self, is_simulated: bool) -> String {
        let Companion { section, name, line, .. } = self;
        match is_simulated {
            true => format!(
                "the simulator never calls {name} (line {line}, SEC(\"{section}\")): it runs the callbacks of congestion \
                 controls only"
            ),
            false => format!(
                "{name} (line {line}, SEC(\"{section}\")) is not attached: unbloat loads the congestion control only"
            ),
        }
    }
}

/// Finds the programs in a file's text that are not callbacks of a congestion control.
pub(crate) fn companions(text: &str) -> Vec<Companion> {
    let tokens = tokens(text);
    let words = |at: usize| -> [&str; 4] { std::array::from_fn(|i| tokens.get(at + i).map_or("", |token| token.text)) };
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let ["SEC", "(", section, ")"] = words(at) else { continue };
        let section = section.trim_matches('"');
        let is_data = section.starts_with('.') || matches!(section, "license" | "version" | "maps");
        if is_data || section.trim_start_matches('?').starts_with("struct_ops") {
            continue;
        }
        if let Some((name, open, behind)) = function(&tokens, at + 4) {
            found.push(Companion {
                section: section.to_string(),
                name: name.to_string(),
                line: 1 + text[..tokens[at].at].matches('\n').count(),
                body: tokens[open].at..tokens[behind - 1].end(),
            });
        }
    }
    found
}

/// The function that is defined at `start`, behind attributes: its name, its opening brace, and the place behind its
/// end.
fn function<'a>(tokens: &[Token<'a>], start: usize) -> Option<(&'a str, usize, usize)> {
    let mut depth = 0_i32;
    let mut name = None;
    for (place, token) in tokens.iter().enumerate().skip(start) {
        match token.text {
            "(" => {
                let before = tokens[place - 1];
                if depth == 0 && before.is_name() && before.text != "__attribute__" && name.is_none() {
                    // BPF_PROG(name, ...) and its like.
                    let is_macro = before.text.starts_with("BPF_");
                    name = Some(if is_macro { tokens.get(place + 1)?.text } else { before.text });
                }
                depth += 1;
            }
            ")" => depth -= 1,
            "{" if depth == 0 => return Some((name?, place, behind_braces(tokens, place)?)),
            ";" | "=" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The text of the file at `path` with empty bodies of the companions, for a compiler that reads it from another file.
pub(crate) fn without_bodies(path: &Path, text: &str, companions: &[Companion]) -> String {
    let name = path.display().to_string().replace(['\\', '"', '\n'], "?");
    let mut left = format!("# 1 \"{name}\"\n");
    let mut at = 0;
    for Companion { body, .. } in companions {
        left += &text[at..body.start];
        left += "{ for (;;) ;";
        left.extend(text[body.clone()].matches('\n'));
        left += "}";
        at = body.end;
    }
    left + &text[at..]
}

/// The preprocessed text of a file, in which only headers below one of `contract` define their types. Other definitions
/// of these types lose their bodies, and other flavours (`tcp_sock___old`) become the type. `None` if no other file
/// defines any.
pub(crate) fn with_types_of_the_contract(text: &str, contract: &[String]) -> Option<String> {
    let tokens = tokens(text);
    let mut known = Known::default();
    let mut replaced: Vec<(Range<usize>, String)> = Vec::new();
    let mut is_ours = false;
    for at in 0..tokens.len() {
        let token = tokens[at];
        if let Some(file) = line_marker(token.text) {
            is_ours = contract.iter().any(|folder| file.starts_with(folder));
        }
        if !matches!(token.text, "struct" | "union" | "enum") {
            continue;
        }
        let Some(head) = head(&tokens, at) else { continue };
        if is_ours {
            known.add(&tokens, &head);
            continue;
        }
        let kind = head.tag.map_or("", |tag| tag.text).split("___").next().unwrap_or_default();
        let Some(tag) = head.tag else {
            if let Some((open, behind)) = head.body.filter(|body| known.has_enumerator(&tokens, *body)) {
                let lines = lines_within(text, tokens[open].at..tokens[behind - 1].end());
                let is_alone = tokens.get(behind).is_some_and(|next| next.text == ";");
                let stands_for = if is_alone { "" } else { "int " };
                replaced.push((token.at..tokens[behind - 1].end(), format!("{stands_for}{lines}")));
            }
            continue;
        };
        if !known.tags.contains(kind) {
            continue;
        }
        if kind.len() < tag.text.len() {
            replaced.push((tag.at..tag.end(), kind.to_string()));
        }
        if let Some((open, behind)) = head.body {
            let body = tokens[open].at..tokens[behind - 1].end();
            let lines = lines_within(text, body.clone());
            replaced.push((body, lines));
        }
    }
    (!replaced.is_empty()).then(|| with_replaced(text, &mut replaced))
}

/// The definitions of the contract's headers.
#[derive(Default)]
struct Known<'a> {
    tags: HashSet<&'a str>,
    enumerators: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    fn add(&mut self, tokens: &[Token<'a>], head: &Head<'a>) {
        let Some((open, behind)) = head.body else { return };
        self.tags.extend(head.tag.map(|tag| tag.text));
        if head.is_enum {
            self.enumerators.extend(enumerators(tokens, (open, behind)));
        }
    }

    fn has_enumerator(&self, tokens: &[Token<'a>], body: (usize, usize)) -> bool {
        enumerators(tokens, body).any(|name| self.enumerators.contains(name))
    }
}

/// The enumerators of an enumeration.
fn enumerators<'t, 'a>(
    tokens: &'t [Token<'a>],
    (open, behind): (usize, usize),
) -> impl Iterator<Item = &'a str> + use<'t, 'a> {
    (open + 1..behind)
        .filter(|at| matches!(tokens[at - 1].text, "{" | ",") && tokens[*at].is_name())
        .map(|at| tokens[at].text)
}

/// The beginning of a type's name or definition.
struct Head<'a> {
    is_enum: bool,
    tag: Option<Token<'a>>,
    /// The opening brace, and the place behind the closing one.
    body: Option<(usize, usize)>,
}

/// Reads the text after the word `struct`, `union` or `enum` at `at`: attributes, a tag, a body.
fn head<'a>(tokens: &[Token<'a>], at: usize) -> Option<Head<'a>> {
    let mut place = behind_attributes(tokens, at + 1);
    let tag = tokens.get(place).filter(|token| token.is_name()).copied();
    place = behind_attributes(tokens, place + usize::from(tag.is_some()));
    let opens = tokens.get(place).is_some_and(|token| token.text == "{");
    let body = if opens { Some((place, behind_braces(tokens, place)?)) } else { None };
    Some(Head { is_enum: tokens[at].text == "enum", tag, body })
}

fn behind_attributes(tokens: &[Token], mut place: usize) -> usize {
    while tokens.get(place).is_some_and(|token| token.text == "__attribute__") {
        let mut depth = 0_i32;
        place += 1;
        while let Some(token) = tokens.get(place) {
            depth += i32::from(token.text == "(") - i32::from(token.text == ")");
            place += 1;
            if depth == 0 {
                break;
            }
        }
    }
    place
}

/// The file in a compiler's line marker such as `# 12 "mine.h" 2`.
fn line_marker(directive: &str) -> Option<&str> {
    let rest = directive.strip_prefix("# ")?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then(|| rest.split('"').nth(1))?
}

/// The line ends in a part, and the compiler's line markers.
fn lines_within(text: &str, part: Range<usize>) -> String {
    let lines = text[part].split_inclusive('\n').skip(1);
    let ends = lines.map(|line| if line.starts_with("# ") { format!("\n{}", line.trim_end()) } else { "\n".into() });
    let mut kept: String = ends.collect();
    if kept.lines().last().is_some_and(|line| line.starts_with("# ")) {
        kept.push('\n');
    }
    kept
}

fn with_replaced(text: &str, replaced: &mut [(Range<usize>, String)]) -> String {
    replaced.sort_by_key(|(range, _)| range.start);
    let (mut left, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in replaced.iter() {
        // A type within a removed one is removed, too.
        if range.start >= at {
            left += &text[at..range.start];
            left += new;
            at = range.end;
        }
    }
    left + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn companions_are_told_from_callbacks_and_data() {
        let text = r#"
#define NOT_HERE SEC("kprobe/a") int a(void) { }
char license[] SEC("license") = "GPL";
struct { int a; } map SEC(".maps");
SEC("struct_ops/init") void BPF_PROG(init, struct sock *sk) { if (1) { } }
/* SEC("xdp") int b(void) { } */
SEC("cgroup/setsockopt")
int set(struct bpf_sockopt *ctx)
{
	const char *brace = "}";
	return 1;
}
SEC("fentry/tcp_close") int BPF_PROG(closing, struct sock *sk) { return 0; }
SEC("?struct_ops") __u32 BPF_PROG(ssthresh, struct sock *sk) { return 2; }
"#;
        let found = companions(text);
        let told: Vec<_> = found.iter().map(|each| (each.section.as_str(), each.name.as_str(), each.line)).collect();
        assert_eq!(told, [("cgroup/setsockopt", "set", 7), ("fentry/tcp_close", "closing", 13)]);
        let left = without_bodies(Path::new("x.c"), text, &found);
        assert_eq!(left.matches('\n').count(), 1 + text.matches('\n').count());
        assert!(!left.contains("brace") && left.contains("if (1)") && left.contains("return 2"));
    }

    #[test]
    fn types_of_a_file_become_the_contracts() {
        let text = "# 1 \"/c/vmlinux.h\" 1\nstruct sock {\n int a;\n};\nenum { ONE, TWO };\n# 1 \"x.c\" 2\nstruct sock \
                    {\n char b;\n};\nenum {\n TWO = 1 };\nstruct sock___old { int a; } __attribute__((x));\nint f(struct \
                    sock___old *s);\nstruct own { int a; };\n";
        let left = with_types_of_the_contract(text, &["/c/".into()]).expect("there are some");
        assert_eq!(
            left,
            "# 1 \"/c/vmlinux.h\" 1\nstruct sock {\n int a;\n};\nenum { ONE, TWO };\n# 1 \"x.c\" 2\nstruct sock \
             \n\n;\n\n;\nstruct sock  __attribute__((x));\nint f(struct sock *s);\nstruct own { int a; };\n"
        );
        assert_eq!(with_types_of_the_contract("# 1 \"x.c\"\nstruct own { int a; };\n", &["/c/".into()]), None);
    }
}
