//! The connections that a classifier's program knows, and what each band has had, as their maps have them.

use crate::window::{Ends, monotonic_us};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde::Serialize;
use std::net::SocketAddr;
use zerocopy::FromBytes;

/// The map of what each band has had.
pub(super) const BAND_COUNTS: &str = "unbloat_bands";
/// Words of a classifier's own state (`CLASSIFY_STATE_WORDS`).
const STATE_WORDS: usize = 4;

/// `struct classified_flow` (`include/classify_program.h`).
#[repr(C)]
#[derive(FromBytes)]
struct Classified {
    own: [u64; STATE_WORDS],
    seen_ns: u64,
    wmem_queued: u32,
    sndbuf: u32,
    band: u32,
    unused: u32,
}

/// `struct classified_band`.
#[repr(C)]
#[derive(FromBytes)]
struct Counted {
    packets: u64,
    bytes: u64,
    dropped: u64,
    timed: u64,
    waited_ns: u64,
    longest_ns: u64,
}

/// A connection that sends.
#[derive(Clone, Debug, Serialize)]
pub struct ClassifiedFlow {
    /// The end that sends, at this host.
    pub from: SocketAddr,
    /// The other.
    pub to: SocketAddr,
    /// What its send buffer held when its latest packet left TCP, bytes of memory.
    pub wmem_queued_bytes: u32,
    /// The size of the send buffer; 0 of a connection that has none here.
    pub sndbuf_bytes: u32,
    /// The first over the second; none without a buffer.
    pub occupancy_percent: Option<f64>,
    /// The band that this packet was put in, from 0.
    pub band: u32,
    /// How long ago that was, s.
    pub idle_s: f64,
}

/// What a band has had.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BandCount {
    /// The band, from 0.
    pub band: u32,
    /// Packets; several segments that leave as one count once.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that the classifier dropped in place of putting them there.
    pub dropped: u64,
    /// How long packets waited in the discipline before they were handed to the device, mean, ms; none before one has,
    /// and where the kernel does not tell.
    pub delay_ms_mean: Option<f64>,
    /// The longest of these times.
    pub delay_ms_max: Option<f64>,
}

/// The connections in the one of these maps that holds them, those that were active last first.
pub(super) fn flows(maps: &[u32]) -> Vec<ClassifiedFlow> {
    let Some(map) = named(maps, "unbloat_flows") else { return Vec::new() };
    let now_ns = monotonic_us() * 1000;
    let read = |key: Vec<u8>| {
        let value = map.lookup(&key, MapFlags::ANY).ok().flatten()?;
        let (ends, flow) = (Ends::read_from_bytes(&key).ok()?, Classified::read_from_bytes(&value).ok()?);
        Some(ClassifiedFlow::new(&ends, &flow, now_ns))
    };
    let mut all: Vec<_> = map.keys().filter_map(read).collect();
    all.sort_by(|one, other| one.idle_s.total_cmp(&other.idle_s));
    all
}

/// What each of so many bands has had.
pub(super) fn counts(maps: &[u32], bands: u32) -> Vec<BandCount> {
    named(maps, BAND_COUNTS).map_or(Vec::new(), |map| counts_in(&map, bands))
}

/// The same of the map that has it.
pub(super) fn counts_in(map: &impl MapCore, bands: u32) -> Vec<BandCount> {
    let count = |band: u32| {
        let each = map.lookup_percpu(&band.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
        let each: Vec<_> = each.iter().filter_map(|bytes| Counted::read_from_bytes(bytes).ok()).collect();
        let sum = |of: fn(&Counted) -> u64| each.iter().map(of).sum::<u64>();
        let (timed, longest_ns) = (sum(|one| one.timed), each.iter().map(|one| one.longest_ns).max());
        let ms = |ns: f64| (timed > 0).then_some(ns / 1e6);
        BandCount {
            band,
            packets: sum(|one| one.packets),
            bytes: sum(|one| one.bytes),
            dropped: sum(|one| one.dropped),
            delay_ms_mean: ms(sum(|one| one.waited_ns) as f64 / timed as f64),
            delay_ms_max: ms(longest_ns.unwrap_or_default() as f64),
        }
    };
    (0..bands).map(count).collect()
}

fn named(maps: &[u32], name: &str) -> Option<MapHandle> {
    maps.iter().filter_map(|id| MapHandle::from_map_id(*id).ok()).find(|map| map.name() == name)
}

impl ClassifiedFlow {
    fn new(ends: &Ends, flow: &Classified, now_ns: u64) -> ClassifiedFlow {
        let (from, to) = ends.addresses();
        let occupancy = 100.0 * f64::from(flow.wmem_queued) / f64::from(flow.sndbuf);
        ClassifiedFlow {
            from,
            to,
            wmem_queued_bytes: flow.wmem_queued,
            sndbuf_bytes: flow.sndbuf,
            occupancy_percent: (flow.sndbuf > 0).then_some(occupancy),
            band: flow.band,
            idle_s: now_ns.saturating_sub(flow.seen_ns) as f64 / 1e9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_in_c::{mirrored, places};
    use mechanism::MechanismKind;

    #[test]
    fn members_stand_where_the_header_puts_them() {
        let in_c = |structure| places(MechanismKind::Classifier, "single", structure);
        let classified = mirrored!(Classified: own = "flow.own", seen_ns, wmem_queued, sndbuf, band, unused);
        assert_eq!(classified, in_c("classified_flow"));
        let counted = mirrored!(Counted: packets, bytes, dropped, timed, waited_ns, longest_ns);
        assert_eq!(counted, in_c("classified_band"));
    }
}
