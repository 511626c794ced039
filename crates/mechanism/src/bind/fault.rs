//! Faults of callbacks, which did something that no kernel allows.
//!
//! The engine calls callbacks in many places, and none of them could go on after a fault. So a fault unwinds, through
//! the mechanism's own C code as well, to the caller of [`Fault::catch`]. A callback without a fault has no costs for
//! that.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A mechanism's fault during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The flow group that the mechanism serves, as set by [`crate::Control::set_group`].
    pub group: usize,
    /// A sentence with file, line, callback and mechanism, and its fault.
    pub sentence: String,
}

impl Fault {
    /// Runs `work`, which may call mechanisms.
    ///
    /// # Errors
    /// The fault that ended `work`. Any other panic goes on.
    pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast() {
            Ok(fault) => *fault,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// Ends the `work` that calls the mechanism. No panic hook runs: the catcher reports the fault.
    #[cold]
    pub(crate) fn raise(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Fault {}
