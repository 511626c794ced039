//! Packets: data forward, acknowledgements back.

use mechanism::sock::HZ;
use model::TcpProfile;
use model::units::Nanos;
use path::Ecn;
use std::num::NonZeroU8;

/// Length of the IPv4 and TCP headers without options, bytes.
pub const BASE_HEADER: u32 = 40;
/// Length of the timestamps option, padded (RFC 7323, appendix A), bytes.
pub const TIMESTAMP_OPTION: u32 = 12;
/// Length of the MSS option of a SYN, bytes. The lengths of the options after it include their padding.
const MSS_OPTION: u32 = 4;
const WINDOW_SCALE_OPTION: u32 = 4;
const SACK_PERMITTED_OPTION: u32 = 4;

/// Bits of [`Data::flags`] and [`Ack::flags`].
pub mod flag {
    /// The packet opens the connection.
    pub const SYN: u8 = 1;
    /// The segment was sent before. With [`BARE`] its sequence number lies below the acknowledged ones, as a probe's
    /// does.
    pub const RETRANSMISSION: u8 = 2;
    /// ECN-capable transport.
    pub const ECT: u8 = 4;
    /// Congestion experienced.
    pub const CE: u8 = 8;
    /// The sender has reduced its window.
    pub const CWR: u8 = 16;
    /// The receiver saw a mark.
    pub const ECE: u8 = 32;
    /// The sender pushes the segment: its application has nothing more to write for now.
    pub const PSH: u8 = 64;
    /// The packet is a bare acknowledgement: it closes the handshake, probes a closed window from below, or answers an
    /// unacceptable packet.
    pub const BARE: u8 = 128;
}

/// A data segment; `segment` counts from 0 in units of the MSS.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Number of the flow, from 0.
    pub flow: u32,
    /// Number of the segment in the flow.
    pub segment: u32,
    /// Sender's timestamp clock, in its ticks.
    pub tsval: u32,
    /// Echo of the receiver's timestamp.
    pub tsecr: u32,
    /// IP length, bytes.
    pub bytes: u16,
    /// Bits of [`flag`].
    pub flags: u8,
    /// The sender's meter counts the packet, so its loss counts, too.
    pub counts: bool,
    /// Type of service, the ECN bits excluded.
    pub tos: u8,
    /// The band of the host's queue in which the classifier puts the packet, if there is one.
    pub band: Option<Band>,
    /// Another segment of the same buffer comes directly behind this one.
    pub is_followed: bool,
}

/// A datagram of an application.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Number of the flow, from 0.
    pub flow: u32,
    /// The time at which the program sent the datagram; of a reply to a ping, the time of the ping.
    pub sent_at: Nanos,
    /// IP length, bytes.
    pub bytes: u16,
    /// Type of service, the ECN bits excluded.
    pub tos: u8,
    /// The band of the host's queue in which the classifier puts the packet, if there is one.
    pub band: Option<Band>,
    /// The datagram is a reply, and travels in the other direction.
    pub is_reply: bool,
    /// The record counts the loss of this datagram.
    pub counts: bool,
}

impl Datagram {
    /// The number of the packet's route (`path::Topology`).
    pub(crate) fn route(&self) -> u32 {
        2 * self.flow + u32::from(self.is_reply)
    }
}

/// The most SACK blocks that fit without timestamps; one fewer fits beside them.
pub const MAX_SACK_BLOCKS: usize = 4;

/// Segments `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The first segment.
    pub start: u32,
    /// The segment after the last.
    pub end: u32,
}

/// An acknowledgement of all segments below `next`, with SACK blocks.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Number of the flow, from 0.
    pub flow: u32,
    /// The first segment that has not arrived.
    pub next: u32,
    /// Receiver's timestamp clock, in its ticks.
    pub tsval: u32,
    /// Echo of the sender's timestamp.
    pub tsecr: u32,
    /// Receive window, bytes.
    pub window: u32,
    /// IP length, bytes.
    pub bytes: u16,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Type of service, the ECN bits excluded.
    pub tos: u8,
    /// The band of the host's queue in which the classifier puts the packet, if there is one.
    pub band: Option<Band>,
    /// The number of `blocks` in use.
    pub block_count: u8,
    /// SACK blocks.
    pub blocks: [Block; MAX_SACK_BLOCKS],
}

