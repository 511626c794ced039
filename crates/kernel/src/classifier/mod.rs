//! Classifiers, which sort a host's packets at the device through which they leave. The device gets
//! queues, each served when the queues before it are empty, and a program that chooses one for each
//! packet.
//!
//! [`load_classifier`] gives both to a device until [`unload_classifier`], the device's end or the
//! next boot. The queue discipline from before then returns.

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
