//! The sockets of a flow, each made in its host's namespace.

use crate::flows::plan::{Listener, Planned};
use crate::host::sockopt::{AMPLE, set_at};
use crate::host::{End, Host};
use crate::ip::Version;
use kernel::running_version;
use model::skb::receive_memory;
use model::units::{Bytes, Nanos};
use model::{FlowGroup, Link, Scenario};
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrStorage, sockopt};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Connections that may wait to be accepted (`net.core.somaxconn`).
const MOST_WAITING: usize = 4096;
/// Length of the IPv4 and TCP headers without options, bytes.
const HEADERS: u32 = 40;
/// Length of the timestamps option that each segment carries, bytes (RFC 7323).
const TIMESTAMPS: u32 = 12;
/// Since this version of Linux the advertised window depends on the memory that segments take.
const WINDOW_FOLLOWS_MEMORY: (u32, u32) = (6, 6);

/// Opens a listening socket. Its application is woken when the data of the time `reads_every` has come, or with each
/// segment if it waits for messages.
pub fn listen(
    scenario: &Scenario,
    host: &Host,
    listener: &Listener,
    control: Option<&String>,
    reads_every: Nanos,
) -> io::Result<OwnedFd> {
    let group = &listener.settings;
    host.namespace.within(|| {
        let fd = stream(host, group)?;
        let window = match group.tcp_rmem {
            // Setting a buffer's size would end its tuning (tcp(7), SO_RCVBUF).
            Some(_) => Bytes(scenario.receive_buffer(group).first_window() as u64),
            None => {
                let window = group.receive_window.unwrap_or_else(|| scenario.ample_window(group));
                socket::setsockopt(&fd, sockopt::RcvBufForce, &receive_buffer(window, group))?;
                window
            }
        };
        let at_once = match group.app {
            Some(_) => Bytes(1),
            None => read_at_once(scenario.bottleneck_of(group), window, reads_every),
        };
        set_at(&fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, at_once.0 as libc::c_int)?;
        service_type(&fd, host, group)?;
        if let Some(control) = control {
            set_control(&fd, control)?;
        }
        bind(&fd, host, listener.port)?;
        socket::listen(&fd, socket::Backlog::new(listener.flows.clamp(1, MOST_WAITING) as i32)?)?;
        Ok(fd)
    })
}

/// Opens the sending socket of a flow, with its congestion control `control`, ready to connect.
pub fn prepare(scenario: &Scenario, host: &Host, planned: &Planned, control: &str) -> io::Result<OwnedFd> {
    let group = &planned.settings;
    host.namespace.within(|| {
        let fd = stream(host, group)?;
        if planned.has_send_buffer() {
            // The kernel tunes its size within the bounds of the namespace.
            let sends_from = group.host.filter(|_| planned.from() == End::Sender);
            if let Some(lowat) = sends_from.and_then(|host| scenario.hosts[host].send_buffer.notsent_lowat) {
                set(&fd, libc::TCP_NOTSENT_LOWAT, lowat.0 as u32)?;
            }
        } else {
            socket::setsockopt(&fd, sockopt::SndBufForce, &AMPLE)?;
            set(&fd, libc::TCP_NOTSENT_LOWAT, scenario.written_ahead(group).0 as u32)?;
        }
        set(&fd, libc::TCP_NODELAY, 1)?;
        service_type(&fd, host, group)?;
        set_control(&fd, control)?;
        if group.stack.pacing {
            pace(&fd)?;
        }
        if let Some(port) = planned.port {
            bind(&fd, host, port)?;
        }
        Ok(fd)
    })
}

/// Sets the type of service of the packets that a group's socket sends.
pub fn service_type(fd: &OwnedFd, host: &Host, group: &FlowGroup) -> io::Result<()> {
    let (level, option) = match Version::of(&host.address) {
        Version::V4 => (libc::IPPROTO_IP, libc::IP_TOS),
        Version::V6 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    };
    set_at(fd, level, option, group.tos as libc::c_int)
}

/// Returns how many bytes must arrive to wake the application. On a fast link a wake-up for each packet would take the
/// time of several packets. The amount is a small part of the window, because unread data reduces the advertised
/// window.
fn read_at_once(link: &Link, window: Bytes, reads_every: Nanos) -> Bytes {
    Bytes(link.service.carried_in(reads_every).0.min(window.0 / 50).max(1))
}

/// Returns the bytes of as many whole segments as fit into `most` bytes, but of at least one segment.
pub fn whole_segments(group: &FlowGroup, most: Bytes) -> Bytes {
    let segment = payload(group);
    Bytes((most.0 / segment).max(1) * segment)
}

