//! Sets up a host's interfaces with the netlink messages that `ip` and `tc` would send.

use netlink_packet_core::{DefaultNla, Emitable, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::if_nametoindex;
use std::io;
use std::net::IpAddr;

/// A queue discipline or a class, with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Name of the discipline in `tc`.
    pub kind: &'static str,
    /// Value of the attribute `TCA_OPTIONS`; none leaves all options to the kernel.
    pub options: Option<Vec<u8>>,
}

/// The discipline at the root of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootQdisc {
    /// Name of the discipline in `tc`.
    pub kind: String,
    /// Handle of the discipline; 0 if the kernel chose it.
    pub handle: u32,
    /// Value of the attribute `TCA_OPTIONS`.
    pub options: Option<Vec<u8>>,
}

/// Counts of a queue discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Packets dropped so far.
    pub dropped: u32,
    /// Packets that wait.
    pub packets: u32,
    /// Bytes of the packets that wait.
    pub bytes: u32,
}

/// A route-netlink socket of one namespace.
pub struct Netlink(Socket);

impl Netlink {
    /// Opens a socket in the calling thread's namespace.
    pub fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink(socket))
    }

    /// Sets a device up and changes its attributes: `ip link set DEV up ATTRIBUTES`.
    pub fn set_up(&self, device: &str, attributes: Vec<LinkAttribute>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index(device)?;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes = attributes;
        self.ask("link", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Deletes a device: `ip link delete DEV`.
    pub fn delete(&self, device: &str) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index(device)?;
        self.ask("link", RouteNetlinkMessage::DelLink(message), 0)
    }

    /// Sets the discipline at the root of a device: `tc qdisc replace dev DEV root KIND`.
    ///
    /// # Errors
    /// Returns the errors of [`set_qdisc`](Netlink::set_qdisc).
    pub fn set_root_qdisc(&self, device: &str, kind: &'static str) -> io::Result<()> {
        self.set_qdisc(device, TcHandle::ROOT, TcHandle::UNSPEC, &Qdisc { kind, options: None })
    }

    /// Sets a discipline of a device: `tc qdisc replace dev DEV parent PARENT handle HANDLE KIND
    /// OPTIONS`.
    ///
    /// # Errors
    /// Returns an error of kind `NotFound` if the kernel lacks the discipline, and `InvalidInput`
    /// if it refuses the options, both with a sentence.
    pub fn set_qdisc(&self, device: &str, parent: TcHandle, handle: TcHandle, qdisc: &Qdisc) -> io::Result<()> {
        let message = traffic_control(index(device)?, parent, handle, qdisc);
        let flags = NLM_F_CREATE | NLM_F_REPLACE;
        self.ask("queue discipline", RouteNetlinkMessage::NewQueueDiscipline(message), flags).map_err(|error| {
            let kind = qdisc.kind;
            let why = match error.kind() {
                io::ErrorKind::NotFound => format!("this kernel lacks the queue discipline {kind} (module sch_{kind})"),
                io::ErrorKind::InvalidInput => format!("the kernel refuses these parameters of {kind}"),
                _ => return error,
            };
            io::Error::new(error.kind(), why)
        })
    }

    /// Adds a class: `tc class add dev DEV parent PARENT classid CLASS KIND OPTIONS`.
    pub fn add_class(&self, device: &str, parent: TcHandle, class: TcHandle, qdisc: &Qdisc) -> io::Result<()> {
        let message = traffic_control(index(device)?, parent, class, qdisc);
        self.ask("traffic class", RouteNetlinkMessage::NewTrafficClass(message), NLM_F_CREATE)
    }

    /// Adds an address: `ip address add ADDRESS dev DEV nodad`.
    pub fn add_address(&self, device: &str, address: IpAddr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        (message.header.family, message.header.prefix_len) = family_and_bits(&address);
        message.header.flags = AddressHeaderFlags::Nodad;
        message.header.index = index(device)?;
        message.attributes = vec![AddressAttribute::Local(address)];
        self.ask("address", RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Adds a route: `ip route add ADDRESS dev DEV METRICS`.
    pub fn add_route(&self, device: &str, to: IpAddr, metrics: Vec<RouteMetric>) -> io::Result<()> {
        let mut message = RouteMessage::default();
        let address = match to {
            IpAddr::V4(to) => RouteAddress::Inet(to),
            IpAddr::V6(to) => RouteAddress::Inet6(to),
        };
        (message.header.address_family, message.header.destination_prefix_length) = family_and_bits(&to);
        message.header.table = libc::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Link;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![RouteAttribute::Destination(address), RouteAttribute::Oif(index(device)?)];
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        self.ask("route", RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Returns the packets that could not be sent: `tx_dropped` of `ip -s link show DEV`.
    pub fn dropped(&self, device: &str) -> io::Result<u64> {
        let mut message = LinkMessage::default();
        message.header.index = index(device)?;
        let answer = self.exchange(RouteNetlinkMessage::GetLink(message), 0)?;
        let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) = answer else {
            return Err(io::Error::other("the kernel does not describe the link"));
        };
        let stats = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(stats) => Some(stats.tx_dropped),
            _ => None,
        });
        Ok(stats.unwrap_or(0))
    }

    /// Returns the kind of a device (such as `ARPHRD_ETHER`).
    pub fn device_kind(&self, index: u32) -> io::Result<u32> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        match self.exchange(RouteNetlinkMessage::GetLink(message), 0)? {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                Ok(u16::from(link.header.link_layer_type).into())
            }
            _ => Err(io::Error::other("the kernel does not describe the link")),
        }
    }

    /// Lists the kinds of a device's queue disciplines.
    pub fn qdiscs(&self, index: u32) -> io::Result<Vec<String>> {
        let message = TcMessage::with_index(index as i32);
        let all = self.dump(RouteNetlinkMessage::GetQueueDiscipline(message))?;
        let kinds = all.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewQueueDiscipline(qdisc) if qdisc.header.index == index as i32 => kind_of(&qdisc),
            _ => None,
        });
        Ok(kinds.collect())
    }

    /// Returns the discipline at a device's root.
    ///
    /// Its options stay as the kernel sent them, since only the kernel interprets them when it gets
    /// them back.
    pub fn root_qdisc(&self, index: u32) -> io::Result<Option<RootQdisc>> {
        let message = TcMessage::with_index(index as i32);
        self.send(RouteNetlinkMessage::GetQueueDiscipline(message), NLM_F_DUMP)?;
        let mut root = None;
        loop {
            let (datagram, _) = self.0.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
                let (message, behind) =
                    rest.split_at((answer.header.length as usize).next_multiple_of(4).min(rest.len()));
                rest = behind;
                match answer.payload {
                    NetlinkPayload::Done(_) => return Ok(root),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(qdisc))
                        if qdisc.header.index == index as i32 && qdisc.header.parent == TcHandle::ROOT =>
                    {
                        let options = options_in(message);
                        let handle = qdisc.header.handle.into();
                        root = kind_of(&qdisc).map(|kind| RootQdisc { kind, handle, options });
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns the counts of the discipline at a device's root: `tc -s qdisc show dev DEV root`.
    pub fn queue_counts(&self, index: u32) -> io::Result<QueueCounts> {
        let message = TcMessage::with_index(index as i32);
        let all = self.dump(RouteNetlinkMessage::GetQueueDiscipline(message))?;
        let root = all.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewQueueDiscipline(qdisc)
                if qdisc.header.index == index as i32 && qdisc.header.parent == TcHandle::ROOT =>
            {
                Some(qdisc)
            }
            _ => None,
        });
        let counts = root.iter().flat_map(|root| &root.attributes).find_map(|attribute| match attribute {
            TcAttribute::Stats2(stats) => stats.iter().find_map(|stats| match stats {
                TcStats2::Queue(queue) => {
                    Some(QueueCounts { dropped: queue.drops, packets: queue.qlen, bytes: queue.backlog })
                }
                _ => None,
            }),
            _ => None,
        });
        counts.ok_or_else(|| io::Error::other("the kernel does not report counters of its queue discipline"))
    }

    /// Deletes the discipline at a device's root: `tc qdisc del dev DEV root`.
    pub fn delete_root_qdisc(&self, index: u32) -> io::Result<()> {
        let mut message = TcMessage::with_index(index as i32);
        message.header.parent = TcHandle::ROOT;
        self.ask("queue discipline", RouteNetlinkMessage::DelQueueDiscipline(message), 0)
    }

    /// Reports whether a device has a filter at this parent.
    pub fn has_filter(&self, index: u32, parent: TcHandle) -> io::Result<bool> {
        let mut message = TcMessage::with_index(index as i32);
        message.header.parent = parent;
        Ok(!self.dump(RouteNetlinkMessage::GetTrafficFilter(message))?.is_empty())
    }

    /// Returns all answers of the kernel to one request.
    fn dump(&self, request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.send(request, NLM_F_DUMP)?;
        let mut all = Vec::new();
        loop {
            let (datagram, _) = self.0.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
                rest = &rest[(answer.header.length as usize).next_multiple_of(4).min(rest.len())..];
                match answer.payload {
                    NetlinkPayload::Done(_) => return Ok(all),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(message) => all.push(message),
                    _ => {}
                }
            }
        }
    }

    /// Sends one request and waits for its acknowledgement.
    fn ask(&self, what: &str, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let refused =
            |error: io::Error| io::Error::new(error.kind(), format!("the kernel refuses a host's {what}: {error}"));
        self.exchange(request, NLM_F_ACK | flags).map(|_| ()).map_err(refused)
    }

    fn exchange(&self, request: RouteNetlinkMessage, flags: u16) -> io::Result<NetlinkPayload<RouteNetlinkMessage>> {
        self.send(request, flags)?;
        let (answer, _) = self.0.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            payload => Ok(payload),
        }
    }

    fn send(&self, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        Ok(())
    }
}

