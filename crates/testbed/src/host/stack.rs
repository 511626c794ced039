//! A profile's settings of TCP as the kernel has them: sysctls of a namespace, route metrics, socket options.

use crate::ip::Version;
use model::{LossDetection, Reduction, SendBuffer, TcpProfile, TcpRmem};
use netlink_packet_route::route::RouteMetric;
use std::io;
use std::path::Path;

/// Since this version of Linux timestamps may count microseconds.
const MICROSECOND_TIMESTAMPS: (u32, u32) = (6, 7);

/// A setting of a profile that a kernel's TCP cannot change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unswitchable {
    /// The key under `profile`.
    pub key: &'static str,
    /// The kernel's fixed behaviour, such as "detects losses by RACK".
    pub always: &'static str,
}

/// Returns the first setting of `stack` that differs from Linux's own behaviour and cannot be changed in this version.
pub fn unswitchable(stack: &TcpProfile, version: (u32, u32)) -> Option<Unswitchable> {
    let linux = TcpProfile::LINUX;
    let fixed = [
        ("prr", stack.repair.reduction != Reduction::AtOnce, "recovers by proportional rate reduction"),
        ("rate_halving", stack.repair.reduction != Reduction::Halving, "recovers by proportional rate reduction"),
        // RACK does nothing without SACK (`tcp_identify_packet_loss`).
        ("rack", stack.repair.loss_detection == LossDetection::Rack || !stack.sack, "detects losses by RACK"),
        ("undo", stack.undo == linux.undo, "undoes a reduction that proves spurious"),
        ("ack_every", stack.ack_every == linux.ack_every, "acknowledges every second segment"),
        ("quick_ack", stack.quick_ack == linux.quick_ack, "acknowledges the first segments at once"),
        (
            "limited_transmit",
            stack.limited_transmit == linux.limited_transmit,
            "sends new data on the first duplicates",
        ),
        ("gate", !stack.gate, "spreads the wait of a congestion control over the window, by pacing"),
        ("cwnd_validation", stack.cwnd_validation == linux.cwnd_validation, "does not let an unused window grow"),
        (
            "tcp_usec_ts",
            !stack.tcp_usec_ts || version >= MICROSECOND_TIMESTAMPS,
            "counts milliseconds in timestamps before Linux 6.7",
        ),
    ];
    fixed.into_iter().find(|(_, same, _)| !same).map(|(key, _, always)| Unswitchable { key, always })
}

/// Sets up the calling thread's network namespace as `stack` says, for this version of IP; `ecn` turns on ECN in
/// addition.
pub fn apply(stack: &TcpProfile, ecn: bool, version: Version) -> io::Result<()> {
    let switch = |on: bool| if on { "1" } else { "0" };
    let settings = [
        ("ipv4/tcp_sack", switch(stack.sack)),
        ("ipv4/tcp_dsack", switch(stack.sack)),
        ("ipv4/tcp_timestamps", switch(stack.timestamps)),
        ("ipv4/tcp_window_scaling", switch(stack.window_scaling)),
        ("ipv4/tcp_early_retrans", if stack.tlp { "3" } else { "0" }),
        ("ipv4/tcp_frto", if stack.frto { "2" } else { "0" }),
        // The kernel's own default is 44 acknowledgements.
        ("ipv4/tcp_comp_sack_nr", if stack.sack_compression { "44" } else { "0" }),
        ("ipv4/tcp_ecn", switch(stack.ecn || ecn)),
        // Each run starts from nothing: no window or threshold remembered from a flow before.
        ("ipv4/tcp_no_metrics_save", "1"),
        // Room for any window that a scenario can fill; the emulator's queues are the only ones that matter.
        ("ipv4/tcp_rmem", "4096 131072 536870912"),
        ("ipv4/tcp_wmem", "4096 16384 536870912"),
        ("ipv4/ip_local_port_range", "20000 60999"),
        // This group, which root has, may ping without further rights (icmp(7)).
        ("ipv4/ping_group_range", "0 0"),
        // Data that killed programs leave undelivered is given up after about ten seconds, not after minutes: the hosts
        // and the congestion control stay until then.
        ("ipv4/tcp_orphan_retries", "4"),
    ];
    settings.into_iter().try_for_each(|(key, value)| set(key, value))?;
    match version {
        Version::V4 => silence(),
        Version::V6 => use_ipv6(),
    }
}

/// Makes later interfaces of the calling thread's namespace use IPv6 with the addresses that they are given, and send
/// nothing by themselves.
fn use_ipv6() -> io::Result<()> {
    if !Path::new(IPV6).exists() {
        return Err(io::Error::other("this kernel lacks IPv6, which the nodes of a mesh use"));
    }
    // Mode 1 makes no link-local address, from which a router would be asked.
    let settings = [("disable_ipv6", "0"), ("addr_gen_mode", "1"), ("accept_ra", "0"), ("accept_dad", "0")];
    settings.into_iter().try_for_each(|(key, value)| set(&format!("ipv6/conf/default/{key}"), value))
}

/// The folder of IPv6 settings, which a kernel without IPv6 does not have.
const IPV6: &str = "/proc/sys/net/ipv6";

/// Makes receivers in the calling thread's namespace tune their buffers within these bounds.
pub fn tune_receive_buffers(tcp_rmem: TcpRmem) -> io::Result<()> {
    set("ipv4/tcp_rmem", &format!("4096 {} {}", tcp_rmem.default.0, tcp_rmem.max.0))
}

