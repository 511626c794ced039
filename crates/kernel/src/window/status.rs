//! The devices that have a window controller, and the connections whose windows it lowers.

use super::flows::{ShownFlow, flows, map_of};
use super::notes::{Target, WindowNote};
use super::programs::attached;
use crate::device_notes::{notes, sweep};
use crate::rights;
use mechanism::Error;
use serde::Serialize;

/// The window controller of a device.
#[derive(Debug, Serialize)]
pub struct WindowStatus {
    /// Name of the device.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
    /// Each parameter with its value.
    pub parameters: Vec<(String, String)>,
    /// The connections whose acknowledgements it changes.
    #[serde(flatten)]
    pub target: Target,
    /// The connections, most recently active first.
    pub flows: Vec<ShownFlow>,
}

/// Lists every window controller that [`super::load_window`] gave to a device of this network
/// namespace.
///
/// # Errors
/// Fails if this process lacks the rights.
pub fn window_status() -> Result<Vec<WindowStatus>, Error> {
    rights::require("looking at the kernel's BPF programs")?;
    sweep::<WindowNote>()?;
    let describe = |note: WindowNote| WindowStatus {
        flows: attached(note.at.index).and_then(|maps| map_of(&maps)).map(flows).unwrap_or_default(),
        device: note.at.name(),
        source: note.at.source,
        parameters: note.at.parameters,
        target: note.target,
    };
    Ok(notes().into_iter().map(describe).collect())
}
