//! A callback that did what no kernel lets it do.
//!
//! The engine calls callbacks in many places, and none of them could go on after a fault. So a fault unwinds, through
//! the control's own C code as well, to whoever called [`Fault::catch`]; a callback without a fault pays nothing for
//! that.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a congestion control did wrong while a run called it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The flow group that it serves, as [`crate::Control::set_group`] said.
    pub group: usize,
    /// File, line, callback and control, and what it did.
    pub sentence: String,
}

impl Fault {
    /// Does `work`, which may call congestion controls.
    ///
    /// # Errors
    /// The fault that ended it. Any other panic goes on.
    pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast() {
            Ok(fault) => *fault,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// Ends the `work` that calls the control. No panic hook runs: the fault is told by whoever catches it.
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
