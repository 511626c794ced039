//! Simulates a scenario file and prints its records as JSON, for benchmarks and profiles:
//! `simulate FILE [key=value]...`. The costs of the run go to standard error.

use mechanism::Library;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;
use unbloat_engine::Options;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: simulate FILE [key=value]...");
    let overrides: Vec<_> =
        arguments.map(|a| a.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())).expect("key=value")).collect();
    let experiment = scenario::load(Path::new(&file), &overrides).unwrap_or_else(|e| panic!("{e}"));
    let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
    for cell in &experiment.points {
        let (start, worked) = (Instant::now(), processor_seconds());
        let outcome =
            unbloat_engine::run(&cell.scenario, &library, &Options::default(), &mut |_| ControlFlow::Continue(()))
                .unwrap_or_else(|e| panic!("{e:?}"));
        let clock = start.elapsed().as_secs_f64();
        let seconds = processor_seconds().zip(worked).map_or(clock, |(now, before)| now - before);
        eprintln!(
            "{} data packets in {seconds:.3} s of the processor, {clock:.3} s by the clock: {:.2} million a second; {} \
                kB at the peak",
            outcome.data_packets,
            outcome.data_packets as f64 / seconds / 1e6,
            peak_kilobytes()
        );
        println!("{}", serde_json::to_string_pretty(&outcome.run).expect("records are plain"));
    }
}

/// Processor time of this process, s; `None` if the kernel does not report it. Other processes make a run longer, but
/// not its processor time.
fn processor_seconds() -> Option<f64> {
    let statistics = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanoseconds: f64 = statistics.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// The most memory that this process has had up to now, kB.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
