//! The sockets of datagrams: pings, calls, UDP at a constant rate.
//!
//! Each datagram begins with the time at which its program sent it. The kernel's answer to a ping begins with the time
//! of the ping.

use crate::flows::plan::Planned;
use crate::flows::sockets::{address, service_type};
use crate::host::sockopt::{AMPLE, set_at};
use crate::host::{Host, Pair};
use crate::packet::{DATAGRAM_HEADER, echo_identifier, stamp};
use model::app::DatagramKind;
use model::units::Nanos;
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, sockopt};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Length of an IPv4 header without options, bytes.
const IP_HEADER: usize = 20;
/// `ICMP_FILTER` (linux/icmp.h): a mask of the types that a raw socket ignores.
const ICMP_FILTER: libc::c_int = 1;
const ECHO_REQUEST: u8 = 8;
/// The place of the sequence number in an ICMP echo.
const SEQUENCE: std::ops::Range<usize> = 6..8;

/// Both ends of a flow of datagrams.
pub struct DatagramSockets {
    kind: DatagramKind,
    /// The sender's socket, which becomes readable when the other end of a call answers.
    pub sender: OwnedFd,
    /// The receiver's socket, which becomes readable when a datagram arrives.
    pub receiver: OwnedFd,
    port: u16,
    /// The bytes to send. A ping's include the header of an ICMP echo, which the kernel completes.
    packet: Vec<u8>,
    sent: u16,
}

impl DatagramSockets {
    /// Opens the sockets of a flow of datagrams; none if the flow has a connection.
    pub fn open(planned: &Planned, pair: &Pair) -> io::Result<Option<DatagramSockets>> {
        let Some(datagrams) = planned.datagrams() else { return Ok(None) };
        let (from, to) = (pair.host(planned.from()), pair.host(planned.from().opposite()));
        let (port, is_ping) = (planned.datagram_port(), datagrams.kind == DatagramKind::Ping);
        let sender = from.namespace.within(|| {
            let fd = if is_ping { ping_socket()? } else { udp_socket()? };
            // The host reports refused datagrams to the sending program.
            set_at(&fd, libc::IPPROTO_IP, libc::IP_RECVERR, 1 as libc::c_int)?;
            // The answers to pings are read by the emulator, not by the program.
            match planned.is_call() {
                true => socket::setsockopt(&fd, sockopt::RcvBufForce, &AMPLE)?,
                false => socket::setsockopt(&fd, sockopt::RcvBuf, &0)?,
            }
            socket::setsockopt(&fd, sockopt::SndBufForce, &AMPLE)?;
            join(&fd, planned, (from, port), (to, if is_ping { 0 } else { port }))?;
            Ok(fd)
        })?;
        let receiver = to.namespace.within(|| {
            let fd = if is_ping { echo_listener()? } else { udp_socket()? };
            socket::setsockopt(&fd, sockopt::RcvBufForce, &AMPLE)?;
            socket::setsockopt(&fd, sockopt::SndBufForce, &AMPLE)?;
            let at = if is_ping { 0 } else { port };
            join(&fd, planned, (to, at), (from, at))?;
            Ok(fd)
        })?;
        let mut packet = vec![0; datagrams.packet.0 as usize - IP_HEADER - if is_ping { 0 } else { DATAGRAM_HEADER }];
        if is_ping {
            packet[0] = ECHO_REQUEST;
        }
        Ok(Some(DatagramSockets { kind: datagrams.kind, sender, receiver, port, packet, sent: 0 }))
    }

    /// Sends the next datagram, stamped with the time `at`. Returns false if the host has no room for it.
    pub fn send(&mut self, at: Nanos) -> io::Result<bool> {
        let mut payload = 0;
        if self.kind == DatagramKind::Ping {
            self.packet[SEQUENCE].copy_from_slice(&self.sent.to_be_bytes());
            self.sent = self.sent.wrapping_add(1);
            payload = DATAGRAM_HEADER;
        }
        self.packet[payload..payload + size_of::<u64>()].copy_from_slice(&at.0.to_be_bytes());
        offer(&self.sender, &self.packet)
    }

    /// Takes the next datagram that has arrived. Returns when it was sent, and the length of its payload in bytes.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(Nanos, usize)>> {
        loop {
            let Some(length) = taken(&self.receiver, buffer)? else { return Ok(None) };
            let mut payload = &buffer[..length];
            if self.kind == DatagramKind::Ping {
                // A raw socket gets the echoes of all flows, with their IP headers.
                let icmp = payload.get(IP_HEADER..).filter(|icmp| echo_identifier(icmp) == Some(self.port));
                let Some(echo) = icmp.and_then(|icmp| icmp.get(DATAGRAM_HEADER..)) else { continue };
                payload = echo;
            }
            if let Some(sent_at) = stamp(payload) {
                return Ok(Some((sent_at, payload.len())));
            }
        }
    }

    /// Sends a datagram from the other end, stamped with the time `at`. If that host has no room for it, it is lost.
    pub fn send_back(&mut self, at: Nanos) -> io::Result<()> {
        self.packet[..size_of::<u64>()].copy_from_slice(&at.0.to_be_bytes());
        offer(&self.receiver, &self.packet).map(|_| ())
    }

    /// Takes the next datagram that has come back, and returns when it was sent.
    pub fn receive_back(&self, buffer: &mut [u8]) -> io::Result<Option<Nanos>> {
        Ok(taken(&self.sender, buffer)?.and_then(|length| stamp(&buffer[..length])))
    }
}

/// Takes the next datagram, if there is one, and returns its length.
fn taken(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match recv(fd.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
        Ok(length) => Ok(Some(length)),
        Err(Errno::EAGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends a datagram; returns false if the host has no room for it.
fn offer(fd: &OwnedFd, packet: &[u8]) -> io::Result<bool> {
    match send(fd.as_raw_fd(), packet, MsgFlags::MSG_DONTWAIT) {
        Ok(_) => Ok(true),
        Err(Errno::ENOBUFS | Errno::EAGAIN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn join(fd: &OwnedFd, planned: &Planned, own: (&Host, u16), peer: (&Host, u16)) -> io::Result<()> {
    service_type(fd, own.0, &planned.settings)?;
    socket::bind(fd.as_raw_fd(), &address(own.0, own.1))?;
    Ok(socket::connect(fd.as_raw_fd(), &address(peer.0, peer.1))?)
}

fn udp_socket() -> io::Result<OwnedFd> {
    Ok(socket::socket(AddressFamily::Inet, SockType::Datagram, flags(), SockProtocol::Udp)?)
}

/// Opens a socket like that of ping(8), whose port is the identifier of its echoes (icmp(7)).
fn ping_socket() -> io::Result<OwnedFd> {
    Ok(socket::socket(AddressFamily::Inet, SockType::Datagram, flags(), SockProtocol::Icmp)?)
}

/// Opens a socket that gets a copy of each echo request.
fn echo_listener() -> io::Result<OwnedFd> {
    let fd = socket::socket(AddressFamily::Inet, SockType::Raw, flags(), SockProtocol::Icmp)?;
    set_at(&fd, libc::SOL_RAW, ICMP_FILTER, !(1u32 << ECHO_REQUEST))?;
    Ok(fd)
}

fn flags() -> SockFlag {
    SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC
}
