//! Classifiers of a host's packets, at the device through which they leave: queues, each of which is served when those
//! before it are empty, and a program that chooses one of them.
//!
//! [`load_classifier`] gives them to a device until [`unload_classifier`], the device's end or the next boot; the queue
//! discipline that was there before comes back.

mod bands;
mod flows;
mod notes;
mod programs;
mod status;

pub use bands::LEAST_RATE;
pub use bands::{HANDLE, classes};
pub use flows::ClassifiedFlow;
pub use notes::{ClassifierNote, load_classifier, unload_classifier};
pub use programs::{ClassifierDrops, Loaded as ClassifierProgram, Place as ClassifierPlace};
pub use status::{ClassifierStatus, classifier_status};
