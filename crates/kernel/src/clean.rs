//! Removes the remains of runs that were killed.
//!
//! Namespaces, devices, programs and registrations of a run belong to open files of its process.
//! They end with the process, however it ends. Before Linux 6.4, however, the kernel itself holds a
//! registration.

use super::classifier::ClassifierNote;
use super::device_notes;
use super::private_name::is_of_the_dead;
use super::registry::held_by_maps;
use super::rights;
use super::types::Types;
use super::window::WindowNote;
use libbpf_rs::MapCore;
use mechanism::Error;

/// Removes the remains of processes that no longer exist, and returns a description of each.
///
/// # Errors
/// Fails if this process lacks the rights, or if the kernel does not release something; the rest is
/// removed.
pub fn clean() -> Result<Vec<String>, Error> {
    rights::require("cleaning up")?;
    let types = Types::read()?;
    let mut removed = device_notes::sweep::<WindowNote>()?;
    let classifiers = device_notes::sweep::<ClassifierNote>();
    for (name, map) in held_by_maps(&types.operations_layout) {
        if is_of_the_dead(&name) {
            map.delete(&0_u32.to_ne_bytes())
                .map_err(|e| Error::machine(format!("the kernel cannot unregister {name}: {e}")))?;
            removed.push(format!("the congestion control {name}"));
        }
    }
    removed.extend(classifiers?);
    Ok(removed)
}
