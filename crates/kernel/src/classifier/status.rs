//! Which devices have a classifier, and what it does with whose packets.

use super::bands::BANDS;
use super::flows::{BandCount, ClassifiedFlow, counts, flows};
use super::notes::ClassifierNote;
use super::programs::PROGRAM;
use crate::device_notes::{notes, sweep};
use crate::rights;
use mechanism::Error;
use serde::Serialize;

/// A device's classifier.
#[derive(Debug, Serialize)]
pub struct ClassifierStatus {
    /// The device.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
    /// Each parameter with its value.
    pub parameters: Vec<(String, String)>,
    /// What the device sends at most, bit/s.
    pub rate_bps: Option<u64>,
    /// The queue discipline that comes back when it goes; none leaves the choice to the kernel.
    pub before: Option<String>,
    /// What each band has had since it was loaded.
    pub bands: Vec<BandCount>,
    /// The connections, those that were active last first.
    pub flows: Vec<ClassifiedFlow>,
}

/// Every classifier that [`super::load_classifier`] gave to a device of this network namespace.
///
/// # Errors
/// If this process may not look.
pub fn classifier_status() -> Result<Vec<ClassifierStatus>, Error> {
    rights::require("looking at the kernel's BPF programs")?;
    // What has to stay is shown with the others.
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
