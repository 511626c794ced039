//! Queue disciplines of the kernel as parts of an emulated link.

pub mod cake;
pub mod device;
pub mod kernel_draws;
pub mod kernel_link;
pub mod kernel_units;
pub mod pace;
pub mod qdisc;
pub mod red;
pub mod tracker;
