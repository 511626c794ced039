//! A packet trace that Wireshark opens, as a capture at the senders' interfaces would record it.
//!
//! The trace shows each flow from its own sender, on whichever side of the bottleneck that is. It has data packets at
//! the time they leave their host, and acknowledgements at the time they are back at it. The run's start is the epoch.
//!
//! Headers, options and checksums are those of the simulated packets; payloads are zeros. So the file grows by some 32
//! bytes more than each packet's IP length. The simulator writes it during the run.
//!
//! With links watched, the trace also has a packet at the far end of each link that it passes, at the time it is there.
//! A capture at the next router's interface would show the same. It does not show packets that a queue has dropped or a
//! wire has lost. If copies of a segment were sent within a tick of its timestamp, their IP identification at links is
//! that of the first.
//!
//! The file differs from a capture of a real network:
//!
//! * Connections do not close, so the trace has no FINs. The trace leaves out datagrams.
//! * A window that its scale cannot express is rounded up, so that the sender does not appear to overrun it.
//! * A SYN-ACK has no room for SACK blocks.
//!
//! Wireshark classifies a segment that comes a second time. If it was sent soon after new data (some ms, or the RTT of
//! the handshake), Wireshark takes it for "out of order". `tcp.analysis.retransmission or tcp.analysis.out_of_order`
//! shows the record's retransmissions, and the handshake packets that were sent again.

use crate::initial_sequence::InitialSequence;
use crate::packet::{Ack, BASE_HEADER, Block, Data, Packet, TIMESTAMP_OPTION, flag, window_scale};
use crate::sender::OWN_WINDOW;
use crate::tap::{PacketEvent, Tap};
use etherparse::TcpOptionElement::{self, *};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader};
use measure::{LinkInterfaces, Origin, PacketFile, SENDERS, SnapLength};
use model::units::Nanos;
use model::workload::FlowArrival;
use model::{FlowGroup, Scenario};
use path::{PortId, Topology};
use std::collections::VecDeque;
use std::io;
use std::path::Path;

const TIME_TO_LIVE: u8 = 64;
const RECEIVER_PORT: u16 = 5001;
/// The first sender's port. Flow number `n` has port `FIRST_SENDER_PORT + n / 65536`, because addresses repeat after
/// 65536.
const FIRST_SENDER_PORT: u16 = 40_000;
/// Bytes that the trace writes to the file at a time.
const BYTES_AT_A_TIME: usize = 1 << 20;
/// The payload of every packet.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// Writes the packets at the senders' interfaces, and those at links, to a pcapng file.
pub struct Pcap {
    file: PacketFile,
    links: LinkInterfaces,
    /// The packets of each flow between its hosts, if links are watched.
    under_way: Vec<VecDeque<UnderWay>>,
    /// The connections of each group: the one with requests or data, and the one with responses.
    connections: Vec<Connection>,
    flows: Vec<Flow>,
    /// The packet being written.
    packet: Vec<u8>,
    /// Why writing stopped.
    failure: Option<io::Error>,
}

/// Properties that the connections of a flow group in one direction share.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The announced MSS less the options of data packets, bytes.
    mss: u32,
    sack: bool,
    timestamps: bool,
    /// Bits of window scaling, or `None` without it.
    window_scale: Option<u8>,
}

/// State of one flow that changes from packet to packet.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Index of its connection.
    connection: u32,
    /// Bytes that the application writes in all.
    size: u64,
    /// Payload of a full segment, bytes; less than the MSS if a message is shorter.
    payload: u32,
    isn: InitialSequence,
    /// IP identification of the next packet from the sender and from the receiver.
    identification: [u16; 2],
}

/// A packet between the hosts, with the fields of its header that the packet itself does not have.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    packet: Packet,
    identification: u16,
}

/// The host that sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    Sender,
    Receiver,
}

