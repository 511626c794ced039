//! What a killed run can leave behind, and its removal.
//!
//! Namespaces, devices, programs and registrations of a run belong to open files of its process and go when it does,
//! however it ends; but before Linux 6.4 a registration is held by the kernel itself.

use super::classifier::ClassifierNote;
use super::device_notes;
use super::private_name::is_of_the_dead;
use super::registry::held_by_maps;
use super::rights;
use super::types::Types;
use super::window::WindowNote;
use libbpf_rs::MapCore;
use mechanism::Error;

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
        if is_of_the_dead(&name) {
            map.delete(&0_u32.to_ne_bytes())
                .map_err(|e| Error::machine(format!("the kernel does not unregister {name}: {e}")))?;
            removed.push(format!("the congestion control {name}"));
        }
    }
    removed.extend(classifiers?);
    Ok(removed)
}
