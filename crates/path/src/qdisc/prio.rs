//! Strict priorities by the type of service: `prio` and `pfifo_fast` (sch_prio.c, `pfifo_fast_*` in
//! sch_generic.c).
//!
//! A band is served when all bands before it are empty. On its sender's host, a classifier may have
//! chosen the band of a packet, as one does by `skb->priority` (`prio_classify`).

use super::packets::Packets;
use super::{Qdisc, Skb};
use model::queue;
use model::units::Nanos;

/// The band of each of the eight types of service of RFC 1349. The kernel converts a type to a
/// priority (`ip_tos2prio`), and the priority to a band (`prio2band`). Low delay comes first
/// (priority 6). No type, and low delay with throughput, come next (0 and 4); throughput comes last
/// (2).
const BANDS_OF_TOS: [u8; 8] = [1, 1, 2, 2, 0, 0, 1, 1];
const TOS_SHIFT: u8 = 2;

/// Slots that the reader of a `ptr_ring` frees at once: two cache lines of pointers
/// (`__ptr_ring_set_size`). If that is more than half of the ring, it frees one slot at a time.
const RING_BATCH: u64 = 16;

/// Strict-priority bands, most urgent first. Each is a FIFO with room for as many packets as the
/// device's `txqueuelen`.
#[derive(Clone, Debug)]
pub struct Prio {
    bands: Vec<Band>,
    bytes: u64,
    packets: u64,
}

/// A band: packets in the slots of a ring.
#[derive(Clone, Debug)]
struct Band {
    waiting: Packets,
    slots: u64,
    /// The slot that is read next.
    head: u64,
    /// Slots that were read and not freed yet: no packet can use them.
    kept: u64,
    /// Slots that are freed at once.
    batch: u64,
}

impl Band {
    fn new(slots: u64, batch: u64) -> Band {
        Band { waiting: Packets::default(), slots, head: 0, kept: 0, batch }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.waiting.len() + self.kept >= self.slots
    }

    /// Takes a packet as `__ptr_ring_discard_one` does: slots become free in batches, and at the
    /// end of the ring.
    #[inline]
    fn pop(&mut self) -> Option<Skb> {
        let skb = self.waiting.pop()?;
        self.head += 1;
        self.kept += 1;
        let at_end = self.head >= self.slots;
        if at_end {
            self.head = 0;
        }
        if at_end || self.kept >= self.batch {
            self.kept = 0;
        }
        Some(skb)
    }
}

impl Prio {
    /// Creates a `prio`: each band is a `pfifo`.
    pub fn new(parameters: &queue::Prio) -> Prio {
        Prio::with_bands(parameters.bands, parameters.limit, 1)
    }

    /// Creates a `pfifo_fast`: three bands, each a `ptr_ring`.
    pub fn pfifo_fast(parameters: &queue::PfifoFast) -> Prio {
        let batch = if RING_BATCH > parameters.limit as u64 / 2 { 1 } else { RING_BATCH };
        Prio::with_bands(queue::Prio::default().bands, parameters.limit, batch)
    }

    fn with_bands(count: u32, slots: u32, batch: u64) -> Prio {
        let bands = vec![Band::new(slots as u64, batch); count as usize];
        Prio { bands, bytes: 0, packets: 0 }
    }

    /// Returns the band of a packet; a number beyond the last band means the last.
    #[inline]
    fn band_of(&self, skb: &Skb) -> usize {
        let by_tos = || BANDS_OF_TOS[(skb.tos >> TOS_SHIFT) as usize % BANDS_OF_TOS.len()];
        (skb.band.unwrap_or_else(by_tos) as usize).min(self.bands.len() - 1)
    }
}