impl Pcap {
    /// Creates the file, and describes the interfaces of the packets in it.
    pub fn create(path: &Path, scenario: &Scenario, watches_links: bool, snap_length: SnapLength) -> io::Result<Pcap> {
        let origin = Origin {
            scenario: &scenario.name,
            hardware: "simulated",
            os: &format!("the TCP of the unbloat simulator, as in Linux {}", crate::LINUX),
        };
        let arrivals = scenario.flow_arrivals();
        let counts: Vec<_> = arrivals.iter().map(|group| group.len() as u32).collect();
        let links = match watches_links {
            true => LinkInterfaces::new(Topology::new(scenario, &counts).port_names()),
            false => LinkInterfaces::default(),
        };
        let file = PacketFile::create(path, &origin, &links, snap_length, BYTES_AT_A_TIME)?;
        let flow_count = counts.iter().sum::<u32>() as usize;
        let groups = arrivals.into_iter().zip(&scenario.flows).zip(0..);
        let flows = groups.flat_map(|((arrivals, group), number)| {
            let places = arrivals.into_iter().zip(0..);
            places.map(move |(arrival, place)| {
                let connection = 2 * number + group.is_response(place) as u32;
                (connection, arrival, scenario.segment_payload(&group.of_flow(place)).0 as u32)
            })
        });
        let isn = |flow| InitialSequence::draw(scenario.seed, flow);
        let receivers = scenario.flows.iter().flat_map(|group| [0, 1].map(|place| group.of_receiver(place)));
        Ok(Pcap {
            file,
            under_way: if links.is_empty() { vec![] } else { vec![VecDeque::new(); flow_count] },
            links,
            connections: receivers.map(|group| Connection::new(scenario, &group)).collect(),
            flows: flows
                .zip(0..)
                .map(|((connection, arrival, mss), flow)| Flow::new(connection, &arrival, mss, isn(flow)))
                .collect(),
            packet: Vec::new(),
            failure: None,
        })
    }

    /// Writes the buffered packets, and reports the first failure since the file was created.
    pub fn close(self) -> io::Result<()> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.file.close(),
        }
    }

    /// The IP identification of the next packet of a flow from this host.
    fn identification(&mut self, flow: u32, from: Host) -> u16 {
        let next = &mut self.flows[flow as usize].identification[from as usize];
        let identification = *next;
        *next = next.wrapping_add(1);
        identification
    }

    /// Writes a data packet that passes an interface.
    fn write_data(&mut self, now: Nanos, interface: u32, data: &Data, identification: u16) {
        let flow = self.flows[data.flow as usize];
        let tcp = self.connections[flow.connection as usize].data_header(&flow, data);
        let ip = ip_header(data.flow, Host::Sender, codepoint(data.flags), data.bytes, identification);
        self.write(now, interface, data.flow, Host::Sender, &ip, tcp);
    }

    /// Writes an acknowledgement that passes an interface.
    fn write_ack(&mut self, now: Nanos, interface: u32, ack: &Ack, identification: u16) {
        let flow = self.flows[ack.flow as usize];
        let tcp = self.connections[flow.connection as usize].ack_header(&flow, ack);
        let ip = ip_header(ack.flow, Host::Receiver, codepoint(ack.flags), ack.bytes, identification);
        self.write(now, interface, ack.flow, Host::Receiver, &ip, tcp);
    }

    /// Remembers a packet that leaves its host, where links are watched.
    fn leaves(&mut self, flow: u32, packet: Packet, identification: u16) {
        if let Some(under_way) = self.under_way.get_mut(flow as usize) {
            under_way.push_back(UnderWay { packet, identification });
        }
    }

    /// Forgets a packet that has arrived or never will. Returns its record.
    fn ends(&mut self, flow: u32, packet: Packet) -> Option<UnderWay> {
        let under_way = self.under_way.get_mut(flow as usize)?;
        let place = under_way.iter().position(|sent| is_same(&sent.packet, &packet))?;
        under_way.remove(place)
    }

    /// Writes a packet of a flow that passes an interface at `now`.
    fn write(&mut self, now: Nanos, interface: u32, flow: u32, from: Host, ip: &Ipv4Header, mut tcp: TcpHeader) {
        if self.failure.is_some() {
            return;
        }
        let bytes = ip.total_len;
        (tcp.source_port, tcp.destination_port) = in_direction(from, sender_port(flow), RECEIVER_PORT);
        let payload = &ZEROS[..bytes as usize - ip.header_len() - tcp.header_len()];
        tcp.checksum = tcp.calc_checksum_ipv4(ip, payload).expect("an IP packet's length is a u16");
        self.packet.clear();
        self.packet.extend_from_slice(&ip.to_bytes());
        self.packet.extend_from_slice(&tcp.to_bytes());
        self.packet.extend_from_slice(payload);
        let opens = (tcp.syn && !tcp.ack).then_some(flow);
        self.failure = self.file.write(now, interface, &self.packet, opens).err();
    }
}

