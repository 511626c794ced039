//! A kernel qdisc that packets can be sent through: a namespace of its own, with one device that has it.
//!
//! What is offered goes to the device as any packet does that a program sends; what the discipline lets go comes out at
//! the device's other end, which we hold.

use crate::host::sockopt::{AMPLE, set_at};
use crate::host::stack;
use kernel::namespace::Namespace;
use kernel::netlink::Netlink;
use kernel::tun::{self, Tun};
use netlink_packet_route::link::LinkAttribute;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockType, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What network cards have, and the disciplines' own defaults go by; also what may have come out before we take it.
const QUEUE_LENGTH: u32 = 1000;
/// Have a `virtio_net_hdr` before each packet; not in libc yet.
const PACKET_VNET_HDR: libc::c_int = 15;
/// Where `struct virtio_net_hdr` says how much of a packet has to lie in one piece.
const HEADER_LENGTH: std::ops::Range<usize> = 2..4;
/// Where the type of service is, behind that header.
const TOS: usize = tun::HEADER + 1;
/// The kernel's priorities for a type of service by its bits "low delay" and "high throughput": best effort, bulk,
/// interactive, interactive bulk (tc-prio(8)).
const PRIORITIES: [libc::c_int; 4] = [0, 2, 6, 4];

/// The way through a queue discipline.
pub struct QdiscDevice {
    namespace: Namespace,
    tun: Tun,
    /// One for each priority.
    entrances: [OwnedFd; 4],
}

impl QdiscDevice {
    /// For packets of up to `mtu` bytes; `set_up` gives the device its discipline.
    ///
    /// # Errors
    /// Whatever the kernel refuses on the way, and the errors of `set_up`.
    pub fn new(mtu: u32, set_up: impl FnOnce(&Netlink) -> io::Result<()>) -> io::Result<QdiscDevice> {
        let namespace = Namespace::new()?;
        let (tun, entrances) = namespace.within(|| {
            stack::silence()?;
            let tun = Tun::create()?;
            let netlink = Netlink::open()?;
            let card = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(QUEUE_LENGTH)];
            netlink.set_up(tun::NAME, card)?;
            set_up(&netlink)?;
            let [a, b, c, d] = PRIORITIES.map(entrance);
            Ok((tun, [a?, b?, c?, d?]))
        })?;
        Ok(QdiscDevice { namespace, tun, entrances })
    }

    /// Offers a packet, a `virtio_net_hdr` in front. False if the discipline says that it has dropped it; it may drop
    /// more in silence.
    pub fn offer(&self, packet: &mut [u8]) -> io::Result<bool> {
        // All in one piece: the disciplines look into headers, and mark only what they can reach.
        let length = (packet.len() - tun::HEADER) as u16;
        packet[HEADER_LENGTH].copy_from_slice(&length.to_ne_bytes());
        let entrance = &self.entrances[(packet[TOS] >> 3 & 3) as usize];
        match socket::send(entrance.as_raw_fd(), packet, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::ENOBUFS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the next packet that the discipline has released; none if there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.tun.read(buffer)
    }

    /// Packets that were released, but lost because nobody took them in time.
    pub fn missed(&self) -> io::Result<u64> {
        self.namespace.within(|| Netlink::open()?.dropped(tun::NAME))
    }
}

impl AsFd for QdiscDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

/// A socket whose packets go straight to the device, with this priority.
fn entrance(priority: libc::c_int) -> io::Result<OwnedFd> {
    let protocol = None; // nothing is to be received
    let fd = socket::socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    socket::setsockopt(&fd, sockopt::SndBufForce, &AMPLE)?;
    set_at(&fd, libc::SOL_PACKET, PACKET_VNET_HDR, 1 as libc::c_int)?;
    set_at(&fd, libc::SOL_SOCKET, libc::SO_PRIORITY, priority)?;
    // SAFETY: an all-zero sockaddr_ll is a valid one.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
    address.sll_ifindex = if_nametoindex(tun::NAME)? as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of the address.
    match unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) } {
        0 => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}
