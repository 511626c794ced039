//! The Linux tree's own example congestion controls, unmodified. They are not kept here: set `UNBLOAT_LINUX_SOURCE` to a kernel tree
//! (Debian: apt-get install linux-source-6.1). Files of this repository with the same features are in `header_styles.rs`.

mod harness;

use harness::{live, load};
use scenario::model::CcSource;
use std::path::{Path, PathBuf};

/// Files that the kernel refuses too, or that need a mechanism that is not here, and what the error must say.
const REFUSED: &[(&str, &str)] = &[
    ("bpf_tcp_nogpl.c", "licence"),
    ("bpf_dctcp_release.c", "lacks the required callback ssthresh"),
    ("tcp_ca_incompl_cong_ops.c", "lacks the required callback cong_avoid or cong_control"),
    ("tcp_ca_unsupp_cong_op.c", "get_info"),
    ("tcp_ca_kfunc.c", "bbr_init"),
];

fn examples(tree: &Path) -> Vec<PathBuf> {
    let folder = tree.join("tools/testing/selftests/bpf/progs");
    let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("struct tcp_congestion_ops")))
        .collect();
    found.sort();
    found
}

#[test]
fn the_kernels_examples_compile_and_live() {
    let Some(tree) = std::env::var_os("UNBLOAT_LINUX_SOURCE") else {
        println!("UNBLOAT_LINUX_SOURCE names no kernel tree: nothing to check");
        return;
    };
    let examples = examples(Path::new(&tree));
    assert!(!examples.is_empty(), "no examples in {}", tree.display());
    for path in examples {
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