impl Data {
    /// Reports whether the packet is part of the handshake, or looks like it: it carries nothing for the application.
    #[inline]
    pub fn is_handshake(&self) -> bool {
        self.flags & (flag::SYN | flag::BARE) != 0
    }

    /// Reports whether the packet asks for an answer, from one byte below `segment` (`tcp_xmit_probe_skb`).
    pub fn is_probe(&self) -> bool {
        self.flags & (flag::BARE | flag::RETRANSMISSION) == flag::BARE | flag::RETRANSMISSION
    }

    /// The number of the packet's route (`path::Topology`).
    #[inline]
    pub(crate) fn route(&self) -> u32 {
        route(self.flow)
    }
}

/// Ticks by which a timestamp may be older than the newest accepted one (`TCP_PAWS_WINDOW`).
pub(crate) const PAWS_WINDOW: i32 = 1;

/// The ticks by which `tsval` is older than `newest`; negative if it is newer.
#[inline]
pub(crate) fn age(newest: u32, tsval: u32) -> i32 {
    newest.wrapping_sub(tsval) as i32
}

/// Reports whether a timestamp's age in ticks fits a sender with this timeout, in jiffies (`tcp_tsval_replay`).
pub(crate) fn is_replay(age: i32, timeout: u32, in_microseconds: bool) -> bool {
    let ticks_a_second = if in_microseconds { 1_000_000 } else { 1200 };
    age as i64 <= timeout as i64 * ticks_a_second / HZ as i64
}

/// The number of the route of a flow's data (`path::Topology`).
pub(crate) fn route(flow: u32) -> u32 {
    2 * flow
}

impl Ack {
    /// An acknowledgement in answer to `data`: all segments below `next` have arrived, and `window` bytes may follow.
    /// It answers a SYN with a SYN-ACK, echoes the timestamp, and is as long as with timestamps.
    pub fn answering(data: &Data, next: u32, window: u32) -> Ack {
        Ack {
            flow: data.flow,
            next,
            tsval: 0,
            tsecr: data.tsval,
            window,
            bytes: ack_bytes(true, 0),
            flags: data.flags & flag::SYN,
            tos: data.tos,
            band: None,
            block_count: 0,
            blocks: [Block::default(); MAX_SACK_BLOCKS],
        }
    }

    /// The SACK blocks in use.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..self.block_count as usize]
    }

    /// The number of the packet's route (`path::Topology`).
    #[inline]
    pub(crate) fn route(&self) -> u32 {
        2 * self.flow + 1
    }
}

/// A band of a host's queue. It stores one more than its number, so that a packet without a band is as small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band(NonZeroU8);

impl Band {
    /// The highest number of a band.
    const MAX: u8 = 126;

    /// The band of this number, from 0, or the highest.
    pub fn new(number: u32) -> Band {
        Band(NonZeroU8::MIN.saturating_add(number.min(Band::MAX.into()) as u8))
    }

    /// The number of the band, from 0.
    pub fn number(self) -> u8 {
        self.0.get() - 1
    }
}

/// The largest window scale (RFC 7323, section 2.3).
const MAX_WINDOW_SCALE: u32 = 14;

/// IP length of a SYN or of its answer. With timestamps, SACK-permitted takes their padding (`tcp_syn_options`,
/// `tcp_synack_options`).
pub fn syn_bytes(stack: &TcpProfile) -> u32 {
    let sack_permitted = if stack.sack && !stack.timestamps { SACK_PERMITTED_OPTION } else { 0 };
    let timestamps = if stack.timestamps { TIMESTAMP_OPTION } else { 0 };
    let window_scale = if stack.window_scaling { WINDOW_SCALE_OPTION } else { 0 };
    BASE_HEADER + MSS_OPTION + sack_permitted + timestamps + window_scale
}

