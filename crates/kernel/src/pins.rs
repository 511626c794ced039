//! Congestion controls that outlive the process that loaded them: pinned in the BPF file system,
//! with a note about each.

use super::loader::{self, Loaded};
use libbpf_rs::Link;
use mechanism::Error;
use mechanism::{ControlName, Library};
use model::MechanismRef;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

const BPFFS: &str = "/sys/fs/bpf";
/// Folder of the pins, one for each congestion control.
const PINS: &str = "/sys/fs/bpf/unbloat";
/// Folder of the notes; like the pins they do not outlive the kernel.
const NOTES: &str = "/run/unbloat";
/// Replacement for a dot in the name of a pin.
const DOT: &str = ":";
/// The kernel's default congestion control of this network namespace.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The record of a pinned congestion control.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// Name of the congestion control, as in `setsockopt(TCP_CONGESTION)`.
    pub name: ControlName,
    /// The built-in's name, or the path of its file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// The kernel's default that this congestion control replaced, if it did.
    pub default_before: Option<String>,
}

/// Loads a congestion control that stays until [`super::unload()`] or the next boot, and optionally
/// makes it the default.
///
/// # Errors
/// Fails like [`super::load`]. Also fails if the pin or the note cannot be written, or the kernel
/// refuses the default. Nothing is loaded then.
pub fn load_pinned(
    library: &Library,
    control: &MechanismRef,
    name: Option<&str>,
    make_default: bool,
) -> Result<Note, Error> {
    let mut loaded = loader::load(library, control, name)?;
    let mut note = Note {
        name: loaded.kernel_name.clone(),
        source: loaded.source.clone(),
        parameters: loaded.parameters.clone(),
        default_before: None,
    };
    pin(&mut loaded, &pin_path(&note.name))?;
    let rest = finish(&mut note, make_default);
    if rest.is_err() {
        // The pin goes with the last holder, and the registration with both. The first error is the
        // one to report.
        let _ = std::fs::remove_file(pin_path(&note.name));
        let _ = std::fs::remove_file(note_path(&note.name));
        return rest.map(|()| note);
    }
    loaded.leave();
    Ok(note)
}

/// Completes the work once the congestion control is pinned.
fn finish(note: &mut Note, make_default: bool) -> Result<(), Error> {
    if make_default {
        note.default_before = Some(default());
    }
    write_note(note)?;
    if make_default { set_default(note.name.as_str()) } else { Ok(()) }
}

fn pin(loaded: &mut Loaded, path: &Path) -> Result<(), Error> {
    mount_bpffs()?;
    std::fs::create_dir_all(PINS).map_err(|e| Error::machine(format!("{PINS} cannot be created: {e}")))?;
    loaded.pin(path).map_err(|e| Error::machine(format!("{} cannot be pinned: {e}", path.display())))
}

/// Returns the path of the pin for a congestion control of this name.
pub(crate) fn pin_path(name: &ControlName) -> PathBuf {
    Path::new(PINS).join(file_name(name))
}

/// Converts a name for the BPF file system, which refuses dots. Each dot becomes a character that
/// no name of a congestion control has.
fn file_name(control: &ControlName) -> String {
    control.as_str().replace('.', DOT)
}

/// Returns the congestion control whose pin has this name; none for files of others.
fn control_of(file_name: &str) -> Option<ControlName> {
    ControlName::new(&file_name.replace(DOT, ".")).ok()
}

/// Lists the names of all pinned congestion controls, sorted.
pub(crate) fn pinned() -> Vec<ControlName> {
    let entries = std::fs::read_dir(PINS).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| control_of(&entry.file_name().to_string_lossy())).collect();
    names.sort();
    names
}

/// Unregisters a congestion control, and removes its pin and note, and the folders with the last of
/// them.
///
/// Removing the pin alone would leave it registered as long as another process looks at its link.
pub(crate) fn remove(name: &ControlName) -> Result<(), Error> {
    let path = pin_path(name);
    if let Ok(link) = Link::open(&path) {
        let _ = link.detach(); // Older kernels cannot do so for congestion controls.
    }
    std::fs::remove_file(&path).map_err(|e| Error::machine(format!("{} cannot be removed: {e}", path.display())))?;
    // The note may never have been written, and the folders may have other files.
    let _ = std::fs::remove_file(note_path(name));
    let _ = std::fs::remove_dir(PINS);
    let _ = std::fs::remove_dir(NOTES);
    Ok(())
}

