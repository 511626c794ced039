//! Notes of what devices have: files, one a device, that do not outlive the kernel.

use super::error::Error;
use nix::fcntl::{Flock, FlockArg};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Whoever changes something has this folder locked: that leaves no file.
const LOCK: &str = "/run";

/// A device: the number of its network namespace, and its own.
type Place = (u64, u32);

/// The notes of a folder.
pub(super) fn all<N: DeserializeOwned>(folder: &str) -> impl Iterator<Item = N> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| serde_json::from_slice(&fs::read(file.path()).ok()?).ok())
}

/// Writes the note of a device, whole or not at all.
pub(super) fn write(folder: &str, device: Place, note: &impl Serialize) -> Result<(), Error> {
    let path = path(folder, device);
    let text = serde_json::to_string_pretty(note).expect("text and numbers");
    let half_written = path.with_extension("new");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&half_written, text))
        .and_then(|()| fs::rename(&half_written, &path))
        .map_err(|e| Error::machine(format!("{} cannot be written: {e}", path.display())))
}

/// Removes it, and the folder if it was the last.
pub(super) fn remove(folder: &str, device: Place) {
    let _ = fs::remove_file(path(folder, device));
    let _ = fs::remove_dir(folder);
}

/// Keeps others from changing what devices have meanwhile.
pub(super) fn lock() -> Result<Flock<File>, Error> {
    let failed = |error: io::Error| Error::machine(format!("{LOCK} cannot be locked: {error}"));
    let file = File::open(LOCK).map_err(failed)?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| failed(error.into()))
}

fn path(folder: &str, (namespace, index): Place) -> PathBuf {
    Path::new(folder).join(format!("{namespace}-{index}.json"))
}
