//! The mistakes in a scenario file, one sentence each.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use strsim::levenshtein;

/// All mistakes in a scenario file, in the order of the file; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The mistakes, one sentence each.
    pub problems: Vec<Problem>,
}

/// One mistake in a scenario file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Problem {
    /// The place of the mistake.
    pub place: Location,
    /// The dotted key, such as `link.bottleneck.rate`; empty for the file as a whole.
    pub key: String,
    /// The mistake, and what is valid there.
    pub message: String,
}

/// The largest number of mistakes that are shown.
const MOST_SHOWN: usize = 50;
/// The longest key or message, bytes. A longer one is shown with its first [`HEAD`] bytes and its end, because the
/// quoted value comes first and the valid values follow.
const LONGEST: usize = 1500;
const HEAD: usize = 100;

/// The place where a value was set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// An override, on a command line or in a program.
    Override,
    /// A file as a whole.
    File(Arc<str>),
    /// A line of a file, counted from 1.
    Line(Arc<str>, usize),
}

impl Error {
    /// Makes an error of one mistake.
    pub fn one(place: Location, key: impl Into<String>, message: impl Into<String>) -> Error {
        Error { problems: vec![Problem::new(place, key, message)] }
    }
}

impl Problem {
    /// Says `message` of the key at `place`.
    pub fn new(place: Location, key: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { place, key: key.into(), message: message.into() }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().take(MOST_SHOWN).enumerate() {
            let newline = if n == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
        }
        match self.problems.len().saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more mistakes like these"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place.of(&shortened(&self.key)), shortened(&self.message))
    }
}

/// Returns a text without its middle if it is too long, because it quotes the file.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return text.into();
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=HEAD).rev().find(is_boundary).unwrap_or(0);
    let tail = (text.len() - (LONGEST - HEAD)..text.len()).find(is_boundary).unwrap_or(text.len());
    format!("{} ... {}", &text[..head], &text[tail..]).into()
}

impl Location {
    /// Returns `FILE:LINE: KEY`; the key alone for an override.
    pub fn of(&self, key: &str) -> String {
        let place = match self {
            Location::Override => return key.to_string(),
            Location::File(file) => file.to_string(),
            Location::Line(file, line) => format!("{file}:{line}"),
        };
        match key {
            "" => place,
            key => format!("{place}: {key}"),
        }
    }
}

/// Collects mistakes while a file is read, so that the user sees all of them at once.
#[derive(Debug, Default)]
pub struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    /// Adds a mistake.
    pub fn add(&self, place: &Location, key: impl Into<String>, message: impl Into<String>) {
        self.0.borrow_mut().push(Problem::new(place.clone(), key, message));
    }

    /// Returns the number of mistakes collected.
    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Returns `value` if nothing was wrong; otherwise every mistake once, in the order of the file.
    pub fn unless_any<T>(self, value: T) -> Result<T, Error> {
        let mut problems = self.0.into_inner();
        if problems.is_empty() {
            return Ok(value);
        }
        problems.sort();
        problems.dedup();
        Err(Error { problems })
    }
}

/// Returns ` (did you mean X?)` if one of `known` is close to `wrong`, otherwise an empty text.
pub fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let wrong = wrong.to_lowercase();
    let close = |name: &&str| {
        let most = (name.len().max(wrong.len()) / 3).max(1);
        // The difference in length is a lower bound of the distance, so a megabyte is not compared with every name.
        name.len().abs_diff(wrong.len()) <= most && levenshtein(&wrong, name) <= most
    };
    let best = known.into_iter().filter(close).min_by_key(|name| levenshtein(&wrong, name));
    best.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

/// Returns the part of an error sentence that suggests a remedy, if it has one. It is the intended word, the part after
/// a semicolon, or the valid values. If `sentences` has several, one per line, the first counts.
pub fn hint(sentences: &str) -> Option<String> {
    let sentence = sentences.lines().next()?;
    let behind = |mark: &str, end: &str| {
        let is_outside = |at: &usize| sentence[..*at].matches('"').count().is_multiple_of(2);
        let at = sentence.match_indices(mark).map(|(at, _)| at).find(is_outside)? + mark.len();
        let rest = &sentence[at..];
        Some(rest.split_once(end).map_or(rest, |(before, _)| before))
    };
    None.or_else(|| behind(" (did you mean ", "?)").map(|meant| format!("did you mean {meant}?")))
        .or_else(|| behind("; ", "\n").map(str::to_string))
        .or_else(|| behind(" must be ", ", not ").map(|right| format!("must be {right}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_what_to_try_next() {
        let cases = [
            (
                "a.toml:3: link.x.rte: unknown key (did you mean rate?); valid keys: rate, trace",
                Some("did you mean rate?"),
            ),
            (
                "flows.0: unknown key; valid keys: cc, path\nflows.1: bad (did you mean x?)",
                Some("valid keys: cc, path"),
            ),
            ("flows.0.cc: must be one of reno, cubic, not \"a; b\"", Some("must be one of reno, cubic")),
            ("flows.0.start: lies behind the end of the run", None),
            ("", None),
        ];
        for (sentence, expected) in cases {
            assert_eq!(hint(sentence).as_deref(), expected, "{sentence}");
        }
    }

    #[test]
    fn only_close_names_are_proposed() {
        assert_eq!(did_you_mean("rat", ["trace", "rate"]), " (did you mean rate?)");
        assert_eq!(did_you_mean("bandwidth", ["trace", "rate"]), "");
    }
}
