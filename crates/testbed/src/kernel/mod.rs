//! Congestion controls in the running kernel: loading, pins, what is loaded, what the machine can do.
//!
//! [`load`] registers a control for as long as its [`Loaded`] lives.

mod error;
mod loader;
mod messages;
mod rights;
mod types;

pub use error::Error;
pub use loader::{Loaded, load};
