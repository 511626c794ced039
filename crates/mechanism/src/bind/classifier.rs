//! A classifier of a host's packets, compiled, opened and bound: what the simulated host calls.

use crate::bind::opened::{Function, Opened};
use crate::bind::ops::Callback;
use model::units::Nanos;

/// The function that `CLASSIFIER` leaves (`include/classify.h`).
pub(crate) const CLASSIFY: Function = Function {
    symbol: "unbloat_classify",
    missing: "is no classifier: it has no CLASSIFIER(...) (include/classify.h)",
    callback: Callback::Classify,
};
/// Words of a classifier's own state (`CLASSIFY_STATE_WORDS`).
const STATE_WORDS: usize = 4;

/// With a band: data are dropped before it (`CLASSIFY_DROP`); for other packets it means nothing.
const DROP: u32 = 1 << 31;

/// `struct classify_flow`: one connection.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ClassifyFlow {
    own: [u64; STATE_WORDS],
}

/// What a packet is (`PACKET_*`).
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketKind {
    /// A TCP segment with payload.
    #[default]
    TcpData,
    /// One without: an acknowledgement, or a part of the handshake.
    TcpControl,
    /// A UDP datagram.
    Udp,
    /// Anything else.
    Other,
}

/// `struct classify_packet`: a packet that comes to the host's queue, and the socket that it comes from.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassifyPacket {
    /// What it is.
    pub kind: PacketKind,
    /// Type of service, the ECN bits excluded.
    pub tos: u32,
    /// Memory of all that the send buffer holds, bytes (`sk_wmem_queued`).
    pub wmem_queued: u32,
    /// Memory that it may take, bytes (`sk_sndbuf`); 0 = the packet has no socket here.
    pub sndbuf: u32,
    /// Payload that the send buffer holds, bytes.
    pub held: u32,
    /// The part of it that was not sent before this packet, bytes.
    pub unsent: u32,
    /// Memory of the connection's earlier packets that have not left the host, bytes.
    pub in_host: u32,
}

type Classify = unsafe extern "C-unwind" fn(*mut ClassifyFlow, *const ClassifyPacket) -> u32;

/// One loaded instance, shared by all connections of one host.
///
/// A call may end by a [`crate::Fault`], which unwinds.
pub struct Classifier {
    opened: Opened,
    classify: Classify,
}

impl Classifier {
    /// That of an opened file, with the address of [`CLASSIFY`].
    pub(crate) fn new((opened, address): (Opened, usize)) -> Classifier {
        // SAFETY: the macro gives the function this type.
        let classify = unsafe { std::mem::transmute::<usize, Classify>(address) };
        Classifier { opened, classify }
    }

    /// Tells which place of the scenario it has, for faults.
    pub fn set_place(&mut self, place: usize) {
        self.opened.set_group(place);
    }

    /// The band that a packet waits in, from 0, which may be beyond the last; None if it is to be dropped, which only
    /// TCP data of a socket here can be.
    pub fn band(&self, now: Nanos, flow: &mut ClassifyFlow, packet: &ClassifyPacket) -> Option<u32> {
        self.opened.set_now(now);
        self.opened.enter(Callback::Classify);
        // SAFETY: both are what the function takes, and outlive the call.
        let answer = unsafe { (self.classify)(flow, packet) };
        let can_be_dropped = packet.kind == PacketKind::TcpData && packet.sndbuf > 0;
        (answer & DROP == 0 || !can_be_dropped).then_some(answer & !DROP)
    }
}
