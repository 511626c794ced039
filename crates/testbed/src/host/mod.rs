//! An end host: a namespace with one interface, whose other end we hold.

pub mod namespace;
pub mod netlink;
pub mod stack;
pub mod tun;

use crate::host::namespace::Namespace;
use crate::host::netlink::Netlink;
use crate::host::tun::Tun;
use netlink_packet_route::link::LinkAttribute;
use netlink_packet_route::route::RouteMetric;
use scenario::model::TcpProfile;
use std::io;
use std::net::Ipv4Addr;

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
    pub address: Ipv4Addr,
    /// The length of its longest IP packets.
    pub mtu: u32,
}

impl Host {
    /// A host that sends IP packets of at most `mtu` bytes, by default under the congestion control `preferred`. It
    /// reaches `peer` only: what asks for others, such as a name server, is told so at once.
    ///
    /// # Errors
    /// Whatever the kernel refuses on the way.
    pub fn new(
        address: Ipv4Addr,
        peer: Ipv4Addr,
        mtu: u32,
        stack: &TcpProfile,
        ecn: bool,
        preferred: Option<&str>,
    ) -> io::Result<Host> {
        let namespace = Namespace::new()?;
        let tun = namespace.within(|| {
            stack::apply(stack, ecn)?;
            let tun = Tun::create()?;
            let netlink = Netlink::open()?;
            netlink.set_up("lo", vec![])?;
            // One segment a packet, as on the simulator's wire; the queue is ours, not the kernel's.
            let card = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(RING), LinkAttribute::GsoMaxSegs(1)];
            netlink.set_up(tun::NAME, card)?;
            netlink.set_root_qdisc(tun::NAME, "noqueue")?;
            netlink.add_address(tun::NAME, address)?;
            if let Some(control) = preferred {
                stack::prefer(control)?;
            }
            // By the route too: as the namespace's default the kernel takes only controls that are free for all.
            let preference = preferred.map(|control| RouteMetric::CcAlgo(control.into()));
            // What a SYN announces follows from the MTU; Linux by itself announces 256 bytes or more
            // (`ip_rt_min_advmss`).
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
