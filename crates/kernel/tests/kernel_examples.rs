//! Loads the Linux tree's own example congestion controls, unmodified, into the running kernel.

mod harness;
#[path = "../../mechanism/tests/linux_examples/mod.rs"]
mod linux_examples;

use harness::{Connection, control, goes, library, name_of};
use linux_examples::{controls, refused, trees};
use model::MechanismSource;

/// An example that calls functions of the modules of BBR and DCTCP, which a kernel may lack.
const NEEDS_MODULES: &str = "tcp_ca_kfunc.c";

#[test]
fn the_kernels_examples_load_and_work() {
    for path in trees().iter().flat_map(|tree| controls(tree)) {
        let file = path.display().to_string();
        let may_lack = path.ends_with(NEEDS_MODULES).then_some("which this kernel lacks");
        let refused = refused(&path);
        let name = name_of("example");
        match unbloat_kernel::load(&library(), &control(MechanismSource::File(path)), Some(&name)) {
            Ok(held) => {
                assert!(refused.is_none(), "{file} was loaded");
                Connection::with(&name).finish(1_000_000);
                drop(held);
                assert!(goes(&name), "{file}");
            }
            Err(error) => {
                let reason = refused.or(may_lack).unwrap_or_else(|| panic!("{error}"));
                assert!(error.message.contains(reason), "{file}: {error}");
            }
        }
    }
}
