//! Finds, builds and binds the mechanisms of `algorithms/`.
//!
//! A mechanism is a C file in the kernel's BPF dialect. [`Library`] compiles it with any C compiler into a shared object, keeps that
//! in a cache, sets its parameters and opens it; [`Control`] is what the engine calls then. For the running kernel it compiles the same file
//! to eBPF: [`KernelObject`].

mod building;
mod compiler;
mod control;
mod description;
mod error;
mod fingerprint;
mod kernel_compiler;
mod kernel_flags;
mod kernel_object;
mod library;
mod nearest;
mod object_file;
mod operations;
mod parameter;
pub mod replay;
pub mod sock;
mod source;

pub use control::Control;
pub use description::Description;
pub use error::Error;
pub use kernel_object::KernelObject;
pub use library::Library;
pub use parameter::Parameter;
