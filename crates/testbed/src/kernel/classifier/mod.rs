//! Classifiers of a host's packets, at the device through which they leave: two queues, of which the first goes first,
//! and a program that chooses between them.
//!
//! [`load_classifier`] gives them to a device until [`unload_classifier`], the device's end or the next boot; the queue
//! discipline that was there before comes back.

mod bands;
mod flows;
mod notes;
mod programs;
mod status;

pub(crate) use bands::{HANDLE, classes};
pub use flows::ClassifiedFlow;
pub use notes::{ClassifierNote, load_classifier, unload_classifier};
pub(crate) use programs::{ClassifierDrops, Loaded as ClassifierProgram, Place as ClassifierPlace};
pub use status::{ClassifierStatus, classifier_status};