/// IP length of a pure acknowledgement.
pub fn ack_bytes(timestamps: bool, blocks: usize) -> u16 {
    let options = if timestamps { TIMESTAMP_OPTION } else { 0 } + if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
    (BASE_HEADER + options) as u16
}

/// The window scale that can express `largest` bytes (`tcp_select_initial_window`).
pub fn window_scale(largest: u64) -> u8 {
    largest.max(1).ilog2().saturating_sub(15).min(MAX_WINDOW_SCALE) as u8
}

/// A packet of the network.
#[derive(Clone, Copy, Debug)]
pub enum Packet {
    /// A data segment, from a sender.
    Data(Data),
    /// An acknowledgement, from a receiver.
    Ack(Ack),
    /// A datagram, from a program that does not use TCP.
    Datagram(Datagram),
}

impl From<Data> for Packet {
    fn from(data: Data) -> Packet {
        Packet::Data(data)
    }
}

impl From<Ack> for Packet {
    fn from(ack: Ack) -> Packet {
        Packet::Ack(ack)
    }
}

impl From<Datagram> for Packet {
    fn from(datagram: Datagram) -> Packet {
        Packet::Datagram(datagram)
    }
}

impl Packet {
    #[inline]
    fn flags(&self) -> u8 {
        match self {
            Packet::Data(data) => data.flags,
            Packet::Ack(ack) => ack.flags,
            Packet::Datagram(_) => 0,
        }
    }
}

impl path::Packet for Packet {
    #[inline]
    fn bytes(&self) -> u32 {
        match self {
            Packet::Data(data) => data.bytes as u32,
            Packet::Ack(ack) => ack.bytes as u32,
            Packet::Datagram(datagram) => datagram.bytes as u32,
        }
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.flags() {
            flags if flags & flag::CE != 0 => Ecn::Ce,
            flags if flags & flag::ECT != 0 => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }
    #[inline]
    fn mark_ce(&mut self) {
        match self {
            Packet::Data(data) => data.flags |= flag::CE,
            Packet::Ack(ack) => ack.flags |= flag::CE,
            // A datagram is not ECN-capable, so no queue marks it.
            Packet::Datagram(_) => {}
        }
    }
    fn tos(&self) -> u8 {
        match self {
            Packet::Data(data) => data.tos,
            Packet::Ack(ack) => ack.tos,
            Packet::Datagram(datagram) => datagram.tos,
        }
    }
    fn band(&self) -> Option<u8> {
        match self {
            Packet::Data(data) => data.band,
            Packet::Ack(ack) => ack.band,
            Packet::Datagram(datagram) => datagram.band,
        }
        .map(Band::number)
    }
    fn is_followed(&self) -> bool {
        matches!(self, Packet::Data(Data { is_followed: true, .. }))
    }
    fn leave_host(&mut self) {
        match self {
            Packet::Data(data) => (data.band, data.is_followed) = (None, false),
            Packet::Ack(ack) => ack.band = None,
            Packet::Datagram(datagram) => datagram.band = None,
        }
    }
    fn flow(&self) -> u32 {
        match self {
            Packet::Data(data) => data.flow,
            Packet::Ack(ack) => ack.flow,
            Packet::Datagram(datagram) => datagram.flow,
        }
    }
    fn is_from_sender(&self) -> bool {
        match self {
            Packet::Data(_) => true,
            Packet::Ack(_) => false,
            Packet::Datagram(datagram) => !datagram.is_reply,
        }
    }
    fn carries_data(&self) -> bool {
        match self {
            Packet::Data(data) => !data.is_handshake(),
            Packet::Ack(_) => false,
            Packet::Datagram(_) => true,
        }
    }
}
