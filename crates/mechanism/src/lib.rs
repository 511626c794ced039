//! Finds, builds and binds the mechanisms of `algorithms/`.
//!
//! A mechanism is a C file in the kernel's BPF dialect. [`Library`] compiles it with any C compiler into a shared
//! object, keeps that in a cache, sets its parameters and opens it; [`Control`] is what the engine calls then. For the
//! running kernel it compiles the same file to eBPF: [`KernelObject`].

mod building;
mod cache;
mod compiler;
mod control;
mod description;
mod error;
mod fault;
mod fingerprint;
mod kernel_compiler;
mod kernel_flags;
mod kernel_object;
mod library;
mod nearest;
mod object_file;
mod operations;
mod ops;
mod parameter;
pub mod replay;
pub mod sock;
mod sock_members;
mod source;
pub mod warnings;
pub mod watchdog;

pub use control::Control;
pub use description::Description;
pub use error::Error;
pub use fault::Fault;
pub use kernel_object::KernelObject;
pub use library::Library;
pub use parameter::Parameter;

/// Removes what compilations that were killed left in the user's cache.
///
/// # Errors
/// If there is no cache, or it cannot be written.
pub fn sweep_cache() -> Result<(), Error> {
    let folder = cache::folder()?;
    cache::sweep(&folder).map_err(|error| error::unwritable(&folder, &error))
}
