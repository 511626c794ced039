//! Measures a user's own line: a far end that carries load and answers probes, under limits.
//!
//! The far end ([`Server`]) speaks the interface of draft-ietf-ippm-responsiveness, so that existing clients can use
//! it. Two additions serve clients of this project: a UDP echo with timestamps ([`echo`]) and plain TCP transfers with
//! a congestion control of the client's choice ([`transfer`]). A client learns their ports, and gets the token that
//! both ask for, over HTTPS.

pub mod echo;
pub mod limits;
mod server;
pub mod token;
pub mod transfer;

pub use server::{Addresses, Config, Identity, Server};
