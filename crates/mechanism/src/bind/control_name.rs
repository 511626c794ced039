//! The name of a congestion control in the kernel.

use crate::bind::ops::NAME_LENGTH;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The rule for names, as the end of a sentence. The kernel's `bpf_obj_name_cpy` takes these characters, and a
/// terminating zero has to fit into `TCP_CA_NAME_MAX`. The kernel takes `.` and `..` too, which have another meaning in
/// paths.
pub(crate) const RULE: &str =
    "a name has 1 to 15 characters, which are ASCII letters, digits, \"_\" and \".\", but not dots alone";
/// The most characters of a wrong name that its message quotes.
const QUOTED_CHARACTERS: usize = 40;

/// A name under which the kernel registers a congestion control. It is one component of a path: no path is built from a
/// name without this type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ControlName(String);

impl ControlName {
    /// Takes a name that the kernel would take.
    ///
    /// # Errors
    /// The error is a sentence with the allowed names.
    pub fn new(name: &str) -> Result<ControlName, String> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
        let fits = (1..NAME_LENGTH).contains(&name.len());
        if fits && name.bytes().all(allowed) && name.bytes().any(|byte| byte != b'.') {
            return Ok(ControlName(name.to_string()));
        }
        let quoted: String = name.chars().take(QUOTED_CHARACTERS).collect();
        let more = if quoted.len() < name.len() { " and more" } else { "" };
        Err(format!("{quoted:?}{more} cannot name a congestion control: {RULE}"))
    }

    /// The name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ControlName {
    type Error = String;

    fn try_from(name: String) -> Result<ControlName, String> {
        ControlName::new(&name)
    }
}

impl From<ControlName> for String {
    fn from(name: ControlName) -> String {
        name.0
    }
}

impl fmt::Display for ControlName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_kernel_registers_and_no_path_follows_is_a_name() {
        for name in ["a", "reno", "a.b", ".a", "..a", "ub2_0", "_", "fifteen_letters"] {
            assert_eq!(ControlName::new(name).expect(name).as_str(), name);
        }
        let wrong = ["", ".", "..", "...", "a/b", "../x", "/", "a\0", "a\n", "-x", "a-b", "sixteen_letters_", "%", "ä"];
        for name in wrong {
            let error = ControlName::new(name).expect_err(name);
            assert_eq!(error, format!("{name:?} cannot name a congestion control: {RULE}"));
        }
        assert!(ControlName::new(&"x".repeat(100_000)).expect_err("too long").len() < 250);
    }
}
