//! Limits what a program hands to TCP before TCP can send it.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Lets a socket take more bytes only while fewer than these are unsent (`TCP_NOTSENT_LOWAT`).
pub(crate) fn limit_unsent(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    let bytes = bytes as libc::c_int;
    // SAFETY: the kernel reads an integer of the given size.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            (&raw const bytes).cast(),
            size_of_val(&bytes) as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
