//! What a killed run can leave behind, and its removal.
//!
//! Namespaces, devices, programs and registrations of a run belong to open files of its process and go when it does,
//! however it ends; but before Linux 6.4 a registration is held by the kernel itself.

use super::classifier::ClassifierNote;
use super::device_notes;
use super::error::Error;
use super::registry::held_by_maps;
use super::rights;
use super::types::Types;
use super::window::WindowNote;
use libbpf_rs::MapCore;
use std::path::Path;

/// Before the number of a process, in the names of congestion controls that this process alone needs.
pub(crate) const CONTROL_PREFIX: &str = "ub";

/// Removes what processes that are no more have left behind; says what that was.
///
/// # Errors
/// If this process may not, or the kernel does not give something up; the rest is removed.
pub fn clean() -> Result<Vec<String>, Error> {
    rights::require("cleaning up")?;
    let types = Types::read()?;
    let mut removed = device_notes::sweep::<WindowNote>()?;
    let classifiers = device_notes::sweep::<ClassifierNote>();
    for (name, map) in held_by_maps(&types.operations_layout) {
        if name.strip_prefix(CONTROL_PREFIX).is_some_and(is_of_the_dead) {
            map.delete(&0_u32.to_ne_bytes())
                .map_err(|e| Error::machine(format!("the kernel does not unregister {name}: {e}")))?;
            removed.push(format!("the congestion control {name}"));
        }
    }
    removed.extend(classifiers?);
    Ok(removed)
}

/// Does this part of a name begin with the number of a process that is no more?
fn is_of_the_dead(rest: &str) -> bool {
    let number = rest.split('_').next().and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_dead_processes_are_ours_to_remove() {
        let own = std::process::id();
        // The first process lives; none has a number beyond the kernel's largest, 2^22.
        let expected = [("1_0", false), ("4194305_7", true), ("4194305", true), ("", false), ("untu", false)];
        for (rest, dead) in expected {
            assert_eq!(is_of_the_dead(rest), dead, "{rest}");
        }
        assert!(!is_of_the_dead(&format!("{own}_0")));
    }
}