impl Tap for Pcap {
    const WATCHES_LINKS: bool = true;

    fn data(&mut self, now: Nanos, event: PacketEvent, data: &Data) {
        if event == PacketEvent::Sent {
            let identification = self.identification(data.flow, Host::Sender);
            self.leaves(data.flow, Packet::Data(*data), identification);
            self.write_data(now, SENDERS, data, identification);
        } else {
            self.ends(data.flow, Packet::Data(*data));
        }
    }

    fn ack(&mut self, now: Nanos, event: PacketEvent, ack: &Ack) {
        if event == PacketEvent::Sent && !self.links.is_empty() {
            let identification = self.identification(ack.flow, Host::Receiver);
            self.leaves(ack.flow, Packet::Ack(*ack), identification);
        } else if event != PacketEvent::Sent {
            let sent = self.ends(ack.flow, Packet::Ack(*ack));
            if event == PacketEvent::Arrived {
                // Without watched links, only packets that come back to the sender count.
                let identification =
                    sent.map_or_else(|| self.identification(ack.flow, Host::Receiver), |sent| sent.identification);
                self.write_ack(now, SENDERS, ack, identification);
            }
        }
    }

    fn passed(&mut self, now: Nanos, port: PortId, packet: &Packet) {
        let Some(interface) = self.links.of_port(port) else { return };
        let flow = match packet {
            Packet::Data(data) => data.flow,
            Packet::Ack(ack) => ack.flow,
            Packet::Datagram(_) => return,
        };
        let sent = self.under_way[flow as usize].iter().find(|sent| is_same(&sent.packet, packet));
        let Some(&UnderWay { identification, .. }) = sent else { return };
        match packet {
            Packet::Data(data) => self.write_data(now, interface, data, identification),
            Packet::Ack(ack) => self.write_ack(now, interface, ack, identification),
            Packet::Datagram(_) => {}
        }
    }
}

/// Reports whether both are one packet, which a queue may have marked in between.
fn is_same(one: &Packet, other: &Packet) -> bool {
    match (one, other) {
        (Packet::Data(a), Packet::Data(b)) => {
            (a.segment, a.tsval, a.flags | flag::CE) == (b.segment, b.tsval, b.flags | flag::CE)
        }
        (Packet::Ack(a), Packet::Ack(b)) => {
            (a.next, a.tsval, a.window, a.flags | flag::CE) == (b.next, b.tsval, b.window, b.flags | flag::CE)
                && a.blocks() == b.blocks()
        }
        _ => false,
    }
}

impl Flow {
    fn new(connection: u32, arrival: &FlowArrival, payload: u32, isn: InitialSequence) -> Flow {
        let size = arrival.size.map_or(u64::MAX, |size| size.0);
        Flow { connection, size, payload, isn, identification: [0; 2] }
    }

    /// Sequence number of a segment's first byte. The last segment of a transfer may be short.
    fn sequence(&self, segment: u32) -> u32 {
        let bytes_before = (segment as u64 * self.payload as u64).min(self.size);
        self.isn.sender.wrapping_add(bytes_before as u32).wrapping_add(1)
    }

    /// Sequence number of the only byte, the SYN, that the receiver sends, and of what would follow it.
    fn receiver_seq(&self, syn: bool) -> u32 {
        self.isn.receiver.wrapping_add(!syn as u32)
    }
}

impl Connection {
    fn new(scenario: &Scenario, group: &FlowGroup) -> Connection {
        let stack = &group.stack;
        let header = BASE_HEADER + if stack.timestamps { TIMESTAMP_OPTION } else { 0 };
        let mss = group.packet.0 as u32 - header;
        // A textbook receiver offers the largest window that there is.
        let largest = if stack.quick_ack {
            scenario.receive_buffer(group).scaled_window() as u64
        } else {
            group.receive_window.map_or(u64::MAX, |window| window.0)
        };
        Connection {
            mss,
            sack: stack.sack,
            timestamps: stack.timestamps,
            window_scale: stack.window_scaling.then(|| window_scale(largest)),
        }
    }

    /// The value of the MSS option, which disregards TCP options (RFC 6691).
    fn announced_mss(&self) -> u16 {
        (self.mss + if self.timestamps { TIMESTAMP_OPTION } else { 0 }) as u16
    }

