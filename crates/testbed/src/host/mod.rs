//! An end host: a namespace with one interface, whose other end we hold.

pub mod namespace;
pub mod netlink;
pub mod stack;
pub mod tun;

use crate::host::namespace::Namespace;
use crate::host::netlink::Netlink;
use crate::host::tun::Tun;
use crate::ip::Version;
use netlink_packet_route::link::LinkAttribute;
use netlink_packet_route::route::RouteMetric;
use scenario::model::TcpProfile;
use std::io;
use std::net::IpAddr;

/// Packets that a host may have ready for us before we take them: more than any window that fits a scenario's path, and
/// the most that Linux 6.1 allows.
const RING: u32 = 32_767;

/// IP and TCP header without options.
const HEADERS: u32 = 40;

/// An end host with its address.
#[derive(Debug)]
pub struct Host {
    /// Where its sockets live.
    pub namespace: Namespace,
    /// Its network card.
    pub tun: Tun,
    /// Its only address.
    pub address: IpAddr,
    /// The length of its longest IP packets, with an IPv4 header.
    pub mtu: u32,
}

impl Host {
    /// A host that sends IP packets of at most `mtu` bytes, with an IPv4 header, by default under the congestion control `preferred`. It
    /// reaches `peer` only: what asks for others, such as a name server, is told so at once.
    ///
    /// # Errors
    /// Whatever the kernel refuses on the way.
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
            // One segment a packet, as on the simulator's wire; the queue is ours, not the kernel's.
            let card = [LinkAttribute::Mtu(version.interface_mtu(mtu)), LinkAttribute::TxQueueLen(RING)];
            let card = card.into_iter().chain([LinkAttribute::GsoMaxSegs(1)]).collect();
            netlink.set_up(tun::NAME, card)?;
            netlink.set_root_qdisc(tun::NAME, "noqueue")?;
            netlink.add_address(tun::NAME, address)?;
            if let Some(control) = preferred {
                stack::prefer(control)?;
            }
            // By the route too: as the namespace's default the kernel takes only controls that are free for all.
            let preference = preferred.map(|control| RouteMetric::CcAlgo(control.into()));
            // What a SYN announces follows from the longest packet; Linux by itself announces 256 bytes or more
            // (`ip_rt_min_advmss`), over IPv6 1220.
            let size = RouteMetric::Advmss(mtu - HEADERS);
            let metrics = stack::route_metrics(stack).into_iter().chain([size]).chain(preference).collect();
            netlink.add_route(tun::NAME, peer, metrics)?;
            Ok(tun)
        })?;
        Ok(Host { namespace, tun, address, mtu })
    }

    /// Packets that its card had to drop because we did not take them in time.
    pub fn missed(&self) -> io::Result<u64> {
        self.namespace.within(|| Netlink::open()?.dropped(tun::NAME))
    }
}

/// One of the two ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where data goes to, that of reverse flows excepted.
    Receiver,
    /// Where data comes from, that of reverse flows excepted.
    Sender,
}

impl End {
    /// The other one.
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
    /// Sends the data.
    pub sender: Host,
    /// Acknowledges it.
    pub receiver: Host,
    /// Its sender is at the receivers' end, and the other way round.
    pub reverse: bool,
}

impl Pair {
    /// The host at this end.
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
    use etherparse::{IpNumber, TcpHeaderSlice, TcpOptionElement};
    use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrStorage};
    use std::net::SocketAddr;
    use std::os::fd::AsRawFd;

    /// Also where that is far less than what the version of IP asks of an interface. The first packet is the SYN: a host
    /// sends nothing by itself. This test needs root.
    #[test]
    fn a_syn_announces_what_fits_the_longest_packet() {
        for version in [Version::V4, Version::V6] {
            let (near, far) = (version.address(0, 0), version.address(1, 0));
            let host = Host::new(near, far, 104, &TcpProfile::LINUX, false, None).unwrap();
            let (_socket, refused) = host
                .namespace
                .within(|| {
                    let family = if near.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
                    let socket = socket::socket(family, SockType::Stream, SockFlag::SOCK_NONBLOCK, None)?;
                    socket::bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(near, 4000)))?;
                    let refused =
                        socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(far, 5201)));
                    Ok((socket, refused))
                })
                .unwrap();
            assert_eq!(refused, Err(nix::Error::EINPROGRESS));
            let mut buffer = [0; 200];
            let length = host.tun.read(&mut buffer).unwrap().expect("a SYN leaves at once");
            let packet = &buffer[tun::HEADER..length];
            let ip = Header::read(packet).unwrap();
            assert_eq!((ip.version, ip.protocol), (version, IpNumber::TCP));
            let tcp = TcpHeaderSlice::from_slice(&packet[ip.length..]).unwrap();
            assert!(tcp.syn());
            let mut options = tcp.options_iterator().flatten();
            assert!(options.any(|option| option == TcpOptionElement::MaximumSegmentSize(64)), "{tcp:?}");
        }
    }
}
