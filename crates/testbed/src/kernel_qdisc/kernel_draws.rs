//! The kernel's own random numbers, which its queues and wires draw.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

nix::ioctl_none_bad!(reseed, nix::request_code_none!(b'R', 0x07)); // RNDRESEEDCRNG of linux/random.h

/// Has the kernel draw from what it has drawn from so far, and `seed`. Where both are the same, as in a guest whose every run starts from
/// the same memory, the draws are.
///
/// # Errors
/// Without CAP_SYS_ADMIN, or before the kernel's generator is ready.
pub fn follow(seed: u64) -> io::Result<()> {
    let mut pool = OpenOptions::new().write(true).open("/dev/urandom")?;
    pool.write_all(&seed.to_ne_bytes())?;
    // SAFETY: the call takes no argument.
    unsafe { reseed(pool.as_raw_fd()) }?;
    Ok(())
}
