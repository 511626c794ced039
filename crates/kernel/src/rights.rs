//! The rights of this process towards the kernel.

use mechanism::Error;

/// Numbers of capabilities (`linux/capability.h`, part of the kernel's stable interface).
const NET_ADMIN: u32 = 12;
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// Rights to load the programs of a congestion control, to let them see the socket, and to register
/// it.
const NEEDED: [(&str, u32); 3] = [("CAP_BPF", BPF), ("CAP_PERFMON", PERFMON), ("CAP_NET_ADMIN", NET_ADMIN)];

/// Rights to create the namespaces of emulated hosts, and interfaces in them.
const FOR_HOSTS: [(&str, u32); 2] = [("CAP_SYS_ADMIN", SYS_ADMIN), ("CAP_NET_ADMIN", NET_ADMIN)];

/// Lists the rights for loading that this process lacks, by name.
pub(crate) fn missing() -> Vec<&'static str> {
    let held = held();
    let has = |number: u32| held & (1 << number) != 0;
    if has(SYS_ADMIN) {
        return Vec::new();
    }
    NEEDED.iter().filter(|(_, number)| !has(*number)).map(|(name, _)| *name).collect()
}

/// Fails if this process lacks the rights for what it is doing.
pub(crate) fn require(doing: &str) -> Result<(), Error> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::machine(format!("{doing} needs root's rights ({}): run it with sudo", missing.join(", "))))
}

/// Fails if this process lacks the rights to create emulated hosts.
pub fn require_hosts() -> Result<(), Error> {
    let held = held();
    let missing = FOR_HOSTS.iter().filter(|(_, number)| held & (1 << number) == 0).map(|(name, _)| *name);
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::machine(format!("emulated hosts need root's rights ({}): run it with sudo", missing.join(", "))))
}

/// Returns the effective capabilities, one bit for each.
fn held() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}
