//! Runs with known packet events, records and series: any change of behaviour, wanted or not, shows here.
//!
//! After a wanted change, write the new values with `REGENERATE=1 cargo test -p unbloat-engine --test engine
//! fingerprints` and say in the commit why they changed.

use crate::inhabited;
use crate::world::fingerprint;
use model::Scenario;
use model::units::Nanos;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::path::Path;
use unbloat_engine::Options;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints");
/// Number of random networks besides the scenarios of the folder. Together they use every switch of the stack and every
/// part of a network.
const RANDOM: usize = 400;
/// The congestion controls of the random networks. Another one would change all networks.
const CONTROLS: [&str; 8] = ["reno", "cubic", "bbr", "vegas", "dctcp", "cubic_plus", "reno_plus", "vegas_plus"];
const SERIES_STEP: Nanos = Nanos::from_millis(100);

/// Hashes bytes after `from` (FNV-1a).
fn hash(bytes: &[u8], from: u64) -> u64 {
    bytes.iter().fold(from, |hash, byte| (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Hashes of a run's events and of its records.
fn fingerprints(scenario: &Scenario) -> (u64, u64) {
    let (outcome, events) = fingerprint(scenario, &Options { series: Some(SERIES_STEP), ..Options::default() });
    let records = serde_json::to_vec(&(&outcome.run, &outcome.series)).expect("records are plain");
    (events, hash(&records, 0xcbf2_9ce4_8422_2325))
}

fn of_file(file: &Path) -> (u64, u64) {
    let experiment = scenario::load(file, &[]).unwrap_or_else(|e| panic!("{e}"));
    fingerprints(&experiment.points[0].scenario)
}

/// The fingerprints of many random scenarios, combined in one.
fn of_random_scenarios() -> (u64, u64) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[5; 32]);
    let mut runner = TestRunner::new_with_rng(Default::default(), rng);
    let strategy = inhabited::inhabited(CONTROLS.map(String::from).to_vec());
    (0..RANDOM).fold((0, 0), |(events, records), _| {
        let scenario = strategy.new_tree(&mut runner).expect("its filters refuse little").current();
        let one = fingerprints(&scenario);
        (hash(&one.0.to_le_bytes(), events), hash(&one.1.to_le_bytes(), records))
    })
}

fn measured() -> BTreeMap<String, (u64, u64)> {
    let files = std::fs::read_dir(FOLDER).expect("the folder is there").map(|entry| entry.expect("readable").path());
    let scenarios = files.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let named = scenarios.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), of_file(&path)));
    named.chain([("(random scenarios)".into(), of_random_scenarios())]).collect()
}

#[test]
fn every_event_is_as_it_was() {
    let measured = measured();
    assert_eq!(measured.len(), 15);
    let line = |(name, (events, records)): (&String, &(u64, u64))| format!("{events:016x}  {records:016x}  {name}\n");
    let text: String = measured.iter().map(line).collect();
    let file = Path::new(FOLDER).join("expected");
    if std::env::var_os("REGENERATE").is_some() {
        std::fs::write(&file, &text).expect("writable");
    }
    let expected = std::fs::read_to_string(&file).expect("readable");
    assert_eq!(text, expected, "events or records are not what they were; see the top of fingerprints.rs");
}
