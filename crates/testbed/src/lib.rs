//! The real thing: mechanisms in the running kernel, and scenarios over emulated links.

mod clock;
mod emulator;
mod host;
pub mod kernel;
mod namespace;
mod netlink;
mod parcel;
mod stack;
mod tun;
mod waiting;
mod wire;
