//! Checks what this machine supports, what is missing, and how to add it.

use super::loader::available;
use super::pins::has_bpffs;
use super::rights;
use super::types::Types;
use super::version::{OLDEST, release, running_version};
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::tun::Tun;
use serde::Serialize;
use std::io;
use std::path::Path;

/// Disciplines that a window controller, a test over emulated links or a comparison may require of
/// the kernel.
const QDISCS: [&str; 11] = ["htb", "tbf", "pfifo", "bfifo", "clsact", "netem", "fq", "fq_codel", "pie", "red", "prio"];
/// The kernel's own congestion controls, with which those of this project are compared.
const CONTROLS: [&str; 5] = ["reno", "cubic", "bbr", "vegas", "dctcp"];

/// A check of one thing that this machine has or lacks.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Name of the thing.
    pub what: String,
    /// Purpose of the thing.
    pub needed_for: &'static str,
    /// Whether it is there; none if this process may not find out.
    pub there: Option<bool>,
    /// Whether everything works without it, or it is made on demand.
    pub optional: bool,
    /// Description of what the check found.
    pub found: String,
    /// If it is missing: what to do, if possible as a command.
    pub remedy: Option<String>,
}

impl Check {
    fn new(what: impl Into<String>, needed_for: &'static str, there: bool, found: impl Into<String>) -> Check {
        let (what, found) = (what.into(), found.into());
        Check { what, needed_for, there: Some(there), optional: false, found, remedy: None }
    }

    fn optional(self) -> Check {
        Check { optional: true, ..self }
    }

    /// Adds what to do if the thing is missing.
    fn or(mut self, remedy: impl Into<String>) -> Check {
        if self.there != Some(true) {
            self.remedy = Some(remedy.into());
        }
        self
    }
}

/// Runs all checks. They change nothing, except that the kernel may load modules that they mention.
pub fn doctor() -> Vec<Check> {
    let mut checks = kernel();
    checks.extend(programs());
    checks.extend(network());
    checks.extend(controls());
    checks
}

fn kernel() -> Vec<Check> {
    let release = release();
    let missing = rights::missing();
    let mut checks = vec![
        Check::new("Linux 6.1 or newer", "loading", running_version() >= OLDEST, &release)
            .or("install a newer kernel (Debian: apt-get install linux-image-amd64)"),
        Check::new("root's rights", "loading, testbed", missing.is_empty(), lacking(&missing)).or("run it with sudo"),
    ];
    checks.extend(types());
    checks.extend([
        Check::new("BPF file system", "loading", has_bpffs(), "/sys/fs/bpf")
            .or("mount -t bpf bpf /sys/fs/bpf (unbloat load does it)")
            .optional(),
        Check::new("systemd", "load --persist", Path::new("/run/systemd/system").is_dir(), "/run/systemd/system")
            .or("--persist writes the unit without enabling it"),
    ]);
    checks
}

/// Checks what the kernel's types contain.
fn types() -> Vec<Check> {
    let found = Types::find();
    let about = found.as_ref().map_or_else(String::clone, |_| "yes".into());
    let types = Check::new("kernel types (BTF)", "loading", found.is_ok(), about)
        .or("boot a kernel of your distribution, or another with CONFIG_DEBUG_INFO_BTF");
    let question = |what: &str, ask: &dyn Fn(&Types) -> (bool, String), remedy: &str| match &found {
        Ok(types) => {
            let (there, about) = ask(types);
            Check::new(what, "loading", there, about).or(remedy)
        }
        Err(_) => unknown(what, "loading", "unknown without types").or("see above"),
    };
    let either = |there: bool, yes: &str, no: &str| (there, if there { yes } else { no }.to_string());
    vec![
        types,
        question(
            "BPF congestion controls",
            &|types| either(types.has_controls, "yes", "missing in the types"),
            "boot a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_JIT",
        ),
        question(
            "links for them (Linux 6.4)",
            &|types| either(types.has_links, "yes", "a map is the registration"),
            "nothing: loading works without them",
        )
        .optional(),
        question(
            "cong_control with the ACK (Linux 6.10)",
            &|types| either(types.cong_control_arguments >= 4, "yes", "socket and rate sample only"),
            "nothing, unless a file reads the flags of cong_control",
        )
        .optional(),
    ]
}

