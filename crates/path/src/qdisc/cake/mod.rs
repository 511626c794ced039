//! CAKE: a shaper, tins by the Diffserv code point, and flows in each tin.
//!
//! Flows take turns so that hosts get equal shares (DRR++), and each has its own COBALT. Sources
//! are sch_cake.c and Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", 2018.
//!
//! This model leaves out `autorate-ingress`, `ack-filter`, `nat`, `wash`, `fwmark` and `split-gso`
//! (no packet here is larger than the MTU). It also leaves out `raw`, which equals the absence of
//! `overhead`. A full memory drops from the longest queue, as in Linux. Of equally long queues it
//! takes the first, where Linux's heap has no order.

mod diffserv;
mod shaper;
mod tin;

use self::diffserv::{code_points, shares};
use self::shaper::{LinkLayer, Shaper};
use self::tin::{Shared, Taken, Tin};
use super::hash::Salt;
use super::packets::Total;
use super::{Qdisc, Skb};
use crate::Rng;
use model::queue;
use model::units::{Nanos, Rate};

/// Packets of MTU size that may wait, even if the memory allows for more.
const MOST_PACKETS: u64 = 10_240;

/// The CAKE discipline: tins behind a shaper.
#[derive(Clone, Debug)]
pub struct Cake {
    tins: Vec<Tin>,
    /// The tin of each Diffserv code point.
    tin_of: [u8; 64],
    shared: Shared,
    memory_limit: u64,
    /// Without a shaper, the tin whose turn it is.
    current: usize,
}

impl Cake {
    /// Creates an empty CAKE before a device with this MTU in bytes.
    pub fn new(parameters: &queue::Cake, mtu: u32, mut rng: Rng) -> Cake {
        let rate = parameters.bandwidth.map(|Rate(bits)| bits / 8);
        let tins: Vec<Tin> = shares(parameters.diffserv)
            .into_iter()
            .map(|share| Tin::new(rate.map(|rate| share.of(rate)), share.quantum, parameters.rtt, mtu))
            .collect();
        let shaper = Shaper { rate_config: tins[0].rate_config, time_next_packet: 0, failsafe_next_packet: 0 };
        let salt = Salt::new(&mut rng);
        Cake {
            tins,
            tin_of: code_points(parameters.diffserv),
            shared: Shared {
                flow_mode: parameters.flowmode,
                ingress: parameters.ingress,
                wire: LinkLayer {
                    overhead: parameters.overhead as i64,
                    mpu: parameters.mpu as i64,
                    atm: parameters.atm,
                },
                shaper,
                salt,
                total: Total::default(),
                rng,
            },
            memory_limit: memory_limit(parameters, rate, mtu),
            current: 0,
        }
    }

    /// Drops a packet from the longest queue of all.
    #[cold]
    fn drop_from_the_longest(&mut self, now: Nanos, dropped: &mut Vec<Skb>) {
        let (mut longest, mut most) = ((0, 0), 0);
        for (t, tin) in self.tins.iter().enumerate() {
            for (n, flow) in tin.flows.iter().enumerate() {
                if flow.packets.bytes() > most {
                    (longest, most) = ((t, n), flow.packets.bytes());
                }
            }
        }
        let tin = &mut self.tins[longest.0];
        let Some(skb) = tin.flows[longest.1].packets.pop() else { return };
        tin.flows[longest.1].cobalt.queue_full(&tin.law, now);
        tin.packets -= 1;
        self.shared.total.remove(&skb);
        if self.shared.ingress {
            let bytes = self.shared.wire.bytes(skb.bytes);
            tin.advance_shapers(now, bytes, &mut self.shared, true);
        }
        dropped.push(skb);
    }

    /// Reports whether the shaper holds all packets back.
    #[inline]
    fn holds_back(&self, now: Nanos) -> bool {
        self.shared.shaper.next() > now.0
    }

    /// Returns the tin to serve; none if all are empty.
    #[inline]
    fn choose_tin(&mut self, now: Nanos) -> Option<usize> {
        if self.shared.shaper.rate_config.is_none() { self.tin_in_turn() } else { self.tin_by_schedule(now) }
    }

