//! An end host: a network namespace with one interface, whose other end the emulator has.

pub mod sockopt;
pub mod stack;

use crate::ip::Version;
use kernel::namespace::Namespace;
use kernel::netlink::Netlink;
use kernel::tun::{self, Tun};
use model::TcpProfile;
use netlink_packet_route::link::LinkAttribute;
use netlink_packet_route::route::RouteMetric;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Packets that a host may have sent before the emulator takes them. It is more than any window that fits a scenario's
/// path, and the most that Linux 6.1 allows.
const RING: u32 = 32_767;

/// The kernel's default for the segments of a batch (`linux/netdevice.h`).
const GSO_MAX_SEGS: u32 = 65_535;

/// The flag of a route to the host's own address (`linux/ipv6_route.h`).
const RTF_LOCAL: u32 = 0x8000_0000;

/// Length of the IPv4 and TCP headers without options, bytes.
const HEADERS: u32 = 40;

/// An end host: its namespace, network card and address.
#[derive(Debug)]
pub struct Host {
    /// The network namespace of the host's sockets.
    pub namespace: Namespace,
    /// The host's network card.
    pub tun: Tun,
    /// The host's only address.
    pub address: IpAddr,
    /// The length of the longest IP packet, counted with an IPv4 header, bytes.
    pub mtu: u32,
}

impl Host {
    /// Makes a host that sends IP packets of at most `mtu` bytes, counted with an IPv4 header. `preferred` is the
    /// default congestion control. The host reaches only `peer`; programs that contact other addresses, such as a name
    /// server, get an error immediately.
    ///
    /// # Errors
    /// Any refusal of the kernel on the way.
    pub fn new(
        address: IpAddr,
        peer: IpAddr,
        mtu: u32,
        stack: &TcpProfile,
        ecn: bool,
        preferred: Option<&str>,
    ) -> io::Result<Host> {
        let namespace = Namespace::new()?;
        let version = Version::of(&address);
        let tun = namespace.within(|| {
            stack::apply(stack, ecn, version)?;
            let tun = Tun::create()?;
            let netlink = Netlink::open()?;
            netlink.set_up("lo", vec![])?;
            // One segment a packet, as on the simulator's wire, unless batches are allowed; the queue is ours, not the
            // kernel's.
            let card = [LinkAttribute::Mtu(version.interface_mtu(mtu)), LinkAttribute::TxQueueLen(RING)];
            let card = card.into_iter().chain([LinkAttribute::GsoMaxSegs(1)]).collect();
            netlink.set_up(tun::NAME, card)?;
            netlink.set_root_qdisc(tun::NAME, "noqueue")?;
            netlink.add_address(tun::NAME, address)?;
            if let IpAddr::V6(address) = address {
                wait_for_local_route(address)?;
            }
            if let Some(control) = preferred {
                stack::prefer(control)?;
            }
            // Set by the route too: as a namespace's default the kernel accepts only congestion controls that every
            // user may choose.
            let preference = preferred.map(|control| RouteMetric::CcAlgo(control.into()));
            // The MSS that a SYN announces follows from the longest packet too; Linux by itself announces 256 bytes or
            // more (`ip_rt_min_advmss`), over IPv6 1220. That is no bound: Debian's 6.1.0-56 and 6.12.117 announce 88
            // bytes at least (`tcp_dst_advmss`). The interface's MTU is one over IPv4; over IPv6 it may be too long
            // (RFC 8200, section 5), and the route's is one.
            let advmss = RouteMetric::Advmss(mtu - HEADERS);
            let route_mtu = (version == Version::V6).then(|| RouteMetric::Mtu(mtu + version.longer_by()));
            let sizes = [Some(advmss), route_mtu, preference].into_iter().flatten();
            let metrics = stack::route_metrics(stack).into_iter().chain(sizes).collect();
            netlink.add_route(tun::NAME, peer, metrics)?;
            Ok(tun)
        })?;
        Ok(Host { namespace, tun, address, mtu })
    }

    /// Lets TCP send several segments in one buffer, for connections that are made from now on. The kernel splits the
    /// buffer behind the device's queue, as for a device that takes a segment at a time.
    ///
    /// # Errors
    /// Any refusal of the kernel.
    pub fn allow_batches(&self) -> io::Result<()> {
        let most = LinkAttribute::GsoMaxSegs(GSO_MAX_SEGS);
        self.namespace.within(|| Netlink::open()?.set_up(tun::NAME, vec![most]))
    }

    /// Returns the number of packets that the card dropped because the emulator did not take them in time.
    pub fn missed(&self) -> io::Result<u64> {
        self.namespace.within(|| Netlink::open()?.dropped(tun::NAME))
    }
}

