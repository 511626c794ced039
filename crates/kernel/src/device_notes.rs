//! Mechanisms that outlive whoever loaded them: a device holds programs, a note says what they are. Notes are files,
//! one a device and kind, that do not outlive the kernel either.
//!
//! A note is written before the device is touched, so that whoever comes after a process that was killed in the middle
//! finds what to take away.

use super::device::{Device, namespace};
use super::rights;
use mechanism::Error;
use nix::fcntl::{Flock, FlockArg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Whoever changes something has this folder locked: that leaves no file.
const LOCK: &str = "/run";
/// The notes of window controllers.
pub(super) const WINDOWS: &str = "/run/unbloat-windows";
/// Those of classifiers.
pub(super) const CLASSIFIERS: &str = "/run/unbloat-classifiers";

/// What every note says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtDevice {
    /// The device's name when this was written.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// The device had no `clsact` before one of ours came.
    pub made_clsact: bool,
    /// The device's number.
    pub(super) index: u32,
    namespace: u64,
}

impl AtDevice {
    /// What is about to come to a device of the calling thread's network namespace.
    ///
    /// # Errors
    /// If the device cannot be asked.
    pub(super) fn new(device: &Device, source: &str, parameters: &[(String, String)]) -> Result<AtDevice, Error> {
        let made_clsact = !device.has_clsact()? || has_made_clsact(device.index);
        let (source, parameters, namespace) = (source.into(), parameters.into(), namespace());
        Ok(AtDevice { device: device.name.clone(), source, parameters, made_clsact, index: device.index, namespace })
    }

    /// The device.
    pub(super) fn device(&self) -> Device {
        Device { name: self.device.clone(), index: self.index }
    }

    /// What the device is called by now.
    pub(super) fn name(&self) -> String {
        Device::numbered(self.index).map_or_else(|| self.device.clone(), |device| device.name)
    }

    /// What no other device has.
    pub(super) fn file_name(&self) -> String {
        format!("{}-{}", self.namespace, self.index)
    }

    fn path(&self, folder: &str) -> PathBuf {
        Path::new(folder).join(format!("{}.json", self.file_name()))
    }
}

/// The number by which the kernel's own structures know the calling thread's network namespace.
pub(super) fn namespace_number() -> u32 {
    // It is that of a file in a file system of these numbers.
    namespace() as u32
}

/// A note of one kind.
pub(super) trait DeviceNote: Serialize + DeserializeOwned {
    /// The folder of such notes.
    const FOLDER: &'static str;
    /// What it is about.
    const WHAT: &'static str;
    /// What every note says.
    fn at(&self) -> &AtDevice;
    /// The device has all that the note says.
    fn is_whole(&self) -> bool;
    /// Takes what is there of it from the device.
    ///
    /// # Errors
    /// If something of it has to stay, and the note with it.
    fn take_from_device(&self) -> Result<(), Error>;
}

/// What unloading did.
#[derive(Debug, Serialize)]
pub struct DeviceUnloaded {
    /// The device.
    pub device: String,
    /// The built-in's name, or the path of its file.
    pub source: String,
}

/// The notes of one kind in this network namespace, by device.
pub(super) fn notes<N: DeviceNote>() -> Vec<N> {
    let mut all: Vec<N> = read(N::FOLDER).filter(|note: &N| note.at().namespace == namespace()).collect();
    all.sort_by(|one, other| one.at().device.cmp(&other.at().device));
    all
}

/// Refuses a device that has one of the kind already.
pub(super) fn require_none<N: DeviceNote>(device: &Device) -> Result<(), Error> {
    let Some(note) = notes::<N>().into_iter().find(|note| note.at().index == device.index) else { return Ok(()) };
    let AtDevice { device, source, .. } = note.at();
    Err(Error::input(format!("{device} has {source} already: unbloat unload {source} --dev {device}")))
}

/// Writes a note, whole or not at all, and has `give` do what it says; takes all of it back if that fails.
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

/// Takes what `source` names from `device`, or from every device that has it.
///
/// # Errors
/// If no device has it, this process may not, or something of it has to stay.
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

/// Takes away what processes that were killed have begun, and the notes of devices that are no more; says what that
/// was.
///
/// # Errors
/// If something has to stay.
pub(super) fn sweep<N: DeviceNote>() -> Result<Vec<String>, Error> {
    if notes::<N>().is_empty() {
        return Ok(Vec::new());
    }
    let _lock = lock()?;
    sweep_locked::<N>()
}

/// The same for whoever holds the lock.
///
/// # Errors
/// As `sweep`.
pub(super) fn sweep_locked<N: DeviceNote>() -> Result<Vec<String>, Error> {
    let half_done = notes::<N>().into_iter().filter(|note| !note.is_whole());
    half_done
        .map(|note| {
            take_away(&note)?;
            Ok(format!("the {} {} at {}", N::WHAT, note.at().source, note.at().device))
        })
        .collect()
}

/// Keeps others from changing what devices have meanwhile.
pub(super) fn lock() -> Result<Flock<File>, Error> {
    let failed = |error: io::Error| Error::machine(format!("{LOCK} cannot be locked: {error}"));
    let file = File::open(LOCK).map_err(failed)?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| failed(error.into()))
}

/// What the device has of it, then the note, and the folder if that was its last.
fn take_away<N: DeviceNote>(note: &N) -> Result<(), Error> {
    note.take_from_device()?;
    let _ = fs::remove_file(note.at().path(N::FOLDER));
    let _ = fs::remove_dir(N::FOLDER);
    Ok(())
}

/// Has something of ours, of whatever kind, given this device its `clsact`?
fn has_made_clsact(device: u32) -> bool {
    let all = [WINDOWS, CLASSIFIERS].into_iter().flat_map(read::<AtDevice>);
    all.into_iter().any(|at| at.namespace == namespace() && at.index == device && at.made_clsact)
}

fn read<N: DeserializeOwned>(folder: &str) -> impl Iterator<Item = N> + use<N> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| serde_json::from_slice(&fs::read(file.path()).ok()?).ok())
}
