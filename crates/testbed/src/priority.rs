//! A run's claim to the processors.

/// Puts the calling thread before all ordinary ones: the emulator must be on time, and an application that is put aside while it
/// holds its socket's lock holds up the packets too. Where that is not allowed, the run's lateness says whether it mattered.
pub fn raise() {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads one plain structure; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &lowest) };
}
