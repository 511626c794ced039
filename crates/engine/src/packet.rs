//! What travels: data forward, acknowledgements back.

use path::Packet;

/// IPv4 and TCP headers without options.
pub const BASE_HEADER: u32 = 40;
/// The timestamps option, padded (RFC 7323, appendix A).
pub const TIMESTAMP_OPTION: u32 = 12;
/// A SYN or SYN-ACK with MSS, SACK-permitted, timestamps and window scale.
pub const SYN_BYTES: u32 = 60;

/// Bits of [`Data::flags`] and [`Ack::flags`].
pub mod flag {
    /// Opens the connection.
    pub const SYN: u8 = 1;
    /// Sent before.
    pub const RETRANSMISSION: u8 = 2;
    /// ECN-capable transport.
    pub const ECT: u8 = 4;
    /// Congestion experienced.
    pub const CE: u8 = 8;
    /// The sender has reduced its window.
    pub const CWR: u8 = 16;
    /// The receiver saw a mark.
    pub const ECE: u8 = 32;
    /// Last segment of a finite transfer.
    pub const LAST: u8 = 64;
    /// Closes the handshake: an acknowledgement and nothing more.
    pub const BARE: u8 = 128;
}

/// A data segment; `segment` counts from 0 in units of the MSS.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Number of the flow, from 0.
    pub flow: u32,
    /// Its number in the flow.
    pub segment: u32,
    /// Sender's timestamp clock, in its ticks.
    pub tsval: u32,
    /// IP length.
    pub bytes: u16,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Its sender's meter counts it, and so it counts if it is lost.
    pub counts: bool,
}

/// At most this many SACK blocks fit beside timestamps, one more without.
pub const MAX_SACK_BLOCKS: usize = 4;

/// Segments `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The first segment.
    pub start: u32,
    /// The segment after the last.
    pub end: u32,
}

/// An acknowledgement of all segments below `next`.
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
    /// IP length.
    pub bytes: u16,
    /// Bits of [`flag`].
    pub flags: u8,
    /// How many of the `blocks` are in use.
    pub block_count: u8,
    /// SACK blocks.
    pub blocks: [Block; MAX_SACK_BLOCKS],
}

impl Data {
    /// Part of the handshake: it carries nothing for the application.
    #[inline]
    pub fn is_handshake(&self) -> bool {
        self.flags & (flag::SYN | flag::BARE) != 0
    }
}

impl Ack {
    /// The SACK blocks in use.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..self.block_count as usize]
    }
}

/// IP length of a pure acknowledgement.
pub fn ack_bytes(timestamps: bool, blocks: usize) -> u16 {
    let options = if timestamps { TIMESTAMP_OPTION } else { 0 } + if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
    (BASE_HEADER + options) as u16
}

impl Packet for Data {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes as u32
    }
    #[inline]
    fn ecn_capable(&self) -> bool {
        self.flags & flag::ECT != 0
    }
    #[inline]
    fn mark_ce(&mut self) {
        self.flags |= flag::CE;
    }
}

impl Packet for Ack {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes as u32
    }
    // Pure acknowledgements are not ECN-capable (RFC 3168, section 6.1.4).
    #[inline]
    fn ecn_capable(&self) -> bool {
        false
    }
    #[inline]
    fn mark_ce(&mut self) {
        self.flags |= flag::CE;
    }
}
