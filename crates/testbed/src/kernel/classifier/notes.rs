//! Classifiers that outlive whoever loaded them: the device holds queues and program, a note says what they are and what
//! was there before.
//!
//! The note is written before the device is touched, so that whoever comes after a process that was killed in the
//! middle finds what to take away.

use super::bands::{self, Before};
use super::programs::{Loaded, PROGRAM};
use crate::kernel::device::{Device, namespace};
use crate::kernel::device_notes::{self, lock};
use crate::kernel::error::Error;
use crate::kernel::messages::listening;
use crate::kernel::rights;
use crate::kernel::tc_program::remove_clsact;
use crate::kernel::window;
use mechanism::Library;
use scenario::model::CongestionControl;
use scenario::units::Rate;
use serde::{Deserialize, Serialize};

/// The notes, one a device; like the programs they do not outlive the kernel.
const NOTES: &str = "/run/unbloat-classifiers";

/// What is remembered of a classifier at a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClassifierNote {
    /// The device's name.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// What the device sends at most, bit/s; none says nothing.
    pub rate_bps: Option<u64>,
    /// The queue discipline that comes back; none leaves the choice to the kernel.
    pub before: Option<Before>,
    /// The device had no `clsact` before.
    pub made_clsact: bool,
    index: u32,
    namespace: u64,
}

/// What unloading did.
#[derive(Debug, Serialize)]
pub struct ClassifierUnloaded {
    /// The device.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
}

/// Gives a device a classifier and the queues that it sorts into, until [`unload_classifier`], the device's end or the
/// next boot.
///
/// # Errors
/// If there is no such mechanism or device, it has a classifier already or no room for one; if this process may not; if
/// the kernel refuses. Then nothing has changed.
pub fn load_classifier(
    library: &Library,
    classifier: &CongestionControl,
    device: &str,
    rate: Option<Rate>,
) -> Result<ClassifierNote, Error> {
    rights::require("loading a classifier")?;
    let device = Device::named(device)?;
    let link_header = device.link_header()?;
    let _lock = lock()?;
    sweep_locked();
    if let Some(note) = notes().into_iter().find(|note| note.index == device.index) {
        let (name, has) = (&note.device, &note.source);
        return Err(Error::input(format!("{name} has {has} already: unbloat unload {has} --dev {name}")));
    }
    let made_clsact = !device.has_clsact()? || window::has_made_clsact(device.index);
    let before = bands::before(&device)?;
    let program = Loaded::load(library, classifier, link_header)?;
    let note = ClassifierNote {
        device: device.name.clone(),
        source: program.source.clone(),
        parameters: program.parameters.clone(),
        rate_bps: rate.map(|rate| rate.0),
        before,
        made_clsact,
        index: device.index,
        namespace: namespace(),
    };
    device_notes::write(NOTES, (note.namespace, note.index), &note)?;
    let attach = |_| {
        program
            .attach(device.index)
            .map_err(|error| Error::machine(format!("the kernel gives {} no classifier: {error}", device.name)))
    };
    bands::give(&device, rate).and_then(attach).inspect_err(|_| take_away(&note))?;
    Ok(note)
}

/// Takes the classifier `source` from `device`, or from every device that has it.
///
/// # Errors
/// If no device has it, or this process may not.
pub fn unload_classifier(source: &str, device: Option<&str>) -> Result<Vec<ClassifierUnloaded>, Error> {
    rights::require("unloading a classifier")?;
    let _lock = lock()?;
    sweep_locked();
    let all = notes();
    let is_meant = |note: &&ClassifierNote| note.source == source && device.is_none_or(|device| note.device == device);
    let meant: Vec<_> = all.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let place = device.map_or("no device has".to_string(), |device| format!("{device} does not have"));
        let there: Vec<_> = all.iter().map(|note| format!("{} at {}", note.source, note.device)).collect();
        let there = if there.is_empty() { "nothing".to_string() } else { there.join(", ") };
        return Err(Error::input(format!("{place} the classifier {source}; `unbloat load` has loaded {there}")));
    }
    let unload = |note: &ClassifierNote| {
        take_away(note);
        ClassifierUnloaded { device: note.device.clone(), source: note.source.clone() }
    };
    Ok(meant.into_iter().map(unload).collect())
}

/// Takes away what processes that were killed have begun, and the notes of devices that are no more; says what that
/// was.
pub(crate) fn sweep() -> Vec<String> {
    if notes().is_empty() {
        return Vec::new();
    }
    lock().map(|_lock| sweep_locked()).unwrap_or_default()
}

fn sweep_locked() -> Vec<String> {
    let is_whole = |index: u32| bands::has(index) && PROGRAM.maps_at(index).is_some();
    let half_done = notes().into_iter().filter(|note| !is_whole(note.index));
    half_done
        .map(|note| {
            take_away(&note);
            format!("the classifier {} at {}", note.source, note.device)
        })
        .collect()
}

/// The notes of this network namespace, by device.
pub(super) fn notes() -> Vec<ClassifierNote> {
    let read = device_notes::all::<ClassifierNote>(NOTES);
    let mut all: Vec<_> = read.filter(|note| note.namespace == namespace()).collect();
    all.sort_by(|one, other| one.device.cmp(&other.device));
    all
}

/// Has a classifier's coming given this device its `clsact`?
pub(in crate::kernel) fn has_made_clsact(device: u32) -> bool {
    notes().iter().any(|note| note.index == device && note.made_clsact)
}

impl ClassifierNote {
    /// The device's number.
    pub(super) fn index(&self) -> u32 {
        self.index
    }
}

/// The program, then `clsact` if it was made for it and nobody else's filters are there, then the queues, then the note.
fn take_away(note: &ClassifierNote) {
    let device = Device { name: note.device.clone(), index: note.index };
    let (_, _) = listening(|| {
        PROGRAM.detach(note.index);
        if note.made_clsact && !device.has_filters() {
            remove_clsact(note.index);
        }
    });
    bands::take(&device, note.before.as_ref());
    device_notes::remove(NOTES, (note.namespace, note.index));
}
