//! Loads mechanisms into the running kernel, pins and unloads them, lists what is loaded, and
//! checks what the machine supports.
//!
//! [`load`] registers a congestion control for as long as its [`Loaded`] lives, [`load_pinned`]
//! until [`unload()`] or the next boot.
//!
//! ```
//! assert!(unbloat_kernel::running_version() < unbloat_kernel::ANY_VERSION);
//! ```

#[cfg(test)]
mod as_in_c;
pub mod btf;
mod cgroup;
mod classifier;
mod clean;
mod device;
mod device_notes;
mod doctor;
mod loader;
mod messages;
pub mod namespace;
pub mod netlink;
mod pins;
mod private_name;
mod registry;
mod rights;
mod send_buffers;
mod stamp;
mod status;
pub mod tc;
mod tc_program;
pub mod tcp_info;
pub mod tun;
mod types;
mod unload;
mod version;
mod window;

pub use cgroup::{Attachment, Group, attach, detach};
pub use classifier::{
    ClassifiedFlow, ClassifierNote, ClassifierStatus, LEAST_RATE, classifier_status, load_classifier, unload_classifier,
};
pub use classifier::{
    ClassifierDrops, ClassifierPlace, ClassifierProgram, HANDLE as BANDS_HANDLE, classes as band_classes,
};
pub use clean::clean;
pub use device_notes::{AtDevice, DeviceUnloaded};
pub use doctor::{Check, doctor};
pub use loader::{Loaded, load};
pub use loader::{load_for_run, require_own};
pub use mechanism::Error;
pub use pins::{Note, load_pinned};
pub use rights::require_hosts;
pub use send_buffers::{SendBufferSeen, SendBuffers};
pub use stamp::{Stamp, StampReader};
pub use status::{Calls, ControlStatus, Holder, status};
pub use unload::{Unloaded, unload};
pub use version::release;
pub use version::{ANY_VERSION, running_version};
pub use window::{
    ShownFlow, Target, WindowNote, WindowPrograms, WindowStatus, load_window, unload_window, window_status,
};
