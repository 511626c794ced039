//! Runs a scenario with the kernel's TCP and prints its records: `emulate FILE key=value...`

use mechanism::Library;
use model::records::{Options, ProgressUpdate};
use std::ops::ControlFlow;
use std::path::Path;
use unbloat_testbed::Time;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: emulate FILE key=value...");
    let overrides: Vec<_> = arguments
        .map(|argument| argument.split_once('=').map(|(key, value)| (key.into(), value.into())).expect("key=value"))
        .collect();
    let experiment = scenario::load(Path::new(&file), &overrides).unwrap_or_else(|error| panic!("{error}"));
    let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
    for cell in &experiment.points {
        let mut go_on = |_: ProgressUpdate| ControlFlow::Continue(());
        match unbloat_testbed::run(&cell.scenario, &library, Time::Real, &Options::default(), &mut go_on) {
            Ok(outcome) => println!("{}", serde_json::to_string_pretty(&outcome.run).expect("records are plain")),
            Err(error) => eprintln!("{error}"),
        }
    }
}
