//! A classifier of a host's packets, compiled, opened and bound, which the simulated host calls.

use crate::bind::opened::{Function, Opened};
use crate::bind::ops::Callback;
use model::units::Nanos;

/// The function that the macro `CLASSIFIER` defines (`include/classify.h`).
pub(crate) const CLASSIFY: Function = Function {
    symbol: "unbloat_classify",
    missing: "is not a classifier: it lacks CLASSIFIER(...) (include/classify.h)",
    callback: Callback::Classify,
};
/// Number of words of a classifier's own state (`CLASSIFY_STATE_WORDS`).
const STATE_WORDS: usize = 4;

/// Flag beside a band that drops data before the queue (`CLASSIFY_DROP`); for other packets it has no effect.
const DROP: u32 = 1 << 31;

/// `struct classify_flow`: one connection, with the classifier's own state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ClassifyFlow {
    own: [u64; STATE_WORDS],
}

/// The kind of a packet (`PACKET_*`).
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketKind {
    /// A TCP segment with payload.
    #[default]
    TcpData,
    /// A TCP segment without payload: an acknowledgement, or a part of the handshake.
    TcpControl,
    /// A UDP datagram.
    Udp,
    /// Any other packet.
    Other,
}

/// `struct classify_packet`: a packet that comes to the host's queue, and the socket that it comes from.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassifyPacket {
    /// The kind of the packet.
    pub kind: PacketKind,
    /// Type of service, the ECN bits excluded.
    pub tos: u32,
    /// Memory of all data in the send buffer, bytes (`sk_wmem_queued`).
    pub wmem_queued: u32,
    /// Memory that the send buffer may take, bytes (`sk_sndbuf`); 0 if the packet has no socket here.
    pub sndbuf: u32,
    /// Payload in the send buffer, bytes.
    pub held: u32,
    /// The part of that payload that was not sent before this packet, bytes.
    pub unsent: u32,
    /// Memory of the connection's earlier packets that have not left the host, bytes.
    pub in_host: u32,
}

type Classify = unsafe extern "C-unwind" fn(*mut ClassifyFlow, *const ClassifyPacket) -> u32;

/// One loaded instance of a classifier, shared by all connections of one host.
///
/// A call may end with a [`crate::Fault`], which unwinds.
pub struct Classifier {
    opened: Opened,
    classify: Classify,
}

impl Classifier {
    /// The classifier of an opened file, with the address of [`CLASSIFY`].
    pub(crate) fn new((opened, address): (Opened, usize)) -> Classifier {
        // SAFETY: the macro gives the function this type.
        let classify = unsafe { std::mem::transmute::<usize, Classify>(address) };
        Classifier { opened, classify }
    }

    /// Sets the classifier's place in the scenario, which faults name.
    pub fn set_place(&mut self, place: usize) {
        self.opened.set_group(place);
    }

    /// The band in which a packet waits, from 0, which may be beyond the last. `None` drops the packet, which only
    /// happens to TCP data of a socket here.
    pub fn band(&self, now: Nanos, flow: &mut ClassifyFlow, packet: &ClassifyPacket) -> Option<u32> {
        self.opened.set_now(now);
        self.opened.enter(Callback::Classify);
        // SAFETY: both are what the function takes, and outlive the call.
        let answer = unsafe { (self.classify)(flow, packet) };
        let can_be_dropped = packet.kind == PacketKind::TcpData && packet.sndbuf > 0;
        (answer & DROP == 0 || !can_be_dropped).then_some(answer & !DROP)
    }
}