impl Qdisc for Prio {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        skb.enqueued_at = now;
        let band = self.band_of(&skb);
        let band = &mut self.bands[band];
        if band.is_full() {
            dropped.push(skb);
            return;
        }
        self.bytes += skb.bytes as u64;
        self.packets += 1;
        band.waiting.push(skb);
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _dropped: &mut Vec<Skb>) -> Option<Skb> {
        let skb = self.bands.iter_mut().find_map(Band::pop)?;
        self.bytes -= skb.bytes as u64;
        self.packets -= 1;
        Some(skb)
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        if self.packets == 0 { Nanos::NEVER } else { now }
    }

    #[inline]
    fn backlog(&self) -> (u64, u64) {
        (self.bytes, self.packets)
    }

    fn has_room(&self, skb: &Skb) -> bool {
        !self.bands[self.band_of(skb)].is_full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::testing::skb;

    fn order(prio: &mut Prio, tos: &[u8]) -> Vec<u8> {
        let mut dropped = vec![];
        for (id, tos) in tos.iter().enumerate() {
            prio.enqueue(Nanos::ZERO, Skb { tos: *tos, ..skb(id as u32, 1, false) }, &mut dropped);
        }
        std::iter::from_fn(|| Some(prio.dequeue(Nanos::ZERO, &mut vec![])?.tos)).collect()
    }

    /// Low delay, none, throughput (RFC 1349) leave in this order, as in tc-prio(8). The upper
    /// bits, which belong to Diffserv, do not count.
    #[test]
    fn low_delay_goes_first_and_throughput_last() {
        let mut prio = Prio::new(&queue::Prio::default());
        assert_eq!(order(&mut prio, &[0x08, 0, 0x10, 0x18, 0x14, 0xa8]), [0x10, 0x14, 0, 0x18, 0x08, 0xa8]);
        assert_eq!(prio.backlog(), (0, 0));
    }

    #[test]
    fn each_band_has_room_of_its_own() {
        let mut pfifo_fast = Prio::pfifo_fast(&queue::PfifoFast { limit: 2 });
        assert_eq!(order(&mut pfifo_fast, &[0, 0, 0, 0x10, 0x10, 0x10]), [0x10, 0x10, 0, 0]);
    }

    /// Reproduces a test vector of SORPC: packet a is in the first band, b and c are in the second.
    /// First a and b leave, then d, which has joined the first band, then c. A host's choice of
    /// band overrides the type of service.
    #[test]
    fn bands_serve_a_b_d_c() {
        let mut prio = Prio::new(&queue::Prio { bands: 2, limit: 2 });
        let packet = |id, band| Skb { tos: 0x10, band: Some(band), ..skb(id, 1, false) };
        let mut dropped = vec![];
        for (id, band) in [(0, 0), (1, 1), (2, 7)] {
            prio.enqueue(Nanos::ZERO, packet(id, band), &mut dropped);
        }
        assert_eq!((prio.has_room(&packet(9, 0)), prio.has_room(&packet(9, 1))), (true, false));
        let take = |prio: &mut Prio| prio.dequeue(Nanos::ZERO, &mut vec![]).map(|skb| skb.id);
        assert_eq!([take(&mut prio), take(&mut prio)], [Some(0), Some(1)]);
        prio.enqueue(Nanos::ZERO, packet(3, 0), &mut dropped);
        assert_eq!([take(&mut prio), take(&mut prio), take(&mut prio)], [Some(3), Some(2), None]);
        assert_eq!(dropped, []);
    }

    /// Offers packets without a type of service, and returns how many find room.
    fn taken(prio: &mut Prio, offered: u32) -> u32 {
        let mut dropped = vec![];
        for id in 0..offered {
            prio.enqueue(Nanos::ZERO, skb(id, 1, false), &mut dropped);
        }
        offered - dropped.len() as u32
    }

    /// The ring of a `pfifo_fast` with 40 slots is full until 16 packets are read, and then has
    /// room for 16. The last eight slots become free at the ring's end. A `pfifo` has room at once,
    /// and so has a ring of 31 slots.
    #[test]
    fn a_ring_gives_slots_back_in_batches() {
        let pfifo_fast = |limit| Prio::pfifo_fast(&queue::PfifoFast { limit });
        let rooms = |mut queue: Prio, full: u32, reads: &[u32]| -> Vec<u32> {
            assert_eq!(taken(&mut queue, full + 1), full);
            let mut after = |reads: &u32| {
                (0..*reads).for_each(|_| assert!(queue.dequeue(Nanos::ZERO, &mut vec![]).is_some()));
                taken(&mut queue, full)
            };
            reads.iter().map(&mut after).collect()
        };
        assert_eq!(rooms(pfifo_fast(40), 40, &[15, 1, 15, 1, 7, 1, 16]), [0, 16, 0, 16, 0, 8, 16]);
        assert_eq!(rooms(pfifo_fast(31), 31, &[1, 2]), [1, 2]);
        let prio = Prio::new(&queue::Prio { limit: 40, ..queue::Prio::default() });
        assert_eq!(rooms(prio, 40, &[1, 2]), [1, 2]);
    }
}
