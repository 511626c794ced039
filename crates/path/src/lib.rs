//! Links and queues, driven by a clock that is handed in: simulated or real. Knows no TCP.

mod access;
mod line;
mod link;
mod loss;
pub mod qdisc;
mod queue;
mod ring;
mod service;
mod usage;

pub use access::{AccessLink, Pipe};
pub use line::Line;
pub use link::{FORWARD_DRAWS, Fate, Link, Packet, REVERSE_DRAWS};
pub use scenario::{Draws, draws};
pub use usage::Usage;
