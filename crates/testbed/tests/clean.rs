//! What a killed run leaves behind on kernels before 6.4, made here on purpose, and its removal: this test needs root.

mod harness;

use harness::{control, goes, is_offered, library};
use libbpf_rs::{MapCore, MapType, ObjectBuilder};
use scenario::model::CcSource;
use testbed::kernel;

/// No process has a number beyond the kernel's largest, 2^22.
const OF_THE_DEAD: &str = "ub4194305_1";

/// Registers a control as kernels without links have it: it stays when its process goes.
fn register_without_a_link(name: &str) {
    let object = library().kernel_object(&control(CcSource::Builtin("reno".into())), Some(name)).expect("an object");
    let mut open = ObjectBuilder::default().open_memory(&object.bytes).expect("open");
    let maps = open.maps_mut().filter(|map| map.map_type() == MapType::StructOps);
    maps.for_each(|mut map| map.set_map_flags(0).expect("flags"));
    let mut loaded = open.load().expect("loaded");
    let mut map = loaded.maps_mut().find(|map| map.map_type() == MapType::StructOps).expect("its operations");
    map.attach_struct_ops().expect("registered").disconnect();
}

#[test]
fn registrations_of_dead_processes_go_and_those_of_living_ones_stay() {
    let living = format!("ub{}_1", std::process::id());
    register_without_a_link(OF_THE_DEAD);
    register_without_a_link(&living);
    assert!(is_offered(OF_THE_DEAD) && is_offered(&living));
    let removed = kernel::clean().expect("root");
    assert!(removed.contains(&format!("the congestion control {OF_THE_DEAD}")), "{removed:?}");
    assert!(goes(OF_THE_DEAD), "it went");
    assert!(is_offered(&living), "it stayed");
    assert!(kernel::clean().expect("root").is_empty());
    unregister(&living);
}

fn unregister(name: &str) {
    for map in libbpf_rs::query::MapInfoIter::default().filter(|map| map.ty == MapType::StructOps) {
        let map = libbpf_rs::MapHandle::from_map_id(map.id).expect("a map");
        let value = map.lookup(&[0; 4], libbpf_rs::MapFlags::ANY).ok().flatten().unwrap_or_default();
        if value.windows(name.len()).any(|part| part == name.as_bytes()) {
            map.delete(&[0; 4]).expect("unregistered");
        }
    }
    assert!(goes(name));
}
