//! The Linux tree's own example congestion controls, unmodified, in the running kernel. `UNBLOAT_LINUX_SOURCE` names
//! kernel trees, and `make test` fetches the distribution's oldest and newest (tools/linux-examples).

mod harness;

use harness::{Connection, control, goes, library, name_of};
use scenario::model::CcSource;
use std::path::{Path, PathBuf};

/// It calls functions of the modules of BBR and DCTCP, which a kernel may lack.
const NEEDS_MODULES: &str = "tcp_ca_kfunc.c";

/// Files that no kernel takes, and that one, with what the error must say.
const REFUSED: &[(&str, &str)] = &[
    ("bpf_tcp_nogpl.c", "licence"),
    ("bpf_dctcp_release.c", "lacks the required callback ssthresh"),
    ("tcp_ca_incompl_cong_ops.c", "lacks the required callback cong_avoid or cong_control"),
    ("tcp_ca_unsupp_cong_op.c", "get_info"),
    (NEEDS_MODULES, "which this kernel does not have"),
];

fn examples(tree: &Path) -> Vec<PathBuf> {
    let folder = tree.join("tools/testing/selftests/bpf/progs");
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found: Vec<PathBuf> = files
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("struct tcp_congestion_ops")))
        .collect();
    assert!(!found.is_empty(), "no examples in {}", tree.display());
    found.sort();
    found
}

#[test]
fn the_kernels_examples_load_and_work() {
    let trees: Vec<_> = std::env::var_os("UNBLOAT_LINUX_SOURCE").iter().flat_map(std::env::split_paths).collect();
    if trees.is_empty() {
        println!("UNBLOAT_LINUX_SOURCE names no kernel tree: nothing to check");
    }
    for path in trees.iter().flat_map(|tree| examples(tree)) {
        let file = path.file_name().expect("a file").to_string_lossy().into_owned();
        let name = name_of("example");
        match testbed::kernel::load(&library(), &control(CcSource::File(path)), Some(&name), None) {
            Ok(held) => {
                assert!(file == NEEDS_MODULES || REFUSED.iter().all(|(known, _)| *known != file), "{file} was loaded");
                Connection::with(&name).finish(1_000_000);
                drop(held);
                assert!(goes(&name), "{file}");
            }
            Err(error) => {
                let (_, reason) = REFUSED.iter().find(|(known, _)| *known == file).unwrap_or_else(|| panic!("{error}"));
                assert!(error.message.contains(reason), "{file}: {error}");
            }
        }
    }
}
