//! What the compiler of users' own mechanisms is given.

use crate::declare::section;
use crate::section::Names;
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

section! {
    /// What a file says of it.
    pub struct CompileKeys in "compile" {
        /// folders in which headers are looked for, as -I has them
        pub include: Option<Names> = Means("headers lie beside the file");
        /// macros, "NAME" or "NAME=VALUE", as -D has them
        pub define: Option<Names> = Means("no macros are set");
    }
}

impl Compile {
    /// Is the compiler given nothing?
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.define.is_empty()
    }
}