/// Returns the payload of a full segment, bytes.
pub fn payload(group: &FlowGroup) -> u64 {
    let options = if group.stack.timestamps { TIMESTAMPS } else { 0 };
    group.packet.0 - (HEADERS + options) as u64
}

/// Returns the buffer size to pass to `setsockopt`, which doubles it, so that the socket advertises this window. With a
/// larger buffer each segment would be acknowledged for as long as the window still grows.
fn receive_buffer(window: Bytes, group: &FlowGroup) -> usize {
    if running_version() < WINDOW_FOLLOWS_MEMORY {
        return window.0 as usize; // Half of any buffer is offered (`tcp_adv_win_scale`).
    }
    receive_memory(window, payload(group) as u32, group.packet) as usize / 2
}

/// Begins to connect a socket; the connection may be set up later.
pub fn connect(fd: &OwnedFd, to: &Host, port: u16) -> io::Result<()> {
    match socket::connect(fd.as_raw_fd(), &address(to, port)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn bind(fd: &OwnedFd, host: &Host, port: u16) -> io::Result<()> {
    Ok(socket::bind(fd.as_raw_fd(), &address(host, port))?)
}

/// Returns the socket address of a host's port.
pub fn address(host: &Host, port: u16) -> SockaddrStorage {
    SocketAddr::new(host.address, port).into()
}

/// Accepts the next connection, if one waits, and returns its socket and the sender's port.
pub fn accept(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, u16)>> {
    let fd = match socket::accept4(listener.as_raw_fd(), SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC) {
        // SAFETY: the descriptor is new and nobody else's.
        Ok(fd) => unsafe { OwnedFd::from_raw_fd(fd) },
        Err(Errno::EAGAIN) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let peer = socket::getpeername::<SockaddrStorage>(fd.as_raw_fd())?;
    let of_ipv4 = peer.as_sockaddr_in().map(|peer| peer.port());
    let port = of_ipv4.or_else(|| peer.as_sockaddr_in6().map(|peer| peer.port()));
    Ok(Some((fd, port.expect("it is a socket of TCP's"))))
}

/// Makes a socket close without a FIN or RST, because simulated flows are not closed either.
pub fn close_silently(fd: &OwnedFd) -> io::Result<()> {
    set(fd, libc::TCP_REPAIR, 1)
}

/// Opens a TCP socket at a host, for packets of a group's length.
fn stream(host: &Host, group: &FlowGroup) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let family = match Version::of(&host.address) {
        Version::V4 => AddressFamily::Inet,
        Version::V6 => AddressFamily::Inet6,
    };
    let fd = socket::socket(family, SockType::Stream, flags, None)?;
    // Connections end with the run, at both ends: an orphan would stay for minutes in a namespace without a network.
    socket::setsockopt(&fd, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    if group.packet.0 < host.mtu.into() {
        set(&fd, libc::TCP_MAXSEG, group.packet.0 as u32 - HEADERS)?;
    }
    Ok(fd)
}

fn set_control(fd: &OwnedFd, control: &str) -> io::Result<()> {
    socket::setsockopt(fd, sockopt::TcpCongestion, &OsString::from(control)).map_err(|error| {
        io::Error::new(io::Error::from(error).kind(), format!("congestion control \"{control}\": {}", error.desc()))
    })
}

/// Turns on pacing at the congestion control's own rate: any limit does so, and this one is never reached.
fn pace(fd: &OwnedFd) -> io::Result<()> {
    set_at(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64::MAX - 1)
}

fn set(fd: &OwnedFd, option: libc::c_int, value: u32) -> io::Result<()> {
    set_at(fd, libc::IPPROTO_TCP, option, value)
}

/// Returns the memory that the send buffer of a socket uses, and its limit, both in bytes (`sk_wmem_queued` and
/// `sk_sndbuf`).
pub fn send_buffer(fd: &OwnedFd) -> io::Result<(u32, u32)> {
    // Indices into the numbers that `SO_MEMINFO` returns (include/uapi/linux/sock_diag.h).
    const SNDBUF: usize = 3;
    const WMEM_QUEUED: usize = 5;
    let mut all = [0u32; 9];
    let mut length = size_of_val(&all) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to plain numbers.
    let status = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, (&raw mut all).cast(), &raw mut length)
    };
    if status == 0 { Ok((all[WMEM_QUEUED], all[SNDBUF])) } else { Err(io::Error::last_os_error()) }
}
