//! A scenario as files, for people who want to repeat the findings of a random one.

use model::{Scenario, Service, Transmitter};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes `scenario.toml` and its traces into a folder.
pub fn write(scenario: &Scenario, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let with_files = write_traces(scenario, folder)?;
    std::fs::write(folder.join("scenario.toml"), scenario::to_toml(&with_files))
}

/// Writes the traces of a scenario into an existing folder. Returns the scenario with these traces.
pub fn write_traces(scenario: &Scenario, folder: &Path) -> io::Result<Scenario> {
    let mut with_files = scenario.clone();
    for link in with_files.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]) {
        if let Service::Own(Transmitter::Trace(trace)) = &mut link.service {
            let name = PathBuf::from(format!("{}.trace", link.name));
            // ext4 writes an overwritten file to the disk at once (auto_da_alloc), but not a new one.
            let _ = std::fs::remove_file(folder.join(&name));
            std::fs::write(folder.join(&name), trace.text())?;
            Arc::make_mut(trace).path = name;
        }
    }
    Ok(with_files)
}