fn lacking(rights: &[&str]) -> String {
    if rights.is_empty() { "yes".into() } else { format!("lacks {}", rights.join(", ")) }
}

fn programs() -> Vec<Check> {
    let check = |name: &str, needed_for, remedy: &str| match which::which(name) {
        Ok(path) => Check::new(name, needed_for, true, path.display().to_string()),
        Err(_) => Check::new(name, needed_for, false, "not on the path").or(remedy),
    };
    vec![
        check("cc", "the simulator", "apt-get install gcc libc6-dev"),
        check("clang", "loading files of your own", "apt-get install clang"),
        check("iperf3", "trying by hand", "apt-get install iperf3"),
    ]
}

/// Checks the kernel's network features, in a namespace that ends with this function.
fn network() -> Vec<Check> {
    let namespace = Namespace::new();
    let mut checks = vec![
        try_out("network namespaces", &namespace.as_ref().map(|_| ()))
            .or("run it with sudo, on a kernel with CONFIG_NET_NS"),
    ];
    let Ok(namespace) = namespace else {
        let untried =
            |what: &str, needed_for| unknown(what, needed_for, "cannot be tried without root").or("run it with sudo");
        checks.push(untried("TUN devices", "testbed"));
        checks.extend(QDISCS.iter().map(|kind| untried(&format!("qdisc {kind}"), purpose(kind))));
        return checks;
    };
    let tun = namespace.within(|| Tun::create().map(|_| ()));
    checks.push(try_out("TUN devices", &tun.as_ref().map(|_| ())).or(module_remedy("tun")));
    for kind in QDISCS {
        let there = namespace.within(|| has_qdisc(kind));
        let found =
            if there.as_ref().is_ok_and(|there| *there) { "yes".into() } else { "the kernel lacks it".to_string() };
        let check = Check::new(format!("qdisc {kind}"), purpose(kind), there.unwrap_or(false), found);
        checks.push(check.or(module_remedy(&format!("sch_{}", module_of(kind)))));
    }
    checks
}

/// Returns the purpose of a discipline.
fn purpose(kind: &str) -> &'static str {
    if kind == "clsact" { "load --dev" } else { "comparisons" }
}

fn try_out(what: &str, result: &Result<(), &io::Error>) -> Check {
    let found = result.map_or_else(|error| error.to_string(), |()| "yes".into());
    Check::new(what, "testbed", result.is_ok(), found)
}

fn unknown(what: &str, needed_for: &'static str, why: &str) -> Check {
    Check { there: None, ..Check::new(what, needed_for, false, why) }
}

/// Reports whether the kernel knows a discipline, by adding it to the loopback of the calling
/// thread's namespace. The kernel may refuse a known kind because its settings are missing.
fn has_qdisc(kind: &'static str) -> io::Result<bool> {
    match Netlink::open()?.set_root_qdisc("lo", kind) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        _ => Ok(true),
    }
}

fn module_of(kind: &str) -> &str {
    match kind {
        "pfifo" | "bfifo" => "fifo",
        "clsact" => "ingress",
        other => other,
    }
}

fn controls() -> Vec<Check> {
    let there = available();
    let check = |name: &&str| {
        let has = there.iter().any(|known| known == name);
        let found = if has { "yes" } else { "not available" };
        Check::new(format!("the kernel's {name}"), "comparisons", has, found).or(module_remedy(&format!("tcp_{name}")))
    };
    CONTROLS.iter().map(check).collect()
}

/// Returns how to get a module into the kernel.
fn module_remedy(module: &str) -> String {
    let list = std::fs::read_to_string(format!("/lib/modules/{}/modules.dep", release())).unwrap_or_default();
    let file = format!("/{module}.ko");
    if list.lines().any(|line| line.split(':').next().is_some_and(|path| path.contains(&file))) {
        format!("modprobe {module}")
    } else {
        format!("boot a kernel with {module}: this one lacks the module")
    }
}
