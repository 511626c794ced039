//! Files as others publish them, handed over as they are, in the running kernel: this test needs root.

mod harness;

use harness::{Connection, control, goes, library, name_of};
use scenario::model::CcSource;
use std::path::Path;

#[test]
fn what_others_wrote_loads_and_works() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mechanism/tests/sources/strangers");
    for file in [
        "own_slow_start",
        "fixed_width",
        "companion",
        "own_types",
        "ring",
        "bitfield_probed",
        "ring_output",
        "coarse_clock",
        "flavours",
        "connections",
        "loops",
        "tracers_beside",
        "model_based",
        "library_macros",
        "documented_helpers",
        "own_headers/helpers",
        "own_headers/types",
    ] {
        let name = name_of("stranger");
        let source = CcSource::File(folder.join(format!("{file}.bpf.c")));
        let held = testbed::kernel::load(&library(), &control(source), Some(&name));
        let held = held.unwrap_or_else(|error| panic!("{file}: {error}"));
        Connection::with(&name).finish(1_000_000);
        drop(held);
        assert!(goes(&name), "{file}");
    }
}
