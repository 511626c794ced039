//! The equality of both targets of a mechanism: what a running kernel told it, played to the native build of its file.
//!
//! [`recording`] runs a scenario with the kernel's TCP and mechanisms compiled with `-DUNBLOAT_RECORD`. [`replay`] gives
//! a congestion control each recorded call again, [`replay_windows`] a window controller each question.

pub mod recording;
pub mod replay;
pub mod replay_windows;
mod sock_members;
