//! Window controllers in the running kernel: real flows, and segments of every kind through the programs one by one.
//! These tests need root.

mod bounds;
mod odd_segments;
mod replay;
mod segments;

use mechanism::{Library, WindowScope};
use scenario::model::{CcSource, CongestionControl, ParamValue};
use testbed::kernel::WindowPrograms;

const ALGORITHMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");

/// A built-in window controller with these parameters.
fn receiver(name: &str, params: &[(&str, i64)]) -> CongestionControl {
    let params = params.iter().map(|(name, value)| (name.to_string(), ParamValue::Integer(*value))).collect();
    CongestionControl { source: CcSource::Builtin(name.into()), params }
}

/// Its programs as a router has them at an Ethernet device: a segment of a test has no socket.
fn on_a_router(receiver: &CongestionControl) -> WindowPrograms {
    let scope = WindowScope { link_header: 14, forwards: true, ..WindowScope::default() };
    WindowPrograms::load(&Library::open(ALGORITHMS), receiver, &scope, None).unwrap_or_else(|error| panic!("{error}"))
}
