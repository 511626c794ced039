//! Mechanisms that outlive the process that loaded them. A device has the programs, and a note
//! describes them. Notes are files, one for each device and kind, that do not outlive the kernel
//! either.
//!
//! A note is written before the device is changed. If the process is killed in the middle, the next
//! one finds what to remove.

use super::device::{Device, namespace};
use super::rights;
use mechanism::Error;
use nix::fcntl::{Flock, FlockArg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Folder that a process locks while it changes devices; this lock leaves no file.
const LOCK: &str = "/run";
/// Folder of the notes about window controllers.
pub(super) const WINDOWS: &str = "/run/unbloat-windows";
/// Folder of the notes about classifiers.
pub(super) const CLASSIFIERS: &str = "/run/unbloat-classifiers";

/// The content of every note.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtDevice {
    /// Name of the device when the note was written.
    pub device: String,
    /// Name of the built-in, or path of its file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// Whether the device had no `clsact` before one of this crate's mechanisms.
    pub made_clsact: bool,
    /// Number of the device.
    pub(super) index: u32,
    namespace: u64,
}

impl AtDevice {
    /// Describes a mechanism that is about to be attached to a device of the calling thread's
    /// network namespace.
    ///
    /// # Errors
    /// Fails if the kernel does not describe the device.
    pub(super) fn new(device: &Device, source: &str, parameters: &[(String, String)]) -> Result<AtDevice, Error> {
        let made_clsact = !device.has_clsact()? || has_made_clsact(device.index);
        let (source, parameters, namespace) = (source.into(), parameters.into(), namespace());
        Ok(AtDevice { device: device.name.clone(), source, parameters, made_clsact, index: device.index, namespace })
    }

    /// Returns the device.
    pub(super) fn device(&self) -> Device {
        Device { name: self.device.clone(), index: self.index }
    }

    /// Returns the present name of the device.
    pub(super) fn name(&self) -> String {
        Device::numbered(self.index).map_or_else(|| self.device.clone(), |device| device.name)
    }

    /// Returns a file name that no other device has.
    pub(super) fn file_name(&self) -> String {
        format!("{}-{}", self.namespace, self.index)
    }

    fn path(&self, folder: &str) -> PathBuf {
        Path::new(folder).join(format!("{}.json", self.file_name()))
    }
}

/// Returns the number by which the kernel's own structures know the calling thread's network
/// namespace.
pub(super) fn namespace_number() -> u32 {
    // It is the inode number of a file that represents the namespace.
    namespace() as u32
}

/// A note about one kind of mechanism.
pub(super) trait DeviceNote: Serialize + DeserializeOwned {
    /// Folder of such notes.
    const FOLDER: &'static str;
    /// Name of the kind of mechanism.
    const WHAT: &'static str;
    /// Returns the content that every note has.
    fn at(&self) -> &AtDevice;
    /// Reports whether the device has everything that the note describes.
    fn is_whole(&self) -> bool;
    /// Takes all that the device has of it away.
    ///
    /// # Errors
    /// Fails if a part has to stay; the note then stays too.
    fn take_from_device(&self) -> Result<(), Error>;
}

/// A mechanism that was taken from a device.
#[derive(Debug, Serialize)]
pub struct DeviceUnloaded {
    /// Name of the device.
    pub device: String,
    /// Name of the built-in, or path of its file.
    pub source: String,
}

/// Lists the notes of one kind in this network namespace, by device.
pub(super) fn notes<N: DeviceNote>() -> Vec<N> {
    let mut all: Vec<N> = read(N::FOLDER).filter(|note: &N| note.at().namespace == namespace()).collect();
    all.sort_by(|one, other| one.at().device.cmp(&other.at().device));
    all
}

/// Refuses a device that already has a mechanism of this kind.
pub(super) fn require_none<N: DeviceNote>(device: &Device) -> Result<(), Error> {
    let Some(note) = notes::<N>().into_iter().find(|note| note.at().index == device.index) else { return Ok(()) };
    let AtDevice { device, source, .. } = note.at();
    Err(Error::input(format!("{device} has {source} already: unbloat unload {source} --dev {device}")))
}

