//! Limits what a program hands to TCP before TCP can send it, so that little waits in buffers of its own.

use kernel::tcp_info::TcpInfo;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Says when a connection may take more data: when TCP can send it at once.
///
/// Requests on the connection then wait on the line, and not behind data in this computer.
#[derive(Debug)]
pub(crate) struct Gate {
    socket: OwnedFd,
    /// Bytes that the connection carries between two looks.
    ready: AtomicU64,
    /// Bytes that the socket had taken so far at the last look.
    taken: AtomicU64,
    /// Bytes that the socket will have taken when all that passed is there: TLS and HTTP/2 have buffers of their own.
    passed: AtomicU64,
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Gate {
    /// The time until the socket is worth another look.
    pub(crate) const PAUSE: Duration = Duration::from_millis(1);

    /// Watches a socket.
    pub(crate) fn new(socket: impl AsFd) -> io::Result<Self> {
        let socket = socket.as_fd().try_clone_to_owned()?;
        Ok(Self { socket, ready: AtomicU64::new(0), taken: AtomicU64::new(0), passed: AtomicU64::new(0) })
    }

    /// Lets the socket hold what the connection carries in 2 ms, so that this program is not the limit of a fast one.
    ///
    /// Timers end up to a millisecond late, so two looks are at most 2 ms apart.
    pub(crate) fn keep_full(&self, bytes_per_second: u64) {
        let ready = bytes_per_second / 500;
        self.ready.store(ready, Ordering::Relaxed);
        // A connection that has just ended needs no limit.
        let _ = limit_unsent(&self.socket, (2 * ready + 8 * SEGMENT) as usize);
    }

    /// Returns how many bytes are to be sent at a time, so that two of them fill the socket of a fast connection.
    pub(crate) fn chunk(&self, least: usize, most: usize) -> usize {
        (self.ready.load(Ordering::Relaxed) as usize / 2).clamp(least, most)
    }

    /// Reports whether a segment more may pass; a socket that does not tell lets all pass.
    pub(crate) fn is_open(&self) -> bool {
        let Ok(info) = TcpInfo::of(&self.socket) else { return true };
        let unsent = u64::from(info.notsent_bytes);
        let taken = info.bytes_sent.saturating_sub(info.bytes_retrans) + unsent;
        self.taken.store(taken, Ordering::Relaxed);
        // Kernels before 4.19 do not count what they have sent.
        let passed = if info.bytes_sent == 0 { 0 } else { self.passed.load(Ordering::Relaxed) };
        may_pass(&info, passed.saturating_sub(taken), self.ready.load(Ordering::Relaxed))
    }

    /// Notes that bytes pass.
    pub(crate) fn pass(&self, bytes: usize) {
        let before = self.passed.load(Ordering::Relaxed).max(self.taken.load(Ordering::Relaxed));
        self.passed.store(before + bytes as u64, Ordering::Relaxed);
    }
}

/// Bytes of a full segment.
const SEGMENT: u64 = 1448;

/// Reports whether a connection may take a segment more.
///
/// `before` bytes have not reached the socket, and the connection carries `ready` bytes between two looks. Most
/// connections may take what fits into the congestion window; those that carry many segments between two looks may have
/// half of them ready.
///
/// If data is unsent although the window is not full, the control paces. A sender that has no whole segment ready counts
/// as limited by its program, and BBR ignores what it measures then. So such a connection has two segments more.
fn may_pass(info: &TcpInfo, before: u64, ready: u64) -> bool {
    let unsent = u64::from(info.notsent_bytes);
    let window = u64::from(info.snd_cwnd.saturating_sub(info.in_flight())) * SEGMENT;
    let most = if window > 0 && unsent > 0 {
        ready + 3 * SEGMENT
    } else if ready >= 2 * SEGMENT {
        window + ready / 2 + SEGMENT
    } else {
        window
    };
    unsent + before + SEGMENT <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    /// Makes the state of a connection whose congestion window has ten segments.
    fn state(unacked: u32, lost: u32) -> TcpInfo {
        let mut info = TcpInfo::default();
        (info.snd_cwnd, info.unacked, info.lost) = (10, unacked, lost);
        info
    }

    fn passes(in_flight: u32, unsent: u64, ready: u64) -> bool {
        let mut info = state(in_flight, 0);
        info.notsent_bytes = unsent as u32;
        may_pass(&info, 0, ready)
    }

    #[test]
    fn data_passes_a_slow_connection_when_tcp_can_send_it_at_once() {
        assert!(passes(9, 0, 500));
        assert!(!passes(10, 0, 500), "it would wait before requests");
        assert!(!passes(10, 90, 500), "a request waits");
    }

    #[test]
    fn what_has_not_reached_the_socket_takes_its_part_of_the_window() {
        let fills = |before| may_pass(&state(7, 0), before, 0);
        assert!(fills(2 * SEGMENT));
        assert!(!fills(3 * SEGMENT));
    }

    #[test]
    fn what_is_lost_leaves_room() {
        assert!(may_pass(&state(12, 3), 0, 0));
    }

    #[test]
    fn a_fast_connection_has_half_of_what_it_carries_between_looks() {
        assert!(passes(10, 10_000, 20_000));
        assert!(!passes(10, 10_001, 20_000));
    }

    #[test]
    fn a_control_that_paces_always_has_a_segment_ready() {
        assert!(passes(5, 2 * SEGMENT, 0));
        assert!(!passes(5, 3 * SEGMENT, 0));
    }

    #[test]
    fn a_socket_tells_what_has_reached_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _far = listener.accept().unwrap();
        let gate = Gate::new(&stream).unwrap();
        stream.write_all(&[0]).unwrap();
        assert!(gate.is_open());
        gate.pass(1 << 20);
        assert!(!gate.is_open(), "more than a window has not reached the socket");
        stream.set_nonblocking(true).unwrap();
        stream.write_all(&[0; 1 << 14]).unwrap();
        gate.passed.store(1 << 14, Ordering::Relaxed);
        std::iter::repeat_with(|| gate.is_open()).find(|is_open| *is_open).unwrap();
    }
}
