//! Queue disciplines of the kernel as parts of an emulated link.

pub mod device;
pub mod kernel_draws;
pub mod kernel_link;
pub mod shaper_lag;
pub mod tracker;
