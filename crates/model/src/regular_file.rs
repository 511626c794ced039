//! Reads the files that a scenario names. Devices, pipes and files of `/proc` are rejected, because they may never end.

use nix::fcntl::OFlag;
use nix::sys::statfs::{PROC_SUPER_MAGIC, SYSFS_MAGIC, fstatfs};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// If the file cannot be read, is larger, or is not a regular file on a disk.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Opening must not wait for the other end of a pipe.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let kind = file.metadata()?.file_type();
    let what = match kind {
        _ if kind.is_dir() => "it is a folder",
        _ if kind.is_fifo() => "it is a pipe",
        _ if kind.is_char_device() || kind.is_block_device() => "it is a device",
        _ if !kind.is_file() => "it is not a file",
        _ if is_of_kernel(&file)? => "it is a virtual file of the kernel",
        _ if file.metadata()?.len() > most => "it is too large",
        _ => {
            let mut bytes = Vec::new();
            file.take(most).read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
    };
    Err(io::Error::other(what))
}

/// Whether a file is of `/proc` or `/sys`, which contain information about this machine and its user.
fn is_of_kernel(file: &File) -> io::Result<bool> {
    Ok([PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&fstatfs(file)?.filesystem_type()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        for (path, why) in [
            ("/dev/zero", "it is a device"),
            ("/proc/self/environ", "it is a virtual file of the kernel"),
            ("/sys/kernel/uevent_seqnum", "it is a virtual file of the kernel"),
            ("/", "it is a folder"),
        ] {
            assert_eq!(read(Path::new(path), 100).expect_err(path).to_string(), why);
        }
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(read(&own, 1 << 20).expect("it is there").starts_with(b"[package]"));
        assert_eq!(read(&own, 10).expect_err("larger").to_string(), "it is too large");
    }
}
