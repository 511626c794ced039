//! Strict priorities by the type of service: `prio` and `pfifo_fast` (sch_prio.c, `pfifo_fast_*` in sch_generic.c). A
//! band is served when all before it are empty.

use super::packets::Packets;
use super::{Qdisc, Skb};
use scenario::queue;
use scenario::units::Nanos;

/// The band of each of the eight types of service of RFC 1349: the kernel makes a priority of it (`ip_tos2prio`), and a
/// band of that (`prio2band`). Low delay goes first (priority 6); none, and low delay with throughput, next (0 and 4);
/// throughput last (2).
const BANDS_OF_TOS: [u8; 8] = [1, 1, 2, 2, 0, 0, 1, 1];
const TOS_SHIFT: u8 = 2;

/// Bands, the first first, each a FIFO of its own with room for as many packets as the device's `txqueuelen`.
#[derive(Clone, Debug)]
pub struct Prio {
    bands: Vec<Packets>,
    limit: u64,
    bytes: u64,
    packets: u64,
}

impl Prio {
    /// `prio`.
    pub fn new(parameters: &queue::Prio) -> Prio {
        let bands = vec![Packets::default(); parameters.bands as usize];
        Prio { bands, limit: parameters.limit as u64, bytes: 0, packets: 0 }
    }

    /// `pfifo_fast`: the same with three bands.
    pub fn pfifo_fast(parameters: &queue::PfifoFast) -> Prio {
        Prio::new(&queue::Prio { limit: parameters.limit, ..queue::Prio::default() })
    }
}

impl Qdisc for Prio {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        skb.enqueued_at = now;
        let tos = (skb.tos >> TOS_SHIFT) as usize % BANDS_OF_TOS.len();
        let band = &mut self.bands[BANDS_OF_TOS[tos] as usize];
        if band.len() >= self.limit {
            dropped.push(skb);
            return;
        }
        self.bytes += skb.bytes as u64;
        self.packets += 1;
        band.push(skb);
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _dropped: &mut Vec<Skb>) -> Option<Skb> {
        let skb = self.bands.iter_mut().find_map(Packets::pop)?;
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

    /// Low delay, none, throughput (RFC 1349), as tc-prio(8) has them; what Diffserv puts in the upper bits does not
    /// count.
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
}
