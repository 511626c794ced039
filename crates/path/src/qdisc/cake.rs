//! CAKE (sch_cake.c; Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", 2018): a shaper, tins by the Diffserv code
//! point, in each tin flows that take turns so that hosts get equal shares (DRR++), each with COBALT.
//!
//! Left out: `autorate-ingress`, `ack-filter`, `nat`, `wash`, `fwmark`, `split-gso` (no packet here is larger than the
//! MTU), and `raw`, which is what holds without `overhead`. A full memory drops from the longest queue, as with Linux;
//! of equally long ones from the first, where Linux's heap has no order.

use super::chains::Chains;
use super::cobalt::{Cobalt, Law};
use super::hash::Salt;
use super::packets::{Packets, Total};
use super::set_hash::{self, Place, QUEUES};
use super::{Qdisc, Skb};
use crate::Draws;
use rand::RngCore;
use scenario::queue::{self, Atm, Diffserv, FlowMode};
use scenario::units::{Nanos, Rate};

/// `rtt` over this is what delay is aimed at, as tc has it.
const TARGET_SHARE: u64 = 20;
/// Packets of MTU size that may wait if the memory allows for more.
const MOST_PACKETS: u64 = 10_240;

/// The lists of a tin's flows.
const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;

/// What a flow is taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    Unused,
    Sparse,
    /// Counted as sparse, but among the bulk flows until its deficit is made up for.
    SparseWait,
    Bulk,
    /// Empty, but its COBALT has not come to rest.
    Decaying,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    packets: Packets,
    deficit: i64,
    cobalt: Cobalt,
    /// Its hosts' places in the tin's tables.
    source: u16,
    destination: u16,
    set: Set,
}

/// One side's hosts of a tin.
#[derive(Clone, Debug)]
struct Hosts {
    tags: Vec<u32>,
    bulk_flows: Vec<u16>,
}

impl Hosts {
    fn new() -> Hosts {
        Hosts { tags: vec![0; QUEUES], bulk_flows: vec![0; QUEUES] }
    }

    /// The place of a host; one without bulk flows gives its own to another.
    fn place_of(&mut self, hash: u32) -> u16 {
        let (Place::Known(place) | Place::Free(place) | Place::Shared(place)) =
            set_hash::find(hash, |n| self.tags[n] == hash, |n| self.bulk_flows[n] == 0);
        self.tags[place] = hash;
        place as u16
    }
}

/// Nanoseconds a byte, as a fraction of a power of two.
#[derive(Clone, Copy, Debug)]
struct Pace {
    ns: u64,
    shift: u32,
}

impl Pace {
    /// That of so many bytes a second, in at most 34 bits.
    fn new(bytes_per_second: u64) -> Pace {
        const LEAST_RATE: u64 = 64;
        const BITS: u32 = 34;
        let mut pace = Pace { ns: (1_000_000_000 << BITS) / bytes_per_second.max(LEAST_RATE), shift: BITS };
        while pace.ns >> BITS > 0 {
            pace.ns >>= 1;
            pace.shift -= 1;
        }
        pace
    }

    #[inline]
    fn time(self, bytes: u64) -> u64 {
        (bytes * self.ns) >> self.shift
    }
}

/// A class of service: its flows, and the shaper that tells when it has had its share.
#[derive(Clone, Debug)]
struct Tin {
    flows: Vec<Flow>,
    /// The hash of each flow.
    tags: Vec<u32>,
    sources: Hosts,
    destinations: Hosts,
    chains: Chains,
    law: Law,
    flow_quantum: u32,
    /// Flows in each of these states.
    bulk: u64,
    sparse: u64,
    decaying: u64,
    pace: Option<Pace>,
    time_next_packet: u64,
    /// Its share where nothing is shaped.
    quantum: i64,
    deficit: i64,
    packets: u64,
}