    /// Chooses a tin behind a shaper. Among the tins within their rate it takes the last, which is
    /// the most urgent; otherwise the tin that will be within its rate next.
    #[inline]
    fn tin_by_schedule(&self, now: Nanos) -> Option<usize> {
        let (mut best, mut best_time) = (None, i64::MAX);
        for (t, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.has_flows()) {
            let wait = tin.time_next_packet as i64 - now.0 as i64;
            if wait <= 0 || wait <= best_time {
                (best, best_time) = (Some(t), wait);
            }
        }
        best
    }

    /// Chooses a tin without a shaper, by deficit round robin.
    fn tin_in_turn(&mut self) -> Option<usize> {
        if !self.tins.iter().any(Tin::has_flows) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.has_flows() {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }
}

impl Qdisc for Cake {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut skb: Skb, dropped: &mut Vec<Skb>) {
        skb.enqueued_at = now;
        let Cake { tins, tin_of, shared, .. } = self;
        let tin = &mut tins[tin_of[(skb.tos >> 2) as usize] as usize];
        let n = tin.classify(shared, &skb);
        // A tin gains no credit while idle.
        if tin.packets == 0 {
            tin.time_next_packet = tin.time_next_packet.max(now.0);
            if shared.total.packets == 0 && shared.shaper.time_next_packet < now.0 {
                shared.shaper.time_next_packet = now.0;
                shared.shaper.failsafe_next_packet = now.0;
            }
        }
        shared.total.add(&skb);
        tin.packets += 1;
        tin.flows[n].packets.push(skb);
        tin.activate(n, shared.flow_mode, &mut shared.rng);
        while self.shared.total.memory > self.memory_limit {
            self.drop_from_the_longest(now, dropped);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Skb>) -> Option<Skb> {
        let mut first = true;
        while self.shared.total.packets > 0 && !self.holds_back(now) {
            let t = self.choose_tin(now)?;
            let (tin, shared) = (&mut self.tins[t], &mut self.shared);
            // The tin continues its turn until a flow is empty.
            while let Some(n) = tin.next_flow(first) {
                first = false;
                if tin.flows[n].deficit <= 0 {
                    tin.end_turn(n, shared.flow_mode, &mut shared.rng);
                    continue;
                }
                match tin.take(n, now, shared, dropped) {
                    Taken::Packet(skb) => {
                        tin.charge(n, now, &skb, shared, false);
                        return Some(skb);
                    }
                    Taken::Dropped => {}
                    Taken::Empty => {
                        tin.retire(n, now, shared.flow_mode);
                        break;
                    }
                }
            }
        }
        None
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        if self.shared.total.packets == 0 { Nanos::NEVER } else { now.max(Nanos(self.shared.shaper.next())) }
    }

    #[inline]
    fn backlog(&self) -> (u64, u64) {
        (self.shared.total.bytes, self.shared.total.packets)
    }
}

/// Returns the bytes of memory that packets may take: `memlimit`, or the arrivals of four round
/// trips, but at least 4 MB. Without `memlimit` the bound is 10 240 packets of the MTU.
fn memory_limit(parameters: &queue::Cake, rate: Option<u64>, mtu: u32) -> u64 {
    let said = parameters.memlimit.map_or(0, |limit| limit.0);
    let limit = match rate {
        _ if said > 0 => said,
        Some(rate) => ((rate as u128 * parameters.rtt.as_micros() as u128 / 250_000) as u64).max(4 << 20),
        None => u32::MAX as u64,
    };
    limit.min(said.max(MOST_PACKETS * mtu as u64))
}

#[cfg(test)]
mod tests {
    use super::diffserv::{EF, LE};
    use super::*;
    use crate::qdisc::Ecn;
    use crate::qdisc::testing::skb;
    use model::queue::{Diffserv, FlowMode};
    use model::units::Bytes;
    use std::collections::BTreeMap;

    fn cake(parameters: queue::Cake) -> Cake {
        Cake::new(&parameters, 1500, crate::rng(1, 1))
    }

    fn shaped(mbit: u64) -> queue::Cake {
        queue::Cake { bandwidth: Some(Rate(mbit * 1_000_000)), ..queue::Cake::default() }
    }

