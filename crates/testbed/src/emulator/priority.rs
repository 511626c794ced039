//! Scheduling: real-time priorities, and processors that do not sleep.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// A real-time priority: the larger goes first.
#[derive(Clone, Copy, Debug)]
pub enum RtPriority {
    /// Must be on time.
    Emulator = 1,
    /// Has little to do, and holds the packets up when it is put aside with its socket's lock.
    Application = 2,
}

/// Puts the calling thread before all ordinary ones. Where that is not allowed, the run's lateness says whether it
/// mattered.
pub fn raise(to: RtPriority) {
    let priority = libc::sched_param { sched_priority: to as libc::c_int };
    // SAFETY: the call reads one plain structure; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &priority) };
}

/// Keeps the processors awake for as long as the file is held (the kernel's PM QoS; it is told 0 us): one that sleeps
/// is late by what waking it takes, and in a virtual machine that is for the host to say, some hundred microseconds at
/// times. None where that is not allowed or not known, and the run's lateness says whether it mattered.
pub fn hold_cpu_latency() -> Option<File> {
    let mut demand = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    demand.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(demand)
}