    fn data_header(&self, flow: &Flow, data: &Data) -> TcpHeader {
        let syn = data.flags & flag::SYN != 0;
        let mut tcp = TcpHeader {
            sequence_number: if syn {
                flow.isn.sender
            } else {
                flow.sequence(data.segment).wrapping_sub(data.is_probe() as u32)
            },
            acknowledgment_number: if syn { 0 } else { flow.receiver_seq(false) },
            syn,
            ack: !syn,
            psh: data.flags & flag::PSH != 0,
            ece: data.flags & flag::ECE != 0,
            cwr: data.flags & flag::CWR != 0,
            window_size: OWN_WINDOW as u16,
            ..Default::default()
        };
        set_options(&mut tcp, &self.options(syn, data.tsval, data.tsecr));
        tcp
    }

    fn ack_header(&self, flow: &Flow, ack: &Ack) -> TcpHeader {
        let syn = ack.flags & flag::SYN != 0;
        let mut tcp = TcpHeader {
            sequence_number: flow.receiver_seq(syn),
            acknowledgment_number: flow.sequence(ack.next),
            syn,
            ack: true,
            ece: ack.flags & flag::ECE != 0,
            window_size: self.window_field(ack.window, syn),
            ..Default::default()
        };
        let mut options = self.options(syn, ack.tsval, ack.tsecr);
        if !syn && let Some((first, rest)) = ack.blocks().split_first() {
            let range = |block: &Block| (flow.sequence(block.start), flow.sequence(block.end));
            let rest = std::array::from_fn(|i| rest.get(i).map(range));
            options.extend([Noop, Noop, SelectiveAcknowledgement(range(first), rest)]);
        }
        set_options(&mut tcp, &options);
        tcp
    }

    /// The options of every packet, in the kernel's order and with its padding (`tcp_options_write`).
    fn options(&self, syn: bool, tsval: u32, tsecr: u32) -> Vec<TcpOptionElement> {
        let sack_permitted = syn && self.sack;
        let mut options = vec![];
        if syn {
            options.push(MaximumSegmentSize(self.announced_mss()));
        }
        if self.timestamps != sack_permitted {
            options.extend([Noop, Noop]);
        }
        if sack_permitted {
            options.push(SelectiveAcknowledgementPermitted);
        }
        if self.timestamps {
            options.push(Timestamp(tsval, tsecr));
        }
        if let (true, Some(scale)) = (syn, self.window_scale) {
            options.extend([Noop, WindowScale(scale)]);
        }
        options
    }

    /// The window field of a SYN is never scaled (RFC 7323, section 2.2).
    fn window_field(&self, window: u32, syn: bool) -> u16 {
        let scale = if syn { 0 } else { self.window_scale.unwrap_or(0) };
        window.div_ceil(1 << scale).min(u16::MAX as u32) as u16
    }
}

fn set_options(tcp: &mut TcpHeader, options: &[TcpOptionElement]) {
    tcp.set_options(options).expect("timestamps and three SACK blocks, or four blocks alone, fit 40 bytes");
}

fn ip_header(flow: u32, from: Host, ecn: IpEcn, bytes: u16, identification: u16) -> Ipv4Header {
    let [.., high, low] = flow.to_be_bytes();
    let (source, destination) = in_direction(from, [10, high, low, 1], [10, high, low, 2]);
    let mut ip = Ipv4Header {
        ecn,
        total_len: bytes,
        identification,
        dont_fragment: true,
        time_to_live: TIME_TO_LIVE,
        protocol: IpNumber::TCP,
        source,
        destination,
        ..Default::default()
    };
    ip.header_checksum = ip.calc_header_checksum();
    ip
}

fn sender_port(flow: u32) -> u16 {
    FIRST_SENDER_PORT.wrapping_add((flow >> 16) as u16)
}

/// The values of source and destination, for a packet from `from`.
fn in_direction<T>(from: Host, of_sender: T, of_receiver: T) -> (T, T) {
    match from {
        Host::Sender => (of_sender, of_receiver),
        Host::Receiver => (of_receiver, of_sender),
    }
}

/// The ECN field of the IP header (RFC 3168, section 5).
fn codepoint(flags: u8) -> IpEcn {
    if flags & flag::CE != 0 {
        IpEcn::CongestionExperienced
    } else if flags & flag::ECT != 0 {
        IpEcn::Ect0
    } else {
        IpEcn::NotEct
    }
}
