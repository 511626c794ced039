//! The scenarios: one link, and on it a flow of every control.

use mechanism::Library;
use scenario::model::{CcSource, Scenario, Service, Trace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Drop-tail losses, several flows at a time; long enough for BBR to look for a new least RTT.
pub fn small_buffer() -> Scenario {
    every_control("a full buffer", 14, "20mbit", "queue = { kind = \"droptail\", limit = \"40p\" }", "")
}

/// Losses that have nothing to do with the queue.
pub fn random_losses() -> Scenario {
    every_control(
        "random losses",
        12,
        "20mbit",
        "queue = { kind = \"droptail\", limit = \"200p\" }\nloss = \"1.5%\"",
        "",
    )
}

/// Nothing gets through for a second and a half, twice. What waits meanwhile comes late, so that some timeouts prove spurious; what finds the
/// queue full does not come at all.
pub fn outage() -> Scenario {
    let mut scenario = every_control("an outage", 11, "20mbit", "queue = { kind = \"droptail\", limit = \"60p\" }", "");
    scenario.bottleneck.service =
        Service::Trace(Arc::new(Trace::parse(Path::new("outage"), &outages()).expect("a trace")));
    scenario
}

/// ECN, with the threshold of a DCTCP switch. Without BBR, which does not heed marks and keeps the queue so long that the others get nothing but.
pub fn marks() -> Scenario {
    let queue = "queue = { kind = \"droptail\", limit = \"200p\", ecn_threshold = \"30p\" }";
    let mut scenario = every_control("marks", 8, "20mbit", queue, "ecn = true");
    scenario.flows.retain(|group| group.cc.source != CcSource::Builtin("bbr".into()));
    scenario
}

/// A full buffer for controls that were written for the kernel: these files.
pub fn files(paths: &[PathBuf]) -> Scenario {
    let sources = paths.iter().map(|path| path.display().to_string());
    let queue = "queue = { kind = \"droptail\", limit = \"40p\", ecn_threshold = \"30p\" }";
    scenario("files written for the kernel", &sources.collect::<Vec<_>>(), 8, "20mbit", queue, "")
}

/// The same with one control only.
pub fn only(name: &str, mut scenario: Scenario) -> Scenario {
    let group = library().names().iter().position(|known| known == name).expect("a built-in");
    scenario.flows = vec![scenario.flows.swap_remove(group)];
    scenario
}

fn library() -> Library {
    Library::open(super::ALGORITHMS)
}

fn every_control(name: &str, seconds: u32, rate: &str, link: &str, flow: &str) -> Scenario {
    scenario(name, &library().names(), seconds, rate, link, flow)
}

fn scenario(name: &str, controls: &[String], seconds: u32, rate: &str, link: &str, flow: &str) -> Scenario {
    let mut text = format!(
        "name = \"{name}\"\nduration = \"{seconds}s\"\nseed = 1\n\
         [link.bottleneck]\nrate = \"{rate}\"\ndelay = \"20ms\"\n{link}\n"
    );
    for (place, control) in controls.iter().enumerate() {
        let start = 50 * place;
        // BBR would take the others' share.
        let access = if control == "bbr" { "{ rate = \"3mbit\" }" } else { "{}" };
        text += &format!("[[flows]]\ncc = \"{control}\"\nstart = \"{start}ms\"\naccess = {access}\n{flow}\n");
    }
    let mut experiment = scenario::load_text(&text, name, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    experiment.cells.remove(0).scenario
}

/// Every five seconds 20 Mbit/s for three and a half, then nothing.
fn outages() -> String {
    let open = (0..3500).filter(|ms| ms % 3 != 2).chain([5000]);
    open.flat_map(|ms| [format!("{ms}\n"), if ms % 3 == 0 { format!("{ms}\n") } else { String::new() }]).collect()
}
