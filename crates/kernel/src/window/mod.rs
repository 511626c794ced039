//! Window controllers at the device through which acknowledgements leave.
//!
//! The programs stay in the kernel as long as [`WindowPrograms`] lives, or as long as a device has
//! them. A device gets them from [`load_window`], until [`unload_window`] or the next boot.

mod flows;
mod notes;
mod programs;
mod status;

pub use flows::ShownFlow;
pub(crate) use flows::{Ends, monotonic_us};
pub use notes::{Target, WindowNote, load_window, unload_window};
pub use programs::WindowPrograms;
pub use status::{WindowStatus, window_status};
