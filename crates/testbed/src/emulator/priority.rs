//! Scheduling: real-time priorities, and processors that stay awake.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// A real-time priority: larger numbers run first.
#[derive(Clone, Copy, Debug)]
pub enum RtPriority {
    /// Threads that carry packets, which must be on time.
    Emulator = 1,
    /// Applications: they have little to do, but delay packets when they are preempted while they hold a socket's lock.
    Application = 2,
}

/// Gives the calling thread a real-time priority. Without the permission nothing changes, and the measured lateness
/// shows whether it mattered.
pub fn raise(to: RtPriority) {
    let priority = libc::sched_param { sched_priority: to as libc::c_int };
    // SAFETY: the call reads one plain structure; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &priority) };
}

/// Keeps the processors awake until the returned file is closed (the kernel's PM QoS, with a latency of 0 us). A
/// sleeping processor is late by its wake-up time; in a virtual machine that can be some hundred microseconds. Returns
/// none if the kernel does not support or allow it; the measured lateness shows whether it mattered.
pub fn hold_cpu_latency() -> Option<File> {
    let mut demand = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    demand.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(demand)
}
