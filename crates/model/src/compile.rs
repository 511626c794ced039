//! What the compiler of users' own mechanisms is given.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Folders of headers and macros, as a compiler's `-I` and `-D` have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compile {
    /// Folders in which headers are looked for, in this order.
    pub include: Vec<PathBuf>,
    /// Macros, as `NAME` or `NAME=VALUE`.
    pub define: Vec<String>,
}

impl Compile {
    /// Is the compiler given nothing?
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.define.is_empty()
    }
}
