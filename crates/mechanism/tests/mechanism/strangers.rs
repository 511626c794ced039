//! Files that others publish, unchanged: each compiles for the simulator and runs there, and compiles for kernels.
//! `crates/kernel/tests/strangers.rs` loads them.

use crate::harness::{UserFiles, library, live, source};
use model::{Compile, MechanismRef, MechanismSource};
use std::path::PathBuf;
use unbloat_mechanism::{Control, Error, Library, MechanismKind};

fn stranger(name: &str) -> PathBuf {
    source("strangers").join(format!("{name}.bpf.c"))
}

fn control(path: PathBuf) -> MechanismRef {
    MechanismRef::new(MechanismSource::File(path), Default::default())
}

/// Opens a file in the simulator, and compiles it for kernels.
fn both(library: &Library, path: PathBuf) -> Result<Control, Error> {
    let control = control(path);
    let opened = library.load(&control, 1)?;
    library.object_file(MechanismKind::CongestionControl, &control)?;
    Ok(opened)
}

#[test]
fn what_others_wrote_runs_in_the_simulator_and_compiles_for_kernels() {
    for (name, grows) in [
        ("own_slow_start", true),
        ("fixed_width", true),
        ("companion", false),
        ("own_types", true),
        ("ring", true),
        ("bitfield_probed", false),
        ("ring_output", true),
        ("coarse_clock", true),
        ("flavours", true),
        ("connections", true),
        ("loops", true),
        ("tracers_beside", true),
        ("model_based", false),
        ("library_macros", true),
        ("documented_helpers", true),
        ("own_headers/helpers", true),
        ("own_headers/types", true),
    ] {
        let control = both(&library(), stranger(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let windows = live(&control);
        assert!(!grows || windows[6] > windows[0], "{name}: {windows:?}");
    }
}

#[test]
fn every_documented_helper_is_among_them() {
    let page = include_str!("../../../../docs/reference/callbacks.md");
    let file = std::fs::read_to_string(stranger("documented_helpers")).expect("a file");
    let rows = page.split("## Helper functions").nth(1).and_then(|rest| rest.split("Functions of the kernel").next());
    let names = rows.expect("the table").lines().filter_map(|row| row.strip_prefix("| `")?.split(" |").next());
    let names: Vec<_> = names.flat_map(|cell| cell.split('`').step_by(2)).collect();
    let names = names.iter().map(|name| name.split('(').next().unwrap_or_default());
    let missing: Vec<_> = names.filter(|name| !file.contains(*name)).collect();
    assert_eq!(missing, [""; 0]);
}

/// An undeclared helper does not exist. A helper that no congestion control may call has no meaning in the simulator.
#[test]
fn helpers_that_nobody_has_are_refused_with_their_line() {
    let files = UserFiles::new("helpers");
    let text = std::fs::read_to_string(stranger("coarse_clock")).expect("a file");
    let with = |helper: &str| files.write(&format!("{helper}.bpf.c"), &text.replace("bpf_ktime_get_coarse_ns", helper));
    let path = with("bpf_no_such_helper");
    let error = library()
        .object_file(MechanismKind::CongestionControl, &control(path.clone()))
        .expect_err("no kernel has it")
        .message;
    assert!(error.contains(&format!("{}:17:", path.display())) && error.contains("bpf_no_such_helper"), "{error}");
    let path = with("bpf_get_numa_node_id");
    let error = library().load(&control(path.clone()), 1).err().expect("the simulator has none").message;
    assert!(error.contains(&format!("bpf_get_numa_node_id at {}:17", path.display())), "{error}");
}

/// Kernels have types of these names too. Errors name the file's own types.
#[test]
fn errors_are_not_those_of_the_kernels_types() {
    let files = UserFiles::new("names");
    let text = std::fs::read_to_string(stranger("coarse_clock")).expect("a file");
    let own = "struct state { __u64 a; };\nSEC(\"struct_ops\")\nvoid";
    for (wrong, said) in [("r = r * 0.01;", "is not supported"), ("r = tp->no_such;", "no member named 'no_such'")] {
        let text = text.replacen("SEC(\"struct_ops\")\nvoid", own, 1);
        let path = files.write("names.bpf.c", &text.replacen("if (r == 77)", &format!("{wrong} if (r == 77)"), 1));
        let error =
            library().object_file(MechanismKind::CongestionControl, &control(path)).expect_err("it is wrong").message;
        assert!(error.lines().next().is_some_and(|line| line.contains(said)), "{error}");
    }
}

#[test]
fn folders_and_macros_are_the_compilers() {
    let folder = source("strangers/own_headers/include");
    let options = Compile { include: vec![folder], define: vec!["UNUSED=1".into()] };
    let path = stranger("own_headers/options");
    assert!(both(&library(), path.clone()).is_err());
    live(&both(&library().with_options(&options), path).unwrap_or_else(|error| panic!("{error}")));
}
