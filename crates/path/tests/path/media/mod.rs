//! Compares media that several ports share with closed forms and published analyses.

mod lte;
mod wifi;

use unbloat_path::medium::MemberId;
use unbloat_path::{Ecn, Packet};

/// A packet that records the member to which it was offered.
#[derive(Clone, Copy, Debug)]
struct TestPacket {
    member: MemberId,
    number: u32,
    bytes: u32,
}

impl Packet for TestPacket {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark_ce(&mut self) {}
    fn tos(&self) -> u8 {
        0
    }
    fn flow(&self) -> u32 {
        self.member
    }
    fn is_from_sender(&self) -> bool {
        true
    }
}
