//! Socket options that nix has no name for.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The size of a socket buffer that never limits a flow, bytes.
pub const AMPLE: usize = 1 << 29;

/// Sets a socket option to a plain number.
pub fn set_at<T>(fd: &OwnedFd, level: libc::c_int, option: libc::c_int, value: T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of a plain number.
    let status = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const value).cast(), size_of::<T>() as libc::socklen_t)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
