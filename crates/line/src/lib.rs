//! Measures a user's own line: a far end that carries load and answers probes, under limits, and the client
//! ([`client::measure`]).
//!
//! The far end ([`Server`]) speaks the interface of draft-ietf-ippm-responsiveness, so that existing clients can use
//! it. Clients of this project get two additions: a UDP echo with timestamps ([`echo`]), and plain TCP transfers with a
//! congestion control that they choose ([`transfer`]). Everything is on one port. A client gets the token
//! that both ask for over HTTPS.

pub mod client;
pub mod echo;
pub mod limits;
mod server;
pub mod token;
pub mod transfer;
mod unsent;

pub use server::{Config, Identity, Server};
