//! Binding: from an object to a mechanism that the engine calls or the kernel loads.

pub(crate) mod classifier;
pub(crate) mod control;
pub(crate) mod control_name;
pub(crate) mod device_object;
pub(crate) mod fault;
pub(crate) mod kernel_object;
pub(crate) mod maps;
pub(crate) mod opened;
pub(crate) mod operations;
pub(crate) mod ops;
pub(crate) mod parameter;
pub mod watchdog;
pub(crate) mod window;
