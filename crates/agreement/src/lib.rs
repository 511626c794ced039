//! Checks that both builds of a mechanism are equal: calls recorded in a running kernel are replayed in the native
//! build of the same file.
//!
//! [`recording`] runs a scenario with the kernel's TCP and mechanisms compiled with `-DUNBLOAT_RECORD`. The module
//! [`replay`] repeats the recorded calls of a congestion control, and [`replay_windows`] those of a window controller.

pub mod recording;
pub mod replay;
pub mod replay_windows;
mod sock_members;
