//! The emulator's claim to a processor.

/// Puts the calling thread before all ordinary ones. Where that is not allowed the run says by its lateness whether it mattered.
pub fn raise() {
    const FIRST: libc::c_int = -20;
    // SAFETY: the call takes numbers only; 0 means the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, FIRST) };
}
