//! Duties of a process that executes runs: it reports a fault of a mechanism that ends it, and ends
//! with its parent.

use crate::errors::run_error;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Makes this process write an answer to `fd` before a congestion control's fault ends it.
#[pyfunction]
pub fn watch_controls(fd: i32) -> PyResult<()> {
    mechanism::watchdog::report_to(fd).map_err(|error| {
        run_error(format!(
            "congestion controls cannot be watched: \
                                                                          {error}"
        ))
    })
}

/// Ends this process and its whole group with the process `parent`, and on SIGTERM and SIGHUP. The
/// caller must be the first process of its group.
#[pyfunction]
pub fn end_with(parent: u32) -> PyResult<()> {
    // SAFETY: system calls that read numbers; the handler does what handlers may.
    unsafe {
        for signal in [libc::SIGTERM, libc::SIGHUP] {
            libc::signal(signal, end_group as extern "C" fn(i32) as usize);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if libc::getppid() as u32 != parent {
            end_group(libc::SIGTERM);
        }
    }
    Ok(())
}

extern "C" fn end_group(_: i32) {
    // SAFETY: system calls with numbers, which every process may make.
    unsafe {
        if libc::getpgrp() == libc::getpid() {
            libc::kill(0, libc::SIGKILL);
        }
        libc::_exit(1);
    }
}

/// Returns the compilers' warnings about the user's files since the last call: each file with the
/// text.
#[pyfunction]
pub fn take_warnings() -> Vec<(PathBuf, String)> {
    mechanism::warnings::take().into_iter().map(|warnings| (warnings.path, warnings.text)).collect()
}

/// Removes the remains of killed compilers from the cache.
#[pyfunction]
pub fn sweep_compilations() -> PyResult<()> {
    mechanism::sweep_cache().map_err(run_error)
}