/// Waits until the kernel has made the route to its own IPv6 address. It does so in a work queue (`addrconf_dad_work`),
/// and drops packets that come before.
fn wait_for_local_route(address: Ipv6Addr) -> io::Result<()> {
    let destination = format!("{:032x} 80 ", u128::from(address));
    let is_local = |line: &str| {
        let flags = line.split_whitespace().nth(8).and_then(|flags| u32::from_str_radix(flags, 16).ok());
        line.starts_with(&destination) && flags.is_some_and(|flags| flags & RTF_LOCAL != 0)
    };
    let begin = Instant::now();
    while !std::fs::read_to_string("/proc/thread-self/net/ipv6_route")?.lines().any(is_local) {
        if begin.elapsed() > Duration::from_secs(10) {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the kernel cannot make a route to {address}"),
            ));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// One of the two ends of the emulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end to which data flows, except the data of reverse flows.
    Receiver,
    /// The end from which data flows, except the data of reverse flows.
    Sender,
}

impl End {
    /// Both ends, in the order of their numbers.
    pub const BOTH: [End; 2] = [End::Receiver, End::Sender];

    /// Returns the other end.
    pub fn opposite(self) -> End {
        match self {
            End::Sender => End::Receiver,
            End::Receiver => End::Sender,
        }
    }
}

/// The two hosts of a flow.
#[derive(Debug)]
pub struct Pair {
    /// The host that sends the data.
    pub sender: Host,
    /// The host that acknowledges the data.
    pub receiver: Host,
    /// Whether the flow is reverse: its sender is at [`End::Receiver`], and its receiver at [`End::Sender`].
    pub reverse: bool,
}

impl Pair {
    /// Returns the host at an end.
    pub fn host(&self, end: End) -> &Host {
        match (end, self.reverse) {
            (End::Sender, false) | (End::Receiver, true) => &self.sender,
            (End::Receiver, false) | (End::Sender, true) => &self.receiver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::Header;
    use etherparse::{PacketBuilder, TcpHeader, TcpHeaderSlice, TcpOptionElement};
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage};
    use std::net::SocketAddr;
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};

    /// The longest packet may be far shorter than the smallest MTU of the version of IP, and the peer may announce a
    /// larger MSS. This test needs root.
    #[test]
    fn a_segment_fits_the_longest_packet() {
        for version in [Version::V4, Version::V6] {
            let (near, far) = (version.address(0, 0), version.address(1, 0));
            let host = Host::new(near, far, 104, &TcpProfile::LINUX, false, None).unwrap();
            let socket = host.namespace.within(|| connecting(near, far)).unwrap();
            // The first packet is the SYN: a host sends nothing by itself.
            let (length, syn) = sent(&host);
            assert!(syn.syn && length < 104, "{length} bytes: {syn:?}");
            host.tun.write(&syn_ack(near, far, &syn)).unwrap();
            let (_, handshake) = sent(&host);
            assert!(handshake.ack && !handshake.syn, "{version:?}: {handshake:?}");
            assert_eq!(socket::send(socket.as_raw_fd(), &[0; 200], MsgFlags::empty()), Ok(200));
            let (length, data) = sent(&host);
            assert_eq!((length, data.header_len()), (104 + version.longer_by() as usize, 20));
        }
    }

    const PORTS: (u16, u16) = (4000, 5201);

    /// Opens a socket that has begun to connect.
    fn connecting(near: IpAddr, far: IpAddr) -> io::Result<OwnedFd> {
        let family = if near.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
        let socket = socket::socket(family, SockType::Stream, SockFlag::SOCK_NONBLOCK, None)?;
        let at = |address, port| SockaddrStorage::from(SocketAddr::new(address, port));
        socket::bind(socket.as_raw_fd(), &at(near, PORTS.0))?;
        match socket::connect(socket.as_raw_fd(), &at(far, PORTS.1)) {
            Err(nix::Error::EINPROGRESS) => Ok(socket),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the length and TCP header of the next packet from a host.
    fn sent(host: &Host) -> (usize, TcpHeader) {
        poll(&mut [PollFd::new(host.tun.as_fd(), PollFlags::POLLIN)], PollTimeout::MAX).unwrap();
        let mut buffer = [0; 2000];
        let length = host.tun.read(&mut buffer).unwrap().expect("it waits");
        let packet = &buffer[tun::HEADER..length];
        let ip = Header::read(packet).unwrap();
        (packet.len(), TcpHeaderSlice::from_slice(&packet[ip.length..]).unwrap().to_header())
    }

    /// Builds a peer's answer to a SYN, which announces segments of 1220 bytes, with the `virtio_net_hdr` in front.
    fn syn_ack(near: IpAddr, far: IpAddr, syn: &TcpHeader) -> Vec<u8> {
        let ip = match (near, far) {
            (IpAddr::V4(near), IpAddr::V4(far)) => PacketBuilder::ipv4(far.octets(), near.octets(), 64),
            (IpAddr::V6(near), IpAddr::V6(far)) => PacketBuilder::ipv6(far.octets(), near.octets(), 64),
            _ => panic!("both are of one version"),
        };
        let tcp = ip.tcp(PORTS.1, PORTS.0, 1, 10_000).syn().ack(syn.sequence_number + 1);
        let mut packet = vec![0; tun::HEADER];
        tcp.options(&[TcpOptionElement::MaximumSegmentSize(1220)]).unwrap().write(&mut packet, &[]).unwrap();
        packet
    }
}