impl Tin {
    /// One of so many bytes a second, without a bound if none, and with this share of what is not shaped.
    fn new(rate: Option<u64>, quantum: u64, rtt: Nanos, mtu: u32) -> Tin {
        let pace = rate.map(Pace::new);
        let target = Nanos::from_micros((rtt.as_micros() / TARGET_SHARE).max(1)).0;
        let mtu_time = pace.map_or(0, |pace| pace.time(mtu as u64));
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
            pace,
            time_next_packet: 0,
            quantum: quantum as i64,
            deficit: 0,
            packets: 0,
        }
    }

    fn has_flows(&self) -> bool {
        self.bulk + self.sparse > 0
    }

    /// The queue of a packet.
    #[inline]
    fn classify(&mut self, shared: &Shared, skb: &Skb) -> usize {
        let mode = shared.flow_mode;
        if mode == FlowMode::Flowblind {
            return 0;
        }
        let source = if mode.sources() { shared.salt.mix(skb.source) } else { 0 };
        // One and the same host is not the same as a source and as a destination.
        let destination = if mode.destinations() { shared.salt.mix(!skb.destination) } else { 0 };
        let hash = if mode.flows() { shared.salt.mix(skb.flow_hash) } else { source ^ destination };
        let own = hash as usize % QUEUES;
        if self.tags[own] == hash && self.flows[own].set != Set::Unused {
            return own;
        }
        let place = set_hash::find(hash, |n| self.tags[n] == hash, |n| self.flows[n].set == Set::Unused);
        let (place, is_taken_over) = match place {
            Place::Known(place) => (place, self.flows[place].set == Set::Unused),
            Place::Free(place) | Place::Shared(place) => (place, true),
        };
        self.tags[place] = hash;
        if is_taken_over {
            self.assign_hosts(place, mode, source, destination);
        }
        place
    }

    /// Writes down whose flow it is from now on.
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

    /// Counts a bulk flow more, or less, with its hosts.
    fn count_host(&mut self, n: usize, mode: FlowMode, change: i16) {
        let bounded = |count: &mut u16| *count = count.saturating_add_signed(change).min(QUEUES as u16);
        if mode.flows() && mode.sources() {
            bounded(&mut self.sources.bulk_flows[self.flows[n].source as usize]);
        }
        if mode.flows() && mode.destinations() {
            bounded(&mut self.destinations.bulk_flows[self.flows[n].destination as usize]);
        }
    }

    /// What a flow may send in a turn: the less the more flows its busier host has. The parts of a byte are made up for
    /// at random.
    #[inline]
    fn quantum_of(&self, n: usize, mode: FlowMode, draws: &mut Draws) -> i64 {
        let flow = &self.flows[n];
        let mut load = 1;
        if mode.flows() && mode.sources() {
            load = load.max(self.sources.bulk_flows[flow.source as usize]);
        }
        if mode.flows() && mode.destinations() {
            load = load.max(self.destinations.bulk_flows[flow.destination as usize]);
        }
        ((self.flow_quantum * (65_535 / load as u32) + (draws.next_u32() >> 16)) >> 16) as i64
    }

    /// A flow that has a packet again.
    #[inline]
    fn activate(&mut self, n: usize, mode: FlowMode, draws: &mut Draws) {
        match self.flows[n].set {
            Set::Unused | Set::Decaying => {
                if self.flows[n].set == Set::Decaying {
                    self.decaying -= 1;
                }
                self.chains.move_to_back(NEW, n);
                self.flows[n].set = Set::Sparse;
                self.sparse += 1;
                self.flows[n].deficit = self.quantum_of(n, mode, draws);
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

    /// A flow that has had its turn: it waits for the next among the old ones.
    #[inline]
    fn end_turn(&mut self, n: usize, mode: FlowMode, draws: &mut Draws) {
        if self.flows[n].set == Set::Sparse {
            if self.flows[n].packets.is_empty() {
                self.flows[n].set = Set::SparseWait;
            } else {
                self.sparse -= 1;
                self.make_bulk(n, mode);
            }
        }
        self.flows[n].deficit += self.quantum_of(n, mode, draws);
        self.chains.move_to_back(OLD, n);
    }

    /// A flow whose turn came, and that was empty.
    fn retire(&mut self, n: usize, now: Nanos, mode: FlowMode) {
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

    /// The flow whose turn it is. In each dequeue one that decays is looked after first.
    #[inline]
    fn next_flow(&self, first: bool) -> Option<usize> {
        let decaying = || self.chains.front(DECAYING);
        let first = if first { decaying() } else { None };
        first.or_else(|| self.chains.front(NEW)).or_else(|| self.chains.front(OLD)).or_else(decaying)
    }

    /// The next packet of a flow that COBALT lets pass; the last one always.
    #[inline]
    fn take(&mut self, n: usize, now: Nanos, shared: &mut Shared, dropped: &mut Vec<Skb>) -> Taken {
        loop {
            let flow = &mut self.flows[n];
            let Some(mut skb) = flow.packets.pop() else { return Taken::Empty };
            shared.total.remove(&skb);
            self.packets -= 1;
            let bulk_flows = if shared.ingress { self.bulk } else { 0 };
            let drop = flow.cobalt.should_drop(&self.law, now, &mut skb, bulk_flows, &mut shared.draws);
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

    /// Counts a packet against its flow and its tin, and moves the shapers on.
    #[inline]
    fn charge(&mut self, n: usize, now: Nanos, skb: &Skb, shared: &mut Shared, dropped: bool) {
        let bytes = shared.wire.bytes(skb.bytes);
        self.advance_shapers(now, bytes, shared, dropped);
        self.flows[n].deficit -= bytes as i64;
        self.deficit -= bytes as i64;
    }

    #[inline]
    fn advance_shapers(&mut self, now: Nanos, bytes: u64, shared: &mut Shared, dropped: bool) {
        if let Some(pace) = self.pace {
            let time = pace.time(bytes);
            if self.time_next_packet < now.0 {
                self.time_next_packet += time;
            } else {
                self.time_next_packet = self.time_next_packet.max(now.0 + time);
            }
        }
        shared.shaper.charge(bytes, dropped);
    }
}

/// What a flow's turn came to.
enum Taken {
    Packet(Skb),
    /// One was dropped that counts as if it had been sent.
    Dropped,
    Empty,
}

/// What packets are on the wire.
#[derive(Clone, Debug)]
struct Wire {
    overhead: i64,
    mpu: i64,
    atm: Atm,
}

impl Wire {
    #[inline]
    fn bytes(&self, ip_bytes: u32) -> u64 {
        let bytes = (ip_bytes as i64 + self.overhead).max(self.mpu).max(0) as u64;
        match self.atm {
            Atm::Noatm => bytes,
            // Cells of 53 bytes that carry 48.
            Atm::Atm => bytes.div_ceil(48) * 53,
            // A byte more for each 64.
            Atm::Ptm => bytes + bytes.div_ceil(64),
        }
    }
}

/// The shaper of all tins together.
#[derive(Clone, Debug)]
struct Shaper {
    pace: Option<Pace>,
    time_next_packet: u64,
    /// The same without what was dropped, at two thirds of the rate: dropping never holds everything back for ever.
    failsafe_next_packet: u64,
}

impl Shaper {
    /// When it may send.
    #[inline]
    fn next(&self) -> u64 {
        self.time_next_packet.min(self.failsafe_next_packet)
    }

    #[inline]
    fn charge(&mut self, bytes: u64, dropped: bool) {
        let Some(pace) = self.pace else { return };
        let time = pace.time(bytes);
        self.time_next_packet += time;
        if !dropped {
            self.failsafe_next_packet += time + (time >> 1);
        }
    }
}

/// What the tins have in common.
#[derive(Clone, Debug)]
struct Shared {
    flow_mode: FlowMode,
    ingress: bool,
    wire: Wire,
    shaper: Shaper,
    salt: Salt,
    total: Total,
    draws: Draws,
}

/// Tins behind a shaper.
#[derive(Clone, Debug)]
pub struct Cake {
    tins: Vec<Tin>,
    /// The tin of each Diffserv code point.
    tin_of: [u8; 64],
    shared: Shared,
    memory_limit: u64,
    /// Where nothing is shaped, the tin whose turn it is.
    current: usize,
}

impl Cake {
    /// An empty one before a device of this MTU.
    pub fn new(parameters: &queue::Cake, mtu: u32, mut draws: Draws) -> Cake {
        let rate = parameters.bandwidth.map(|Rate(bits)| bits / 8);
        let tins: Vec<Tin> = shares(parameters.diffserv)
            .into_iter()
            .map(|share| Tin::new(rate.map(|rate| share.of(rate)), share.quantum, parameters.rtt, mtu))
            .collect();
        let shaper = Shaper { pace: tins[0].pace, time_next_packet: 0, failsafe_next_packet: 0 };
        let salt = Salt::new(&mut draws);
        Cake {
            tins,
            tin_of: code_points(parameters.diffserv),
            shared: Shared {
                flow_mode: parameters.flowmode,
                ingress: parameters.ingress,
                wire: Wire { overhead: parameters.overhead as i64, mpu: parameters.mpu as i64, atm: parameters.atm },
                shaper,
                salt,
                total: Total::default(),
                draws,
            },
            memory_limit: memory_limit(parameters, rate, mtu),
            current: 0,
        }
    }

    /// Drops from the longest queue of all.
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

    /// Does the shaper hold everything back?
    #[inline]
    fn holds_back(&self, now: Nanos) -> bool {
        self.shared.shaper.next() > now.0
    }

    /// The tin to serve.
    #[inline]
    fn choose_tin(&mut self, now: Nanos) -> Option<usize> {
        if self.shared.shaper.pace.is_none() { self.tin_in_turn() } else { self.tin_by_schedule(now) }
    }

    /// With a shaper: of the tins that are within their rate the last one, which is the most urgent; else the one that
    /// is so next.
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

    /// Without: deficit round robin.
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
        // An idle time is not made up for.
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
        tin.activate(n, shared.flow_mode, &mut shared.draws);
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
            // Until a flow comes to its end, the tin keeps its turn.
            while let Some(n) = tin.next_flow(first) {
                first = false;
                if tin.flows[n].deficit <= 0 {
                    tin.end_turn(n, shared.flow_mode, &mut shared.draws);
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

/// Room for all packets: `memlimit`, or what arrives in four round trips, 4 MB at least; and never more than 10 240
/// packets of the MTU, unless said.
fn memory_limit(parameters: &queue::Cake, rate: Option<u64>, mtu: u32) -> u64 {
    let said = parameters.memlimit.map_or(0, |limit| limit.0);
    let limit = match rate {
        _ if said > 0 => said,
        Some(rate) => ((rate as u128 * parameters.rtt.as_micros() as u128 / 250_000) as u64).max(4 << 20),
        None => u32::MAX as u64,
    };
    limit.min(said.max(MOST_PACKETS * mtu as u64))
}

/// A tin's part: of the rate, and its weight where nothing is shaped.
struct Share {
    /// So many times the rate is cut by an eighth.
    eighths_off: u32,
    /// So many times it is halved.
    halvings: u32,
    quantum: u64,
}

impl Share {
    fn of(&self, rate: u64) -> u64 {
        let cut = (0..self.eighths_off).fold(rate, |rate, _| (rate * 7) >> 3);
        cut >> self.halvings
    }
}

/// The tins of a mode.
fn shares(diffserv: Diffserv) -> Vec<Share> {
    let halved = |halvings: &[u32]| -> Vec<Share> {
        halvings.iter().map(|n| Share { eighths_off: 0, halvings: *n, quantum: 1024 >> n }).collect()
    };
    match diffserv {
        Diffserv::Besteffort => vec![Share { eighths_off: 0, halvings: 0, quantum: 65_535 }],
        Diffserv::Diffserv3 => halved(&[0, 4, 2]),
        Diffserv::Diffserv4 => halved(&[0, 4, 1, 2]),
        Diffserv::Diffserv8 | Diffserv::Precedence => {
            let quantum = |n| (0..n).fold(256u64, |quantum, _| (quantum * 7) >> 3);
            (0..8).map(|n| Share { eighths_off: n, halvings: 0, quantum: quantum(n) }).collect()
        }
    }
}

/// Code points by their names (RFC 2474, 2597, 3246, 5865, 8622; TOS of RFC 1349).
const LE: u8 = 1;
const TOS_THROUGHPUT: u8 = 2;
const TOS_LOW_DELAY: u8 = 4;
const VOICE_ADMIT: u8 = 44;
const EF: u8 = 46;

const fn cs(class: u8) -> u8 {
    class << 3
}

/// Assured forwarding: the three code points of a class.
const fn af(class: u8) -> [u8; 3] {
    [cs(class) + 2, cs(class) + 4, cs(class) + 6]
}

/// The tin of each code point.
fn code_points(diffserv: Diffserv) -> [u8; 64] {
    let mut tins = [0; 64];
    let mut put = |tin: u8, points: &[u8]| points.iter().for_each(|point| tins[*point as usize] = tin);
    match diffserv {
        Diffserv::Besteffort => {}
        Diffserv::Precedence => (0..64).for_each(|point| put(point >> 3, &[point])),
        Diffserv::Diffserv3 => {
            put(1, &[LE, cs(1)]);
            put(2, &[TOS_LOW_DELAY, VOICE_ADMIT, EF, cs(6), cs(7)]);
        }
        Diffserv::Diffserv4 => {
            put(1, &[LE, cs(1)]);
            put(2, &[TOS_LOW_DELAY, cs(2), cs(3)]);
            [2, 3, 4].iter().for_each(|class| put(2, &af(*class)));
            put(3, &[cs(4), cs(5), VOICE_ADMIT, EF, cs(6), cs(7)]);
        }
        Diffserv::Diffserv8 => {
            (0..64).for_each(|point| put(2, &[point]));
            put(0, &[LE]);
            put(1, &[TOS_THROUGHPUT, cs(1)]);
            put(1, &af(1));
            put(3, &[cs(3)]);
            [3, 4].iter().for_each(|class| put(3, &af(*class)));
            put(4, &[TOS_LOW_DELAY]);
            put(4, &af(2));
            put(5, &[cs(2)]);
            put(6, &[cs(4), cs(5), VOICE_ADMIT, EF]);
            put(7, &[cs(6), cs(7)]);
        }
    }
    tins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::Ecn;
    use crate::qdisc::testing::skb;
    use scenario::units::Bytes;
    use std::collections::BTreeMap;

    fn cake(parameters: queue::Cake) -> Cake {
        Cake::new(&parameters, 1500, crate::draws(1, 1))
    }

    fn shaped(mbit: u64) -> queue::Cake {
        queue::Cake { bandwidth: Some(Rate(mbit * 1_000_000)), ..queue::Cake::default() }
    }

    /// Keeps three packets of each of these waiting for so long, takes what the shaper lets go, and counts it by `key`.
    /// COBALT finds nothing to drop.
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

    /// 12 Mbit/s are a packet a millisecond, and the shaper is good for one at once.
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

    #[test]
    fn a_packet_is_as_long_as_on_the_wire() {
        let wire = |overhead, mpu, atm| Wire { overhead, mpu, atm };
        assert_eq!(wire(0, 0, Atm::Noatm).bytes(1500), 1500);
        assert_eq!(wire(18, 64, Atm::Noatm).bytes(40), 64);
        // 1544 bytes are 33 cells; a bare acknowledgement's 84 bytes are two.
        assert_eq!([1500, 40].map(|bytes| wire(44, 0, Atm::Atm).bytes(bytes)), [33 * 53, 2 * 53]);
        assert_eq!(wire(0, 0, Atm::Ptm).bytes(1500), 1524);
    }

    /// Four flows of one host against one of another.
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

    /// In one queue they go as they have come.
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

    /// Beside best effort: a sixteenth for what has least effort; and a quarter for voice, which goes first up to that,
    /// but no further.
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

    /// The tins of code points by their names (tc-cake(8)).
    #[test]
    fn code_points_go_to_their_tins() {
        let tins =
            |mode, points: &[u8]| points.iter().map(|point| code_points(mode)[*point as usize]).collect::<Vec<_>>();
        let points = [0, LE, cs(1), TOS_LOW_DELAY, af(1)[0], af(2)[1], af(4)[2], cs(5), EF, cs(6), 63];
        assert_eq!(tins(Diffserv::Besteffort, &points), [0; 11]);
        assert_eq!(tins(Diffserv::Diffserv3, &points), [0, 1, 1, 2, 0, 0, 0, 0, 2, 2, 0]);
        assert_eq!(tins(Diffserv::Diffserv4, &points), [0, 1, 1, 2, 0, 2, 2, 3, 3, 3, 0]);
        assert_eq!(tins(Diffserv::Diffserv8, &points), [2, 0, 1, 4, 1, 4, 3, 6, 6, 7, 2]);
        assert_eq!(tins(Diffserv::Precedence, &points), [0, 0, 1, 0, 1, 2, 4, 5, 5, 6, 7]);
    }

    /// A tin of 6.25 Mbit/s sends a packet in 1.92 ms, one of 1 Mbit/s in 12: that has to wait for 18.
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

    #[test]
    fn room_is_four_round_trips_and_bounded() {
        let room =
            |parameters: queue::Cake| memory_limit(&parameters, parameters.bandwidth.map(|rate| rate.0 / 8), 1500);
        assert_eq!(room(shaped(10)), 4 << 20);
        assert_eq!(room(shaped(200)), 10_000_000);
        assert_eq!(room(queue::Cake::default()), 15_360_000);
        assert_eq!(room(queue::Cake { memlimit: Some(Bytes(64_000_000)), ..shaped(10) }), 64_000_000);
    }

    /// Ten full packets have room.
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

    /// Behind the bottleneck what is dropped has taken its time: nothing comes in its place, until more than a third is
    /// dropped.
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
