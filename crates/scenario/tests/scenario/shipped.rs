//! Tests of the scenarios and the trace that come with the project.

use model::{Service, Trace, Transmitter};
use std::path::{Path, PathBuf};
use std::process::Command;
use unbloat_scenario::load;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn shipped() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

#[test]
fn every_shipped_scenario_loads_and_opens_with_a_sentence() {
    let files = shipped();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        load(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&file).unwrap();
        let about: Vec<_> = text.lines().take_while(|line| line.starts_with("# ")).collect();
        assert!(about.last().is_some_and(|line| line.ends_with('.')), "{}: {about:?}", file.display());
    }
}

#[test]
fn the_generator_makes_the_shipped_trace() {
    let traces = folder().join("traces");
    let made = Command::new("python3").arg(traces.join("generate.py")).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let shipped = std::fs::read(traces.join("lte-small.down")).unwrap();
    assert!(made.stdout == shipped, "traces/lte-small.down is not what traces/generate.py prints");
}

#[test]
fn the_mobile_scenario_takes_any_trace() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("trace.down");
    std::fs::write(&file, "0\n3\n3\n10\n").unwrap();
    let overrides = [("link.bottleneck.trace".to_string(), file.display().to_string())];
    let experiment = load(&folder().join("mobile-lte.toml"), &overrides);
    let Service::Own(Transmitter::Trace(trace)) = &experiment.unwrap().points[0].scenario.links[0].forward.service
    else {
        panic!("the link has a rate");
    };
    assert_eq!(**trace, Trace::parse(&file, "0\n3\n3\n10\n").unwrap());
}

#[test]
fn a_trace_takes_the_place_of_a_rate() {
    let trace = folder().join("traces/lte-small.down").display().to_string();
    let overrides = [("link.bottleneck.trace".to_string(), trace)];
    let scenario = load(&folder().join("geo-satellite.toml"), &overrides).unwrap().points.remove(0).scenario;
    assert!(matches!(scenario.links[0].forward.service, Service::Own(Transmitter::Trace(_))));
}

#[test]
fn the_readme_lists_every_file() {
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    for file in shipped() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        assert!(readme.contains(&format!("| `{name}` |")), "{name}");
    }
}
