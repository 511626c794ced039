//! A reader of C without a compiler, which splits text into words, strings and marks.

/// A piece of C, with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// The byte of the text at which the token begins.
    pub(crate) at: usize,
}

impl Token<'_> {
    pub(crate) fn is_name(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }

    pub(crate) fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

/// Splits C into words, numbers, strings and single marks, without comments. A directive is one token.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut begins_line) = (0, true);
    while at < bytes.len() {
        let rest = &text[at..];
        let length = match bytes[at] {
            b'#' if begins_line => directive_length(rest),
            b'/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            quote @ (b'"' | b'\'') => quoted_length(rest.as_bytes(), quote),
            byte if is_of_name(byte) => bytes[at..].iter().take_while(|byte| is_of_name(**byte)).count(),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        let piece = &rest[..length];
        if !piece.starts_with("/*") && !piece.starts_with("//") && !piece.trim().is_empty() {
            found.push(Token { text: piece, at });
        }
        begins_line = piece == "\n" || begins_line && piece.trim().is_empty();
        at += length;
    }
    found
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of a directive, up to the end of the line that no backslash continues.
fn directive_length(text: &str) -> usize {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
            return end - usize::from(line.ends_with('\n'));
        }
    }
    end
}

fn quoted_length(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote && text[at] != b'\n' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// The index of the token behind the brace that closes the one at `open`.
pub(crate) fn behind_braces(tokens: &[Token], open: usize) -> Option<usize> {
    behind(tokens, open, "{", "}")
}

/// Returns the place behind the parenthesis that closes the one at `open`.
pub(crate) fn behind_parentheses(tokens: &[Token], open: usize) -> Option<usize> {
    behind(tokens, open, "(", ")")
}

fn behind(tokens: &[Token], open: usize, opening: &str, closing: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(open) {
        depth = match token.text {
            text if text == opening => depth + 1,
            text if text == closing => depth.checked_sub(1)?,
            _ => depth,
        };
        if depth == 0 {
            return (place > open).then_some(place + 1);
        }
    }
    None
}