    /// Maintains a backlog of three packets of each of `packets` until `until`, and counts the
    /// bytes that the shaper passes, by `key`. COBALT drops none of them.
    fn serve(cake: &mut Cake, packets: &[Skb], until: Nanos, key: impl Fn(&Skb) -> u32) -> BTreeMap<u32, u64> {
        let (mut counts, mut dropped) = (BTreeMap::new(), vec![]);
        for skb in packets.iter().flat_map(|skb| [skb; 3]) {
            cake.enqueue(Nanos::ZERO, *skb, &mut dropped);
        }
        let mut now = Nanos::ZERO;
        while now < until {
            let sent = cake.dequeue(now, &mut dropped).expect("it said so");
            *counts.entry(key(&sent)).or_insert(0) += sent.bytes as u64;
            cake.enqueue(now, Skb { ecn: Ecn::Ect0, ..sent }, &mut dropped);
            now = cake.next(now);
        }
        assert_eq!(dropped, []);
        counts
    }

    fn of_hosts(id: u32, source: u32, destination: u32) -> Skb {
        Skb { source, destination, ..skb(id, id, true) }
    }

    /// At 12 Mbit/s a packet takes a millisecond, and the shaper lets one pass at once.
    #[test]
    fn the_shaper_keeps_its_rate() {
        let mut cake = cake(shaped(12));
        let sent = serve(&mut cake, &[skb(0, 1, true)], Nanos::from_secs(2), |_| 0);
        assert!(sent[&0].abs_diff(2000 * 1500) <= 2 * 1500, "{sent:?}");
        assert_eq!(cake.next(Nanos::ZERO), cake.next(Nanos::from_secs(2)));
    }

    #[test]
    fn an_idle_time_is_not_made_up_for() {
        let mut cake = cake(shaped(12));
        let now = Nanos::from_secs(10);
        (0..3).for_each(|id| cake.enqueue(now, skb(id, 1, false), &mut vec![]));
        assert_eq!(cake.next(now), now);
        assert!(cake.dequeue(now, &mut vec![]).is_some() && cake.dequeue(now, &mut vec![]).is_none());
        let next = cake.next(now).0 as i64 - now.0 as i64;
        assert!((next - 1_000_000).abs() < 10, "{next}");
    }

    /// Returns the share of host 1, which has four flows, against host 2, which has one.
    fn shares_of(flowmode: FlowMode, packets: &[Skb], key: impl Fn(&Skb) -> u32) -> f64 {
        let mut cake = cake(queue::Cake { flowmode, ..shaped(100) });
        let counts = serve(&mut cake, packets, Nanos::from_secs(4), key);
        counts[&1] as f64 / counts.values().sum::<u64>() as f64
    }

    #[test]
    fn hosts_or_flows_get_equal_shares_as_the_mode_says() {
        let by_source: Vec<_> = (0..5).map(|id| of_hosts(id, if id < 4 { 1 } else { 2 }, 10 + id)).collect();
        let by_destination: Vec<_> = (0..5).map(|id| of_hosts(id, 10 + id, if id < 4 { 1 } else { 2 })).collect();
        let cases = [
            (FlowMode::Srchost, 0.5, 0.8),
            (FlowMode::Dsthost, 0.8, 0.5),
            (FlowMode::Hosts, 0.8, 0.8),
            (FlowMode::Flows, 0.8, 0.8),
            (FlowMode::DualSrchost, 0.5, 0.8),
            (FlowMode::DualDsthost, 0.8, 0.5),
            (FlowMode::TripleIsolate, 0.5, 0.5),
        ];
        for (mode, sources, destinations) in cases {
            let shares = [
                shares_of(mode, &by_source, |skb| skb.source),
                shares_of(mode, &by_destination, |skb| skb.destination),
            ];
            assert!(
                (shares[0] - sources).abs() < 0.02 && (shares[1] - destinations).abs() < 0.02,
                "{mode:?}: {shares:?}"
            );
        }
    }

    /// In one queue packets leave in the order of their arrival.
    #[test]
    fn flowblind_is_first_in_first_out() {
        let mut cake = cake(queue::Cake { flowmode: FlowMode::Flowblind, ..shaped(1000) });
        (0..20).for_each(|id| cake.enqueue(Nanos::ZERO, skb(id, id % 3, false), &mut vec![]));
        let order: Vec<_> =
            (0..20).map_while(|n| Some(cake.dequeue(Nanos::from_micros(100 * n), &mut vec![])?.id)).collect();
        assert_eq!(order, (0..20).collect::<Vec<_>>());
    }

    fn of_class(id: u32, dscp: u8) -> Skb {
        Skb { tos: dscp << 2, ..skb(id, id, true) }
    }

