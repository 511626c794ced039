//! The snapshot that the kernel records before and after each call of a congestion control.

const NAME_BYTES: usize = 32;
/// Room for a sample of either kind, bytes.
pub(super) const SAMPLE_BYTES: usize = 128;
/// Room for the socket, bytes.
pub(super) const SOCK_BYTES: usize = 3072;

/// `struct unbloat_snapshot`: the socket and arguments of a call, at its beginning or end.
#[repr(C)]
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) socket: u64,
    pub(super) phase: u64,
    pub(super) lost: u64,
    pub(super) jiffies_per_second: u64,
    pub(super) helper_results: [u64; 3],
    pub(super) arguments: [u64; 3],
    pub(super) result: u64,
    program: [u8; NAME_BYTES],
    pub(super) sample: [u8; SAMPLE_BYTES],
    pub(super) sock: [u8; SOCK_BYTES],
}

impl Snapshot {
    /// Reads a snapshot from the bytes in the ring buffer.
    ///
    /// # Errors
    /// A sentence, if the length is wrong.
    pub(super) fn of(bytes: &[u8]) -> Result<Box<Snapshot>, String> {
        if bytes.len() != size_of::<Snapshot>() {
            return Err(format!("a snapshot has {} bytes, not {}", bytes.len(), size_of::<Snapshot>()));
        }
        // SAFETY: there are as many bytes, and all of them are values of integers.
        Ok(Box::new(unsafe { bytes.as_ptr().cast::<Snapshot>().read_unaligned() }))
    }

    /// Returns the name of the program that was called.
    pub(super) fn name(&self) -> String {
        String::from_utf8_lossy(self.program.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
    }
}
