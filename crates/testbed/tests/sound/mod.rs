//! A run in real time that the machine could keep up with.

use mechanism::Library;
use scenario::records::Run;
use std::ops::ControlFlow;
use std::path::Path;

/// How often a run is made before one is taken as it is: the machine does other things too.
const TRIES: usize = 10;

/// Runs a scenario with its overrides until a run is sound, or for the last time.
pub fn run(text: &str, overrides: &[(String, String)]) -> Run {
    run_undisturbed(text, overrides, |_| true)
}

/// The same until a run is sound and undisturbed besides.
pub fn run_undisturbed(text: &str, overrides: &[(String, String)], undisturbed: impl Fn(&Run) -> bool) -> Run {
    let experiment = scenario::load_text(text, "a test", Path::new(""), overrides).expect("a scenario");
    let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
    let once = || {
        let mut go_on = |_| ControlFlow::Continue(());
        testbed::run(&experiment.cells[0].scenario, &library, &Default::default(), &mut go_on).expect("a run").run
    };
    (1..TRIES).map(|_| once()).find(|run| run.sound && undisturbed(run)).unwrap_or_else(once)
}
