//! Six runs whose every packet event is known: any change of behaviour, wanted or not, shows here.
//!
//! After a wanted change, write the new values with
//! `REGENERATE=1 cargo test -p unbloat-engine --test engine fingerprints` and say in the commit why they changed.

use crate::world::run;
use engine::Options;
use std::collections::BTreeMap;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints");

fn fingerprint(file: &Path) -> String {
    let experiment = scenario::load(file, &[]).unwrap_or_else(|e| panic!("{e}"));
    let outcome = run(&experiment.cells[0].scenario, &Options { fingerprint: true, ..Options::default() });
    format!("{:016x}", outcome.fingerprint.expect("asked for"))
}

fn measured() -> BTreeMap<String, String> {
    let files = std::fs::read_dir(FOLDER).expect("the folder is there").map(|entry| entry.expect("readable").path());
    let scenarios = files.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    scenarios.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fingerprint(&path))).collect()
}

#[test]
fn every_event_is_as_it_was() {
    let measured = measured();
    assert_eq!(measured.len(), 6);
    let text: String = measured.iter().map(|(name, hash)| format!("{hash}  {name}\n")).collect();
    let file = Path::new(FOLDER).join("expected");
    if std::env::var_os("REGENERATE").is_some() {
        std::fs::write(&file, &text).expect("writable");
    }
    let expected = std::fs::read_to_string(&file).expect("readable");
    assert_eq!(text, expected, "the engine behaves differently; see the top of fingerprints.rs");
}