/// Makes senders in the calling thread's namespace tune their buffers within these bounds.
pub fn tune_send_buffers(send_buffer: &SendBuffer) -> io::Result<()> {
    set("ipv4/tcp_wmem", &format!("4096 {} {}", send_buffer.default.0, send_buffer.max.0))
}

const ALLOWED: &str = "ipv4/tcp_allowed_congestion_control";

/// Makes a congestion control the default of the calling thread's namespace, if every user may choose it. Otherwise
/// nothing changes, and the namespace has the default of the machine's first one. The kernel would miscount the users
/// of a congestion control that not everybody may choose (`tcp_set_default_congestion_control`).
pub fn prefer(control: &str) -> io::Result<()> {
    if get(ALLOWED)?.split_whitespace().any(|allowed| allowed == control) {
        set("ipv4/tcp_congestion_control", control)?;
    }
    Ok(())
}

/// Lets every user of this machine choose a congestion control. The calling thread must be in the first network
/// namespace.
pub fn allow(control: &str) -> io::Result<()> {
    let allowed = get(ALLOWED)?;
    if allowed.split_whitespace().any(|known| known == control) {
        return Ok(());
    }
    set(ALLOWED, &format!("{} {control}", allowed.trim()))
}

/// Turns off neighbour discovery and router solicitation in the calling thread's namespace.
pub fn silence() -> io::Result<()> {
    if Path::new(IPV6).exists() {
        set("ipv6/conf/all/disable_ipv6", "1")?;
        set("ipv6/conf/default/disable_ipv6", "1")?;
    }
    Ok(())
}

/// Makes the calling thread's namespace give up, at the next timeout, data that closed connections have not delivered:
/// the emulator carries no more packets.
pub fn give_up_what_is_undelivered() -> io::Result<()> {
    set("ipv4/tcp_orphan_retries", "1")
}

fn get(key: &str) -> io::Result<String> {
    std::fs::read_to_string(Path::new("/proc/sys/net").join(key))
        .map_err(|error| io::Error::new(error.kind(), format!("net/{key} cannot be read: {error}")))
}

fn set(key: &str, value: &str) -> io::Result<()> {
    std::fs::write(Path::new("/proc/sys/net").join(key), value)
        .map_err(|error| io::Error::new(error.kind(), format!("net/{key} cannot be set to {value}: {error}")))
}

/// The number of the route metric `rto_min` (linux/rtnetlink.h).
const RTAX_RTO_MIN: u32 = 13;
/// `RTAX_FEATURE_TCP_USEC_TS` (linux/rtnetlink.h).
const TCP_USEC_TS: u32 = 1 << 4;

/// Returns the metrics that `stack` needs on the route to the other end, where it differs from the kernel's defaults.
pub fn route_metrics(stack: &TcpProfile) -> Vec<RouteMetric> {
    let linux = TcpProfile::LINUX;
    let mut metrics = vec![];
    if stack.initial_window != linux.initial_window {
        metrics.push(RouteMetric::InitCwnd(stack.initial_window));
    }
    if stack.rto_min != linux.rto_min {
        // The kernel counts it in milliseconds, as `ip route ... rto_min` shows it, and uses it only where it is
        // locked (`tcp_rto_min`).
        metrics.push(RouteMetric::Lock(1 << RTAX_RTO_MIN));
        metrics.push(RouteMetric::RtoMin((stack.rto_min.0 / 1_000_000) as u32));
    }
    if !stack.delayed_ack {
        metrics.push(RouteMetric::QuickAck(1));
    }
    if stack.tcp_usec_ts {
        metrics.push(RouteMetric::Features(TCP_USEC_TS));
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::LossRepair;

    #[test]
    fn what_a_kernel_always_does_is_named() {
        let linux = TcpProfile::LINUX;
        let at_once = LossRepair { reduction: Reduction::AtOnce, ..linux.repair };
        let without_rack = LossRepair { loss_detection: LossDetection::Rfc6675, ..linux.repair };
        let fixed = [
            ("prr", TcpProfile { repair: at_once, ..linux }),
            ("rate_halving", TcpProfile { repair: LossRepair::NS2, ..linux }),
            ("rack", TcpProfile { repair: without_rack, ..linux }),
            ("undo", TcpProfile { undo: false, ..linux }),
            ("quick_ack", TcpProfile { quick_ack: false, ..linux }),
            ("limited_transmit", TcpProfile { limited_transmit: false, ..linux }),
            ("cwnd_validation", TcpProfile { cwnd_validation: false, ..linux }),
        ];
        for (key, stack) in fixed {
            assert_eq!(unswitchable(&stack, (6, 18)).map(|switch| switch.key), Some(key));
        }
        let free = TcpProfile {
            sack: false,
            repair: without_rack,
            timestamps: false,
            tlp: false,
            delayed_ack: false,
            ecn: true,
            pacing: true,
            ..linux
        };
        assert_eq!(unswitchable(&free, (6, 18)), None);
    }

    #[test]
    fn microsecond_timestamps_came_with_linux_6_7() {
        let stack = TcpProfile { tcp_usec_ts: true, ..TcpProfile::LINUX };
        for (version, refused) in [((6, 1), true), ((6, 6), true), ((6, 7), false), ((7, 0), false)] {
            assert_eq!(unswitchable(&stack, version).is_some_and(|switch| switch.key == "tcp_usec_ts"), refused);
        }
        assert_eq!(route_metrics(&stack), [RouteMetric::Features(TCP_USEC_TS)]);
        assert_eq!(route_metrics(&TcpProfile::LINUX), []);
    }
}
