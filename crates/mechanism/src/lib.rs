//! Finds, builds and binds the mechanisms of `algorithms/`.
//!
//! A mechanism is a C file in the kernel's BPF dialect. The [`Library`] compiles it with any C compiler into a shared
//! object, caches that, sets its parameters and opens it. The engine then calls a [`Control`], a receiver calls a
//! [`WindowController`], and a host calls a [`Classifier`]. For the running kernel the library compiles the same file
//! to eBPF: [`KernelObject`], [`DeviceObject`].
//!
//! ```
//! use unbloat_mechanism::Library;
//! use model::MechanismSource;
//!
//! let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
//! assert!(library.names().iter().any(|name| name == "cubic"));
//! let cubic = library.describe(&MechanismSource::Builtin("cubic".into()))?;
//! assert!(cubic.parameters.iter().any(|parameter| parameter.name == "beta"));
//! # Ok::<(), unbloat_mechanism::Error>(())
//! ```

mod bind;
mod build;
mod description;
mod error;
mod library;
mod role;
pub mod sock;

pub use bind::classifier::{Classifier, ClassifyFlow, ClassifyPacket, PacketKind};
pub use bind::control::Control;
pub use bind::control_name::ControlName;
pub use bind::device_object::{ClassifierScope, DeviceObject, Scope, WindowScope};
pub use bind::fault::Fault;
pub use bind::kernel_object::KernelObject;
pub use bind::maps::MapEntry;
pub use bind::opened::HelperResults;
pub use bind::ops::Callback;
pub use bind::parameter::Parameter;
pub use bind::watchdog;
pub use bind::window::{WindowAck, WindowController, WindowFlow};
pub use build::{kernel_types, warnings};
pub use description::Description;
pub use error::{About, Error};
pub use library::{Library, MechanismKind};
pub use role::{MechanismError, Role};

/// Removes the files of killed compilations from the user's cache.
///
/// # Errors
/// If the cache cannot be written.
pub fn sweep_cache() -> Result<(), Error> {
    let Some(folder) = build::cache::folder()? else { return Ok(()) };
    build::cache::sweep(&folder).map_err(|error| error::unwritable(&folder, &error))
}
