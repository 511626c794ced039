//! A run's claim to the processors.

/// Who goes first.
#[derive(Clone, Copy, Debug)]
pub enum Claim {
    /// Must be on time.
    Emulator = 1,
    /// Has little to do, and holds the packets up when it is put aside with its socket's lock.
    Application = 2,
}

/// Puts the calling thread before all ordinary ones. Where that is not allowed, the run's lateness says whether it mattered.
pub fn raise(claim: Claim) {
    let priority = libc::sched_param { sched_priority: claim as libc::c_int };
    // SAFETY: the call reads one plain structure; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &priority) };
}
