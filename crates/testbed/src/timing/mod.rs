//! Real time: the clock of a run, waiting by it, and whether threads keep up with it.

pub mod clock;
pub mod lateness;
pub mod waiting;
