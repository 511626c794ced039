//! A pool of buffers with the bytes of packets on their way.

use crate::ip::{LONGEST_ADDITION, mark_ce};
use crate::packet::PacketInfo;
use kernel::tun::HEADER;
use std::io;

/// A pool of packet buffers. A packet goes in and out by swapping the caller's buffer with one of the pool.
#[derive(Debug)]
pub struct Buffers {
    size: usize,
    buffers: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

impl Buffers {
    /// Makes a pool for IP packets of up to `mtu` bytes, counted with an IPv4 header. Each buffer has a byte more, so
    /// that a packet that was cut off shows.
    pub fn new(mtu: u32) -> Buffers {
        Buffers { size: HEADER + (mtu + LONGEST_ADDITION) as usize + 1, buffers: vec![], free: vec![] }
    }

    /// Allocates a buffer of the pool's size.
    pub fn buffer(&self) -> Box<[u8]> {
        vec![0; self.size].into()
    }

    /// Checks that a buffer was large enough for a packet of `length` bytes, its `virtio_net_hdr` included. A device
    /// cuts off what does not fit.
    ///
    /// # Errors
    /// If the packet fills the whole buffer.
    #[inline]
    pub fn check(&self, length: usize) -> io::Result<()> {
        if length < self.size {
            return Ok(());
        }
        let longest = self.size - HEADER - 1;
        Err(io::Error::other(format!("a host sent a packet longer than the limit of {longest} bytes")))
    }

    /// Swaps the caller's buffer for a free one and returns the slot in which the packet is now.
    #[inline]
    pub fn put(&mut self, buffer: &mut Box<[u8]>) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(vec![0; self.size].into());
            self.buffers.len() as u32 - 1
        });
        std::mem::swap(&mut self.buffers[slot as usize], buffer);
        slot
    }

    /// Copies a packet into another buffer and returns the slot of the copy.
    pub fn copy(&mut self, info: &PacketInfo) -> u32 {
        let mut buffer = self.buffer();
        let bytes = self.bytes(info);
        buffer[..bytes.len()].copy_from_slice(bytes);
        self.put(&mut buffer)
    }

    /// Swaps a packet into the caller's buffer, frees its slot, and returns its length with the `virtio_net_hdr` in
    /// front.
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

    /// Returns the packet as it is on the wire.
    pub fn packet(&mut self, info: &PacketInfo) -> &[u8] {
        let packet = &mut self.bytes(info)[HEADER..];
        if info.is_marked() {
            mark_ce(packet);
        }
        packet
    }

    /// Returns the packet's bytes, with the `virtio_net_hdr` in front.
    pub fn bytes(&mut self, info: &PacketInfo) -> &mut [u8] {
        &mut self.buffers[info.slot as usize][..HEADER + info.length()]
    }

    /// Frees a slot; [`PacketInfo::NO_BUFFER`] is ignored.
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
