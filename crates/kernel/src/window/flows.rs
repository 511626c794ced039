//! The connections that a window controller's programs know, as in their map.

use super::programs::FLOWS;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde::Serialize;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use zerocopy::FromBytes;

/// Number of words in a window controller's own state (`WINDOW_STATE_WORDS`); `SENT` is the number
/// of remembered timestamps (`SENT_TIMESTAMPS`).
const STATE_WORDS: usize = 16;
const SENT: usize = 32;

/// `struct tcp_ends`.
#[repr(C)]
#[derive(FromBytes)]
pub(crate) struct Ends {
    from: [u8; 16],
    to: [u8; 16],
    from_port: [u8; 2],
    to_port: [u8; 2],
}

/// `struct shown_flow` (`include/window_program.h`).
#[repr(C)]
#[derive(FromBytes)]
struct Shown {
    mss: u32,
    own: [u64; STATE_WORDS],
    began_us: u64,
    rtt_us: u32,
    rtt_min_us: u32,
    copied: u32,
    copied_before: u32,
    had_hole: u32,
    seen_us: u64,
    offered: u32,
    shown: u32,
    right_edge: u32,
    read_to: u32,
    latest_rtt_us: u32,
    last_tsecr: u32,
    scale: u8,
    has_scale: u8,
    has_edge: u8,
    has_read_to: u8,
    sent: [[u32; 2]; SENT],
}

/// A connection whose advertised windows are lowered.
#[derive(Clone, Debug, Serialize)]
pub struct ShownFlow {
    /// Address and port of the end that acknowledges.
    pub from: SocketAddr,
    /// Address and port of the end that sends data.
    pub to: SocketAddr,
    /// Smoothed RTT in ms; none before the first.
    pub rtt_ms: Option<f64>,
    /// Smallest RTT in ms.
    pub base_rtt_ms: Option<f64>,
    /// Bytes of this connection that wait on the path, estimated from the arrivals in a round trip.
    pub queue_bytes: Option<u64>,
    /// The window that the stack offers, in bytes.
    pub offered_bytes: u32,
    /// The window that is advertised instead, in bytes.
    pub window_bytes: u32,
    /// Seconds since the latest acknowledgement left.
    pub idle_s: f64,
}

/// Lists the connections in the map with this number, most recently active first.
pub(super) fn flows(map: u32) -> Vec<ShownFlow> {
    let Ok(map) = MapHandle::from_map_id(map) else { return Vec::new() };
    let now_us = monotonic_us();
    let read = |key: Vec<u8>| {
        let value = map.lookup(&key, MapFlags::ANY).ok().flatten()?;
        let (ends, shown) = (Ends::read_from_bytes(&key).ok()?, Shown::read_from_bytes(&value).ok()?);
        Some(ShownFlow::new(&ends, &shown, now_us))
    };
    let mut all: Vec<_> = map.keys().filter_map(read).filter(|flow| flow.window_bytes > 0).collect();
    all.sort_by(|one, other| one.idle_s.total_cmp(&other.idle_s));
    all
}

/// Finds the map of flows among these maps.
pub(super) fn map_of(maps: &[u32]) -> Option<u32> {
    maps.iter().copied().find(|id| MapHandle::from_map_id(*id).is_ok_and(|map| map.name() == FLOWS))
}

impl ShownFlow {
    fn new(ends: &Ends, shown: &Shown, now_us: u64) -> ShownFlow {
        let (from, to) = ends.addresses();
        let ms = |us: u32| (us > 0).then_some(f64::from(us) / 1e3);
        let waits = 1.0 - f64::from(shown.rtt_min_us) / f64::from(shown.rtt_us.max(1));
        ShownFlow {
            from,
            to,
            rtt_ms: ms(shown.rtt_us),
            base_rtt_ms: ms(shown.rtt_min_us),
            queue_bytes: (shown.rtt_us > 0).then_some((f64::from(shown.copied_before) * waits.max(0.0)) as u64),
            offered_bytes: shown.offered,
            window_bytes: shown.shown,
            idle_s: now_us.saturating_sub(shown.seen_us) as f64 / 1e6,
        }
    }
}

impl Ends {
    /// Returns the addresses and ports of both ends.
    pub(crate) fn addresses(&self) -> (SocketAddr, SocketAddr) {
        (address(self.from, self.from_port), address(self.to, self.to_port))
    }
}

fn address(bytes: [u8; 16], port: [u8; 2]) -> SocketAddr {
    let address = Ipv6Addr::from(bytes);
    let address = address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4);
    SocketAddr::new(address, u16::from_be_bytes(port))
}

/// Returns the time of the clock of `bpf_ktime_get_ns`, in microseconds.
pub(crate) fn monotonic_us() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).expect("every kernel has it");
    now.tv_sec() as u64 * 1_000_000 + now.tv_nsec() as u64 / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_in_c::{mirrored, places};
    use mechanism::MechanismKind;

    #[test]
    fn members_stand_where_the_header_puts_them() {
        let in_c = |structure| places(MechanismKind::WindowController, "static", structure);
        assert_eq!(mirrored!(Ends: from, to, from_port, to_port), in_c("tcp_ends"));
        let shown = mirrored!(
            Shown: mss = "flow.mss", own = "flow.own", began_us = "round.began_us", rtt_us = "round.rtt_us",
            rtt_min_us = "round.rtt_min_us", copied = "round.copied", copied_before = "round.copied_before",
            had_hole = "round.had_hole", seen_us, offered, shown, right_edge, read_to, latest_rtt_us = "rtt_us",
            last_tsecr, scale, has_scale, has_edge, has_read_to, sent
        );
        assert_eq!(shown, in_c("shown_flow"));
    }
}
