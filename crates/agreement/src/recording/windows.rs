//! Records the calls of window controllers in a run, from their ring buffers.

use super::map_of;
use crate::replay_windows::WindowEvent;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, RingBufferBuilder};
use mechanism::Library;
use model::Scenario;
use model::records::{Options, Outcome, Progress};
use std::cell::RefCell;
use std::path::Path;
use testbed::{Error, GroupControl, Time, load_controls, run_with};

/// Runs `scenario` as [`testbed::run`] does, with window controllers from `algorithms` that record. Also returns the
/// calls of each flow group's controller. The ring buffer has room for some 40 000 calls.
///
/// # Errors
/// The errors of [`testbed::run`]; also if a group has no window controller, or a recording has gaps.
pub fn run_windows(
    scenario: &Scenario,
    algorithms: &Path,
    progress: Progress,
) -> Result<(Outcome, Vec<Vec<WindowEvent>>), Error> {
    let library = Library::recording(algorithms);
    let controls = load_controls(scenario, &library)?;
    let outcome = run_with(scenario, &library, &controls, Time::Real, &Options::default(), progress)?;
    let events = |control: &GroupControl| match control.window_controller() {
        Some(programs) => window_events(programs.object()),
        None => Err("the group has no window controller".to_string()),
    };
    let events = controls.iter().map(events).collect::<Result<_, _>>().map_err(Error::Machine)?;
    Ok((outcome, events))
}

/// Returns the calls that the programs of a recording object have had since the last call of this function.
///
/// # Errors
/// A sentence, if the programs were not compiled for recording, or calls were lost.
pub fn window_events(object: &Object) -> Result<Vec<WindowEvent>, String> {
    let (ring, lost) = (map_of(object, "unbloat_recording")?, map_of(object, "unbloat_lost")?);
    let unreadable = |e: libbpf_rs::Error| format!("the ring buffer cannot be read: {e}");
    let events = RefCell::new(Vec::new());
    let mut builder = RingBufferBuilder::new();
    let take = |bytes: &[u8]| {
        events.borrow_mut().push(event(bytes));
        0
    };
    builder.add(&ring, take).map_err(unreadable)?;
    let buffer = builder.build().map_err(unreadable)?;
    buffer.consume().map_err(unreadable)?;
    drop(buffer);
    unlost(&lost)?;
    events.into_inner().into_iter().collect()
}

/// Checks that the ring buffer had room for every call.
fn unlost(lost: &MapHandle) -> Result<(), String> {
    match lost.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(|e| e.to_string())? {
        Some(count) if count.iter().all(|&byte| byte == 0) => Ok(()),
        count => Err(format!("the recording has gaps: the ring buffer was full (counter: {count:?})")),
    }
}

fn event(bytes: &[u8]) -> Result<WindowEvent, String> {
    if bytes.len() != size_of::<WindowEvent>() {
        return Err(format!("a question has {} bytes, not {}", bytes.len(), size_of::<WindowEvent>()));
    }
    // SAFETY: there are as many bytes, and all of them are values of integers.
    Ok(unsafe { bytes.as_ptr().cast::<WindowEvent>().read_unaligned() })
}
