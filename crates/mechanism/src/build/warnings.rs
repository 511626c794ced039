//! Warnings of compilers about users' files.

use crate::build::toolchain::spellings;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A compiler's warnings about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warnings {
    /// The path of the file.
    pub path: PathBuf,
    /// The compiler's own text.
    pub text: String,
}

static SAID: Mutex<Vec<Warnings>> = Mutex::new(Vec::new());

/// Stores a compiler's text, unless it is empty.
pub(crate) fn add(path: &Path, text: &str) {
    if !text.trim().is_empty() {
        let warnings = Warnings { path: path.to_path_buf(), text: text.to_string() };
        let mut said = SAID.lock().expect("nothing panics with the lock");
        if !said.contains(&warnings) {
            said.push(warnings);
        }
    }
}

/// A compiler's text, without its words about the library's headers below `folder`: a file may define one of their
/// macros itself.
pub(crate) fn without_ours(said: &str, folder: &Path) -> String {
    let ours = spellings(folder);
    let mut kept = String::new();
    let (mut preface, mut block) = (String::new(), String::new());
    let mut keep = |block: &mut String| {
        let is_redefined = block.lines().next().is_some_and(|line| line.contains("redefined"));
        let is_ours = is_redefined
            && block
                .lines()
                .skip(1)
                .any(|line| ours.iter().any(|ours| line.starts_with(ours)) && line.contains(": note: "));
        if !is_ours {
            kept += block;
        }
        block.clear();
    };
    for line in said.split_inclusive('\n') {
        if line.contains(": warning: ") {
            keep(&mut block);
        }
        let is_preface = line.starts_with("In file included from") || line.contains(": In function ");
        if is_preface || !preface.is_empty() && line.starts_with("                 from") {
            preface += line;
        } else {
            block += &std::mem::take(&mut preface);
            block += line;
        }
    }
    keep(&mut block);
    kept
}

/// Takes the warnings of all files that this process has compiled, or taken from the cache, since the last call.
pub fn take() -> Vec<Warnings> {
    std::mem::take(&mut SAID.lock().expect("nothing panics with the lock"))
}
