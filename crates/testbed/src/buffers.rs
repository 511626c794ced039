//! The bytes of packets on their way, in a pool.

use crate::ip::{LONGEST_ADDITION, mark_ce};
use crate::packet::PacketInfo;
use kernel::tun::HEADER;
use std::io;

/// The buffers of packets on their way, used again and again: what goes in and out changes places with a buffer of the
/// caller.
#[derive(Debug)]
pub struct Buffers {
    size: usize,
    buffers: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

impl Buffers {
    /// Buffers for IP packets of up to `mtu` bytes with an IPv4 header, which they do not fill.
    pub fn new(mtu: u32) -> Buffers {
        Buffers { size: HEADER + (mtu + LONGEST_ADDITION) as usize + 1, buffers: vec![], free: vec![] }
    }

    /// A buffer of the right size.
    pub fn buffer(&self) -> Box<[u8]> {
        vec![0; self.size].into()
    }

    /// Has a packet that came into a buffer, with what precedes it, found room? A device cuts off what finds none.
    ///
    /// # Errors
    /// If it fills the buffer.
    #[inline]
    pub fn check(&self, length: usize) -> io::Result<()> {
        if length < self.size {
            return Ok(());
        }
        let longest = self.size - HEADER - 1;
        Err(io::Error::other(format!(
            "a host sent a longer packet than it may, which is one of {longest} bytes at most"
        )))
    }

    /// Takes the caller's buffer in, gives it another, and says where the packet is.
    #[inline]
    pub fn put(&mut self, buffer: &mut Box<[u8]>) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(vec![0; self.size].into());
            self.buffers.len() as u32 - 1
        });
        std::mem::swap(&mut self.buffers[slot as usize], buffer);
        slot
    }

    /// Takes in the same packet once more, and says where that is.
    pub fn copy(&mut self, info: &PacketInfo) -> u32 {
        let mut buffer = self.buffer();
        let bytes = self.bytes(info);
        buffer[..bytes.len()].copy_from_slice(bytes);
        self.put(&mut buffer)
    }

    /// Puts a packet into the caller's hands; gives its length with the `virtio_net_hdr` in front.
    #[inline]
    pub fn take(&mut self, info: &PacketInfo, buffer: &mut Box<[u8]>) -> usize {
        std::mem::swap(&mut self.buffers[info.slot as usize], buffer);
        self.free.push(info.slot);
        let length = HEADER + info.length();
        if info.is_marked() {
            mark_ce(&mut buffer[HEADER..length]);
        }
        length
    }

    /// The packet as it is on the wire.
    pub fn packet(&mut self, info: &PacketInfo) -> &[u8] {
        let packet = &mut self.bytes(info)[HEADER..];
        if info.is_marked() {
            mark_ce(packet);
        }
        packet
    }

    /// The packet's bytes, the `virtio_net_hdr` in front.
    pub fn bytes(&mut self, info: &PacketInfo) -> &mut [u8] {
        &mut self.buffers[info.slot as usize][..HEADER + info.length()]
    }

    /// A packet that needs no buffer any more, if it has one.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        if slot != PacketInfo::NO_BUFFER {
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::ports;
    use crate::packet::tests::{sent, sent_over_ipv6};
    use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice};
    use path::{Ecn, Packet};

    #[test]
    fn a_mark_keeps_the_header_checksum_right() {
        for ecn in [1, 2] {
            let bytes = sent(10, ecn);
            let mut info = PacketInfo::read(&bytes[HEADER..], 0, true).unwrap();
            assert_eq!(info.ecn() as u8, ecn);
            info.mark_ce();
            let mut pool = Buffers::new(1500);
            let mut buffer = pool.buffer();
            buffer[..bytes.len()].copy_from_slice(&bytes);
            info.slot = pool.put(&mut buffer);
            let length = pool.take(&info, &mut buffer);
            assert_eq!(length, bytes.len());
            let ip = Ipv4HeaderSlice::from_slice(&buffer[HEADER..length]).unwrap().to_header();
            assert_eq!(ip.ecn.value(), 3);
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        }
    }

    #[test]
    fn an_ipv6_packet_counts_as_over_ipv4_and_can_be_marked() {
        let bytes = sent_over_ipv6(64, 2);
        let mut info = PacketInfo::read(&bytes[HEADER..], 3, true).unwrap();
        assert_eq!((info.bytes(), info.ecn(), info.tos()), (104, Ecn::Ect0, 0));
        assert_eq!(info.segment.map(|segment| (segment.seq, segment.payload)), Some((77, 64)));
        assert_eq!(ports(&bytes[HEADER..]), Some((4000, 5201)));
        info.mark_ce();
        let mut pool = Buffers::new(104);
        let mut buffer = pool.buffer();
        buffer[..bytes.len()].copy_from_slice(&bytes);
        info.slot = pool.put(&mut buffer);
        assert_eq!(pool.take(&info, &mut buffer), bytes.len());
        let marked = Ipv6HeaderSlice::from_slice(&buffer[HEADER..]).unwrap().to_header();
        assert_eq!(marked.traffic_class, 3);
        let before = Ipv6HeaderSlice::from_slice(&bytes[HEADER..]).unwrap().to_header();
        assert_eq!((marked.flow_label, marked.payload_length), (before.flow_label, before.payload_length));
    }
}
