//! The kernel's queue disciplines, as its netlink interface has them: what `tc` would send.

mod cake;
mod kernel_units;
pub mod qdisc;
mod red;
