//! Checks that reading the text of `to_toml` gives the same scenario.

use model::Scenario;
use std::path::{Path, PathBuf};
use unbloat_scenario::{load, load_text, to_toml};

fn read_again(scenario: &Scenario, what: &str) {
    let text = to_toml(scenario);
    let read = load_text(&text, "written.toml", Path::new(""), &[]);
    let read = read.unwrap_or_else(|error| panic!("{what}: {error}\n{text}")).points.remove(0).scenario;
    assert!(read == *scenario, "{what}: {scenario:?} is read as {read:?}");
}

/// Lists the TOML files below a folder.
fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true => scenarios(&path),
        false => Vec::from_iter(path.extension().is_some_and(|end| end == "toml").then_some(path)),
    };
    entries.flat_map(below).collect()
}

#[test]
fn every_cell_of_scenarios_and_papers_reads_as_itself() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = ["scenarios", "papers"].map(|folder| scenarios(&root.join(folder))).concat();
    // Papers have other TOML files beside their scenarios.
    let read: Vec<_> = files.iter().filter_map(|file| Some((file, load(file, &[]).ok()?))).collect();
    assert!(read.len() > 80, "{}", read.len());
    for (file, experiment) in read {
        for cell in experiment.points {
            read_again(&cell.scenario, &format!("{} {:?}", file.display(), cell.axes));
        }
    }
}

#[test]
fn what_no_shipped_file_has_reads_as_itself() {
    let text = r#"
        name = "a \"name\" of \\ two\nlines \u007f é"
        duration = "10s"
        compile = { define = ["A", "B=\"c\""] }
        [link.first]
        rate = "1gbit"
        delay = "0s"
        queue = {}
        reverse = { queue = { kind = "kernel:red", limit = "50kb", min = "5kb", max = "20kb" } }
        [link.bottleneck]
        rate = "10mbit"
        rates = [{ at = "1s", rate = "5mbit" }]
        delay = "20ms"
        loss = { p = "1%" }
        queue = { kind = "red", limit = "50kb" }
        [host.home]
        [[flows]]
        cc = "./mine.bpf.c#other"
        host = "home"
        params = { gain = 3, period = "10ms", fast = true, other = { late = "1s" } }
        maps = { rates = { 0 = 1250000, "1,2" = [1, -2] }, empty = {} }
        start = "1ms..2s"
        size = { kind = "pareto", mean = "1mb" }
        window_controller = "rtac"
        window_controller_params = { bdp = "20kb" }
        profile = { base = "ns2-linux", ecn = true }
        [[flows]]
        path = ["bottleneck"]
        app = { kind = "udp", rate = "1mbit" }
        [[flows]]
        cc = "reno"
        path = ["bottleneck"]
        mesh = "sensors"
        nodes = ["b"]
        packet = "104b"
        [mesh.sensors]
        border_router = "root"
        [mesh.sensors.nodes]
        root = { x = 0 }
        a = { x = 11.3, y = 3, down = [{ at = "1s", for = "2s" }] }
        b = { x = 20.7 }
    "#;
    let read = load_text(text, "sample.toml", Path::new("here"), &[]).unwrap_or_else(|error| panic!("{error}"));
    read_again(&read.points[0].scenario, "sample");
}