/// Writes a note, whole or not at all, and then calls `give` to do what it describes. Undoes
/// everything if that fails.
pub(super) fn keep<N: DeviceNote>(note: N, give: impl FnOnce() -> Result<(), Error>) -> Result<N, Error> {
    let path = note.at().path(N::FOLDER);
    let text = serde_json::to_string_pretty(&note).expect("text and numbers");
    let half_written = path.with_extension("new");
    fs::create_dir_all(N::FOLDER)
        .and_then(|()| fs::write(&half_written, text))
        .and_then(|()| fs::rename(&half_written, &path))
        .map_err(|e| Error::machine(format!("{} cannot be written: {e}", path.display())))?;
    match give() {
        Ok(()) => Ok(note),
        Err(error) => Err(take_away(&note)
            .err()
            .map_or(error.clone(), |more| Error::machine(format!("{}; {}", error.message, more.message)))),
    }
}

/// Takes the mechanism `source` from `device`, or from every device that has it.
///
/// # Errors
/// Fails if no device has it, this process lacks the rights, or a part has to stay.
pub(super) fn unload<N: DeviceNote>(source: &str, device: Option<&str>) -> Result<Vec<DeviceUnloaded>, Error> {
    rights::require(&format!("unloading a {}", N::WHAT))?;
    let _lock = lock()?;
    let _ = sweep_locked::<N>();
    let all = notes::<N>();
    let index = device.and_then(|name| Device::named(name).ok()).map(|device| device.index);
    let is_meant = |at: &AtDevice| at.source == source && (device.is_none() || index == Some(at.index));
    let meant: Vec<_> = all.iter().filter(|note| is_meant(note.at())).collect();
    if meant.is_empty() {
        let place = device.map_or("no device has".to_string(), |device| format!("{device} does not have"));
        let there: Vec<_> = all.iter().map(|note| format!("{} at {}", note.at().source, note.at().name())).collect();
        let there = if there.is_empty() { "nothing".to_string() } else { there.join(", ") };
        return Err(Error::input(format!("{place} the {} {source}; `unbloat load` has loaded {there}", N::WHAT)));
    }
    let unload = |note: &N| {
        take_away(note)?;
        Ok(DeviceUnloaded { device: note.at().name(), source: note.at().source.clone() })
    };
    meant.into_iter().map(unload).collect()
}

/// Removes the work that killed processes have begun, and the notes of devices that no longer
/// exist. Returns a description of each.
///
/// # Errors
/// Fails if something has to stay.
pub(super) fn sweep<N: DeviceNote>() -> Result<Vec<String>, Error> {
    if notes::<N>().is_empty() {
        return Ok(Vec::new());
    }
    let _lock = lock()?;
    sweep_locked::<N>()
}

/// Removes unfinished work like [`sweep`], for a caller that has the lock.
///
/// # Errors
/// Fails if something has to stay.
pub(super) fn sweep_locked<N: DeviceNote>() -> Result<Vec<String>, Error> {
    let half_done = notes::<N>().into_iter().filter(|note| !note.is_whole());
    half_done
        .map(|note| {
            take_away(&note)?;
            Ok(format!("the {} {} at {}", N::WHAT, note.at().source, note.at().device))
        })
        .collect()
}

/// Prevents others from changing devices until the lock is dropped.
pub(super) fn lock() -> Result<Flock<File>, Error> {
    let failed = |error: io::Error| Error::machine(format!("{LOCK} cannot be locked: {error}"));
    let file = File::open(LOCK).map_err(failed)?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| failed(error.into()))
}

/// Takes a mechanism from its device, then removes the note, and the folder with the last note.
fn take_away<N: DeviceNote>(note: &N) -> Result<(), Error> {
    note.take_from_device()?;
    let _ = fs::remove_file(note.at().path(N::FOLDER));
    let _ = fs::remove_dir(N::FOLDER);
    Ok(())
}

/// Reports whether a mechanism of this crate, of any kind, has given this device its `clsact`.
fn has_made_clsact(device: u32) -> bool {
    let all = [WINDOWS, CLASSIFIERS].into_iter().flat_map(read::<AtDevice>);
    all.into_iter().any(|at| at.namespace == namespace() && at.index == device && at.made_clsact)
}

fn read<N: DeserializeOwned>(folder: &str) -> impl Iterator<Item = N> + use<N> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| serde_json::from_slice(&fs::read(file.path()).ok()?).ok())
}
