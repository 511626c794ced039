//! Finds, builds and binds the mechanisms of `algorithms/`.

pub mod control;
pub mod sock;
