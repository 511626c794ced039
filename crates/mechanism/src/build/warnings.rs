//! What compilers said of users' files that they compiled nevertheless.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A compiler's warnings of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warnings {
    /// The file.
    pub path: PathBuf,
    /// The compiler's own text.
    pub text: String,
}

static SAID: Mutex<Vec<Warnings>> = Mutex::new(Vec::new());

/// Keeps a text, unless there is none.
pub(crate) fn add(path: &Path, text: &str) {
    if !text.trim().is_empty() {
        let warnings = Warnings { path: path.to_path_buf(), text: text.to_string() };
        let mut said = SAID.lock().expect("nothing panics with the lock");
        if !said.contains(&warnings) {
            said.push(warnings);
        }
    }
}

/// The warnings of all files that this process has compiled, or taken from the cache, since it was asked last.
pub fn take() -> Vec<Warnings> {
    std::mem::take(&mut SAID.lock().expect("nothing panics with the lock"))
}
