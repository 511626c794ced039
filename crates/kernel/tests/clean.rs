//! Creates on purpose what a killed run leaves behind on kernels before 6.4, and removes it: this
//! test needs root.

mod harness;

use harness::{control, goes, is_offered, library};
use libbpf_rs::{MapCore, MapHandle, MapType, ObjectBuilder};
use libbpf_sys::{bpf_map_create_opts, size_t};
use model::MechanismSource;
use std::mem::size_of;
use std::time::{Duration, Instant};

/// Ends a test that hangs; no result depends on it.
const PATIENCE: Duration = Duration::from_secs(900);

/// A name as runs have them; a living run holds a map with the name of its congestion control.
const OF_THE_DEAD: &str = "ub.0123456789ab";
const OF_THE_LIVING: &str = "ub.ba9876543210";

/// Registers a congestion control as kernels without links do: it stays when its process ends.
fn register_without_a_link(name: &str) {
    let object =
        library().kernel_object(&control(MechanismSource::Builtin("reno".into())), Some(name)).expect("an object");
    let mut open = ObjectBuilder::default().open_memory(&object.bytes).expect("open");
    let maps = open.maps_mut().filter(|map| map.map_type() == MapType::StructOps);
    maps.for_each(|mut map| map.set_map_flags(0).expect("flags"));
    let mut loaded = open.load().expect("loaded");
    let mut map = loaded.maps_mut().find(|map| map.map_type() == MapType::StructOps).expect("its operations");
    map.attach_struct_ops().expect("registered").disconnect();
}

#[test]
fn registrations_of_dead_processes_go_and_those_of_living_ones_stay() {
    let options = bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as size_t, ..Default::default() };
    let mark = MapHandle::create(MapType::Array, Some(OF_THE_LIVING), 4, 4, 1, &options).expect("a map");
    register_without_a_link(OF_THE_DEAD);
    register_without_a_link(OF_THE_LIVING);
    assert!(is_offered(OF_THE_DEAD) && is_offered(OF_THE_LIVING));
    let removed = unbloat_kernel::clean().expect("root");
    assert!(removed.contains(&format!("the congestion control {OF_THE_DEAD}")), "{removed:?}");
    assert!(goes(OF_THE_DEAD), "it went");
    assert!(is_offered(OF_THE_LIVING), "it stayed");
    assert!(unbloat_kernel::clean().expect("root").is_empty());
    drop(mark);
    let start = Instant::now();
    while unbloat_kernel::clean().expect("root").is_empty() {
        assert!(start.elapsed() < PATIENCE, "the kernel takes the map off its list when it gets round to it");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(goes(OF_THE_LIVING), "its run has ended");
}
