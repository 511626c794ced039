//! Measures a call of CUBIC in the kernel: of ours, and of the kernel's own behind a BPF program that only calls it.
//! `benches/cost-per-call` runs it; it needs root.
//!
//! Both drive a flow on one link at the same time, and the kernel times their programs (statistics of BPF programs).
//! Its times include reading the clock twice; the printed figures subtract the time of an empty program. Neither
//! includes the few dozen instructions that build the arguments of a BPF program.

use kernel::{Calls, status};
use model::records::Options;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;
use unbloat_testbed::{GroupControl, Time, load_controls, run_with};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const RUNS: usize = 5;
/// Shorter than the run, which needs a moment to begin.
const MEASURED: Duration = Duration::from_secs(8);
const EMPTY: &str = "min_tso_segs";
/// Callbacks with fewer calls are not printed: their figures scatter too much.
const CALLS_ENOUGH: u64 = 1000;

/// By group and callback: nanoseconds per call in each run, and the number of calls in all runs.
type Figures = BTreeMap<(usize, String), (Vec<f64>, u64)>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let experiment = scenario::load(&Path::new(ROOT).join("benches/two-cubics.toml"), &[])?;
    let scenario = &experiment.points[0].scenario;
    let library = mechanism::Library::open(Path::new(ROOT).join("algorithms"));
    let mut figures = Figures::new();
    for _ in 0..RUNS {
        let controls = load_controls(scenario, &library)?;
        let counting = std::thread::spawn(|| status(Some(MEASURED)));
        run_with(scenario, &library, &controls, Time::Real, &Options::default(), &mut |_| ControlFlow::Continue(()))?;
        let counted = counting.join().expect("nothing panics")?;
        for (group, control) in controls.iter().enumerate() {
            collect(&mut figures, group, calls_of(&counted, control));
        }
    }
    print(&figures);
    Ok(())
}

fn calls_of<'a>(counted: &'a [kernel::ControlStatus], control: &GroupControl) -> &'a [Calls] {
    let found = counted.iter().find(|counted| counted.name == control.name);
    found.map_or(&[], |counted| &counted.callbacks)
}

fn collect(figures: &mut Figures, group: usize, calls: &[Calls]) {
    for calls in calls {
        if let Some(ns) = calls.ns_per_call {
            let (runs, count) = figures.entry((group, calls.callback.clone())).or_default();
            runs.push(ns);
            *count += calls.calls;
        }
    }
}

fn print(figures: &Figures) {
    let (empty, _) = &figures[&(1, EMPTY.to_string())];
    let floor = mean(empty);
    println!("ns a call without the {floor:.0} of an empty program (standard deviation over {RUNS} runs)\n");
    println!("{:12}{:>12}{:>16}{:>12}{:>16}", "", "calls", "cubic", "calls", "the kernel's");
    let ours = figures.iter().filter(|((group, _), (_, calls))| *group == 0 && *calls >= CALLS_ENOUGH);
    for ((_, callback), (ns, calls)) in ours {
        if let Some((theirs, their_calls)) = figures.get(&(1, callback.clone())) {
            let (ns, theirs) = (with_deviation(ns, floor), with_deviation(theirs, floor));
            println!("{callback:12}{calls:>12}{ns:>16}{their_calls:>12}{theirs:>16}");
        }
    }
}

fn with_deviation(values: &[f64], floor: f64) -> String {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (values.len() - 1).max(1) as f64).sqrt();
    format!("{:.0} ({deviation:.0})", mean - floor)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
