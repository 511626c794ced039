//! Options for the compiler of users' own mechanisms.

use crate::declare::section;
use crate::section::Names;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Folders of headers and macros, as a compiler's `-I` and `-D` have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compile {
    /// The folders in which the compiler looks for headers, in this order.
    pub include: Vec<PathBuf>,
    /// The macros, as `NAME` or `NAME=VALUE`.
    pub define: Vec<String>,
}

section! {
    /// The keys of the compiler options in a file.
    pub struct CompileKeys in "compile" {
        /// folders to search for headers, as the compiler's -I
        pub include: Option<Names> = Means("headers are beside the file");
        /// macros, "NAME" or "NAME=VALUE", as the compiler's -D
        pub define: Option<Names> = Means("no macros are set");
    }
}

impl Compile {
    /// Whether there are no options.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.define.is_empty()
    }
}
