//! Window controllers of receivers, at the device through which acknowledgements leave.
//!
//! [`WindowPrograms`] are in the kernel as long as they live, or as long as a device has them; [`load_window`] gives
//! them to a device until [`unload_window`] or the next boot.

mod flows;
mod notes;
mod programs;
mod status;

pub use flows::ShownFlow;
pub(crate) use flows::{Ends, monotonic_us};
pub use notes::{Target, WindowNote, load_window, unload_window};
pub use programs::WindowPrograms;
pub use status::{WindowStatus, window_status};