fn note_path(name: &ControlName) -> PathBuf {
    Path::new(NOTES).join(format!("{name}.json"))
}

/// Returns the record of a congestion control, if [`load_pinned`] loaded it.
pub(crate) fn note(name: &ControlName) -> Option<Note> {
    serde_json::from_slice(&std::fs::read(note_path(name)).ok()?).ok()
}

fn write_note(note: &Note) -> Result<(), Error> {
    let path = note_path(&note.name);
    let text = serde_json::to_string_pretty(note).expect("a note holds text only");
    let half_written = Path::new(NOTES).join(format!("{}.json.new", note.name));
    std::fs::create_dir_all(NOTES)
        .and_then(|()| std::fs::write(&half_written, text))
        .and_then(|()| std::fs::rename(&half_written, &path))
        .map_err(|e| Error::machine(format!("{} cannot be written: {e}", path.display())))
}

/// Changes every note that would restore `gone` as the default, so that it restores the default
/// `before` instead.
pub(crate) fn skip_default(gone: &ControlName, before: Option<&str>) -> Result<(), Error> {
    for mut note in pinned().iter().filter_map(note) {
        if note.default_before.as_deref() == Some(gone.as_str()) {
            note.default_before = before.map(str::to_string);
            write_note(&note)?;
        }
    }
    Ok(())
}

/// Returns the congestion control that a new socket gets.
pub(crate) fn default() -> String {
    std::fs::read_to_string(DEFAULT).unwrap_or_default().trim().to_string()
}

/// Gives new sockets another congestion control.
pub(crate) fn set_default(name: &str) -> Result<(), Error> {
    refuse_restricted(name)?;
    std::fs::write(DEFAULT, name).map_err(|e| Error::machine(format!("{DEFAULT} cannot be set to \"{name}\": {e}")))
}

/// Refuses a default that the kernel would refuse and then never release.
///
/// In network namespaces other than the first, the kernel refuses a default that not everybody may
/// choose. It then does not decrement its count of users, so the congestion control could never be
/// removed.
fn refuse_restricted(name: &str) -> Result<(), Error> {
    const ONLY_IN_THE_FIRST: &str = "/proc/sys/net/ipv4/tcp_mem";
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
    if Path::new(ONLY_IN_THE_FIRST).exists() || allowed.split_whitespace().any(|known| known == name) {
        return Ok(());
    }
    Err(Error::machine(format!(
        "{name} cannot be the default here: in another network namespace than the machine's first, a default needs \
         the flag TCP_CONG_NON_RESTRICTED"
    )))
}

/// Reports whether the BPF file system is mounted at its usual place.
pub(crate) fn has_bpffs() -> bool {
    let path = CString::new(BPFFS).expect("no zero in it");
    // SAFETY: all zeroes is a value of this struct, which the kernel fills in.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: path and struct live through the call.
    let failed = unsafe { libc::statfs(path.as_ptr(), &mut about) } != 0;
    !failed && about.f_type == libc::BPF_FS_MAGIC as libc::__fsword_t
}

/// Mounts the BPF file system unless it is there.
pub(crate) fn mount_bpffs() -> Result<(), Error> {
    if has_bpffs() {
        return Ok(());
    }
    let kind = CString::new("bpf").expect("no zero in it");
    let place = CString::new(BPFFS).expect("no zero in it");
    // As systemd mounts it; by default everybody might create and remove files there, even root's
    // pins.
    let mode = c"mode=0700";
    // SAFETY: the strings live through the call.
    let failed = unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, mode.as_ptr().cast()) } != 0;
    if failed {
        let error = io::Error::last_os_error();
        return Err(Error::machine(format!(
            "the BPF file system cannot be mounted at {BPFFS}: {error}; try: mount -t bpf bpf {BPFFS}"
        )));
    }
    Ok(())
}
