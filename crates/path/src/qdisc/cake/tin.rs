//! A tin of CAKE: flows that take turns so that hosts get equal shares (DRR++), each with COBALT.

use super::shaper::{LinkLayer, RateConfig, Shaper};
use crate::Rng;
use crate::qdisc::Skb;
use crate::qdisc::chains::Chains;
use crate::qdisc::cobalt::{Cobalt, Law};
use crate::qdisc::hash::Salt;
use crate::qdisc::packets::{Packets, Total};
use crate::qdisc::set_hash::{self, Lookup, QUEUES};
use model::queue::FlowMode;
use model::units::Nanos;
use rand::RngCore;

/// Divisor of `rtt` for the target of the delay, as tc has it.
const TARGET_SHARE: u64 = 20;

/// The lists of a tin's flows.
const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;

/// The state of a flow, which decides its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    Unused,
    Sparse,
    /// Counted as sparse, but among the bulk flows until it has paid its deficit.
    SparseWait,
    Bulk,
    /// Empty, but its COBALT has not come to rest.
    Decaying,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) packets: Packets,
    pub(super) deficit: i64,
    pub(super) cobalt: Cobalt,
    /// Place of the flow's source in the tin's table of hosts; `destination` is that of the other
    /// host.
    source: u16,
    destination: u16,
    set: Set,
}

/// The hosts of a tin, either as sources or as destinations.
#[derive(Clone, Debug)]
struct Hosts {
    tags: Vec<u32>,
    bulk_flows: Vec<u16>,
}

impl Hosts {
    fn new() -> Hosts {
        Hosts { tags: vec![0; QUEUES], bulk_flows: vec![0; QUEUES] }
    }

    /// Returns the place of a host. A host without bulk flows loses its place to another.
    fn place_of(&mut self, hash: u32) -> u16 {
        let (Lookup::Known(place) | Lookup::Free(place) | Lookup::Shared(place)) =
            set_hash::find(hash, |n| self.tags[n] == hash, |n| self.bulk_flows[n] == 0);
        self.tags[place] = hash;
        place as u16
    }
}

/// A class of service: its flows, and a shaper that limits its share.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub(super) flows: Vec<Flow>,
    /// The hash that each flow's place belongs to.
    tags: Vec<u32>,
    sources: Hosts,
    destinations: Hosts,
    chains: Chains,
    pub(super) law: Law,
    flow_quantum: u32,
    /// Number of bulk flows; `sparse` and `decaying` count the other states.
    bulk: u64,
    sparse: u64,
    decaying: u64,
    pub(super) rate_config: Option<RateConfig>,
    pub(super) time_next_packet: u64,
    /// The tin's weight without a shaper, in bytes per turn.
    pub(super) quantum: i64,
    pub(super) deficit: i64,
    pub(super) packets: u64,
}

impl Tin {
    /// Creates a tin with a rate in bytes per second, if any, and a weight for turns without a
    /// shaper.
    pub(super) fn new(rate: Option<u64>, quantum: u64, rtt: Nanos, mtu: u32) -> Tin {
        let rate_config = rate.map(RateConfig::new);
        let target = Nanos::from_micros((rtt.as_micros() / TARGET_SHARE).max(1)).0;
        let mtu_time = rate_config.map_or(0, |rate_config| rate_config.time(mtu as u64));
        let own_target = target.max(mtu_time * 3 / 2);
        let interval = (rtt.0 + own_target - target).max(2 * own_target);
        Tin {
            flows: vec![Flow::default(); QUEUES],
            tags: vec![0; QUEUES],
            sources: Hosts::new(),
            destinations: Hosts::new(),
            chains: Chains::new(QUEUES, 3),
            law: Law { interval, target: own_target, mtu_time },
            flow_quantum: rate.map_or(1514, |rate| (rate >> 12).clamp(300, 1514)) as u32,
            bulk: 0,
            sparse: 0,
            decaying: 0,
            rate_config,
            time_next_packet: 0,
            quantum: quantum as i64,
            deficit: 0,
            packets: 0,
        }
    }

    pub(super) fn has_flows(&self) -> bool {
        self.bulk + self.sparse > 0
    }

