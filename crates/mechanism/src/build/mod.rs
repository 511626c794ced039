//! Building, from a source file to an object: for the engine with any C compiler, for the kernel with clang.

pub(crate) mod cache;
pub(crate) mod debug_info;
mod fingerprint;
pub(crate) mod foreign;
pub(crate) mod kernel;
mod kernel_flags;
pub mod kernel_types;
pub(crate) mod map_shapes;
pub(crate) mod native;
pub(crate) mod object_file;
pub(crate) mod source;
mod tokens;
mod toolchain;
pub mod warnings;
