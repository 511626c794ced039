//! The scenarios: one link with a flow of every congestion control. The rate and queue of the link grow with the number
//! of flows, so that each gets its share.

use mechanism::Library;
use model::{MechanismSource, Scenario, Service, Trace, Transmitter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The folder with the sources of all congestion controls.
pub const ALGORITHMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");

/// The share of the link's rate for each congestion control, kbit/s.
const SHARE_KBIT: usize = 1500;
/// [`SHARE_KBIT`] in full packets per second.
const SHARE_PACKETS: usize = SHARE_KBIT * 1000 / 8 / 1500;

/// A scenario of drop-tail losses of several flows at a time, long enough for BBR to look for a new minimum RTT.
pub fn small_buffer() -> Scenario {
    every_control("a full buffer", 14, &queue(5), "")
}

/// A scenario of losses that do not depend on the queue, with timestamps in microseconds where the kernel has them.
pub fn random_losses() -> Scenario {
    let profile = format!("profile = {{ tcp_usec_ts = {} }}", microseconds());
    every_control("random losses", 12, &format!("{}\nloss = \"1.5%\"", queue(25)), &profile)
}

/// Whether the kernel has timestamps in microseconds, as Linux has from 6.7 on.
pub fn microseconds() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("readable");
    let numbers: Vec<u32> = release.split('.').take(2).map_while(|number| number.parse().ok()).collect();
    numbers >= vec![6, 7]
}

/// A scenario in which nothing gets through for a second and a half, twice. Packets that wait meanwhile arrive late, so
/// that some timeouts prove spurious. Packets that meet a full queue are lost.
pub fn outage() -> Scenario {
    let mut scenario = every_control("an outage", 11, &queue(8), "");
    let trace = Trace::parse(Path::new("outage"), &outages(scenario.flows.len())).expect("a trace");
    scenario.links[0].forward.service = Service::Own(Transmitter::Trace(Arc::new(trace)));
    scenario
}

/// A scenario with ECN and the marking threshold of a DCTCP switch. BBR and Copa are left out: they ignore marks and keep
/// the queue so long that all packets of the others would be marked.
pub fn marks() -> Scenario {
    let controls = controls().len();
    let queue = format!(
        "queue = {{ kind = \"droptail\", limit = \"{}p\", ecn_threshold = \"{}p\" }}",
        25 * controls,
        4 * controls
    );
    let mut scenario = every_control("marks", 8, &queue, "ecn = true");
    let without_response = ["bbr", "bbr3", "copa"].map(|name| MechanismSource::Builtin(name.into()));
    scenario.flows.retain(|group| !without_response.contains(&group.cc.source));
    scenario
}

/// A scenario with ECN for congestion controls that were written for the kernel, in these files. Every flow reacts to
/// marks. A flow that filled the queue would cause every packet of DCTCP to be marked. DCTCP would then send two
/// segments per round trip, and have hardly any ACK outside a reduction.
pub fn files(paths: &[PathBuf]) -> Scenario {
    let sources = paths.iter().map(|path| path.display().to_string());
    let queue = "queue = { kind = \"droptail\", limit = \"80p\", ecn_threshold = \"30p\" }";
    scenario("files written for the kernel", &sources.collect::<Vec<_>>(), 8, "20mbit", queue, "ecn = true")
}

/// Returns a scenario with the flow of only one congestion control.
pub fn only(name: &str, mut scenario: Scenario) -> Scenario {
    let group = controls().iter().position(|known| known == name).expect("a built-in");
    scenario.flows = vec![scenario.flows.swap_remove(group)];
    scenario
}

/// Returns the names of all congestion controls that a kernel can load.
fn controls() -> Vec<String> {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| Library::open(ALGORITHMS).loadable_names().expect("all compile")).clone()
}

fn every_control(name: &str, seconds: u32, link: &str, flow: &str) -> Scenario {
    let controls = controls();
    scenario(name, &controls, seconds, &format!("{}kbit", SHARE_KBIT * controls.len()), link, flow)
}

/// Returns the keys of a drop-tail queue with room for `packets` packets of each congestion control.
fn queue(packets: usize) -> String {
    format!("queue = {{ kind = \"droptail\", limit = \"{}p\" }}", packets * controls().len())
}

fn scenario(name: &str, controls: &[String], seconds: u32, rate: &str, link: &str, flow: &str) -> Scenario {
    let mut text = format!(
        "name = \"{name}\"\nduration = \"{seconds}s\"\nseed = 1\n\
         [link.bottleneck]\nrate = \"{rate}\"\ndelay = \"20ms\"\n{link}\n"
    );
    for (place, control) in controls.iter().enumerate() {
        let start = if gives_way(control) { 0 } else { 1000 + 50 * place };
        // BBR would take the others' share.
        let access = if control.starts_with("bbr") { "{ rate = \"2mbit\" }" } else { "{}" };
        // It sends two segments a second if it does not know its share.
        let params = if control == "dtpa" { format!("{{ c = {} }}", 1000 * SHARE_PACKETS) } else { "{}".into() };
        text += &format!(
            "[[flows]]\ncc = \"{control}\"\nparams = {params}\nstart = \"{start}ms\"\naccess = {access}\n{flow}\n"
        );
    }
    let mut experiment = scenario::load_text(&text, name, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    experiment.points.remove(0).scenario
}

/// Whether a built-in uses one-way delays. Beside the others it soon sends only a packet or two at a time, so it starts
/// a second before them.
fn gives_way(control: &str) -> bool {
    let source = Path::new(ALGORITHMS).join(format!("congestion/{control}.bpf.c"));
    std::fs::read_to_string(source).is_ok_and(|text| text.contains("one_way_delay.h"))
}

/// Returns a trace that repeats every five seconds: three and a half at the full rate, then nothing.
fn outages(controls: usize) -> String {
    let a_second = SHARE_PACKETS * controls;
    let open = (0..a_second * 7 / 2).map(|packet| packet * 1000 / a_second);
    open.chain([5000]).map(|ms| format!("{ms}\n")).collect()
}
