//! The Linux tree's own example congestion controls, from the distribution's oldest and newest kernel source. They are
//! not part of this repository: tools/linux-examples unpacks them, and `make test` calls it. The tests of engine and
//! testbed include this file.

#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};

const FETCHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/linux-examples");

/// The kernel trees whose examples were unpacked. Tests of the examples fail without any.
pub fn trees() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(FETCHED).into_iter().flatten();
    let mut trees: Vec<_> = entries.map(|entry| entry.expect("a folder entry").path()).collect();
    assert!(!trees.is_empty(), "there are no examples in {FETCHED}: make build/stamps/linux-examples fetches them");
    trees.sort();
    trees
}

/// The folder of a tree's examples.
pub fn folder(tree: &Path) -> PathBuf {
    tree.join("tools/testing/selftests/bpf/progs")
}

/// Every congestion control among a tree's examples.
pub fn controls(tree: &Path) -> Vec<PathBuf> {
    let folder = folder(tree);
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

/// The text of the error for a file that no kernel takes; `None` for the others.
pub fn refused(path: &Path) -> Option<&'static str> {
    Some(match path.file_name()?.to_str()? {
        "bpf_tcp_nogpl.c" => "licence",
        "bpf_dctcp_release.c" => "lacks the required callback ssthresh",
        "tcp_ca_incompl_cong_ops.c" => "lacks the required callback cong_avoid or cong_control",
        "tcp_ca_unsupp_cong_op.c" => "get_info",
        _ => return None,
    })
}
