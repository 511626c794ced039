//! A kernel qdisc to send packets through, on the only device of a namespace of its own.
//!
//! A packet is sent to the device as any program would send it. The packets that the discipline releases come out at
//! the device's other end, which the emulator has.

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

/// The queue length of network cards, from which disciplines derive their defaults. It also limits how many released
/// packets wait to be taken.
const QUEUE_LENGTH: u32 = 1000;
/// The socket option for a `virtio_net_hdr` before each packet; libc does not have it yet.
const PACKET_VNET_HDR: libc::c_int = 15;
/// The place of `hdr_len` in `struct virtio_net_hdr`: how many bytes of a packet must be contiguous in memory.
const HEADER_LENGTH: std::ops::Range<usize> = 2..4;
/// The offset of the type of service in a packet with a `virtio_net_hdr`.
const TOS: usize = tun::HEADER + 1;
/// The kernel's priorities by the bits "low delay" and "high throughput" of the type of service: best effort, bulk,
/// interactive, interactive bulk (tc-prio(8)).
const PRIORITIES: [libc::c_int; 4] = [0, 2, 6, 4];

/// A device with a queue discipline, to send packets through.
pub struct QdiscDevice {
    namespace: Namespace,
    tun: Tun,
    /// One socket for each priority.
    entrances: [OwnedFd; 4],
}

impl QdiscDevice {
    /// Makes a device for packets of up to `mtu` bytes; `set_up` gives it a discipline.
    ///
    /// # Errors
    /// Any refusal of the kernel on the way, and the errors of `set_up`.
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

    /// Sends a packet with a `virtio_net_hdr` in front. Returns false if the discipline reports that it has dropped the
    /// packet; it may drop others silently.
    pub fn offer(&self, packet: &mut [u8]) -> io::Result<bool> {
        // The whole packet is contiguous, because disciplines read headers and mark only bytes that they can reach.
        let length = (packet.len() - tun::HEADER) as u16;
        packet[HEADER_LENGTH].copy_from_slice(&length.to_ne_bytes());
        let entrance = &self.entrances[(packet[TOS] >> 3 & 3) as usize];
        match socket::send(entrance.as_raw_fd(), packet, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::ENOBUFS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the next packet that the discipline has released, if there is one, and returns its length.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.tun.read(buffer)
    }

    /// Returns the number of packets that were released, but lost because nobody took them in time.
    pub fn missed(&self) -> io::Result<u64> {
        self.namespace.within(|| Netlink::open()?.dropped(tun::NAME))
    }
}

impl AsFd for QdiscDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

/// Opens a socket whose packets go straight to the device, with this priority.
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