/// Returns the value of `TCA_OPTIONS` in a whole message.
fn options_in(message: &[u8]) -> Option<Vec<u8>> {
    /// Length of `struct nlmsghdr` and `struct tcmsg`.
    const HEADERS: usize = 16 + 20;
    /// Length of an attribute's header: length and kind.
    const ATTRIBUTE: usize = 4;
    const TCA_OPTIONS: u16 = 2;
    let mut rest = message.get(HEADERS..)?;
    while rest.len() >= ATTRIBUTE {
        let half = |at: usize| u16::from_ne_bytes([rest[at], rest[at + 1]]);
        let (length, kind) = (half(0) as usize, half(2) & !(libc::NLA_F_NESTED as u16));
        let value = rest.get(ATTRIBUTE..length)?;
        if kind == TCA_OPTIONS {
            return Some(value.to_vec());
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

fn kind_of(message: &TcMessage) -> Option<String> {
    message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(kind) => Some(kind.clone()),
        _ => None,
    })
}

fn traffic_control(index: u32, parent: TcHandle, handle: TcHandle, qdisc: &Qdisc) -> TcMessage {
    // fq_pie requires its options to be marked as nested (`nla_parse_nested`); no other discipline
    // looks.
    const TCA_OPTIONS: u16 = 2 | libc::NLA_F_NESTED as u16;
    let mut message = TcMessage::with_index(index as i32);
    (message.header.parent, message.header.handle) = (parent, handle);
    message.attributes.push(TcAttribute::Kind(qdisc.kind.into()));
    let options = qdisc.options.as_ref().map(|bytes| TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, bytes.clone())));
    message.attributes.extend(options);
    message
}

/// Serialises one attribute: length, kind, and value, padded to four bytes.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let attribute = DefaultNla::new(kind, value.to_vec());
    let mut bytes = vec![0; attribute.buffer_len()];
    attribute.emit(&mut bytes);
    bytes
}

/// Returns the family of an address, and the prefix length of a network with just that host.
fn family_and_bits(address: &IpAddr) -> (AddressFamily, u8) {
    match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    }
}

fn index(device: &str) -> io::Result<u32> {
    Ok(if_nametoindex(device)?)
}