    /// Returns the queue of a packet.
    #[inline]
    pub(super) fn classify(&mut self, shared: &Shared, skb: &Skb) -> usize {
        let mode = shared.flow_mode;
        if mode == FlowMode::Flowblind {
            return 0;
        }
        let source = if mode.sources() { shared.salt.mix(skb.source) } else { 0 };
        // As a source and as a destination, one host has two different hashes.
        let destination = if mode.destinations() { shared.salt.mix(!skb.destination) } else { 0 };
        let hash = if mode.flows() { shared.salt.mix(skb.flow_hash) } else { source ^ destination };
        let own = hash as usize % QUEUES;
        if self.tags[own] == hash && self.flows[own].set != Set::Unused {
            return own;
        }
        let place = set_hash::find(hash, |n| self.tags[n] == hash, |n| self.flows[n].set == Set::Unused);
        let (place, is_taken_over) = match place {
            Lookup::Known(place) => (place, self.flows[place].set == Set::Unused),
            Lookup::Free(place) | Lookup::Shared(place) => (place, true),
        };
        self.tags[place] = hash;
        if is_taken_over {
            self.assign_hosts(place, mode, source, destination);
        }
        place
    }

    /// Records the hosts of a flow whose place has a new owner.
    fn assign_hosts(&mut self, n: usize, mode: FlowMode, source: u32, destination: u32) {
        let is_bulk = self.flows[n].set == Set::Bulk;
        if is_bulk {
            self.count_host(n, mode, -1);
        }
        if mode.flows() && mode.sources() {
            self.flows[n].source = self.sources.place_of(source);
        }
        if mode.flows() && mode.destinations() {
            self.flows[n].destination = self.destinations.place_of(destination);
        }
        if is_bulk {
            self.count_host(n, mode, 1);
        }
    }

    /// Adds `change` bulk flows to the counts of a flow's hosts.
    fn count_host(&mut self, n: usize, mode: FlowMode, change: i16) {
        let bounded = |count: &mut u16| *count = count.saturating_add_signed(change).min(QUEUES as u16);
        if mode.flows() && mode.sources() {
            bounded(&mut self.sources.bulk_flows[self.flows[n].source as usize]);
        }
        if mode.flows() && mode.destinations() {
            bounded(&mut self.destinations.bulk_flows[self.flows[n].destination as usize]);
        }
    }

    /// Returns the bytes that a flow may send in a turn. The more bulk flows its busier host has,
    /// the fewer they are. Fractions of a byte are rounded at random.
    #[inline]
    fn quantum_of(&self, n: usize, mode: FlowMode, rng: &mut Rng) -> i64 {
        let flow = &self.flows[n];
        let mut load = 1;
        if mode.flows() && mode.sources() {
            load = load.max(self.sources.bulk_flows[flow.source as usize]);
        }
        if mode.flows() && mode.destinations() {
            load = load.max(self.destinations.bulk_flows[flow.destination as usize]);
        }
        ((self.flow_quantum * (65_535 / load as u32) + (rng.next_u32() >> 16)) >> 16) as i64
    }

