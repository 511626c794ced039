//! Probes over UDP: to the far end, which answers with its times, and to the first router.

use crate::echo::{Answer, LEAST_SIZE, MAGIC, Probe};
use crate::token::Token;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use zerocopy::byteorder::network_endian::U64;
use zerocopy::{FromBytes, IntoBytes};

/// Bytes that a probe and its answer take on the line, with headers of UDP and IPv6.
pub(super) const PROBE_BYTES: u64 = (LEAST_SIZE + 48) as u64;

/// How often the first router is probed.
const HOP_INTERVAL: Duration = Duration::from_millis(250);

/// A probe of the far end; times in nanoseconds since the measurement began, the far end's in its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) at: u64,
    pub(super) answer: Option<Answered>,
}

/// The times of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    pub(super) far_arrived: u64,
    pub(super) far_left: u64,
    pub(super) at: u64,
}

impl Sent {
    /// Returns the round-trip time without the far end's own, in nanoseconds.
    pub(super) fn rtt(&self) -> Option<u64> {
        let answer = self.answer?;
        Some((answer.at - self.at).saturating_sub(answer.far_left.saturating_sub(answer.far_arrived)))
    }
}

/// A probe of the first router: when it was sent, and its round-trip time, in nanoseconds.
pub(super) type Hop = (u64, Option<u64>);

struct State {
    start: Instant,
    interval: AtomicU64,
    has_ended: AtomicBool,
    latest_rtt: AtomicU64,
    sent: Mutex<Vec<Sent>>,
    hops: Mutex<Vec<Hop>>,
}

