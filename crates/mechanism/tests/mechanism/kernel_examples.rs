//! The Linux tree's own example congestion controls, unmodified. Files of this repository with the same features are in
//! `header_styles.rs`.

use crate::harness::{builtin, live, load};
use crate::linux_examples::{controls, folder, refused, trees};
use model::MechanismSource;

#[test]
fn the_kernels_examples_compile_and_live() {
    for path in trees().iter().flat_map(|tree| controls(tree)) {
        let file = path.display().to_string();
        match (refused(&path), load(MechanismSource::File(path), &[])) {
            (None, Ok(control)) => {
                let windows = live(&control);
                println!("{file}: {} lives, windows {:?} ...", control.name(), &windows[..8]);
                assert!(windows.iter().all(|&w| w >= 1), "{file}: {windows:?}");
            }
            (Some(reason), Err(error)) => {
                println!("{file}: refused: {error}");
                assert!(error.to_string().contains(reason), "{file}: {error}");
            }
            (Some(reason), Ok(_)) => panic!("{file} should be refused: {reason}"),
            (None, Err(error)) => panic!("{file}: {error}"),
        }
    }
}

/// The largest error of the cube root in the kernel's example, a table and one step, for windows up to 5000.
const ROOT_ERROR: f64 = 0.0015;

/// The kernel's example CUBIC differs in its cube root alone. K is off by as much. The curve, for C K^3 = W_max - cwnd,
/// is off by three times as much of the distance to W_max. The kernel's DCTCP is the same to the last bit.
#[test]
fn the_built_ins_do_as_the_kernels_examples() {
    for tree in trees() {
        let folder = folder(&tree);
        let windows =
            |file: &str| live(&load(MechanismSource::File(folder.join(file)), &[]).unwrap_or_else(|e| panic!("{e}")));
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
