//! Lists the congestion controls that are loaded, with their users and their cost.

use super::cgroup::{self, Attachment};
use super::loader::available;
use super::pins::{self, default, pinned};
use super::registry::{Registered, registered};
use super::rights;
use super::types::Types;
use mechanism::Error;
use serde::Serialize;
use std::collections::BTreeSet;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

/// A BPF congestion control in the kernel, or one of the kernel's own that control groups use.
#[derive(Debug, Serialize)]
pub struct ControlStatus {
    /// Name of the congestion control, as in `setsockopt(TCP_CONGESTION)`.
    pub name: String,
    /// The owner that keeps it in the kernel.
    pub held_by: Holder,
    /// The built-in's name or the path of its file, if `unbloat load` loaded it.
    pub source: Option<String>,
    /// Each parameter with its value, if `unbloat load` loaded it.
    pub parameters: Option<Vec<(String, String)>>,
    /// Number of sockets that use it; none for the kernel's own, whose sockets the kernel does not
    /// count.
    pub sockets: Option<u32>,
    /// Whether new sockets of this network namespace get it.
    pub is_default: bool,
    /// Control groups that get it from [`super::attach`].
    pub cgroups: Vec<PathBuf>,
    /// The runs of its callbacks while they were measured, in the kernel's order.
    pub callbacks: Vec<Calls>,
}

/// The owner that keeps a congestion control in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    /// A pin of `unbloat load`.
    Pin,
    /// A running program, such as a test over emulated links, or somebody else's pin.
    Process,
    /// The kernel itself, which brought it.
    Kernel,
    /// Nobody: it is gone, and the control groups that it was attached to have the default.
    Nobody,
    /// Only sockets that are still open: it can no longer be chosen.
    Sockets,
}

/// How often a callback ran while it was measured, and its mean time.
#[derive(Debug, Serialize)]
pub struct Calls {
    /// The member of `struct tcp_congestion_ops`.
    pub callback: String,
    /// Number of runs.
    pub calls: u64,
    /// Mean time of a run in ns; none without a run.
    pub ns_per_call: Option<f64>,
}

/// Lists every BPF congestion control in the kernel, then the kernel's own that control groups use.
/// With `measure` the kernel counts their runs for that time, which slows every BPF program of the
/// machine a little.
///
/// # Errors
/// Fails if this process lacks the rights.
pub fn status(measure: Option<Duration>) -> Result<Vec<ControlStatus>, Error> {
    rights::require("looking at the kernel's BPF programs")?;
    let types = Types::read()?;
    let found = registered(&types.operations_layout, types.has_links);
    let calls = match measure {
        Some(time) => measured(&found, time)?,
        None => found.iter().map(|_| Vec::new()).collect(),
    };
    let attached = cgroup::attached();
    let mut all: Vec<_> =
        found.iter().zip(calls).map(|(control, callbacks)| describe(control, callbacks, &attached)).collect();
    let names: BTreeSet<_> = attached.iter().map(|attachment| attachment.control.as_str()).collect();
    let others = names.into_iter().filter(|name| !found.iter().any(|control| control.name == *name));
    all.extend(others.map(|name| not_in_bpf(name, &attached)));
    Ok(all)
}

/// Returns the folders of the groups that have this congestion control.
fn groups_of(control: &str, attached: &[Attachment]) -> Vec<PathBuf> {
    let its = attached.iter().filter(|attachment| attachment.control == control);
    its.map(|attachment| attachment.cgroup.clone()).collect()
}

/// Describes a congestion control that groups have and that no BPF program provides.
fn not_in_bpf(name: &str, attached: &[Attachment]) -> ControlStatus {
    let is_offered = available().iter().any(|offered| offered == name);
    ControlStatus {
        name: name.to_string(),
        held_by: if is_offered { Holder::Kernel } else { Holder::Nobody },
        source: None,
        parameters: None,
        sockets: None,
        is_default: default() == name,
        cgroups: groups_of(name, attached),
        callbacks: vec![],
    }
}

fn describe(control: &Registered, callbacks: Vec<Calls>, attached: &[Attachment]) -> ControlStatus {
    let is_default = control.is_offered && default() == control.name;
    let pin = pinned().into_iter().find(|name| control.is_offered && name.as_str() == control.name);
    let is_pinned = pin.is_some();
    let note = pin.as_ref().and_then(pins::note);
    ControlStatus {
        name: control.name.clone(),
        held_by: match (control.is_offered, is_pinned) {
            (false, _) => Holder::Sockets,
            (true, true) => Holder::Pin,
            (true, false) => Holder::Process,
        },
        source: note.as_ref().map(|note| note.source.clone()),
        parameters: note.map(|note| note.parameters),
        sockets: Some(control.users.saturating_sub(u32::from(is_default))),
        is_default,
        cgroups: groups_of(&control.name, attached),
        callbacks,
    }
}

/// Measures the runs of all congestion controls' callbacks during `time`.
fn measured(controls: &[Registered], time: Duration) -> Result<Vec<Vec<Calls>>, Error> {
    let _counting = count_runs()?;
    let before = all_counts(controls);
    std::thread::sleep(time);
    let after = all_counts(controls);
    let calls = controls.iter().zip(before.iter().zip(&after)).map(|(control, (before, after))| {
        let callbacks = control.programs.iter().zip(before.iter().zip(after));
        callbacks.map(|((callback, _), (before, after))| calls(callback, *before, *after)).collect()
    });
    Ok(calls.collect())
}

fn calls(callback: &str, before: Counts, after: Counts) -> Calls {
    let calls = after.runs.saturating_sub(before.runs); // none if it went meanwhile
    let mean = after.ns.saturating_sub(before.ns) as f64 / calls as f64;
    Calls { callback: callback.to_string(), calls, ns_per_call: (calls > 0).then_some(mean) }
}

/// Makes the kernel count runs while the descriptor is open.
fn count_runs() -> Result<OwnedFd, Error> {
    // SAFETY: takes a number and gives a descriptor.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if fd < 0 {
        let error = std::io::Error::from_raw_os_error(-fd);
        return Err(Error::machine(format!("the kernel cannot count the runs of BPF programs: {error}")));
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// How often a program ran since it was loaded, and its total time.
#[derive(Clone, Copy, Default)]
struct Counts {
    runs: u64,
    ns: u64,
}

fn all_counts(controls: &[Registered]) -> Vec<Vec<Counts>> {
    controls.iter().map(|control| control.programs.iter().map(|(_, program)| counts(*program)).collect()).collect()
}

/// Returns the counts of a program; zero if it is gone.
fn counts(program: u32) -> Counts {
    use std::os::fd::AsRawFd;
    // SAFETY: takes a number and gives a descriptor.
    let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(program) };
    if fd < 0 {
        return Counts::default();
    }
    // SAFETY: the descriptor is new and nobody else's.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: all zeroes is a value of this struct, and asks for no arrays.
    let mut info: libbpf_sys::bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the kernel writes at most `length` bytes.
    let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd.as_raw_fd(), &mut info, &mut length) } != 0;
    if failed { Counts::default() } else { Counts { runs: info.run_cnt, ns: info.run_time_ns } }
}
