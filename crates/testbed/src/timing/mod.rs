//! Real time: the clock of a run, waiting until a time, and whether threads keep up.

pub mod clock;
pub mod lateness;
pub mod waiting;