    /// Activates a flow that has a packet again.
    #[inline]
    pub(super) fn activate(&mut self, n: usize, mode: FlowMode, rng: &mut Rng) {
        match self.flows[n].set {
            Set::Unused | Set::Decaying => {
                if self.flows[n].set == Set::Decaying {
                    self.decaying -= 1;
                }
                self.chains.move_to_back(NEW, n);
                self.flows[n].set = Set::Sparse;
                self.sparse += 1;
                self.flows[n].deficit = self.quantum_of(n, mode, rng);
            }
            Set::SparseWait => {
                self.sparse -= 1;
                self.make_bulk(n, mode);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn make_bulk(&mut self, n: usize, mode: FlowMode) {
        self.flows[n].set = Set::Bulk;
        self.bulk += 1;
        self.count_host(n, mode, 1);
    }

    /// Ends the turn of a flow, which then waits for its next turn among the old flows.
    #[inline]
    pub(super) fn end_turn(&mut self, n: usize, mode: FlowMode, rng: &mut Rng) {
        if self.flows[n].set == Set::Sparse {
            if self.flows[n].packets.is_empty() {
                self.flows[n].set = Set::SparseWait;
            } else {
                self.sparse -= 1;
                self.make_bulk(n, mode);
            }
        }
        self.flows[n].deficit += self.quantum_of(n, mode, rng);
        self.chains.move_to_back(OLD, n);
    }

    /// Retires a flow that was empty when its turn came.
    pub(super) fn retire(&mut self, n: usize, now: Nanos, mode: FlowMode) {
        self.flows[n].cobalt.queue_empty(&self.law, now);
        match self.flows[n].set {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => {
                self.bulk -= 1;
                self.count_host(n, mode, -1);
            }
            Set::Decaying => self.decaying -= 1,
            Set::Unused => {}
        }
        if self.flows[n].cobalt.is_at_rest(now) {
            self.chains.remove(n);
            self.flows[n].set = Set::Unused;
        } else {
            self.chains.move_to_back(DECAYING, n);
            self.flows[n].set = Set::Decaying;
            self.decaying += 1;
        }
    }

    /// Returns the flow whose turn it is. The first call in a dequeue returns a decaying flow, if
    /// there is one.
    #[inline]
    pub(super) fn next_flow(&self, first: bool) -> Option<usize> {
        let decaying = || self.chains.front(DECAYING);
        let first = if first { decaying() } else { None };
        first.or_else(|| self.chains.front(NEW)).or_else(|| self.chains.front(OLD)).or_else(decaying)
    }

    /// Takes the next packet of a flow that COBALT lets pass. The flow's last packet always passes.
    #[inline]
    pub(super) fn take(&mut self, n: usize, now: Nanos, shared: &mut Shared, dropped: &mut Vec<Skb>) -> Taken {
        loop {
            let flow = &mut self.flows[n];
            let Some(mut skb) = flow.packets.pop() else { return Taken::Empty };
            shared.total.remove(&skb);
            self.packets -= 1;
            let bulk_flows = if shared.ingress { self.bulk } else { 0 };
            let drop = flow.cobalt.should_drop(&self.law, now, &mut skb, bulk_flows, &mut shared.rng);
            if !drop || flow.packets.is_empty() {
                return Taken::Packet(skb);
            }
            dropped.push(skb);
            if shared.ingress {
                self.charge(n, now, &skb, shared, true);
                return Taken::Dropped;
            }
        }
    }

    /// Charges a packet to its flow and its tin, and advances the shapers.
    #[inline]
    pub(super) fn charge(&mut self, n: usize, now: Nanos, skb: &Skb, shared: &mut Shared, dropped: bool) {
        let bytes = shared.wire.bytes(skb.bytes);
        self.advance_shapers(now, bytes, shared, dropped);
        self.flows[n].deficit -= bytes as i64;
        self.deficit -= bytes as i64;
    }

    #[inline]
    pub(super) fn advance_shapers(&mut self, now: Nanos, bytes: u64, shared: &mut Shared, dropped: bool) {
        if let Some(rate_config) = self.rate_config {
            let time = rate_config.time(bytes);
            if self.time_next_packet < now.0 {
                self.time_next_packet += time;
            } else {
                self.time_next_packet = self.time_next_packet.max(now.0 + time);
            }
        }
        shared.shaper.charge(bytes, dropped);
    }
}

/// The outcome of a flow's turn.
pub(super) enum Taken {
    Packet(Skb),
    /// A packet was dropped that counts as sent.
    Dropped,
    Empty,
}

/// State that the tins share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) flow_mode: FlowMode,
    pub(super) ingress: bool,
    pub(super) wire: LinkLayer,
    pub(super) shaper: Shaper,
    pub(super) salt: Salt,
    pub(super) total: Total,
    pub(super) rng: Rng,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tin of 6.25 Mbit/s sends a packet in 1.92 ms. A tin of 1 Mbit/s takes 12 ms, so its target
    /// becomes 18 ms.
    #[test]
    fn slow_tins_have_more_patience() {
        let law = |mbit: u64| Tin::new(Some(mbit * 125_000), 1, Nanos::from_millis(100), 1500).law;
        assert_eq!((law(100).target, law(100).interval), (5_000_000, 100_000_000));
        let slow = law(1);
        assert!(slow.target.abs_diff(18_000_000) < 10 && slow.interval.abs_diff(113_000_000) < 10, "{slow:?}");
        assert_eq!(
            [1, 8, 100].map(|mbit| Tin::new(Some(mbit * 125_000), 1, Nanos(1), 1500).flow_quantum),
            [300, 300, 1514]
        );
    }
}
