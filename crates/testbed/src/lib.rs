//! The real thing: mechanisms in the running kernel, and scenarios over emulated links.

pub mod kernel;
pub mod recording;
