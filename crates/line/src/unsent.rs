//! Limits what a program hands to TCP before TCP can send it, so that little waits in buffers of its own.

use kernel::tcp_info::TcpInfo;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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

/// Says when a connection may take more data: while its socket holds little that was never sent.
///
/// TLS and HTTP/2 have buffers of their own, which fill when the socket is full. So the next bytes wait in neither.
#[derive(Debug)]
pub(crate) struct Gate {
    socket: OwnedFd,
    most: AtomicUsize,
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Gate {
    /// The time until the socket is worth another look.
    pub(crate) const PAUSE: Duration = Duration::from_millis(1);

    /// Watches a socket; it may take all while the rate is unknown.
    pub(crate) fn new(socket: impl AsFd) -> io::Result<Self> {
        Ok(Self { socket: socket.as_fd().try_clone_to_owned()?, most: AtomicUsize::new(usize::MAX) })
    }

    /// Lets the socket hold 5 ms of what the connection carries, so that this program is not the limit of a fast one.
    pub(crate) fn keep_full(&self, bytes_per_second: u64) {
        let most = (bytes_per_second / 200) as usize;
        if most == 0 {
            return;
        }
        self.most.store(most, Ordering::Relaxed);
        // A connection that has just ended needs no limit.
        let _ = limit_unsent(&self.socket, most);
    }

    /// Returns how many bytes are to be sent at a time: the least while the rate is unknown.
    pub(crate) fn chunk(&self, least: usize, most: usize) -> usize {
        match self.most.load(Ordering::Relaxed) {
            usize::MAX => least,
            held => held.clamp(least, most),
        }
    }

    /// Reports whether the socket may take more; one that does not tell may.
    pub(crate) fn is_open(&self) -> bool {
        TcpInfo::of(&self.socket).map_or(true, |info| (info.notsent_bytes as usize) < self.most.load(Ordering::Relaxed))
    }
}
