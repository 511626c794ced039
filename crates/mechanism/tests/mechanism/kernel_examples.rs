//! The Linux tree's own example congestion controls, unmodified. They are not kept here: `UNBLOAT_LINUX_SOURCE` names
//! kernel trees, and `make test` fetches the distribution's oldest and newest (tools/linux-examples). Files of this
//! repository with the same features are in `header_styles.rs`.

use crate::harness::{builtin, live, load};
use scenario::model::CcSource;
use std::path::{Path, PathBuf};

/// The trees that `UNBLOAT_LINUX_SOURCE` names, with colons between them; `make test` fetches two.
fn trees() -> Vec<PathBuf> {
    let trees: Vec<_> = std::env::var_os("UNBLOAT_LINUX_SOURCE").iter().flat_map(std::env::split_paths).collect();
    if trees.is_empty() {
        println!("UNBLOAT_LINUX_SOURCE names no kernel tree: nothing to check");
    }
    trees
}

/// Files that the kernel refuses too, or that need a mechanism that is not here, and what the error must say.
const REFUSED: &[(&str, &str)] = &[
    ("bpf_tcp_nogpl.c", "licence"),
    ("bpf_dctcp_release.c", "lacks the required callback ssthresh"),
    ("tcp_ca_incompl_cong_ops.c", "lacks the required callback cong_avoid or cong_control"),
    ("tcp_ca_unsupp_cong_op.c", "get_info"),
];

fn examples(tree: &Path) -> Vec<PathBuf> {
    let folder = tree.join("tools/testing/selftests/bpf/progs");
    let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("struct tcp_congestion_ops")))
        .collect();
    assert!(!found.is_empty(), "no examples in {}", tree.display());
    found.sort();
    found
}

#[test]
fn the_kernels_examples_compile_and_live() {
    for path in trees().iter().flat_map(|tree| examples(tree)) {
        let file = path.file_name().expect("a file").to_string_lossy().into_owned();
        let refused = REFUSED.iter().find(|(name, _)| *name == file);
        match (load(CcSource::File(path), &[]), refused) {
            (Ok(control), None) => {
                let windows = live(&control);
                println!("{file}: {} lives, windows {:?} ...", control.name(), &windows[..8]);
                assert!(windows.iter().all(|&w| w >= 1), "{file}: {windows:?}");
            }
            (Err(error), Some((_, reason))) => {
                println!("{file}: refused: {error}");
                assert!(error.to_string().contains(reason), "{file}: {error}");
            }
            (Ok(_), Some((_, reason))) => panic!("{file} should be refused: {reason}"),
            (Err(error), None) => panic!("{file}: {error}"),
        }
    }
}

/// By how much at most the cube root of the kernel's example, a table and one step, differs from the root, for windows
/// up to 5000.
const ROOT_ERROR: f64 = 0.0015;

/// The kernel's example CUBIC differs in its cube root alone: K is off by as much, and with it the curve, for C K^3 =
/// W_max - cwnd, by three times as much of the distance to W_max. Its DCTCP is the same to the last bit.
#[test]
fn the_built_ins_do_as_the_kernels_examples() {
    for tree in trees() {
        let folder = tree.join("tools/testing/selftests/bpf/progs");
        let windows =
            |file: &str| live(&load(CcSource::File(folder.join(file)), &[]).unwrap_or_else(|e| panic!("{e}")));
        assert_eq!(windows("bpf_dctcp.c"), live(&builtin("dctcp")));
        let (theirs, ours) = (windows("bpf_cubic.c"), live(&builtin("cubic")));
        let apart = theirs.iter().zip(&ours).map(|(a, b)| a.abs_diff(*b)).max().expect("round trips");
        println!("bpf_cubic.c and cubic are at most {apart} segments apart in {} round trips", ours.len());
        // A recovery leaves seven tenths; a timeout leaves less, and forgets W_max.
        let recoveries = ours.windows(2).filter(|w| w[1] < w[0] && w[1] > w[0] / 2);
        let distance = recoveries.map(|w| w[0] - w[1]).max().expect("a recovery");
        let curve = (3.0 * ROOT_ERROR * f64::from(distance)) as u32;
        assert!(apart <= 1 + curve, "more than {curve} and a segment:\n{theirs:?}\n{ours:?}");
    }
}
