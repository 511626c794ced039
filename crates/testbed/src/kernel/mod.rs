//! Mechanisms in the running kernel: loading, pins, what is loaded, what the machine can do.
//!
//! [`load`] registers a control for as long as its [`Loaded`] lives, [`load_pinned`] until [`unload`] or the next boot.

#[cfg(test)]
mod as_in_c;
mod cgroup;
mod classifier;
mod clean;
mod device;
mod device_notes;
mod doctor;
mod error;
mod loader;
mod messages;
mod pins;
mod private_name;
mod registry;
mod rights;
mod send_buffers;
mod stamp;
mod status;
mod tc_program;
mod types;
mod unload;
mod version;
mod window;

pub use cgroup::{Attachment, Group, attach, detach};
pub use classifier::{
    ClassifiedFlow, ClassifierNote, ClassifierStatus, LEAST_RATE, classifier_status, load_classifier, unload_classifier,
};
pub(crate) use classifier::{
    ClassifierDrops, ClassifierPlace, ClassifierProgram, HANDLE as BANDS_HANDLE, classes as band_classes,
};
pub use clean::clean;
pub use device_notes::{AtDevice, DeviceUnloaded};
pub use doctor::{Check, doctor};
pub use error::Error;
pub use loader::{Loaded, load};
pub(crate) use loader::{load_for_run, require_own};
pub use pins::{Note, load_pinned};
pub(crate) use rights::require_hosts;
pub(crate) use send_buffers::SendBuffers;
pub(crate) use stamp::{Stamp, StampReader};
pub use status::{Calls, ControlStatus, Holder, status};
pub use unload::{Unloaded, unload};
pub use version::release;
pub use version::{ANY_VERSION, running_version};
pub use window::{
    ShownFlow, Target, WindowNote, WindowPrograms, WindowStatus, load_window, unload_window, window_status,
};
