//! The devices that have a classifier, the classifiers' counts, and their connections.

use super::bands::BANDS;
use super::flows::{BandCount, ClassifiedFlow, counts, flows};
use super::notes::ClassifierNote;
use super::programs::PROGRAM;
use crate::device_notes::{notes, sweep};
use crate::rights;
use mechanism::Error;
use serde::Serialize;

/// The classifier of a device.
#[derive(Debug, Serialize)]
pub struct ClassifierStatus {
    /// Name of the device.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
    /// Each parameter with its value.
    pub parameters: Vec<(String, String)>,
    /// Rate limit of the device, bit/s; none without a limit.
    pub rate_bps: Option<u64>,
    /// The queue discipline that returns after unloading; none leaves the choice to the kernel.
    pub before: Option<String>,
    /// Counts of each band since loading.
    pub bands: Vec<BandCount>,
    /// The connections, most recently active first.
    pub flows: Vec<ClassifiedFlow>,
}

/// Lists every classifier that [`super::load_classifier`] gave to a device of this network
/// namespace.
///
/// # Errors
/// Fails if this process lacks the rights.
pub fn classifier_status() -> Result<Vec<ClassifierStatus>, Error> {
    rights::require("looking at the kernel's BPF programs")?;
    // A note that cannot be removed is listed with the others.
    let _ = sweep::<ClassifierNote>();
    let describe = |note: ClassifierNote| {
        let maps = PROGRAM.maps_at(note.at.index).unwrap_or_default();
        ClassifierStatus {
            bands: counts(&maps, BANDS),
            flows: flows(&maps),
            before: note.before.map(|before| before.kind),
            device: note.at.name(),
            source: note.at.source,
            parameters: note.at.parameters,
            rate_bps: note.rate_bps,
        }
    };
    Ok(notes().into_iter().map(describe).collect())
}
