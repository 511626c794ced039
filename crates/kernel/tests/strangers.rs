//! Loads files into the running kernel as others publish them: this test needs root.

mod harness;

use harness::{Connection, control, goes, library, loaded, name_of};
use libbpf_rs::{MapCore, MapFlags};
use model::{MechanismRef, MechanismSource};
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
        let source = MechanismSource::File(folder.join(format!("{file}.bpf.c")));
        let held = unbloat_kernel::load(&library(), &control(source), Some(&name));
        let held = held.unwrap_or_else(|error| panic!("{file}: {error}"));
        Connection::with(&name).finish(1_000_000);
        drop(held);
        assert!(goes(&name), "{file}");
    }
}

#[test]
fn maps_are_filled_before_a_connection_comes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mechanism/tests/sources/filled_maps.bpf.c");
    let contents = |window: i128| -> MechanismRef {
        let rates = [("1".to_string(), vec![window])].into();
        let limits = [("80,0x7f000001".to_string(), vec![1, -3, 7, 20])].into();
        let maps = [("rates".to_string(), rates), ("limits".to_string(), limits)].into();
        MechanismRef { maps, ..control(MechanismSource::File(file.clone())) }
    };
    for window in [77, 33] {
        let name = name_of("filled");
        let held = loaded(&contents(window), &name);
        let map = held.object().maps().find(|map| map.name() == "limits").expect("it has that map");
        let limit = map.lookup(&[80, 0, 0, 0, 1, 0, 0, 0x7f], MapFlags::ANY).expect("a lookup").expect("an entry");
        assert_eq!(limit, [1, 0, 0xfd, 0xff, 7, 0, 0, 0, 20, 0, 0, 0]);
        let connection = Connection::with(&name);
        assert_eq!(i128::from(harness::window(&connection.sender)), window, "init read it");
        connection.finish(100_000);
        drop(held);
        assert!(goes(&name));
    }
}
