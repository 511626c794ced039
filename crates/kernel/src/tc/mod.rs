//! The kernel's queue disciplines in its netlink interface: the options that `tc` would send.

mod cake;
mod kernel_units;
pub mod qdisc;
mod red;