    /// Least effort gets a sixteenth of the rate, and voice a quarter. Voice has precedence up to
    /// that share, but no further.
    #[test]
    fn tins_have_their_shares() {
        let packets = [of_class(0, 0), of_class(1, LE), of_class(2, EF)];
        let mut cake = cake(queue::Cake { diffserv: Diffserv::Diffserv3, ..shaped(100) });
        let counts = serve(&mut cake, &packets, Nanos::from_secs(4), |skb| skb.id);
        let share = |id| counts[&id] as f64 / 50e6;
        assert!((share(2) - 0.25).abs() < 0.02 && (share(1) - 1.0 / 16.0).abs() < 0.02, "{counts:?}");
    }

    /// Without a shaper tins share by their weights: 1024, 64 and 256.
    #[test]
    fn without_a_shaper_tins_take_turns() {
        let mut cake = cake(queue::Cake::default());
        let packets = [of_class(0, 0), of_class(1, LE), of_class(2, EF)];
        let mut counts = [0.0f64; 3];
        let mut dropped = vec![];
        packets.iter().for_each(|skb| cake.enqueue(Nanos::ZERO, *skb, &mut dropped));
        for us in 0..50_000 {
            let now = Nanos::from_micros(us);
            assert_eq!(cake.next(now), now);
            let sent = cake.dequeue(now, &mut dropped).expect("it holds some");
            counts[sent.id as usize] += 1.0;
            cake.enqueue(now, sent, &mut dropped);
        }
        for (count, weight) in counts.iter().zip([1024.0, 64.0, 256.0]) {
            assert!((count / 50_000.0 - weight / 1344.0).abs() < 0.01, "{counts:?}");
        }
    }

    #[test]
    fn room_is_four_round_trips_and_bounded() {
        let room =
            |parameters: queue::Cake| memory_limit(&parameters, parameters.bandwidth.map(|rate| rate.0 / 8), 1500);
        assert_eq!(room(shaped(10)), 4 << 20);
        assert_eq!(room(shaped(200)), 10_000_000);
        assert_eq!(room(queue::Cake::default()), 15_360_000);
        assert_eq!(room(queue::Cake { memlimit: Some(Bytes(64_000_000)), ..shaped(10) }), 64_000_000);
    }

    /// The memory has room for ten full packets.
    #[test]
    fn a_full_memory_drops_from_the_longest_queue() {
        let mut cake = cake(queue::Cake { memlimit: Some(Bytes(23_040)), ..shaped(10) });
        let mut dropped = vec![];
        (0..7).for_each(|id| cake.enqueue(Nanos::ZERO, skb(id, 1, false), &mut dropped));
        (7..13).for_each(|id| cake.enqueue(Nanos::ZERO, skb(id, 2, false), &mut dropped));
        assert_eq!(dropped.iter().map(|skb| skb.id).collect::<Vec<_>>(), [0, 1, 7]);
        assert_eq!(cake.backlog(), (10 * 1500, 10));
    }

    /// A packet that waits alone is never dropped, however late it is.
    #[test]
    fn the_last_packet_of_a_flow_passes() {
        let mut cake = cake(shaped(10));
        for n in 0..1000 {
            let now = Nanos::from_millis(100 * n);
            cake.enqueue(now, skb(n as u32, 1, false), &mut vec![]);
            let mut dropped = vec![];
            assert!(cake.dequeue(now + Nanos::from_millis(90), &mut dropped).is_some() && dropped.is_empty());
        }
    }

    /// At an ingress a dropped packet counts as sent: no other takes its place, until more than a
    /// third is dropped.
    #[test]
    fn drops_count_with_the_shaper_at_the_ingress() {
        let sent = |ingress| {
            let mut cake = cake(queue::Cake { ingress, ..shaped(12) });
            let (mut dropped, mut sent) = (vec![], 0);
            let (mut now, end) = (Nanos::ZERO, Nanos::from_secs(4));
            while now < end {
                while cake.backlog().1 < 100 {
                    cake.enqueue(now, skb(0, 1, false), &mut dropped);
                }
                sent += u64::from(cake.dequeue(now, &mut dropped).is_some());
                now = cake.next(now);
            }
            (sent, dropped.len() as u64)
        };
        let (all, dropped) = sent(false);
        assert!(all.abs_diff(4000) < 5 && dropped > 100, "{all} {dropped}");
        let (rest, dropped) = sent(true);
        assert!((rest + dropped).abs_diff(4000) < 5 && dropped > 100, "{rest} {dropped}");
    }
}