/// Probes that run beside the load, in a thread of their own.
pub(super) struct Prober {
    state: Arc<State>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Prober {
    /// Starts to probe the echo of a far end and the first router on the way to it.
    pub(super) fn start(far: SocketAddr, token: Option<Token>, start: Instant, interval: Duration) -> io::Result<Self> {
        let state = Arc::new(State {
            start,
            interval: AtomicU64::new(interval.as_nanos() as u64),
            has_ended: AtomicBool::new(false),
            latest_rtt: AtomicU64::new(0),
            sent: Mutex::new(Vec::new()),
            hops: Mutex::new(Vec::new()),
        });
        let echo = token.map(|token| Ok::<_, io::Error>((connected(far)?, token))).transpose()?;
        // Where a system does not give errors of the path, nothing is known of the first router.
        let router = connected(far).and_then(|socket| watch_errors(&socket, far).map(|()| socket)).ok();
        let own = Arc::clone(&state);
        let run = move || run(echo.as_ref(), router.as_ref(), far, &own);
        let thread = std::thread::Builder::new().name("probes".into()).spawn(run)?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Sets the time between two probes.
    pub(super) fn set_interval(&self, interval: Duration) {
        self.state.interval.store(interval.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Returns the round-trip time of the latest answer, without the far end's own time.
    pub(super) fn latest_rtt(&self) -> Option<Duration> {
        match self.state.latest_rtt.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    pub(super) fn sent(&self) -> MutexGuard<'_, Vec<Sent>> {
        self.state.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hops(&self) -> MutexGuard<'_, Vec<Hop>> {
        self.state.hops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.state.has_ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn connected(far: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if far.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(far)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Lets packets of a socket die at the first router, and errors about them arrive.
fn watch_errors(socket: &UdpSocket, far: SocketAddr) -> io::Result<()> {
    if far.is_ipv4() {
        setsockopt(socket, sockopt::Ipv4Ttl, &1)?;
        setsockopt(socket, sockopt::Ipv4RecvErr, &true)?;
    } else {
        setsockopt(socket, sockopt::Ipv6Ttl, &1)?;
        setsockopt(socket, sockopt::Ipv6RecvErr, &true)?;
    }
    Ok(())
}

fn run(
    echo: Option<&(UdpSocket, Token)>,
    router: Option<&UdpSocket>,
    far: SocketAddr,
    state: &State,
) -> io::Result<()> {
    let now = || state.start.elapsed().as_nanos() as u64;
    let (mut next_probe, mut next_hop) = (now(), now());
    while !state.has_ended.load(Ordering::Relaxed) {
        let interval = state.interval.load(Ordering::Relaxed);
        if let Some((socket, token)) = echo
            && now() >= next_probe
        {
            send_probe(socket, *token, state, now());
            // After a pause of the computer, probes do not catch up in a burst.
            next_probe = (next_probe + interval).max(now());
        }
        if let Some(socket) = router
            && now() >= next_hop
        {
            let mut hops = state.hops.lock().unwrap_or_else(PoisonError::into_inner);
            let number = (hops.len() as u64).to_be_bytes();
            hops.push((now(), None));
            // An error of an earlier probe may end this send; it is a probe without an answer.
            let _ = socket.send(&number);
            next_hop = (next_hop + HOP_INTERVAL.as_nanos() as u64).max(now());
        }
        let until = next_probe.min(next_hop).saturating_sub(now());
        wait(echo.map(|(socket, _)| socket), router, Duration::from_nanos(until))?;
        if let Some((socket, _)) = echo {
            receive_answers(socket, state);
        }
        if let Some(socket) = router {
            receive_errors(socket, far, state);
        }
    }
    Ok(())
}

fn send_probe(socket: &UdpSocket, token: Token, state: &State, at: u64) {
    let mut sent = state.sent.lock().unwrap_or_else(PoisonError::into_inner);
    let probe = Probe { magic: MAGIC, number: U64::new(sent.len() as u64), sent: U64::new(at), token };
    sent.push(Sent { at, answer: None });
    // A probe that cannot be sent is a lost one.
    let _ = socket.send(probe.as_bytes());
}

/// Waits for an answer or an error, at most 20 ms, so that the end is noticed.
fn wait(echo: Option<&UdpSocket>, router: Option<&UdpSocket>, time: Duration) -> io::Result<()> {
    let mut sockets: Vec<_> =
        echo.into_iter().chain(router).map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
    let time = time.min(Duration::from_millis(20));
    let rounded = PollTimeout::from(time.as_micros().div_ceil(1000) as u16);
    match poll(&mut sockets, rounded) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn receive_answers(socket: &UdpSocket, state: &State) {
    let mut packet = [0; 2048];
    loop {
        let length = match socket.recv(&mut packet) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            // The far end's port is closed, or the network is away: these probes are lost.
            Err(_) => return,
        };
        let at = state.start.elapsed().as_nanos() as u64;
        let Ok((answer, _)) = Answer::read_from_prefix(&packet[..length]) else { continue };
        let mut sent = state.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(probe) = sent.get_mut(answer.number.get() as usize) else { continue };
        if answer.magic != MAGIC || answer.sent.get() != probe.at || probe.answer.is_some() {
            continue;
        }
        probe.answer = Some(Answered { far_arrived: answer.arrived.get(), far_left: answer.left.get(), at });
        state.latest_rtt.store(probe.rtt().unwrap_or(0).max(1), Ordering::Relaxed);
    }
}

/// Reads what routers say of probes that died there; an error from the far end itself says nothing of a router.
fn receive_errors(socket: &UdpSocket, far: SocketAddr, state: &State) {
    loop {
        let mut packet = [0; 64];
        let mut space = nix::cmsg_space!([u8; 256]);
        let (length, is_router) = {
            let mut buffers = [IoSliceMut::new(&mut packet)];
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let received = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut buffers, Some(&mut space), flags);
            let Ok(received) = received else { return };
            let mut is_router = false;
            for message in received.cmsgs().into_iter().flatten() {
                match message {
                    ControlMessageOwned::Ipv4RecvErr(_, Some(from)) => {
                        is_router = far.ip() != std::net::Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr));
                    }
                    ControlMessageOwned::Ipv6RecvErr(_, Some(from)) => {
                        is_router = far.ip() != std::net::Ipv6Addr::from(from.sin6_addr.s6_addr);
                    }
                    _ => {}
                }
            }
            (received.bytes, is_router)
        };
        let at = state.start.elapsed().as_nanos() as u64;
        let mut hops = state.hops.lock().unwrap_or_else(PoisonError::into_inner);
        // Routers that quote only the headers answer the latest probe.
        let number = packet[..length]
            .first_chunk()
            .map_or(hops.len().saturating_sub(1), |first: &[u8; 8]| u64::from_be_bytes(*first) as usize);
        if let Some((sent, rtt)) = hops.get_mut(number)
            && is_router
            && rtt.is_none()
        {
            *rtt = Some(at - *sent);
        }
    }
}
