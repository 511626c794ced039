//! Checks ports, queue disciplines and media against their known behaviour.

mod media;
mod properties;
mod qdiscs;
