//! The flows of a run: their applications, sockets, and monitors of their packets.

pub mod apps;
pub mod datagrams;
pub mod monitor;
pub mod plan;
pub mod refill;
pub mod sockets;
