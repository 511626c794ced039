//! The connections that a classifier's program knows and the counts of each band, as in the
//! program's maps.

use crate::window::{Ends, monotonic_us};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde::Serialize;
use std::net::SocketAddr;
use zerocopy::FromBytes;

/// Name of the map with the counts of each band.
pub(super) const BAND_COUNTS: &str = "unbloat_bands";
/// Number of words in a classifier's own state (`CLASSIFY_STATE_WORDS`).
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

/// A connection that sends, as a classifier sees it.
#[derive(Clone, Debug, Serialize)]
pub struct ClassifiedFlow {
    /// Address and port of the sending end, at this host.
    pub from: SocketAddr,
    /// Address and port of the other end.
    pub to: SocketAddr,
    /// Bytes of memory in the send buffer when the latest packet left TCP.
    pub wmem_queued_bytes: u32,
    /// Size of the send buffer in bytes; 0 for a connection without one on this host.
    pub sndbuf_bytes: u32,
    /// Used share of the send buffer, in percent; none without a buffer.
    pub occupancy_percent: Option<f64>,
    /// The band of the latest packet, from 0.
    pub band: u32,
    /// Seconds since the latest packet.
    pub idle_s: f64,
}

/// Packets and delays of a band.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BandCount {
    /// The band, from 0.
    pub band: u32,
    /// Number of packets; several segments that leave as one count once.
    pub packets: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Packets that the classifier dropped instead of sorting them into this band.
    pub dropped: u64,
    /// Mean time in ms for which packets waited in the discipline before the device got them. None
    /// before the first, and if the kernel does not report it.
    pub delay_ms_mean: Option<f64>,
    /// The longest such time, in ms.
    pub delay_ms_max: Option<f64>,
}

/// Lists the connections in whichever of these maps has them, most recently active first.
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

/// Returns the counts of each of the first `bands` bands.
pub(super) fn counts(maps: &[u32], bands: u32) -> Vec<BandCount> {
    named(maps, BAND_COUNTS).map_or(Vec::new(), |map| counts_in(&map, bands))
}

/// Returns the counts of each of the first `bands` bands, from their map.
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
